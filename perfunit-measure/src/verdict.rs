//! The verdict on a test, decided in one place from everything that was measured of it. Pure.
//!
//! [`verdict`] decides in three steps. The first row of a table that applies decides, and its verdict comes with the figures
//! of the series named last.
//!
//! 1. By pairs of repeated calls. The first pairs were selected for being extreme, so fresh pairs decide where there are any.
//!    Code is "apart" if it has no common place in both versions ([`Placed`]):
//!
//! | first pairs | fresh pairs | verdict | reason if inconclusive |
//! |---|---|---|---|
//! | failed | | not measured | |
//! | any | not needed | first pairs | the same |
//! | no change, code not apart | no change that makes a small change of the first pairs count | first pairs | the same |
//! | any | failed | inconclusive, first pairs | unconfirmed if a change was seen and the run ended, else the failure |
//! | any | change that placement explains and instructions do not support | inconclusive, fresh pairs | placement; as the last row if instructions were cut short |
//! | slower (faster) | faster (slower), unless the code is apart and many layouts were drawn | inconclusive, fresh pairs | not confirmed |
//! | any | any | fresh pairs | unconfirmed if a change was seen, the run ended and the pairs lean its way; cut short; not confirmed if a change was seen; at the threshold; too noisy |
//!
//! 2. By first calls, if they differ by more than later calls do. Here "loss" means slower, or inconclusive and probably slower;
//!    a loss is the same change as slower:
//!
//! | first series | fresh pairs | later calls (step 1) | verdict |
//! |---|---|---|---|
//! | any | the same change | slower; faster, or inconclusive and the change is faster | later calls |
//! | any | the same change | any other | fresh pairs of first calls |
//! | loss | failed | not slower | inconclusive, first series of first calls |
//! | slower | inconclusive | not slower | inconclusive, fresh pairs of first calls |
//! | loss | inconclusive, loss | not slower | inconclusive, fresh pairs of first calls |
//! | any | any | any | later calls |
//!
//! 3. By the metrics that decide ([`gate`]), the worst news first.
//!
//! The figures also bound the change that is possible ([`PossibleChange`]), if time alone decides. The bound includes the
//! effect that the placement of code can have on the reported series:
//!
//! | reported series | placement |
//! |---|---|
//! | first pairs, code not known to be matched | up to [`REACH_OF_PLACES`]: one layout says little |
//! | fresh pairs that show a change which does not count | the reach of the doubt ([`Doubt::reach`]) |
//! | fresh pairs, code that keeps its alignment in all layouts | what placement usually does there ([`usual_effect`]) |
//! | any other | none, or included in the interval |
//!
//! Fewer values than the first look, single calls, first calls that decide, and fresh pairs that contradict the first ones
//! give no bound.

use super::doubt::{Doubt, Instructions, doubt_on_time, is_apart, is_flagged_metric, is_loss, is_small, usual_effect};
use super::layouts::Placed;
use super::secondary_metrics::OF_PAIRS;
use super::subject::{Ended, Figures, Finding};
use perfunit_decide as decide;
use perfunit_model::{
    AcceptedLoss, Change, CrossCheck, FirstCallUnknown, Measured, Metered, Metric, MetricVerdict, Metrics, NoVerdict,
    NotMetered, Note, PossibleChange, REACH_OF_PLACES, Reason, Spent, Threshold, Verdict,
};

/// Everything that was measured of a test, and the terms by which it is judged.
#[derive(Debug, Clone)]
pub struct Evidence {
    pub criteria: Criteria,
    /// The first pairs on one layout, or the single calls that replace them; or the reason why there are none.
    pub screening: Finding,
    /// The agreement of the code addresses of both versions; uncertain until that is known.
    pub places: Placed,
    /// Pairs that were measured again, where the first ones do not suffice.
    pub confirmation: Option<Confirmation>,
    pub first_calls: FirstCalls,
    pub spent: Spent,
}

/// The terms by which a test is judged.
#[derive(Debug, Clone)]
pub struct Criteria {
    pub threshold: Threshold,
    /// The metrics that decide; wall time if there are none.
    pub gates: Vec<Metric>,
    /// The loss that the user accepts; all pairs are judged relative to it.
    pub accepted: Option<AcceptedLoss>,
}

/// The reason why pairs of repeated calls are measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The first pairs show a change, or the code does not lie at the same places in both versions.
    Pairs(Placed),
    /// The first pairs show a change that is too small to count by time alone.
    Small,
}

