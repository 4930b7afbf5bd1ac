//! What was not measured and why: one group for each kind of reason.

use super::failing::is_failing;
use super::figures::Detail;
use super::screen::{INDENT, Screen};
use super::style::{DIM, STRONG, Text, test_id};
use perfunit_model::failed_on;
use perfunit_model::format::{count, first, limit, one_line};
use perfunit_model::{Outcome, Reason, ReasonKind, Run, Side, UnmeasuredTarget, Verdict};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Names shown of a group unless everything is asked for.
const NAMES: usize = 3;

/// Whether selection dropped the test: nothing that changed can reach it, so there is nothing to explain.
pub fn is_unaffected(outcome: &Outcome) -> bool {
    let dropped = outcome.reason.is_none() && outcome.selected_because.is_none();
    let same = outcome.reason.as_ref().is_some_and(Reason::is_unaffected);
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
    let mut section = Section { screen, started: false };
    for group in by_reason(run.outcomes.iter().filter(|outcome| is_listed(outcome))) {
        write_group(&group, detail, &mut section);
    }
    for line in targets(&run.selection.unmeasured_targets, detail) {
        section.heading(&Text::plain(line));
    }
}

/// A line for each target without figures; one for all packages of which a kind of test is measured on request only.
pub fn targets(targets: &[UnmeasuredTarget], detail: Detail) -> Vec<String> {
    let (mut doctests, mut benches, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        match target {
            UnmeasuredTarget::Doctests { package } => doctests.push(package),
            UnmeasuredTarget::Benches { package } => benches.push(package),
            UnmeasuredTarget::Target { .. } => others.push(target),
        }
    }
    let packages = |names: &[&String]| {
        let shown = if detail == Detail::Full { names.len() } else { NAMES };
        first(names.iter().copied().cloned(), shown, |more| count(more, "more package"))
    };
    let on_request = [
        (!doctests.is_empty()).then(|| UnmeasuredTarget::Doctests { package: packages(&doctests) }),
        (!benches.is_empty()).then(|| UnmeasuredTarget::Benches { package: packages(&benches) }),
    ];
    on_request.iter().flatten().chain(others).map(|target| one_line(&target.to_string())).collect()
}

/// All tests without figures, those that cannot have changed included: what they have in common, and who they are.
pub fn groups(run: &Run) -> Vec<(String, Vec<&Outcome>)> {
    let unmeasured = run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured);
    by_reason(unmeasured).map(|group| (common_reason(&group), group)).collect()
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
    section.heading(&Text::new(STRONG, count(group.len(), "test")).and(": ").and(common_reason(group)));
    let shown = if detail == Detail::Full { group } else { &group[..group.len().min(NAMES)] };
    let more = group.len() - shown.len();
    if shared_reason(group).is_none() && (detail == Detail::Full || is_worth_a_line(group[0].reason.as_ref())) {
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

/// Divides tests by their reasons: those that fail on head alone first, then on base alone, then in the order of [`Reason`].
fn by_reason<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> impl Iterator<Item = Vec<&'a Outcome>> {
    let group = |reason: Option<&Reason>| {
        let failing = reason.and_then(Reason::failing_side);
        (reason.is_none(), Reverse(failing), reason.filter(|_| failing.is_none()).map(Reason::kind))
    };
    let mut groups: BTreeMap<_, Vec<&Outcome>> = BTreeMap::new();
    outcomes.for_each(|outcome| groups.entry(group(outcome.reason.as_ref())).or_default().push(outcome));
    groups.into_values()
}

/// What is said of a group: the reason in full if all of its tests have the same, else what their reasons have in common.
fn common_reason(group: &[&Outcome]) -> String {
    shared_reason(group).unwrap_or_else(|| words(group[0].reason.as_ref()).to_owned())
}

