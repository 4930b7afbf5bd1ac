//! One test, explained by timing functions: which of them, by strategy, and until it is clear who is responsible.

use super::active::{Keys, all_calls, closer, first_level, ways_to};
use super::assemble::{Known, told, unless_contrary};
use super::attribute::{attribute, attribute_joined};
use super::attribution::Attribution;
use super::causes::{Facts, add_causes};
use super::differences::{Differences, differences, medians};
use super::leaks::{PROBE_NS, leaks};
use super::merge::Merged;
use super::options::Goal;
use super::probe_cost::attribute_corrected;
use super::question::{ALPHA, Answers, Inquiry, LONGEST, Question};
use super::suspects;
use super::with_probes::{self, Probed};
use perfunit_build::{Builder, InPlace, Linkers, Probes, Seeds};
use perfunit_measure::{Bench, Config, Layouts, ProbeRequest, ProbedPairs, Subject};
use perfunit_model::error::{Result, apart};
use perfunit_model::{BuiltWith, Engine, Explanation, Side, Sides, Strategy, TargetId, Unexplained, Warning};
use perfunit_runtime::tree::mode;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Looks at who is responsible after so many pairs.
const LOOKS: [usize; 4] = [8, 16, 32, 64];
/// Who is found to pay for this part of the difference is answer enough.
const EXPLAINED: f64 = 0.8;
/// Up to this fraction of a test's time, timing all of its calls does not hide what is looked for.
const LIGHT: f64 = 0.5;
/// Below this change (a fraction) all probes together add more noise than there is to see, as [Peass] found.
const SMALL_CHANGE: f64 = 0.02;
/// Levels that are looked at, at most.
const MOST_LEVELS: usize = 24;

/// Longest explanation where the pairs that it needs take longer than that, because other programs have the core.
const LONGEST_ON_A_BUSY_MACHINE: Duration = Duration::from_mins(1);

/// Pairs without which there is no interval.
const INTERVAL_PAIRS: usize = 4;
/// Pairs that tell where the time goes.
const PROFILE_PAIRS: usize = 4;
/// All functions are timed.
const ALL: ProbeRequest = ProbeRequest { default_mode: mode::TIMING, listed_mode: mode::INACTIVE, keys: Vec::new() };

/// Explains the tests of one pairing.
struct Examiner<'a> {
    bench: &'a Bench,
    config: Config,
    probed: &'a Probed,
    inquiry: &'a Inquiry<'a>,
    facts: &'a Facts,
    layouts: Layouts<'a>,
    /// When the explanation of a test ends at the latest: at its deadline it ends only with the pairs that a quiet machine
    /// makes until then.
    end: Instant,
}

/// What a number of pairs told.
struct Finding {
    strategy: Strategy,
    merged: Merged,
    attribution: Attribution,
    differences: Differences,
    /// What the probes cost in one run, ns.
    cost: Sides<f64>,
    /// Calls that found no room.
    overflow: u64,
}

/// Something found out, or why it is not.
type Told<T> = std::result::Result<T, Unexplained>;
type Found = Told<Finding>;

/// The trees of pairs.
struct Pairs {
    merged: Merged,
    /// Calls that found no room.
    overflow: u64,
}

/// Explains tests by the time that their functions take.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    let _span = tracing::debug_span!("probes").entered();
    let targets: BTreeSet<TargetId> = questions.iter().map(|question| question.test.target.clone()).collect();
    let probed = match apart(with_probes::build(builder, inquiry, &targets, Probes::With))? {
        Ok(probed) => probed,
        Err(why) => return Ok(Answers::none(questions, why)),
    };
    let (context, measuring) = (builder.context(), inquiry.measuring);
    let mut bench = Bench::open(&context.ours)?;
    bench.seeds = Seeds::new(inquiry.built.seeds.clone());
    bench.linkers = Linkers::of(&context.cargo);
    bench.made = Some(InPlace::put(&probed.sides, &context.ours)?);
    let layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let facts = suspects::facts(inquiry);
    let mut examiner = Examiner {
        bench: &bench,
        // The deadline ends it: that fewer pairs fit than a verdict needs is no reason not to try.
        config: inquiry.config(Duration::MAX, None),
        probed: &probed,
        inquiry,
        facts: &facts,
        layouts,
        end: Instant::now(),
    };
    let mut answers = Answers::default();
    let progress = Progress::bar(context.terminal, "Explaining", questions.len());
    for question in questions {
        if interrupt::requested() {
            break;
        }
        progress.message(question.test.to_string());
        let by = |longest: Duration| inquiry.end().into_iter().fold(Instant::now() + longest, Instant::min);
        let limit = by(LONGEST);
        examiner.end = by(LONGEST_ON_A_BUSY_MACHINE);
        if let Some(why) = inquiry.over() {
            answers.tests.insert(question.test.clone(), Err(why));
            continue;
        }
        let answer = match inquiry.explaining.goal {
            Goal::Responsible => examiner.explain(question, limit),
            Goal::Profile => examiner.profile(question, limit),
        };
        match answer {
            Ok(answer) => drop(answers.tests.insert(question.test.clone(), answer)),
            Err(error) => {
                answers.warnings.push(Warning::ExplainingEnded { why: error.message().to_owned() });
                break;
            }
        }
        progress.advance();
    }
    Ok(answers)
}

