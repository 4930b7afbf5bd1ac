//! A measured test as a row of figures.

use super::terminal::{BAD, COLUMNS, DIM, GOOD, Row, STRONG, Text, WARN, test_id};
use super::{acceptance, causes, metrics};
use anstyle::Style;
use perfunit_decide::{FIRST_LOOK, POWER};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{
    Bound, Change, EffectClass, Measured, Metric, Mode, Outcome, PossibleChange, Run, Sides, Threshold, Verdict,
};
use std::cmp::Ordering;

/// Below this time on base one processor cycle is several per cent, so the difference in nanoseconds is shown too.
const TINY_NS: f64 = 50.0;

/// The amount of detail in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Brief,
    /// Every row of lists, and with each test statistics, the reason for selection, and remarks.
    Full,
}

impl Detail {
    /// Returns the number of rows shown of a list that is cut after `most` rows in brief texts.
    pub fn limit(self, most: usize) -> usize {
        match self {
            Self::Brief => most,
            Self::Full => usize::MAX,
        }
    }
}

/// Returns the outcomes of one verdict, the largest change in either direction first. Outcomes of first calls alone
/// come last.
pub fn sort_by_change(outcomes: &[Outcome], verdict: Verdict) -> Vec<&Outcome> {
    let mut group: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.verdict == verdict).collect();
    sort(&mut group);
    group
}

/// Sorts outcomes by the size of their change, the largest first. Outcomes of first calls alone come last.
pub fn sort(outcomes: &mut [&Outcome]) {
    outcomes.sort_by(|a, b| largest_first(a, b).then_with(|| a.test.cmp(&b.test)));
}

/// Sorts tests without a verdict: tests without a bound first, then by the largest possible slowdown.
pub fn sort_by_possible(outcomes: &mut [&Outcome]) {
    let slower = |outcome: &Outcome| outcome.possible.map_or(f64::INFINITY, |possible| possible.slower);
    outcomes.sort_by(|a, b| slower(b).total_cmp(&slower(a)).then_with(|| largest_first(a, b)));
}

fn largest_first(a: &Outcome, b: &Outcome) -> Ordering {
    let size = |outcome: &Outcome| outcome.measured.as_ref().map_or(0.0, |m| m.change.estimate.abs());
    let is_of_first_call = |outcome: &Outcome| outcome.later_ns().is_some();
    is_of_first_call(a).cmp(&is_of_first_call(b)).then_with(|| size(b).total_cmp(&size(a)))
}

/// Returns the row of one test.
pub fn row(outcome: &Outcome, run: &Run, detail: Detail, glyphs: Glyphs) -> Row {
    let within = run.unchanged_within(outcome);
    let (status, style) = match within {
        Some(_) => ("Unchanged", GOOD),
        None if run.accepted_by(outcome).is_some() => ("Accepted", WARN),
        None => status(outcome.verdict, Words::of(run.gates_of(outcome))),
    };
    let within = within.map(|bound| within_bound(bound, glyphs));
    let reason = outcome.reason.as_ref().map(|reason| format::one_line(&reason.to_string()));
    let remark: Vec<String> = within.into_iter().chain(reason).chain(acceptance::said(outcome, run)).collect();
    Row {
        status,
        style,
        name: test_id(&outcome.test),
        cells: outcome.measured.as_ref().map(|m| cells(m, style, glyphs)).unwrap_or_default(),
        remark: (!remark.is_empty()).then(|| remark.join(": ")),
        details: possible(outcome, run).into_iter().chain(details(outcome, run, detail, glyphs)).collect(),
    }
}

/// The words for verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Slower and faster: time alone decides.
    OfTime,
    OfAny,
}

impl Words {
    /// Chooses the words for verdicts by these metrics.
    pub fn of(gates: &[Metric]) -> Self {
        if gates.iter().all(|metric| *metric == Metric::Time) { Self::OfTime } else { Self::OfAny }
    }
}

/// Formats the bound of unchanged tests: `within ±2 %`.
pub fn within_bound(bound: impl Into<f64>, glyphs: Glyphs) -> String {
    format!("within {}{}", glyphs.plus_minus(), format::threshold(bound))
}

