//! Counts of the tests of each kind: the same numbers in all reports.

use super::figures::{self, Words};
use perfunit_model::format::{Glyphs, count, threshold};
use perfunit_model::{Measured, NothingBecause, Outcome, Reason, Run, Selection, Side, Threshold, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns the number of measured tests.
pub fn count_measured(run: &Run) -> usize {
    run.outcomes.len() - run.count(Verdict::NotMeasured)
}

/// Returns the reason if selection left nothing to measure.
pub fn nothing_because(run: &Run) -> Option<NothingBecause> {
    run.selection.nothing_because.filter(|_| count_measured(run) == 0)
}

/// Counts the measured tests that could not have detected the requested change, as a sentence without a full stop.
pub fn insensitive(run: &Run) -> Option<String> {
    let asked: Vec<f64> = run.insensitive().map(|measured| measured.asked.margin()).collect();
    let first = *asked.first()?;
    let all = count(count_measured(run), "test");
    let change = if asked.iter().all(|each| each.to_bits() == first.to_bits()) {
        format!("a change of {}", threshold(first))
    } else {
        "a change as small as its threshold".to_owned()
    };
    Some(format!("{} of {all} could not have detected {change}", asked.len()))
}

/// Returns the bounds of inconclusive tests that are unchanged within a bound, the smallest first, each with its tests.
pub fn within(run: &Run) -> impl Iterator<Item = (Threshold, Vec<&Outcome>)> {
    let unchanged =
        move |bound| run.outcomes.iter().filter(move |outcome| run.unchanged_within(outcome) == Some(bound));
    let groups = run.bound.bounds().map(move |bound| (bound, unchanged(bound).collect::<Vec<_>>()));
    groups.filter(|(_, tests)| !tests.is_empty())
}

/// Formats the label of tests that are unchanged within a bound: `unchanged (within ±2 %)`.
pub fn unchanged_within(within: impl Into<f64>, glyphs: Glyphs) -> String {
    format!("unchanged ({})", figures::within_bound(within, glyphs))
}

/// Counts the tests of a run by verdict, each count with its label. Zero counts are left out, as are unaffected tests.
///
/// Inconclusive tests that are unchanged within a bound are counted apart, with the verdict [`Verdict::Same`].
pub fn by_verdict(run: &Run, glyphs: Glyphs) -> Vec<(Verdict, String)> {
    let words = Words::of(&run.all_gates());
    let inconclusive = run.inconclusive().count();
    let bounded = run.count(Verdict::Inconclusive) - inconclusive;
    let mut counts = Vec::new();
    for verdict in Verdict::ALL {
        let tests = match verdict {
            Verdict::NotMeasured => Unmeasured::of(run).not_measured,
            Verdict::Inconclusive => inconclusive,
            Verdict::Slower => run.slower().count(),
            _ => run.count(verdict),
        };
        let label = label(verdict, words, run, glyphs);
        match verdict {
            Verdict::Same => counts.push((verdict, tests + bounded, label)),
            Verdict::Slower => {
                counts
                    .extend([(verdict, tests, label), (verdict, run.accepted_tests().count(), "accepted".to_owned())]);
            }
            _ => counts.push((verdict, tests, label)),
        }
    }
    let counts = counts.into_iter().filter(|(_, tests, _)| *tests > 0);
    counts.map(|(verdict, tests, label)| (verdict, format!("{tests} {label}"))).collect()
}

fn label(verdict: Verdict, words: Words, run: &Run, glyphs: Glyphs) -> String {
    let tests: Vec<&Outcome> = run.outcomes.iter().filter(|outcome| outcome.verdict == verdict).collect();
    let of_open =
        if verdict == Verdict::Same { within(run).map(|(bound, _)| f64::from(bound)).collect() } else { Vec::new() };
    let bounds = of_open.into_iter().map(|bound| (bound, bound)).chain(bounds(&tests, run)).reduce(wider);
    let bounds = bounds.filter(|_| words == Words::OfTime);
    let (probable, failing) = (run.probably_slower().count(), run.failing(Side::Head).count());
    match (verdict, bounds) {
        (Verdict::ChangedBelowThreshold, Some((_, high))) => format!("changed by less than {}", threshold(high)),
        (Verdict::ChangedBelowThreshold, None) => "changed by less than the threshold".to_owned(),
        (Verdict::Same, Some((low, high))) => format!("unchanged ({})", figures::within_bounds(low, high, glyphs)),
        (Verdict::Inconclusive, _) if probable > 0 => format!("inconclusive ({probable} probably slower)"),
        (Verdict::NotMeasured, _) if failing > 0 => format!("not measured ({failing} newly failing)"),
        _ => figures::word(verdict, words),
    }
}

/// Returns the bound that reports name for an unchanged test, or one that changed below the threshold: the bound of its
/// margin, or that of its interval if it is smaller. The run's margin is the smallest bound that intervals give.
pub fn bound(outcome: &Outcome, run: &Run) -> f64 {
    let usual = run.threshold.margin();
    let Some(measured) = &outcome.measured else { return usual };
    let of_margin = bound_of_margin(measured, run);
    let of_interval = outcome.possible.and_then(|possible| possible.within(run.bound)).map(f64::from);
    of_interval.map_or(of_margin, |bound| bound.max(usual).min(of_margin))
}

/// Returns the margin of a test, rounded up to the next of the run's bounds if it is larger than the run's margin. A margin
/// beyond these bounds that was not requested is rounded up to whole per cents.
fn bound_of_margin(measured: &Measured, run: &Run) -> f64 {
    let margin = measured.margin();
    if margin <= run.threshold.margin() {
        return margin;
    }
    let next = run.bound.bounds().find(|bound| bound.fraction() >= margin).map(f64::from);
    let requested = (margin <= measured.asked.margin()).then_some(margin);
    next.or(requested).unwrap_or_else(|| (100.0 * margin).ceil() / 100.0)
}

/// Returns the smallest and the largest [`bound`] of tests.
pub fn bounds(tests: &[&Outcome], run: &Run) -> Option<(f64, f64)> {
    let bounds = tests.iter().map(|outcome| bound(outcome, run)).map(|bound| (bound, bound));
    bounds.reduce(wider)
}

fn wider((low, high): (f64, f64), (other_low, other_high): (f64, f64)) -> (f64, f64) {
    (low.min(other_low), high.max(other_high))
}

/// Describes the targets with tests that can have changed: ` in 3 of 12 targets`, ` in 1 target`.
pub fn in_targets(selection: &Selection) -> String {
    let Selection { targets, targets_reached: reached, .. } = *selection;
    match targets {
        0 => String::new(),
        _ if reached == targets => format!(" in {}", count(targets, "target")),
        _ => format!(" in {reached} of {}", count(targets, "target")),
    }
}

/// The slowdown that a run excludes for most of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excluded {
    /// The slowdown, as a fraction of base.
    pub slower_by: f64,
    /// Tests that exclude such a slowdown.
    pub tests: usize,
    /// Measured tests, and those that should have been measured but were not.
    pub of: usize,
}

