//! What was not measured and why: one group for each kind of reason, in the order of [`Reason`].

use super::failing::is_failing;
use super::figures::Detail;
use super::format::{count, one_line};
use super::reason::failed_on;
use super::screen::{INDENT, Screen};
use super::style::{DIM, STRONG, Text, test_id};
use crate::model::{Outcome, Reason, Run, Side, Verdict};
use std::collections::BTreeMap;

/// Names shown of a group unless everything is asked for.
const NAMES: usize = 3;

/// Whether selection dropped the test: nothing that changed can reach it, so there is nothing to explain.
pub fn is_unaffected(outcome: &Outcome) -> bool {
    let dropped = outcome.reason.is_none() && outcome.selected_because.is_empty();
    let same = matches!(outcome.reason, Some(Reason::SameExecutable | Reason::SameCode | Reason::NotExecuted { .. }));
    outcome.verdict == Verdict::NotMeasured && (dropped || same)
}

/// Whether a filter left the test out.
pub fn is_filtered(outcome: &Outcome) -> bool {
    outcome.reason == Some(Reason::Filtered)
}

/// Whether there is nothing to be said of the test beyond a count: it was dropped, left out by a filter, or is another
/// shard's.
pub fn is_no_shortcoming(outcome: &Outcome) -> bool {
    is_unaffected(outcome) || outcome.is_of_other_shard() || is_filtered(outcome)
}

/// Whether a test stands in this section: not if it stands above all others already.
fn is_listed(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::NotMeasured && !is_no_shortcoming(outcome) && !is_failing(outcome)
}

/// Writes all groups, then the targets that are never measured.
pub fn write(run: &Run, detail: Detail, screen: &mut Screen) {
    let mut groups: BTreeMap<usize, Vec<&Outcome>> = BTreeMap::new();
    for outcome in run.outcomes.iter().filter(|outcome| is_listed(outcome)) {
        groups.entry(kind(outcome.reason.as_ref()).0).or_default().push(outcome);
    }
    let mut section = Section { screen, started: false };
    for group in groups.values() {
        write_group(group, detail, &mut section);
    }
    for target in &run.selection.unmeasured_targets {
        section.heading(&Text::plain(one_line(target)));
    }
}

/// All tests without figures, those that cannot have changed included: what they have in common, and who they are.
pub fn groups(run: &Run) -> Vec<(String, Vec<&Outcome>)> {
    let mut groups: BTreeMap<usize, Vec<&Outcome>> = BTreeMap::new();
    for outcome in run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured) {
        groups.entry(kind(outcome.reason.as_ref()).0).or_default().push(outcome);
    }
    let why = |group: &[&Outcome]| shared_reason(group).unwrap_or_else(|| kind(group[0].reason.as_ref()).1.to_owned());
    groups.into_values().map(|group| (why(&group), group)).collect()
}

/// Lines of which only the first carries the status word.
struct Section<'a> {
    screen: &'a mut Screen,
    started: bool,
}

impl Section<'_> {
    fn heading(&mut self, text: &Text) {
        if self.started {
            self.screen.below(INDENT, text);
        } else {
            self.screen.status("Not measured", STRONG, text);
            self.started = true;
        }
    }

    fn item(&mut self, text: &Text) {
        self.screen.below(INDENT + 2, text);
    }
}

fn write_group(group: &[&Outcome], detail: Detail, section: &mut Section<'_>) {
    let shared = shared_reason(group);
    let why = shared.clone().unwrap_or_else(|| kind(group[0].reason.as_ref()).1.to_owned());
    section.heading(&Text::new(STRONG, count(group.len(), "test")).and(": ").and(why));
    let shown = if detail == Detail::Full { group } else { &group[..group.len().min(NAMES)] };
    let more = group.len() - shown.len();
    if shared.is_none() && (detail == Detail::Full || is_worth_a_line(group[0].reason.as_ref())) {
        for outcome in shown {
            section.item(&test_id(&outcome.test).with(DIM, format!("  {}", particulars(outcome.reason.as_ref()))));
        }
        if more > 0 {
            section.item(&Text::new(DIM, format!("... and {more} more (-v)")));
        }
    } else {
        let names = shown.iter().map(|outcome| test_id(&outcome.test));
        let list = names.reduce(|list, name| list.and(", ").join(name)).unwrap_or_default();
        section.item(&if more > 0 { list.with(DIM, format!(", ... and {more} more (-v)")) } else { list });
    }
}

/// The reason in full if the whole group has the same.
fn shared_reason(group: &[&Outcome]) -> Option<String> {
    let first = group[0].reason.as_ref()?;
    group.iter().all(|outcome| outcome.reason.as_ref() == Some(first)).then(|| one_line(&first.to_string()))
}