/// Formats the bounds of unchanged tests with different ones: `within ±2 % to ±15 %`.
pub fn within_bounds(low: f64, high: f64, glyphs: Glyphs) -> String {
    let [lowest, highest] = [low, high].map(format::threshold);
    let within = within_bound(low, glyphs);
    if lowest == highest { within } else { format!("{within} to {}{highest}", glyphs.plus_minus()) }
}

/// Describes the rule of the verdicts: `time, threshold 1 % (unchanged tests exclude 2 %)`.
pub fn rule(run: &Run) -> String {
    let gates: Vec<String> = run.gates.iter().map(ToString::to_string).collect();
    let [threshold, margin] = [run.threshold.fraction(), run.threshold.margin()].map(format::threshold);
    let excluded = if threshold == margin || Words::of(&run.gates) == Words::OfAny {
        String::new()
    } else {
        format!(" (unchanged tests exclude {margin})")
    };
    format!("{}, threshold {threshold}{excluded}", gates.join(", "))
}

/// Returns the status word of a verdict, with its style.
pub(super) fn status(verdict: Verdict, words: Words) -> (&'static str, Style) {
    match (verdict, words) {
        (Verdict::Slower, Words::OfTime) => ("Slower", BAD),
        (Verdict::Slower, Words::OfAny) => ("Worse", BAD),
        (Verdict::Faster, Words::OfTime) => ("Faster", GOOD),
        (Verdict::Faster, Words::OfAny) => ("Better", GOOD),
        (Verdict::ChangedBelowThreshold, _) => ("Changed", WARN),
        (Verdict::Same, _) => ("Unchanged", GOOD),
        (Verdict::Inconclusive, _) => ("Inconclusive", WARN),
        (Verdict::NotMeasured, _) => ("Not measured", STRONG),
    }
}

/// Returns the status word as used within a sentence.
pub(super) fn word(verdict: Verdict, words: Words) -> String {
    status(verdict, words).0.to_lowercase()
}

fn cells(measured: &Measured, style: Style, glyphs: Glyphs) -> [Text; COLUMNS] {
    let change = measured.change;
    let mode = remark(measured.mode);
    let [base, head] = times(measured, glyphs).map(Text::plain);
    if let Some(bound) = &measured.bound {
        let mut cells: [Text; COLUMNS] = Default::default();
        let known = [base, Text::new(DIM, glyphs.arrow()), head, Text::new(style, at_least(bound))];
        known.into_iter().zip(&mut cells).for_each(|(text, cell)| *cell = text);
        cells[COLUMNS - 1] = Text::new(WARN, mode);
        return cells;
    }
    [
        base,
        Text::new(DIM, glyphs.arrow()),
        head,
        Text::new(style, format::percent(change.estimate)),
        Text::plain(tiny_difference(measured).unwrap_or_default()),
        Text::new(DIM, "["),
        Text::new(DIM, format!("{},", format::percent(change.low))),
        Text::new(DIM, format::percent(change.high)),
        Text::new(DIM, "]"),
        Text::new(WARN, mode),
    ]
}

/// Formats the times of both versions; for a stopped version, the time after which it was stopped.
pub fn times(measured: &Measured, glyphs: Glyphs) -> [String; 2] {
    let Measured { base_ns, head_ns, bound, .. } = measured;
    let stopped = bound.as_ref().is_some_and(|bound| bound.limit_ns.is_some());
    let more = |is: bool| if stopped && is { "> " } else { "" };
    let of = |ns: f64, other: f64| format!("{}{}", more(ns > other), format::duration(ns, glyphs));
    [of(*base_ns, *head_ns), of(*head_ns, *base_ns)]
}

pub fn at_least(bound: &Bound) -> String {
    // Round down, so that the bound is never larger than observed.
    let step = if bound.ratio < 10.0 { 0.1 } else { 10f64.powf(bound.ratio.log10().floor() - 1.0) };
    let ratio = (bound.ratio / step).floor() * step;
    if ratio < 10.0 { format!("at least x{ratio:.1}") } else { format!("at least x{ratio:.0}") }
}