impl Excluded {
    /// Returns the smallest bound that at least nine in ten tests exclude, otherwise the largest bound; `None` if no test
    /// excludes it. Tests that were left open exclude nothing.
    pub fn of(run: &Run) -> Option<Self> {
        let of = count_measured(run) + run.outcomes.iter().filter(|outcome| is_left_open(outcome)).count();
        let all = run.bound.bounds().map(|bound| {
            let slower_by = bound.fraction();
            let tests = run.outcomes.iter().filter(|outcome| excludes(outcome, slower_by)).count();
            Self { slower_by, tests, of }
        });
        let all: Vec<Self> = all.collect();
        let most = all.iter().find(|excluded| 10 * excluded.tests >= 9 * of).or(all.last()).copied();
        most.filter(|excluded| excluded.tests > 0)
    }

    /// Describes the bound of a run: `58 of 64 measured tests are not slower by 5 % or more`.
    pub fn describe(run: &Run) -> Option<String> {
        let Self { slower_by, tests, of } = Self::of(run)?;
        let are = if tests == 1 { "is" } else { "are" };
        let all = count(of, if of == count_measured(run) { "measured test" } else { "test" });
        // A bound allows for the placement of code, the margin of an unchanged test does not.
        let is_narrower = |outcome: &Outcome| bound(outcome, run) <= slower_by && !excludes(outcome, slower_by);
        let unchanged = |outcome: &&Outcome| outcome.verdict == Verdict::Same && outcome.possible.is_some();
        let has_narrower = run.outcomes.iter().filter(unchanged).any(is_narrower);
        let wherever = if has_narrower { ", wherever their code is placed" } else { "" };
        Some(format!("{tests} of {all} {are} not slower by {} or more{wherever}", threshold(slower_by)))
    }