impl Examiner<'_> {
    /// Explains one test until the deadline, or says why that cannot be done.
    fn explain(&mut self, question: &Question, deadline: Instant) -> Result<Told<Explanation>> {
        let started = Instant::now();
        let finding = match self.inquiry.explaining.strategy {
            Some(Strategy::Complete) => self.complete(question, deadline)?,
            strategy => match self.survey(question, deadline)? {
                Err(why) => Err(why),
                Ok(calls) => match strategy {
                    Some(strategy) => self.by(strategy, question, &calls, deadline)?,
                    None => self.by_choice(question, &calls, started.elapsed(), deadline)?,
                },
            },
        };
        let told =
            |finding: Finding| unless_contrary(self.told(question, &finding, started.elapsed()), question.change);
        Ok(finding.map(told))
    }

    /// Who calls whom and how often: a pair with probes that only count.
    fn survey(&mut self, question: &Question, deadline: Instant) -> Result<Told<Merged>> {
        let request = ProbeRequest { default_mode: mode::COUNTING, listed_mode: mode::INACTIVE, keys: Vec::new() };
        let counted = self.pairs(question, request, deadline, |_| true)?;
        Ok(counted.map(|pairs| pairs.merged))
    }

    fn by(&mut self, strategy: Strategy, question: &Question, calls: &Merged, deadline: Instant) -> Result<Found> {
        match strategy {
            Strategy::Complete => self.complete(question, deadline),
            Strategy::Levelwise => self.levelwise(question, calls, deadline),
            Strategy::UntilSourceChange => self.until_source_change(question, calls, deadline),
        }
    }

    /// One strategy after the other until somebody is found. All functions at once where that is light; else the ways to
    /// what changed, for most differences come from there. No more strategies than there is time for: `survey` is what
    /// it took to settle how to run the test, and a pair.
    fn by_choice(&mut self, question: &Question, calls: &Merged, survey: Duration, deadline: Instant) -> Result<Found> {
        let is_light = all_calls(calls) * PROBE_NS <= LIGHT * question.base_ns;
        let order = if is_light && question.change.abs() >= SMALL_CHANGE {
            [Strategy::Complete, Strategy::UntilSourceChange, Strategy::Levelwise]
        } else {
            [Strategy::UntilSourceChange, Strategy::Levelwise, Strategy::Complete]
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let fitting = left.as_secs_f64() / (LOOKS[0] as f64 * survey.as_secs_f64() / 2.0);
        let order = &order[..(fitting as usize).clamp(1, order.len())];
        let mut best: Option<Found> = None;
        for (index, strategy) in order.iter().copied().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / (order.len() - index) as u32;
            let found = self.by(strategy, question, calls, Instant::now() + share)?;
            let is_enough = found.as_ref().is_ok_and(|finding| finding.is_enough(question));
            let is_better = match (&best, &found) {
                (None | Some(Err(_)), _) => true,
                (Some(Ok(best)), Ok(found)) => found.explained(question) > best.explained(question),
                (Some(Ok(_)), Err(_)) => false,
            };
            if is_better {
                best = Some(found);
            }
            if is_enough {
                break;
            }
        }
        Ok(best.unwrap_or(Err(Unexplained::NoTimeLeft)))
    }

    /// All functions at once.
    fn complete(&mut self, question: &Question, deadline: Instant) -> Result<Found> {
        self.find(question, Strategy::Complete, ALL, deadline)
    }

    /// What the test calls; then what those call who pay; and so on.
    fn levelwise(&mut self, question: &Question, calls: &Merged, deadline: Instant) -> Result<Found> {
        let mut timed = first_level(calls);
        let mut found = self.timing(question, Strategy::Levelwise, &timed, deadline)?;
        for _ in 1..MOST_LEVELS {
            let Ok(finding) = &found else { break };
            let more = closer(calls, &finding.attribution, &timed);
            if more.is_empty() || Instant::now() >= deadline {
                break;
            }
            timed.extend(more);
            let closer = self.timing(question, Strategy::Levelwise, &timed, deadline)?;
            // What is known already is better than a level for which no time was left.
            if closer.as_ref().is_ok_and(|closer| closer.attribution.responsible().next().is_some()) {
                found = closer;
            } else {
                break;
            }
        }
        Ok(found)
    }

    /// The functions on the ways to those whose source changed, and what these call.
    fn until_source_change(&mut self, question: &Question, calls: &Merged, deadline: Instant) -> Result<Found> {
        let is_changed = |key: &u64| self.inquiry.has_changed(&self.probed.functions, *key);
        let called: BTreeSet<u64> = calls.nodes.iter().map(|node| node.key).collect();
        let wanted: Keys = called.into_iter().filter(is_changed).collect();
        match ways_to(calls, &wanted) {
            Some(keys) => self.timing(question, Strategy::UntilSourceChange, &keys, deadline),
            None => Ok(Err(Unexplained::NoChangeCalled)),
        }
    }

    fn timing(&mut self, question: &Question, strategy: Strategy, keys: &Keys, deadline: Instant) -> Result<Found> {
        let renamed = self.probed.renamed.iter().filter(|(_, old)| keys.contains(old)).map(|(new, _)| *new);
        // Sorted, as a request has to be.
        let keys = keys.iter().copied().chain(renamed).collect::<Keys>().into_iter().collect();
        let request = ProbeRequest { default_mode: mode::INACTIVE, listed_mode: mode::TIMING, keys };
        self.find(question, strategy, request, deadline)
    }

    /// Pairs until it is clear who is responsible.
    fn find(
        &mut self,
        question: &Question,
        strategy: Strategy,
        request: ProbeRequest,
        deadline: Instant,
    ) -> Result<Found> {
        let (probed, inquiry) = (self.probed, self.inquiry);
        let is_enough = |merged: &Merged| {
            LOOKS.contains(&merged.pairs)
                && (attributed(merged, question, probed, inquiry)
                    .is_some_and(|(_, attribution)| explained(&attribution, question) >= EXPLAINED)
                    || merged.pairs == LOOKS[LOOKS.len() - 1])
        };
        let pairs = self.pairs(question, request, deadline, is_enough)?;
        Ok(pairs.and_then(|pairs| pairs.judged(question, strategy, probed, inquiry)))
    }

    /// Where the time of both versions goes, whoever is responsible.
    fn profile(&mut self, question: &Question, deadline: Instant) -> Result<Told<Explanation>> {
        let started = Instant::now();
        let pairs = self.pairs(question, ALL, deadline, |merged| merged.pairs == PROFILE_PAIRS)?;
        let finding = pairs.and_then(|pairs| pairs.judged(question, Strategy::Complete, self.probed, self.inquiry));
        Ok(finding.map(|finding| self.told(question, &finding, started.elapsed())))
    }

    /// The trees of pairs until there are enough or no time is left.
    fn pairs(
        &mut self,
        question: &Question,
        request: ProbeRequest,
        deadline: Instant,
        is_enough: impl Fn(&Merged) -> bool,
    ) -> Result<Told<Pairs>> {
        let executable = |side: Side| {
            let mut executables = self.probed.sides.get(side).executables.iter();
            executables.find(|executable| executable.target == question.test.target)
        };
        let (Some(base), Some(head)) = (executable(Side::Base), executable(Side::Head)) else {
            return Ok(Err(Unexplained::TargetNotBuilt { with: BuiltWith::Probes }));
        };
        let built = Sides { base, head };
        let executables = self.layouts.first(built)?.unwrap_or(built);
        let subject = Subject { test: question.test.clone(), executables, terms: None, ignored: false };
        self.config.deadline = Some(self.end);
        let sides = self.probed.sides.as_ref();
        let opened = apart(ProbedPairs::open(self.bench, &self.config, sides, subject, request))?;
        let mut pairs = match opened {
            Ok(pairs) => pairs,
            Err(why) => return Ok(Err(Unexplained::NoLaterCalls(why))),
        };
        let mut merged = Merged::default();
        let mut overflow = 0;
        while let Some(runs) = pairs.pair()? {
            overflow = overflow.max(runs.base.overflow).max(runs.head.overflow);
            let mut trees = runs.map(|run| run.tree);
            trees.head.rename(&self.probed.renamed);
            merged.add(&trees);
            let is_late = merged.pairs >= pairs_in_time(question) && Instant::now() >= deadline;
            if is_enough(&merged) || is_late {
                break;
            }
        }
        Ok(Ok(Pairs { merged, overflow }))
    }

    fn told(&self, question: &Question, finding: &Finding, took: Duration) -> Explanation {
        let known = Known {
            test: &question.test,
            engine: Engine::Probes,
            seconds: took.as_secs_f64(),
            strategy: finding.strategy,
            plain_base_ns: Some(question.base_ns),
            probe_cost: finding.cost,
            functions: &self.probed.functions,
            without_probe: self.probed.without_probe.clone(),
            overflow: finding.overflow,
            changed: &|function| self.inquiry.changed(function),
            names: &|function| self.inquiry.names(function),
            of_test: &|| self.inquiry.of_test(&question.test),
        };
        let mut explanation = told(&finding.merged, &finding.differences, &finding.attribution, &known);
        add_causes(&mut explanation, &finding.attribution, &known, self.facts);
        explanation
    }
}