impl Question {
    pub fn agreement(self) -> Placed {
        match self {
            Self::Pairs(placed) => placed,
            Self::Small => Placed::Matched,
        }
    }

    /// Returns how the placement of code can explain a change of time on fresh pairs. A small change is always in doubt.
    pub fn doubt_on(self, pairs: &Finding) -> Option<Doubt> {
        match self {
            Self::Pairs(placed) => doubt_on_time(pairs, placed),
            Self::Small => pairs.change_seen().map(|_| Doubt::Usual),
        }
    }
}

/// The second measurement of a test.
#[derive(Debug, Clone)]
pub struct Confirmation {
    pub question: Question,
    pub pairs: Finding,
    /// The instructions, counted where the placement of code can explain the change of time, or where the change is
    /// small.
    pub instructions: Option<Instructions>,
    /// The same pairs and more, judged down to smaller changes, where instructions changed as time did.
    pub closer: Option<Finding>,
    /// The instructions, counted where the placement of code can explain a change of CPU time that decides.
    pub cpu_instructions: Option<Instructions>,
}

/// The measurement of the first calls of a test that is measured by later calls.
#[derive(Debug, Clone)]
pub enum FirstCalls {
    /// First calls are not compared, or differ no more than later calls do.
    Unremarkable,
    Unknown(FirstCallUnknown),
    /// First calls seemed to differ in a first series of pairs, and were measured again.
    Flagged {
        first: Box<Figures>,
        fresh: Box<Finding>,
    },
}

/// Returns how many verdicts the pairs of a test with these gates give, each of which can be a false alarm: on wall time, on
/// first calls, and on the other metrics that pairs measure. Wall time is confirmed even if only counts decide.
pub fn verdicts_of_pairs(gates: &[Metric]) -> usize {
    let is_of_pairs = |metric: &&Metric| **metric == Metric::Time || OF_PAIRS.contains(metric);
    1 + gates.iter().filter(is_of_pairs).count().max(1)
}

/// Decides on a test.
pub fn verdict(evidence: &Evidence) -> Ended {
    let Evidence { criteria, screening, .. } = evidence;
    let (capture, spent) = (screening.capture, evidence.spent);
    let first = match &screening.result {
        Ok(first) => first,
        Err(reason) => {
            let (verdict, reason) = (Verdict::NotMeasured, Some(reason.clone()));
            return Ended { verdict, reason, figures: None, possible: None, cross_check: None, capture, spent };
        }
    };
    let decision = by_pairs(first, evidence);
    let decision = match &evidence.first_calls {
        FirstCalls::Flagged { first, fresh } => by_first_calls(decision, first, fresh, criteria.threshold),
        FirstCalls::Unremarkable | FirstCalls::Unknown(_) => decision,
    };
    let possible = decision.possible(criteria);
    let Decision { verdict: of_time, reason, figures, notes, metrics, .. } = decision;
    let (verdict, reason) = gate(&criteria.gates, (of_time, reason), &metrics);
    // The verdict is about what exceeds the accepted loss; counts are about all of it.
    let cross_check = if criteria.accepted.is_some() { None } else { cross_check(of_time, &metrics) };
    let measured = relative_to_base(&figures.measured, criteria.accepted.as_ref());
    let figures = Figures { verdict: of_time, measured, notes, metrics, ..figures.clone() };
    Ended { verdict, reason, figures: Some(figures), possible, cross_check, capture, spent }
}

/// A verdict on wall time with the figures to report.
struct Decision<'e> {
    verdict: Verdict,
    /// The reason why the verdict is inconclusive.
    reason: Option<Reason>,
    /// The series that provides the reported times.
    figures: &'e Figures,
    /// The change that the placement of code can hide or fake in that series; `None` if the series bounds nothing.
    placement: Option<f64>,
    notes: Vec<Note>,
    metrics: Metrics,
}