    /// Describes the bound if verdicts do not imply it, because a test has no verdict.
    pub fn describe_beyond_verdicts(run: &Run) -> Option<String> {
        Self::describe(run).filter(|_| run.count(Verdict::Inconclusive) > 0)
    }
}

fn excludes(outcome: &Outcome, slower_by: f64) -> bool {
    outcome.possible.is_some_and(|possible| possible.slower < slower_by)
}

/// Returns true if the test should have been measured but was not, so that it may have got slower.
pub fn is_left_open(outcome: &Outcome) -> bool {
    let is_open = outcome.reason.as_ref().map_or(outcome.selected_because.is_some(), Reason::leaves_open);
    outcome.verdict == Verdict::NotMeasured && is_open
}

/// Returns true if selection dropped the test because the change cannot reach it.
pub fn is_unaffected(outcome: &Outcome) -> bool {
    let dropped = outcome.reason.is_none() && outcome.selected_because.is_none();
    let same = outcome.reason.as_ref().is_some_and(|reason| reason.is_unaffected() || reason.is_only_data_changed());
    outcome.verdict == Verdict::NotMeasured && (dropped || same)
}

/// Counts the tests with nothing to measure, by kind, each count with its predicate: `2 do not execute changed code`.
pub fn unaffected(run: &Run) -> Vec<(usize, &'static str)> {
    let not_executing = run.selection.reachable.saturating_sub(run.selection.executed);
    let data = only_data_changed(run.outcomes.iter().filter_map(|outcome| outcome.reason.as_ref()));
    let others = not_executing + data.map_or(0, |(tests, _)| tests);
    let unreached = run.outcomes.iter().filter(|outcome| is_unaffected(outcome)).count().saturating_sub(others);
    let execute = if not_executing == 1 { "does not execute changed code" } else { "do not execute changed code" };
    let kinds = [Some((unreached, "cannot have changed")), Some((not_executing, execute)), data];
    kinds.into_iter().flatten().filter(|(tests, _)| *tests > 0).collect()
}

/// Returns `51 of 54 tests cannot have changed` if no test was measured, although others may have changed.
pub fn only_unaffected(run: &Run) -> Option<String> {
    if count_measured(run) > 0 || run.selection.nothing_because.is_some() {
        return None;
    }
    let mut kinds = unaffected(run).into_iter();
    let (tests, predicate) = kinds.next()?;
    let first = format!("{tests} of {} {predicate}", count(run.selection.found, "test"));
    let further: Vec<String> = kinds.map(|(tests, predicate)| format!("{tests} {predicate}")).collect();
    Some(match further.split_last() {
        None => first,
        Some((last, [])) => format!("{first} and {last}"),
        Some((last, others)) => format!("{first}, {} and {last}", others.join(", ")),
    })
}

/// Returns `51 of 54 tests cannot have changed; no other test was measured` if that is so.
pub fn no_other_measured(run: &Run) -> Option<String> {
    only_unaffected(run).map(|unaffected| format!("{unaffected}; no other test was measured"))
}

/// Describes that no test was measured against this version, although some can have changed.
pub fn describe_unmeasured(run: &Run, version: &str) -> String {
    format!("{} against {version}", no_other_measured(run).unwrap_or_else(|| "no test was measured".to_owned()))
}