impl Pairs {
    fn judged(self, question: &Question, strategy: Strategy, probed: &Probed, inquiry: &Inquiry<'_>) -> Found {
        let found = attributed(&self.merged, question, probed, inquiry);
        let (merged, attribution) = found.ok_or(Unexplained::TooFewPairs)?;
        let differences = differences(&merged, level()).ok_or(Unexplained::TooFewPairs)?;
        let cost = probe_cost(&merged);
        Ok(Finding { strategy, merged, attribution, differences, cost, overflow: self.overflow })
    }
}

impl Finding {
    fn explained(&self, question: &Question) -> f64 {
        explained(&self.attribution, question)
    }

    fn is_enough(&self, question: &Question) -> bool {
        self.explained(question) >= EXPLAINED
    }
}

/// Attributes the difference to functions, to those together that cannot be told apart by time; with the tree after the
/// probes' cost was corrected.
fn attributed(
    merged: &Merged,
    question: &Question,
    probed: &Probed,
    inquiry: &Inquiry<'_>,
) -> Option<(Merged, Attribution)> {
    attribute_corrected(merged, &question.difference(), |merged| {
        let apart = attribute(merged, level())?;
        let joined = leaks(merged, &apart, |key| inquiry.has_changed(&probed.functions, key));
        if joined.is_empty() { Some(apart) } else { attribute_joined(merged, level(), &joined) }
    })
}