/// Decides by the pairs of repeated calls.
fn by_pairs<'e>(first: &'e Figures, evidence: &'e Evidence) -> Decision<'e> {
    let unknown = match &evidence.first_calls {
        FirstCalls::Unknown(because) => Some(Note::FirstCallUnknown { because: because.clone() }),
        FirstCalls::Unremarkable | FirstCalls::Flagged { .. } => None,
    };
    let screened = Decision {
        verdict: first.verdict,
        reason: evidence.screening.reason.clone(),
        figures: first,
        placement: Some(if evidence.places == Placed::Matched { 0.0 } else { REACH_OF_PLACES }),
        notes: first.notes.iter().cloned().chain(unknown).collect(),
        metrics: first.metrics.clone(),
    };
    let Some(confirmation) = &evidence.confirmation else { return screened };
    let fresh = confirmation.fresh();
    let placed = confirmation.question.agreement();
    // The verdict that fresh pairs are to show again.
    let seen = if first.verdict.is_change() || placed != Placed::Matched {
        Some(first.verdict)
    } else {
        let is_shown = is_small(&evidence.screening) && fresh.verdict.is_change() && fresh.agrees_with(first);
        is_shown.then_some(fresh.verdict)
    };
    if seen.is_none() && confirmation.question == Question::Small {
        return screened;
    }
    let metrics = confirmation.metrics(&first.metrics, &fresh);
    let screened = Decision { metrics, ..screened };
    let Some(seen) = seen else { return screened };
    let mut decision = join_fresh(seen, screened, fresh, confirmation);
    let layouts = decision.figures.measured.layouts;
    if placed != Placed::Matched && layouts > 1 {
        decision.notes.push(Note::Layouts { layouts });
    }
    decision
}

/// Joins a verdict that was seen on first pairs with that of fresh pairs. The fresh pairs alone give the reported figures:
/// the first ones were selected for being extreme.
fn join_fresh<'e>(seen: Verdict, first: Decision<'e>, fresh: Fresh<'e>, confirmation: &Confirmation) -> Decision<'e> {
    let (was_changed, agrees) = (seen.is_change(), fresh.agrees_with(first.figures));
    let unconfirmed = Reason::Unconfirmed { seen };
    let figures = match fresh.figures {
        Ok(figures) => figures,
        Err(why) => {
            let is_cut = matches!(why, Reason::BudgetUsedUp | Reason::Interrupted) && was_changed;
            let reason = if is_cut { unconfirmed } else { why.clone() };
            return Decision { verdict: Verdict::Inconclusive, reason: Some(reason), ..first };
        }
    };
    let verdict = confirmation.after(seen, fresh.verdict);
    // Series that contradict each other bound nothing.
    let is_compatible = confirmation.after(seen, figures.verdict) == figures.verdict;
    let placement = is_compatible.then(|| confirmation.placement(&fresh, figures));
    let why = match fresh.reason {
        Some(Reason::BudgetUsedUp | Reason::Interrupted)
            if was_changed && agrees && figures.measured.change.leans() =>
        {
            unconfirmed
        }
        // More pairs would not help: the change itself is smaller than the threshold, if only by a little.
        Some(Reason::AtThreshold)
            if was_changed && agrees && figures.measured.change.estimate.abs() < figures.measured.threshold =>
        {
            Reason::AtThreshold
        }
        // Too few or too noisy to decide at the stricter level, but both exclude that nothing changed.
        Some(Reason::TooNoisy | Reason::AtThreshold)
            if was_changed && agrees && figures.measured.change.from_zero() > 0.0 =>
        {
            unconfirmed
        }
        Some(why @ (Reason::BudgetUsedUp | Reason::Interrupted | Reason::AsPlacesDo { .. })) => why,
        _ if was_changed => Reason::NotConfirmed,
        Some(Reason::AtThreshold) => Reason::AtThreshold,
        _ => Reason::TooNoisy,
    };
    // The findings of the first pairs about the test's work still hold; drawn layouts hide some of that work.
    let of_first = first.notes.into_iter().filter(|note| !figures.notes.contains(note));
    let is_taken_back = was_changed && matches!(verdict, Verdict::Same | Verdict::ChangedBelowThreshold);
    let taken_back = is_taken_back.then_some(Note::TakenBack);
    Decision {
        verdict,
        reason: (verdict == Verdict::Inconclusive).then_some(why),
        figures,
        placement,
        notes: figures.notes.iter().cloned().chain(of_first).chain(taken_back).collect(),
        metrics: first.metrics,
    }
}

/// The answer of fresh pairs, instructions included.
struct Fresh<'e> {
    figures: Result<&'e Figures, &'e Reason>,
    /// Inconclusive where the placement of code can explain the change and instructions do not support it.
    verdict: Verdict,
    /// The reason why the verdict is inconclusive.
    reason: Option<Reason>,
}