/// Counts the tests that differ only in data files, given the reasons of all tests: `2 differ only in data files`.
pub fn only_data_changed<'a>(reasons: impl Iterator<Item = &'a Reason>) -> Option<(usize, &'static str)> {
    match reasons.filter(|reason| reason.is_only_data_changed()).count() {
        0 => None,
        1 => Some((1, "differs only in data files")),
        tests => Some((tests, "differ only in data files")),
    }
}

fn is_filtered(outcome: &Outcome) -> bool {
    outcome.reason == Some(Reason::Filtered)
}

/// Returns true if a count is all there is to report about the test: it is unaffected, excluded by a filter, or in
/// another shard.
pub fn is_no_shortcoming(outcome: &Outcome) -> bool {
    is_unaffected(outcome) || outcome.is_of_other_shard() || is_filtered(outcome)
}

/// Tests without figures, by category. The counts add up to the tests that are `not-measured`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmeasured {
    /// Tests that can have changed and were not measured.
    pub not_measured: usize,
    /// Tests excluded by a filter of the command line or the configuration.
    pub skipped_by_filter: usize,
    /// Tests that cannot have changed, do not execute changed code, or differ only in their data files.
    pub unaffected: usize,
    /// Tests that other shards measure.
    pub other_shards: usize,
}

impl Unmeasured {
    /// Counts the tests of a run.
    pub fn of(run: &Run) -> Self {
        let mut counts = Self::default();
        for outcome in run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured) {
            *match outcome {
                outcome if outcome.is_of_other_shard() => &mut counts.other_shards,
                outcome if is_filtered(outcome) => &mut counts.skipped_by_filter,
                outcome if is_unaffected(outcome) => &mut counts.unaffected,
                _ => &mut counts.not_measured,
            } += 1;
        }
        counts
    }

    /// Returns the counts that a summary lists in addition to verdicts, with their labels.
    pub fn others(self) -> impl Iterator<Item = (usize, &'static str)> {
        let others = [(self.skipped_by_filter, "skipped by filter"), (self.other_shards, "in other shards")];
        others.into_iter().filter(|(tests, _)| *tests > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Document;
    use crate::{Format, Rendering, TextOptions, render};
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::{measured, open_within, outcome, run, unmeasured};
    use perfunit_model::{Denied, Metric, PossibleChange, variant_name};

    /// Builds a run with tests of each kind, in different numbers.
    fn of_each_kind() -> Run {
        let figures = || Some(measured(1e3, 0.3));
        let mut outcomes = vec![
            outcome("slower", Verdict::Slower, figures()),
            outcome("open", Verdict::Inconclusive, figures()),
            outcome("same", Verdict::Same, Some(measured(1e3, 0.0))),
        ];
        let reasons = [
            (2, Reason::Ignored),
            (3, Reason::Filtered),
            (4, Reason::SameCode),
            (5, Reason::OtherShard { shard: 2, shards: 3 }),
        ];
        for (tests, reason) in reasons {
            outcomes.extend(
                (0..tests).map(|n| unmeasured(&format!("{}{n}", variant_name(reason.kind())), Some(reason.clone()))),
            );
        }
        run(outcomes)
    }

    #[test]
    fn a_run_excludes_the_least_slowdown_that_nine_tests_in_ten_cannot_have() {
        let open = |low, high| open_within("a", 1e3, low, high);
        let said = |wide: usize, narrow: usize, others: Vec<Outcome>| {
            let tests =
                std::iter::repeat_n(open(-0.3, 0.3), wide).chain(std::iter::repeat_n(open(-0.03, 0.03), narrow));
            Excluded::describe(&run(tests.chain(others).collect()))
        };
        let late = || unmeasured("late", Some(Reason::BudgetUsedUp));
        let other = || unmeasured("other", Some(Reason::SameCode));
        let same = || outcome("same", Verdict::Same, Some(measured(1e3, 0.0)));
        assert_eq!(said(1, 9, vec![other()]).unwrap(), "9 of 10 measured tests are not slower by 5 % or more");
        assert_eq!(said(2, 9, vec![other()]).unwrap(), "9 of 11 measured tests are not slower by 10 % or more");
        let removed = unmeasured("removed", Some(Reason::Removed));
        assert_eq!(said(1, 9, vec![removed]).unwrap(), "9 of 10 measured tests are not slower by 5 % or more");
        // A test that should have been measured excludes nothing.
        assert_eq!(said(1, 9, vec![late()]).unwrap(), "9 of 11 tests are not slower by 10 % or more");
        let late = |tests| std::iter::repeat_n(late(), tests).collect();
        assert_eq!(said(0, 9, late(1)).unwrap(), "9 of 10 tests are not slower by 5 % or more");
        assert_eq!(said(1, 9, late(490)).unwrap(), "9 of 500 tests are not slower by 10 % or more");
        assert_eq!(said(0, 0, vec![same()]).unwrap(), "1 of 1 measured test is not slower by 2 % or more");
        assert_eq!(said(3, 0, late(1)), None);
        assert_eq!(said(0, 0, Vec::new()), None);
        // A speed-up is not a slowdown.
        assert_eq!(said(0, 0, vec![open(-0.5, 0.004)]).unwrap(), "1 of 1 measured test is not slower by 1 % or more");
        assert_eq!(Excluded::describe_beyond_verdicts(&run(vec![same()])), None);
        let placed = PossibleChange::of(&same().measured.unwrap().change, 0.15);
        let elsewhere = Outcome { possible: placed, ..same() };
        assert_eq!(
            said(1, 9, vec![elsewhere]).unwrap(),
            "9 of 11 measured tests are not slower by 10 % or more, wherever their code is placed"
        );
        // Tests judged by other metrics have no figures of time.
        let by_others = Outcome { possible: None, ..same() };
        assert_eq!(Excluded::of(&run(vec![by_others])), None);
    }

    #[test]
    fn only_tests_that_should_have_been_measured_are_left_open() {
        // A lost outcome of a selected test has no reason.
        assert!(!is_left_open(&unmeasured("a", None)));
        assert!(is_left_open(&outcome("a", Verdict::NotMeasured, None)));
        assert!(!is_left_open(&open_within("a", 1e3, -0.3, 0.3)));
    }

    #[test]
    fn tests_are_grouped_by_the_smallest_bound() {
        let tests = [(-0.01, 0.03), (-0.015, 0.0), (-0.04, 0.01), (-0.02, 0.3), (-0.08, 0.0)];
        let tests = tests.map(|(low, high)| open_within("a", 1e3, low, high));
        let groups = |run: &Run| {
            let groups = within(run).map(|(bound, tests)| (bound.to_string(), tests.len()));
            groups.collect::<Vec<_>>()
        };
        let mut run = run(tests.to_vec());
        let of = |bounds: &[(&str, usize)]| {
            bounds.iter().map(|(bound, tests)| ((*bound).to_owned(), *tests)).collect::<Vec<_>>()
        };
        assert_eq!(groups(&run), of(&[("2%", 1), ("5%", 2), ("10%", 1)]));
        run.set_bound("50%".parse().unwrap());
        assert_eq!(groups(&run), of(&[("2%", 1), ("5%", 2), ("10%", 1), ("50%", 1)]));
        run.set_bound("4%".parse().unwrap());
        assert_eq!(groups(&run), of(&[("2%", 1), ("4%", 1)]));
    }

    #[test]
    fn the_bound_is_the_smaller_one_of_the_margin_and_the_interval() {
        let with = |threshold, asked: &str, possible: Option<(f64, f64)>| {
            let asked = asked.parse().unwrap();
            let measured = Measured { threshold, asked, ..measured(6.5, 0.01) };
            let possible = possible.map(|(slower, faster)| PossibleChange { slower, faster });
            Outcome { possible, ..outcome("a", Verdict::ChangedBelowThreshold, Some(measured)) }
        };
        let said = |outcome: &Outcome| {
            let run = Run { threshold: Threshold::default(), ..run(vec![outcome.clone()]) };
            threshold(bound(outcome, &run))
        };
        assert_eq!(said(&with(0.1605, "1%", Some((0.057, 0.0)))), "10 %");
        assert_eq!(said(&with(0.1605, "1%", Some((0.12, 0.0)))), "17 %");
        assert_eq!(said(&with(0.1605, "1%", None)), "17 %");
        assert_eq!(said(&with(0.125, "12.5%", Some((0.057, 0.0)))), "10 %");
        assert_eq!(said(&with(0.125, "12.5%", Some((0.11, 0.0)))), "12.5 %");
        // A larger margin never gives a smaller bound, and intervals give none below the run's margin.
        for margin in [0.02, 0.03, 0.08, 0.16] {
            assert_eq!(said(&with(margin, "1%", Some((0.004, 0.0)))), "2 %");
        }
        assert_eq!(said(&with(0.03, "1%", Some((0.015, 0.02)))), "5 %");
        assert_eq!(said(&with(0.08, "1%", Some((0.015, 0.02)))), "5 %");
        assert_eq!(said(&with(0.08, "1%", Some((0.07, 0.0)))), "10 %");
        // The bound of a test with a margin below the run's is its margin, also where placement may hide more.
        assert_eq!(said(&with(0.005, "0.5%", Some((0.004, 0.0)))), "1 %");
        assert_eq!(said(&with(0.01, "1%", Some((0.035, 0.03)))), "2 %");
    }

    #[test]
    fn all_formats_have_the_same_numbers() {
        let run = of_each_kind();
        let text = |format| without_escapes(&render(&run, format, &Rendering::default()));
        let summary = text(Format::Text);
        let summary = summary.lines().last().unwrap();
        let words = "1 slower, 1 unchanged (within +-10 %), 1 inconclusive, 2 not measured, 3 skipped by filter, 5 in other shards";
        assert!(summary.contains(words), "{summary}");
        let page = text(Format::Markdown);
        assert!(page.contains("1 inconclusive, 2 not measured, 3 skipped by filter, 5 in other shards"), "{page}");
        let page = text(Format::Html);
        for (tests, kind) in [(2, "not measured"), (3, "skipped by filter"), (4, "unaffected"), (5, "in other shards")]
        {
            assert!(page.contains(&format!("<b>{tests}</b> {kind}")), "{kind}");
        }
        let document: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
        let unmeasured = serde_json::json!({
            "not_measured": 2, "skipped_by_filter": 3, "unaffected": 4, "other_shards": 5,
        });
        let summary = &document["summary"];
        assert_eq!(
            (&summary["unmeasured"], &summary["verdicts"]["not-measured"]),
            (&unmeasured, &serde_json::json!(14))
        );
        let junit = text(Format::Junit);
        assert!(junit.contains("skipped=\"14\"") && junit.contains("failures=\"1\""), "{junit}");
    }
    #[test]
    fn tests_that_could_not_have_shown_the_change_are_counted() {
        let with = |verdict, threshold, detectable| {
            outcome("a", verdict, Some(Measured { detectable, threshold, ..measured(1e3, 0.0) }))
        };
        // The intervals of tests with a verdict exclude such a change.
        let sensitive =
            [with(Verdict::Same, 0.1, 0.3), with(Verdict::Slower, 0.2, 0.3), with(Verdict::Inconclusive, 0.1, 0.05)];
        assert_eq!(insensitive(&run(sensitive.to_vec())), None);
        let mut outcomes = sensitive.to_vec();
        outcomes.extend([with(Verdict::Same, 0.2, 0.05), with(Verdict::Inconclusive, 0.1, 0.3)]);
        let mut run = run(outcomes);
        let expected = "2 of 5 tests could not have detected a change of 10 %";
        assert_eq!(insensitive(&run).as_deref(), Some(expected));
        let text = without_escapes(&crate::text::render(&run, &TextOptions::default(), Denied::default()));
        assert!(text.lines().nth(2).is_some_and(|line| line.trim() == format!("Limits  {expected}")), "{text}");
        assert_eq!(Document::from(&run).summary.insensitive, 2);
        // Time does not decide, so no change of time was requested.
        run.gates = vec![Metric::Allocations];
        assert_eq!(insensitive(&run), None);
    }
}