/// Returns the remark after figures of first calls or whole processes.
fn remark(mode: Mode) -> &'static str {
    match mode {
        Mode::Steady => "",
        Mode::FirstCall => "(first call)",
        Mode::Cold => "(cold)",
        Mode::Process => "(process)",
    }
}

fn tiny_difference(measured: &Measured) -> Option<String> {
    (measured.base_ns < TINY_NS).then(|| format::difference(measured.head_ns - measured.base_ns))
}

/// Formats change and interval as one phrase: `+4.1 % (+1.2 ns) [+3.0 %, +5.2 %]`.
pub fn phrase(measured: &Measured) -> String {
    let change = measured.change;
    if let Some(bound) = &measured.bound {
        return at_least(bound);
    }
    let difference = tiny_difference(measured).map(|ns| format!(" ({ns})")).unwrap_or_default();
    let [estimate, low, high] = [change.estimate, change.low, change.high].map(format::percent);
    let remark = Some(remark(measured.mode)).filter(|remark| !remark.is_empty());
    let remark = remark.map(|remark| format!(" {remark}")).unwrap_or_default();
    format!("{estimate}{difference} [{low}, {high}]{remark}")
}

/// Formats the deciding figures of a test as one phrase: the change in time, then the changes of other deciding
/// metrics.
pub fn deciding_figures(outcome: &Outcome, run: &Run) -> String {
    let time = outcome.measured.as_ref().map(phrase);
    let others = metrics::deciding(outcome, run.gates_of(outcome));
    time.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// Describes how much an inconclusive test may have changed if that is more than its interval, and which evidence would
/// settle it.
pub fn possible(outcome: &Outcome, run: &Run) -> Option<String> {
    let measured = outcome.measured.as_ref().filter(|_| run.is_inconclusive(outcome))?;
    let Some(possible) = outcome.possible else {
        let (values, layouts) = (measured.sample.estimates.len(), measured.layouts > 1);
        let few = format::count(values, if layouts { "layout" } else { "pair" });
        return (1..FIRST_LOOK).contains(&values).then(|| format!("no bound: {few} of the {FIRST_LOOK} that it takes"));
    };
    let PossibleChange { slower, faster } = possible;
    let sides = [(slower, "slower"), (faster, "faster")].into_iter().filter(|(size, _)| *size > 0.0);
    let sides: Vec<String> = sides.map(|(size, word)| format!("{} {word}", format::magnitude(size))).collect();
    let settling = settling(measured, &possible, run.bound).map(|settling| format!("{settling} would settle it"));
    let change = measured.change;
    let is_end = |(size, end): (f64, f64)| format::magnitude(size) == format::magnitude(end.max(0.0));
    // The interval, which is in the row, need not be said again.
    let beyond = !(is_end((slower, change.high)) && is_end((faster, -change.low)));
    let beyond = beyond.then(|| format!("may be up to {}", sides.join(" or ")));
    let parts: Vec<String> = beyond.into_iter().chain(settling).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Suggestions for more than this many times the existing pairs are left out.
const MOST_TIMES: f64 = 100.0;

/// Returns the evidence that would show or bound a change: pairs, or layouts if code placement causes the uncertainty.
fn settling(measured: &Measured, possible: &PossibleChange, bound: Threshold) -> Option<String> {
    let Change { estimate, low, high } = measured.change;
    // Four times as many pairs halve the interval.
    let enough = estimate.abs().max(bound.fraction() - estimate.abs());
    let times = ((high - low) / 2.0 / enough).powi(2).ceil();
    let is_placed = possible.slower > high.max(0.0) || possible.faster > (-low).max(0.0);
    match times {
        _ if is_placed => Some("pairs over other layouts of its code".to_owned()),
        times if times > 1.0 && times <= MOST_TIMES => Some(format!("about {times} times as many pairs")),
        _ => None,
    }
}

fn details(outcome: &Outcome, run: &Run, detail: Detail, glyphs: Glyphs) -> Vec<String> {
    let gates = run.gates_of(outcome);
    let check = outcome.cross_check.as_ref().map(ToString::to_string);
    let responsible = outcome.explanation.iter().flat_map(|explanation| causes::lines(explanation, glyphs));
    let responsible = responsible.chain(unexplained_reason(outcome));
    if detail == Detail::Brief {
        let work =
            metrics::changed_metrics(outcome, gates, glyphs).into_iter().chain(metrics::programs(outcome, glyphs));
        return work.chain(check).chain(responsible).collect();
    }
    let tree = outcome.explanation.iter().flat_map(|explanation| causes::tree_lines(explanation, glyphs));
    let selected = outcome.selected_because.as_ref();
    let selected = selected.map(|because| format!("selected: {}", format::one_line(&because.to_string())));
    let notes = outcome.notes.iter().map(|note| format!("note: {}", format::one_line(&note.text(glyphs))));
    let costs = metrics::all(outcome, glyphs);
    outcome
        .measured
        .iter()
        .map(statistics)
        .chain(outcome.measured.as_ref().and_then(|measured| throughput(measured, glyphs)))
        .chain(costs)
        .chain(metrics::programs(outcome, glyphs))
        .chain(check)
        .chain(responsible)
        .chain(tree)
        .chain(selected)
        .chain(notes)
        .collect()
}

/// Returns the reason why no function is named, unless the explanation has it.
pub fn unexplained_reason(outcome: &Outcome) -> Option<String> {
    let why = outcome.unexplained.as_ref().filter(|_| outcome.explanation.is_none())?;
    Some(format!("not explained: {}", format::one_line(&why.to_string())))
}

/// Names the class of an effect size.
pub fn effect_class(class: EffectClass) -> &'static str {
    match class {
        EffectClass::Trivial => "trivial",
        EffectClass::Small => "small",
        EffectClass::Medium => "medium",
        EffectClass::Large => "large",
    }
}

/// Formats the statistics behind the figures in a line.
pub fn statistics(measured: &Measured) -> String {
    if let Some(bound) = &measured.bound {
        return calls(bound, measured.p_value);
    }
    let Measured { pairs, layouts, detectable, p_value, effect, mode, .. } = measured;
    let class = effect_class(effect.class);
    let mode = match mode {
        Mode::Steady => "steady state",
        Mode::FirstCall => "first call in a forked child",
        Mode::Cold => "first call in a process",
        Mode::Process => "whole process",
    };
    let layouts = if *layouts > 1 { format!(" over {layouts} layouts") } else { String::new() };
    format!(
        "{}, Cohen's d {} ({class}), {}{layouts}, detectable {} (power {:.0} %), {mode}",
        format::p_value(*p_value),
        format::number(effect.d),
        format::count(*pairs, "pair"),
        format::magnitude(*detectable),
        100.0 * POWER,
    )
}

/// Formats the throughput of a benchmark on both versions in a line.
pub fn throughput(measured: &Measured, glyphs: Glyphs) -> Option<String> {
    let (unit, per_second) = measured.per_second()?;
    let Sides { base, head } = per_second.map(|rate| format::rate(rate, unit));
    Some(format!("throughput {base} {} {head}", glyphs.arrow()))
}

/// Describes the single calls behind a bound.
fn calls(bound: &Bound, chance: f64) -> String {
    let Sides { base, head } = bound.calls;
    let stopped = bound.limit_ns.map(|ns| format!(", stopped after {}", format::duration(ns, Glyphs::Ascii)));
    format!(
        "single calls in random order, {base} of base and {head} of head{}: {}",
        stopped.unwrap_or_default(),
        format::p_value(chance)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Note;
    use perfunit_model::samples::{bounded, measured, open_within, outcome, run};

    #[test]
    fn a_bound_is_never_more_than_was_seen() {
        let check = |ratio: f64, expected: &str| {
            assert_eq!(at_least(&Bound { ratio, limit_ns: None, calls: Sides { base: 62, head: 2 } }), expected);
        };
        check(2.96, "at least x2.9");
        check(17.9, "at least x17");
        check(13_870.0, "at least x13000");
    }

    #[test]
    fn what_was_stopped_took_longer_than_its_limit() {
        let hung = bounded(3e5, 2.5e9, Some(2.5e9));
        assert_eq!(times(&hung, Glyphs::Ascii), ["300 us", "> 2.50 s"]);
        assert_eq!(times(&bounded(4e9, 3e5, Some(4e9)), Glyphs::Ascii), ["> 4.00 s", "300 us"]);
        assert_eq!(times(&bounded(3e5, 2.5e9, None), Glyphs::Ascii), ["300 us", "2.50 s"]);
        let expected = "single calls in random order, 62 of base and 2 of head, stopped after 2.50 s: p = 0.0010";
        assert_eq!(statistics(&hung), expected);
        assert_eq!(phrase(&hung), "at least x8300");
    }

    #[test]
    fn an_inconclusive_test_says_what_it_may_have_changed_by_and_what_would_settle_it() {
        let said = |low, high| {
            let run = run(vec![open_within("a", 1e3, low, high)]);
            possible(&run.outcomes[0], &run)
        };
        assert_eq!(said(-0.04, 0.03), None);
        // Half of the interval is 0.3; 0.1 would suffice.
        let nine = "about 9 times as many pairs would settle it";
        assert_eq!(said(-0.3, 0.3).unwrap(), nine);
        // The estimate is 0.2, and half of the interval 0.25.
        let change = "about 2 times as many pairs would settle it";
        assert_eq!(said(-0.05, 0.45).unwrap(), change);
        // The interval says all.
        assert_eq!(said(0.02, 0.12), None);
        // Code placement, not the interval, causes the uncertainty.
        let mut placed = open_within("a", 1e3, -0.02, 0.02);
        placed.possible = PossibleChange::of(&placed.measured.as_ref().unwrap().change, 0.15);
        let run = run(vec![placed]);
        let layouts =
            "may be up to 17.3 % slower or 14.8 % faster; pairs over other layouts of its code would settle it";
        assert_eq!(possible(&run.outcomes[0], &run).unwrap(), layouts);
        let mut run = run;
        run.outcomes[0].possible = None;
        assert_eq!(possible(&run.outcomes[0], &run), None);
        run.outcomes[0].measured.as_mut().unwrap().sample.estimates.truncate(7);
        assert_eq!(possible(&run.outcomes[0], &run).unwrap(), "no bound: 7 pairs of the 8 that it takes");
    }

    #[test]
    fn the_largest_possible_slowdown_comes_first_and_what_is_unknown_before_it() {
        let mut outcomes = [("a", -0.3, 0.1), ("b", -0.1, 0.3), ("c", -0.2, 0.2), ("d", -0.1, 0.1)]
            .map(|(name, low, high)| open_within(name, 1e3, low, high));
        outcomes[3].possible = None;
        let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
        sort_by_possible(&mut sorted);
        assert_eq!(sorted.iter().map(|o| o.test.name.as_str()).collect::<Vec<_>>(), ["d", "b", "c", "a"]);
    }

    #[test]
    fn the_largest_change_comes_first_then_the_name() {
        let outcomes = [("c", 0.2), ("b", 0.3), ("a", 0.2), ("d", f64::NAN)]
            .map(|(name, change)| outcome(name, Verdict::Slower, Some(measured(1e3, change))));
        let names: Vec<&str> =
            sort_by_change(&outcomes, Verdict::Slower).iter().map(|o| o.test.name.as_str()).collect();
        assert_eq!(names, ["d", "b", "a", "c"]);
        let first_call = Note::FirstCallDecides { later_ns: Sides { base: 1e3, head: 1e3 } };
        let mut outcomes = outcomes;
        outcomes[1].notes.push(first_call);
        assert_eq!(sort_by_change(&outcomes, Verdict::Slower).last().unwrap().test.name, "b");
    }

    #[test]
    fn tiny_tests_show_nanoseconds_and_cold_ones_say_so() {
        let mut tiny = measured(4.0, 0.25);
        assert_eq!(phrase(&tiny), "+25.0 % (+1.0 ns) [+24.0 %, +26.0 %]");
        tiny.base_ns = 50.0;
        tiny.mode = Mode::Cold;
        assert_eq!(phrase(&tiny), "+25.0 % [+24.0 %, +26.0 %] (cold)");
    }
}