impl Fresh<'_> {
    /// Returns whether fresh pairs point in the direction of the first ones.
    fn agrees_with(&self, first: &Figures) -> bool {
        let estimate = |figures: &Figures| figures.measured.change.estimate;
        self.figures.is_ok_and(|fresh| estimate(fresh).signum() == estimate(first).signum())
    }
}

impl Confirmation {
    /// Returns the fresh pairs that count: those judged down to smaller changes, if they show one.
    pub fn decisive(&self) -> &Finding {
        let is_shown = |closer: &&Finding| closer.change_seen().is_some() && self.objection(closer).is_none();
        self.closer.as_ref().filter(is_shown).unwrap_or(&self.pairs)
    }

    /// Returns whether the change that fresh pairs show does not count.
    pub fn is_in_doubt(&self) -> bool {
        self.objection(self.decisive()).is_some()
    }

    /// Replaces the fresh pairs by the same and more, which may exclude what the placement of code can explain.
    pub fn replace_pairs(&mut self, pairs: Finding) {
        if self.question.doubt_on(&pairs).is_none() {
            self.instructions = None;
        }
        self.pairs = pairs;
    }

    /// Returns the verdict after fresh pairs gave a second one. Over drawn layouts they decide alone: the first pairs come
    /// from one layout and one start of each side, which can be off by a third in all pairs.
    fn after<V: Copy + PartialEq + From<Verdict>>(&self, first: V, fresh: V) -> V {
        let is_over_layouts = self.decisive().result.as_ref().is_ok_and(|figures| figures.measured.layouts > 1);
        if self.question == Question::Pairs(Placed::Drawn) && is_over_layouts {
            fresh
        } else {
            decide::on_fresh_values(first, fresh)
        }
    }

    fn objection(&self, finding: &Finding) -> Option<Reason> {
        objection(finding.change_seen()?, self.instructions.as_ref()?)
    }

    /// Returns the change that the placement of code can hide or fake in fresh pairs.
    fn placement(&self, fresh: &Fresh<'_>, figures: &Figures) -> f64 {
        let (placed, base_ns) = (self.question.agreement(), figures.measured.base_ns);
        match &self.instructions {
            Some(instructions) if figures.verdict != fresh.verdict => instructions.doubt.reach(placed, base_ns),
            _ if placed == Placed::Uncertain => usual_effect(placed, base_ns),
            _ => 0.0,
        }
    }

    fn fresh(&self) -> Fresh<'_> {
        let finding = self.decisive();
        let objection = self.objection(finding);
        let verdict = match &finding.result {
            Ok(figures) if objection.is_none() => figures.verdict,
            _ => Verdict::Inconclusive,
        };
        Fresh { figures: finding.result.as_ref(), verdict, reason: objection.or_else(|| finding.reason.clone()) }
    }

    /// Joins the metrics of the first pairs with those of fresh ones, where pairs measure them and the first ones are flagged,
    /// inconclusive, or rest on the placement of code.
    fn metrics(&self, first: &Metrics, fresh: &Fresh<'_>) -> Metrics {
        let of_fresh = |metric: Metric| fresh.figures.ok()?.metrics.get(&metric)?.as_ref().ok();
        let joined = |(metric, before): (&Metric, &Result<Metered, NotMetered>)| {
            let rests_on_places = self.question.agreement() != Placed::Matched && *metric == Metric::CpuTime;
            // Few pairs cannot claim a change of a metric that does not decide; the fresh ones are more.
            let is_open = matches!(before, Ok(known) if known.verdict == MetricVerdict::Inconclusive);
            let is_checked = OF_PAIRS.contains(metric) && (is_flagged_metric(before) || is_open || rests_on_places);
            let (Ok(known), true) = (before, is_checked) else { return (*metric, before.clone()) };
            let joined = match of_fresh(*metric) {
                Some(after) => {
                    let verdict = self.after(known.verdict, self.verdict_on(*metric, after));
                    Metered { verdict, ..after.clone() }
                }
                None => Metered { verdict: MetricVerdict::Inconclusive, ..known.clone() },
            };
            (*metric, Ok(joined))
        };
        first.iter().map(joined).collect()
    }

    /// Returns the verdict of fresh pairs on a metric, instructions included.
    fn verdict_on(&self, metric: Metric, after: &Metered) -> MetricVerdict {
        let instructions = self.cpu_instructions.as_ref().filter(|_| metric == Metric::CpuTime);
        let is_slower = after.verdict == MetricVerdict::More;
        let counts = instructions.is_none_or(|instructions| instructions.support(is_slower));
        if counts { after.verdict } else { MetricVerdict::Inconclusive }
    }
}