/// Returns how many pairs a strategy is given on a busy machine too: a quiet one makes them for each strategy in time.
fn pairs_in_time(question: &Question) -> usize {
    // A process makes some calls to settle and some batches; the rest of a pair takes about a tenth of a second.
    const CALLS: f64 = 40.0;
    let pair = 0.1 + CALLS * question.pair_seconds();
    let fit = |pairs: &&usize| **pairs as f64 * pair <= LONGEST.as_secs_f64();
    LOOKS[..2].iter().rev().find(fit).copied().unwrap_or(INTERVAL_PAIRS)
}

/// Returns what the probes cost in one run, ns.
fn probe_cost(merged: &Merged) -> Sides<f64> {
    let costs = merged.nodes.iter().map(|node| medians(&node.probe_cost));
    costs.fold(Sides { base: 0.0, head: 0.0 }, |sum, cost| Sides {
        base: sum.base + cost.base,
        head: sum.head + cost.head,
    })
}

/// Of each look: all of them have to be paid for.
fn level() -> f64 {
    ALPHA / LOOKS.len() as f64
}

/// The part of the difference that those pay who certainly pay for it; 0 unless the difference has the direction of that
/// without probes.
fn explained(attribution: &Attribution, question: &Question) -> f64 {
    if attribution.whole.estimate.signum() != question.change.signum() {
        return 0.0;
    }
    attribution.responsible().map(|part| attribution.share(part)).sum()
}