/// Position among the groups, and words for a group whose tests differ in particulars.
fn kind(reason: Option<&Reason>) -> (usize, &'static str) {
    match reason {
        Some(reason) if reason.failing_side() == Some(Side::Head) => (0, "pass on base and fail on head"),
        Some(reason) if reason.failing_side() == Some(Side::Base) => (1, "fail on base and pass on head"),
        Some(Reason::Fails { .. }) => (2, "fail"),
        Some(Reason::Crashes { .. }) => (3, "exit or crash the process"),
        Some(Reason::TimedOut { .. }) => (4, "timed out (--timeout)"),
        Some(Reason::TooLong { .. }) => (5, "too long for the budget (--per-test-budget)"),
        Some(Reason::BudgetUsedUp) => (6, "the run's --budget was used up"),
        Some(Reason::Interrupted) => (7, "interrupted"),
        Some(Reason::NotCaptured { .. }) => (8, "not captured"),
        Some(Reason::TestChanged { .. }) => (9, "changed test code: neither version of it works on both sides"),
        Some(Reason::New) => (10, "new"),
        Some(Reason::Removed) => (11, "removed"),
        Some(Reason::FoldedAway { .. }) => (12, "nothing left to measure: the optimiser removed the work"),
        Some(Reason::NotConfirmed | Reason::Unconfirmed { .. }) => (13, "not confirmed"),
        Some(Reason::AsPlacesDo { .. }) => (26, "no more than moved code can fake"),
        Some(Reason::TooNoisy) => (14, "too noisy"),
        Some(Reason::Ignored) => (15, "ignored"),
        Some(Reason::Filtered) => (16, "excluded by the filter"),
        Some(Reason::Skipped { .. }) => (23, "skipped"),
        Some(Reason::DataChanged { .. }) => (17, "unchanged code, changed data files"),
        Some(Reason::SameExecutable) => (18, "cannot have changed: unchanged executable"),
        Some(Reason::SameCode) => (19, "cannot have changed: unchanged machine code"),
        Some(Reason::NotExecuted { .. }) => (20, "do not execute changed code"),
        Some(Reason::MetricUnknown { .. }) => (21, "a deciding metric is not available"),
        Some(Reason::LostInStart { .. }) => (22, "dominated by process start"),
        Some(Reason::OtherShard { .. }) => (24, "for other shards (--partition)"),
        None => (25, "no reason was recorded; please report this"),
    }
}

/// Whether the particulars decide what the reader does next.
fn is_worth_a_line(reason: Option<&Reason>) -> bool {
    matches!(
        reason,
        Some(Reason::Fails { .. } | Reason::Crashes { .. } | Reason::NotCaptured { .. } | Reason::Skipped { .. })
    )
}

/// What distinguishes a test from the others of its group.
fn particulars(reason: Option<&Reason>) -> String {
    match reason {
        Some(Reason::Fails { side, detail, intermittent } | Reason::Crashes { side, detail, intermittent }) => {
            one_line(&format!("on {}: {detail}", failed_on(*side, *intermittent)))
        }
        Some(Reason::TimedOut { side, seconds }) => format!("on {}, within {seconds:.0} s", failed_on(*side, false)),
        Some(reason @ Reason::TooLong { .. }) => one_line(&reason.to_string()).replace("too long: ", ""),
        Some(Reason::NotCaptured { why }) => one_line(&why.to_string()),
        Some(Reason::TestChanged { item }) => one_line(item),
        Some(Reason::DataChanged { path }) => one_line(path),
        Some(Reason::Skipped { why, .. }) => one_line(why),
        Some(Reason::FoldedAway { ns }) => format!("{ns:.1} ns per run"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailedOn;
    use crate::model::samples::{run, unmeasured};
    use crate::report::format::{Glyphs, without_escapes};

    #[track_caller]
    fn check(reasons: &[(&str, Option<Reason>)], detail: Detail, expected: &str) {
        let outcomes = reasons.iter().map(|(name, reason)| unmeasured(name, reason.clone())).collect();
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(&run(outcomes), detail, &mut screen);
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    fn fails(detail: &str) -> Reason {
        Reason::Fails { side: FailedOn::Base, detail: detail.into(), intermittent: false }
    }

    #[test]
    fn equal_reasons_are_said_once_and_names_are_capped() {
        let reasons = ["a", "b", "c", "d", "e"].map(|name| (name, Some(Reason::Ignored)));
        let brief = "\
Not measured  5 tests: ignored (--run-ignored measures it)
                mycrate a, mycrate b, mycrate c, ... and 2 more (-v)
";
        check(&reasons, Detail::Brief, brief);
        let full = "\
Not measured  5 tests: ignored (--run-ignored measures it)
                mycrate a, mycrate b, mycrate c, mycrate d, mycrate e
";
        check(&reasons, Detail::Full, full);
    }

    #[test]
    fn failures_come_first_each_with_its_message() {
        let reasons = [("n", Some(Reason::New)), ("a", Some(fails("no\nnetwork"))), ("b", Some(fails("exit 3")))];
        let expected = "\
Not measured  2 tests: fail on base and pass on head
                mycrate a  on base: no network
                mycrate b  on base: exit 3
              1 test: new, and does not build or pass on base: there is nothing to compare with
                mycrate n
";
        check(&reasons, Detail::Brief, expected);
    }

    #[test]
    fn folded_tests_are_a_list_until_everything_is_asked_for() {
        let reasons = [("a", Some(Reason::FoldedAway { ns: 0.3 })), ("b", Some(Reason::FoldedAway { ns: 0.6 }))];
        let heading = "Not measured  2 tests: nothing left to measure: the optimiser removed the work\n";
        check(&reasons, Detail::Brief, &format!("{heading}                mycrate a, mycrate b\n"));
        let each = "                mycrate a  0.3 ns per run\n                mycrate b  0.6 ns per run\n";
        check(&reasons, Detail::Full, &format!("{heading}{each}"));
    }

    #[test]
    fn unaffected_tests_are_not_explained_but_a_lost_reason_is() {
        let mut lost = unmeasured("lost", None);
        lost.selected_because = "names `f`".into();
        let mut screen = Screen::new(0, Glyphs::Ascii);
        let same = unmeasured("same", Some(Reason::SameExecutable));
        write(&run(vec![unmeasured("calm", None), same, lost]), Detail::Brief, &mut screen);
        let expected = "\
Not measured  1 test: no reason was recorded; please report this
                mycrate lost
";
        assert_eq!(without_escapes(&screen.finish()), expected);
    }
}