/// Returns the reason why a change does not count that the placement of code can explain, given the test's instructions.
fn objection(seen: Verdict, instructions: &Instructions) -> Option<Reason> {
    if instructions.support(seen == Verdict::Slower) {
        return None;
    }
    Some(match &instructions.change {
        Err(NotMetered::BudgetUsedUp) => Reason::BudgetUsedUp,
        Err(NotMetered::Interrupted) => Reason::Interrupted,
        instructions => Reason::AsPlacesDo { seen, instructions: instructions.clone() },
    })
}

/// Decides by first calls, given the decision by later ones. `first` are the pairs that flagged first calls.
fn by_first_calls<'e>(
    mut later: Decision<'e>,
    first: &'e Figures,
    fresh: &'e Finding,
    threshold: Threshold,
) -> Decision<'e> {
    let seen = if is_loss(first) { Verdict::Slower } else { first.verdict };
    // A loss that was seen and not refuted leaves the test inconclusive, whatever its later calls are.
    let is_open_loss = seen == Verdict::Slower && later.verdict != Verdict::Slower;
    let figures = match &fresh.result {
        Ok(figures) => figures,
        Err(why) => {
            later.notes.push(Note::FirstCallNotMeasuredAgain { why: why.clone() });
            let reason = match why {
                Reason::BudgetUsedUp | Reason::Interrupted => Reason::Unconfirmed { seen: Verdict::Slower },
                why => why.clone(),
            };
            return if is_open_loss { later.replaced_by(first, Verdict::Inconclusive, Some(reason)) } else { later };
        }
    };
    let is_apart = is_apart(threshold, figures.ns(), &later.figures.measured);
    let is_confirmed = figures.verdict == seen && seen.is_change() && is_apart;
    if is_confirmed {
        let of_first = figures.verdict;
        // A faster first call does not decide on later calls that may be slower. The worse of two changes decides.
        let is_open = later.verdict == Verdict::Inconclusive && of_first == Verdict::Faster;
        let is_worse = later.verdict == Verdict::Faster && of_first == Verdict::Slower;
        if later.verdict.is_change() && !is_worse || is_open {
            let (ns, change) = (figures.ns(), figures.measured.change);
            later.notes.push(Note::FirstCallToo { ns, change });
            return later;
        }
        return later.replaced_by(figures, of_first, None);
    }
    let is_unsure = figures.verdict == Verdict::Inconclusive;
    // A first series that is only probably slower needs a second one that is, too.
    let is_seen = first.verdict == Verdict::Slower || is_loss(figures);
    if is_unsure && is_open_loss && is_seen {
        let reason = match &fresh.reason {
            Some(Reason::BudgetUsedUp | Reason::Interrupted) if is_loss(figures) => {
                Reason::Unconfirmed { seen: Verdict::Slower }
            }
            Some(why @ (Reason::BudgetUsedUp | Reason::Interrupted)) => why.clone(),
            _ => Reason::NotConfirmed,
        };
        return later.replaced_by(figures, Verdict::Inconclusive, Some(reason));
    }
    later.notes.push(if is_unsure { Note::FirstCallNotConfirmed } else { Note::FirstCallTakenBack });
    later
}

impl<'e> Decision<'e> {
    /// Returns the change that the reported series leaves possible, beyond an accepted loss.
    fn possible(&self, criteria: &Criteria) -> Option<PossibleChange> {
        let measured = &self.figures.measured;
        let has_level = measured.bound.is_none() && self.figures.has_level;
        let is_by_time = criteria.gates.iter().all(|gate| *gate == Metric::Time);
        let placement = self.placement.filter(|_| has_level && is_by_time)?;
        PossibleChange::of(&measured.change, placement)
    }

    /// Replaces the verdict and the figures of later calls by those of first calls.
    fn replaced_by(mut self, figures: &'e Figures, verdict: Verdict, reason: Option<Reason>) -> Self {
        self.notes.push(Note::FirstCallDecides { later_ns: self.figures.ns() });
        Self { verdict, reason, figures, placement: None, ..self }
    }
}