fn words(reason: Option<&Reason>) -> &'static str {
    let Some(reason) = reason else { return "no reason was recorded; please report this" };
    match (reason.failing_side(), reason.kind()) {
        (Some(Side::Head), _) => "pass on base and fail on head",
        (Some(Side::Base), _) => "fail on base and pass on head",
        (None, ReasonKind::Fails) => "fail",
        (None, ReasonKind::Crashes) => "exit or crash the process",
        (None, ReasonKind::TimedOut) => "timed out (--timeout)",
        (None, ReasonKind::TooLong) => "too long for the budget (--per-test-budget)",
        (None, ReasonKind::BudgetUsedUp) => "the run's --budget was used up",
        (None, ReasonKind::Interrupted) => "interrupted",
        (None, ReasonKind::NotCaptured) => "not captured",
        (None, ReasonKind::TestChanged) => "changed test code: neither version of it works on both sides",
        (None, ReasonKind::New) => "new",
        (None, ReasonKind::Removed) => "removed",
        (None, ReasonKind::FoldedAway) => {
            "too short to measure: the optimiser removed the work, or there is hardly any"
        }
        (None, ReasonKind::RunsByClock) => "run by the clock: not comparable",
        (None, ReasonKind::LostInStart) => "dominated by process start",
        (None, ReasonKind::NotConfirmed | ReasonKind::Unconfirmed) => "not confirmed",
        (None, ReasonKind::AsPlacesDo) => "no more than moved code can fake",
        (None, ReasonKind::TooNoisy) => "too noisy",
        (None, ReasonKind::MetricUnknown) => "a deciding metric is not available",
        (None, ReasonKind::Ignored) => "ignored",
        (None, ReasonKind::Skipped) => "skipped",
        (None, ReasonKind::Filtered) => "excluded by the filter",
        (None, ReasonKind::OtherShard) => "for other shards (--partition)",
        (None, ReasonKind::DataChanged) => "unchanged code, changed data files",
        (None, ReasonKind::SameExecutable) => "cannot have changed: unchanged executable",
        (None, ReasonKind::SameCode) => "cannot have changed: unchanged machine code",
        (None, ReasonKind::NotExecuted) => "do not execute changed code",
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
        Some(Reason::Fails { side, how, intermittent } | Reason::Crashes { side, how, intermittent }) => {
            one_line(&format!("on {}: {how}", failed_on(*side, *intermittent)))
        }
        Some(Reason::TimedOut { side, seconds, .. }) => {
            format!("on {}, within {}", failed_on(*side, false), limit(*seconds))
        }
        Some(reason @ Reason::TooLong { .. }) => one_line(&reason.to_string()).replace("too long: ", ""),
        Some(Reason::NotCaptured { why }) => one_line(&why.to_string()),
        Some(Reason::TestChanged { item }) => one_line(&item.to_string()),
        Some(Reason::DataChanged { path }) => one_line(path),
        Some(Reason::Skipped { why, .. }) => one_line(why),
        Some(Reason::FoldedAway { ns }) => format!("{ns:.1} ns per run"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::{run, unmeasured};
    use perfunit_model::{FailedOn, Failure, SelectedBecause};

    #[track_caller]
    fn check(reasons: &[(&str, Option<Reason>)], detail: Detail, expected: &str) {
        let outcomes = reasons.iter().map(|(name, reason)| unmeasured(name, reason.clone())).collect();
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(&run(outcomes), detail, &mut screen);
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    fn fails(detail: &str) -> Reason {
        Reason::Fails { side: FailedOn::Base, how: Failure::Said(detail.into()), intermittent: false }
    }

    #[test]
    fn packages_of_which_a_kind_is_on_request_share_a_line() {
        let doctests = |package: &str| UnmeasuredTarget::Doctests { package: package.into() };
        let benches = UnmeasuredTarget::Benches { package: "a".into() };
        let all = [doctests("a"), benches, doctests("b"), doctests("c"), doctests("d")];
        let of_benches = "benchmarks of a: measured on request (--benches)";
        let brief = ["doc tests of a, b, c and 1 more package: measured on request (--doc)", of_benches];
        assert_eq!(targets(&all, Detail::Brief), brief);
        let full = ["doc tests of a, b, c, d: measured on request (--doc)", of_benches];
        assert_eq!(targets(&all, Detail::Full), full);
        assert!(targets(&[], Detail::Full).is_empty());
    }

    #[test]
    fn equal_reasons_are_said_once_and_names_are_capped() {
        let reasons = ["a", "b", "c", "d", "e"].map(|name| (name, Some(Reason::Ignored)));
        let brief = "\
Not measured  5 tests: ignored (--run-ignored all measures it)
                mycrate a, mycrate b, mycrate c, ... and 2 more (-v)
";
        check(&reasons, Detail::Brief, brief);
        let full = "\
Not measured  5 tests: ignored (--run-ignored all measures it)
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
        let heading =
            "Not measured  2 tests: too short to measure: the optimiser removed the work, or there is hardly any\n";
        check(&reasons, Detail::Brief, &format!("{heading}                mycrate a, mycrate b\n"));
        let each = "                mycrate a  0.3 ns per run\n                mycrate b  0.6 ns per run\n";
        check(&reasons, Detail::Full, &format!("{heading}{each}"));
    }

    #[test]
    fn unaffected_tests_are_not_explained_but_a_lost_reason_is() {
        let mut lost = unmeasured("lost", None);
        lost.selected_because = Some(SelectedBecause::DataFile);
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