/// Returns figures relative to base from pairs that were judged relative to an accepted loss.
fn relative_to_base(measured: &Measured, accepted: Option<&AcceptedLoss>) -> Measured {
    let mut measured = measured.clone();
    // Single calls are relative to base already, and a loss that is accepted of first calls does not apply to later ones.
    let applies = |accepted: &&AcceptedLoss| accepted.mode == measured.mode && measured.bound.is_none();
    let Some(accepted) = accepted.filter(applies) else { return measured };
    let ratio = 1.0 + accepted.loss;
    let of_base = |change: f64| (1.0 + change) * ratio - 1.0;
    let Change { estimate, low, high } = measured.change;
    measured.change = Change { estimate: of_base(estimate), low: of_base(low), high: of_base(high) };
    measured.sample.estimates.iter_mut().for_each(|estimate| *estimate = of_base(*estimate));
    measured
}

/// Returns the verdict by the metrics that decide, worst news first, with the reason if it is inconclusive. `time` is the
/// verdict on wall time.
fn gate(gates: &[Metric], time: (Verdict, Option<Reason>), metrics: &Metrics) -> (Verdict, Option<Reason>) {
    let verdicts = gates.iter().map(|metric| match metric {
        Metric::Time => time.clone(),
        other => verdict_by(*other, metrics),
    });
    let worst = verdicts.min_by_key(|(verdict, _)| urgency(*verdict));
    worst.unwrap_or(time)
}

fn verdict_by(metric: Metric, metrics: &Metrics) -> (Verdict, Option<Reason>) {
    let unknown = |why| (Verdict::Inconclusive, Some(Reason::MetricUnknown { metric, why }));
    match metrics.get(&metric) {
        Some(Ok(metered)) => match metered.verdict {
            MetricVerdict::More => (Verdict::Slower, None),
            MetricVerdict::Less => (Verdict::Faster, None),
            MetricVerdict::ChangedBelowThreshold => (Verdict::ChangedBelowThreshold, None),
            MetricVerdict::Same => (Verdict::Same, None),
            MetricVerdict::Inconclusive => unknown(NoVerdict::TooNoisy),
            MetricVerdict::Varies => unknown(NoVerdict::Varies),
        },
        Some(Err(why)) => unknown(NoVerdict::NotMetered(why.clone())),
        None => unknown(NoVerdict::NotLookedAt),
    }
}

/// Ranks verdicts. Unknown outranks better: a metric that decides must not pass in silence where it is inconclusive.
fn urgency(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Slower => 0,
        Verdict::Inconclusive => 1,
        Verdict::Faster => 2,
        Verdict::ChangedBelowThreshold => 3,
        Verdict::Same => 4,
        Verdict::NotMeasured => 5,
    }
}

/// The kinds of work that should show in time if they change.
const WORK: [Metric; 5] =
    [Metric::ProgramTime, Metric::Allocations, Metric::AllocatedBytes, Metric::SystemCalls, Metric::Instructions];
/// The kinds of work that time depends on: if none of them changes, time should not change.
const EXPLAINS: [Metric; 2] = [Metric::Allocations, Metric::Instructions];

/// Compares the verdict on time with what was counted.
fn cross_check(time: Verdict, metrics: &Metrics) -> Option<CrossCheck> {
    let said = |metric: Metric| metrics.get(&metric)?.as_ref().ok().map(|metered| metered.verdict);
    // A change of work below its threshold, smaller than that of time, does not explain a change of time either.
    let unchanged = |verdict| matches!(verdict, MetricVerdict::Same | MetricVerdict::ChangedBelowThreshold);
    match time {
        Verdict::Slower | Verdict::Faster => {
            let equal = EXPLAINS.into_iter().all(|metric| said(metric).is_some_and(unchanged));
            let is_explained = said(Metric::SystemCalls).is_some_and(MetricVerdict::is_change);
            (equal && !is_explained).then_some(CrossCheck::Suspect)
        }
        Verdict::Same | Verdict::ChangedBelowThreshold => {
            let more = |metric: &Metric| said(*metric) == Some(MetricVerdict::More);
            let more: Vec<Metric> = WORK.into_iter().filter(more).collect();
            (!more.is_empty()).then_some(CrossCheck::WorkAlone(more))
        }
        Verdict::Inconclusive | Verdict::NotMeasured => None,
    }
}

#[cfg(test)]
pub mod tests;
