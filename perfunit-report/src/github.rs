//! GitHub Actions: annotations at the lines of responsible functions, and output variables of a step.
//!
//! Annotations are workflow commands as described in GitHub's documentation ("Workflow commands for GitHub Actions",
//! setting an error message). The runner reads them from stderr as well as from stdout.

use super::by_cause::Group;
use super::causes;
use super::counts::{Excluded, is_unaffected};
use super::figures::{self, Words};
use super::sections::{Item, Kind, Section, Sections};
use perfunit_model::format::{Glyphs, count, one_line};
use perfunit_model::{Conclusion, Denied, MainCause, Outcome, Run, Side, Verdict};
use std::fmt::Write as _;
use std::path::Path;

/// Annotations of a level that GitHub shows per step.
const MOST: usize = 10;
/// Tests named in one annotation.
const TESTS: usize = 5;

/// Returns one workflow command per line; empty if there is nothing to annotate.
pub fn annotations(run: &Run) -> String {
    let sections = Sections::of(run, Denied::default());
    let slower = sections.get(Kind::Tests(Verdict::Slower));
    let mut groups: Vec<&Group<'_>> = slower.iter().flat_map(|section| &section.causes).collect();
    // Annotations with a place are more useful than those without.
    groups.sort_by_key(|group| !matches!(group.cause, MainCause::Function { .. } | MainCause::Item(_)));
    let slower = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    let of_group = |group: &&Group<'_>| {
        let tests = count(group.tests.len(), "test");
        let (place, title) = match &group.cause {
            MainCause::Function { function, .. } => (
                format!("file={},line={},", property(&function.file), function.line),
                format!("{} makes {tests} {slower}", function.name),
            ),
            MainCause::Item(item) => (
                format!("file={},line={},", property(&item.path), item.line),
                format!("{} makes {tests} {slower}", item.item),
            ),
            MainCause::Unknown => (String::new(), format!("{tests} {slower}")),
            MainCause::Outer(_) | MainCause::Code(_) => {
                (String::new(), format!("{} makes {tests} {slower}", group.name()))
            }
        };
        format!("::error {place}title={}::{}\n", property(&title), data(&message(&group.tests, run)))
    };
    // Annotations without a place come first, because the last ones may be dropped.
    let failing = sections.get(Kind::Failing).map(|section| of_tests_in("error", section));
    let ratchet = sections.bad(Kind::Ratchet).map(|section| ratchet(section, run));
    let programs = sections.items(Kind::Programs).iter().filter(|item| item.is_bad);
    let programs =
        programs.map(|item| format!("::error title={} is slower::{}\n", property(&item.name), data(&item.text)));
    let errors = failing.into_iter().chain(programs).chain(ratchet).chain(groups.iter().map(of_group));
    let functions = sections.items(Kind::Functions).iter().filter(|item| item.is_bad);
    let functions = functions.map(|item| warning(item, "over its tests"));
    let growing = sections.items(Kind::Growth).iter().map(|item| warning(item, "grows with a larger power"));
    let uncovered = sections.items(Kind::Uncovered).iter().map(|item| warning(item, "is executed by no test"));
    let accepted = sections.get(Kind::Accepted).map(|section| of_tests_in("notice", section));
    limit("error", errors.collect())
        + &limit("warning", functions.chain(growing).chain(uncovered).collect())
        + &accepted.unwrap_or_default()
}

/// Returns the annotations that GitHub shows; the last one counts the rest.
fn limit(level: &str, mut all: Vec<String>) -> String {
    if all.len() > MOST {
        let more = all.split_off(MOST - 1).len();
        all.push(format!("::{level} title=... and {more} more::GitHub shows {MOST} of a step, the report has all\n"));
    }
    all.concat()
}

/// Returns one annotation without a place for the losses against the ratchet's version, or for the reason why there was
/// no comparison.
fn ratchet(section: &Section<'_>, run: &Run) -> String {
    let lost = run.cumulative_losses();
    let second = run.against_ratchet().filter(|_| !lost.is_empty());
    let (title, lines) = match second {
        Some(second) => (section.headline.as_str(), message(&lost, second)),
        None => ("Ratchet", section.headline.clone()),
    };
    format!("::error title={}::{}\n", property(title), data(&lines))
}

/// Returns the tests of a section in one annotation without a place.
fn of_tests_in(level: &str, section: &Section<'_>) -> String {
    let lines = section.items.iter().take(TESTS).map(|item| format!("{}: {}", item.name, item.text));
    let lines = and_more(lines.collect(), section.items.len());
    format!("::{level} title={}::{}\n", property(&section.headline), data(&lines))
}

/// Limits a list of tests, and appends the number of the rest.
fn and_more(mut lines: Vec<String>, tests: usize) -> String {
    if tests > TESTS {
        lines.push(format!("... and {} more", tests - TESTS));
    }
    lines.join("\n")
}

/// Returns an annotation at the line of the item's function.
fn warning(item: &Item<'_>, what: &str) -> String {
    let place = item.function.map(|function| format!("file={},line={},", property(&function.file), function.line));
    let title = property(&format!("{} {what}", item.name));
    format!("::warning {}title={title}::{}\n", place.unwrap_or_default(), data(&item.text))
}

fn message(outcomes: &[&Outcome], run: &Run) -> String {
    let mut lines: Vec<String> = Vec::new();
    for outcome in outcomes.iter().take(TESTS) {
        lines.push(format!("{}: {}", one_line(&outcome.test.to_string()), figures::deciding_figures(outcome, run)));
        let explanation = outcome.explanation.as_ref();
        lines.extend(explanation.and_then(|found| causes::lines(found, Glyphs::Unicode).into_iter().next()));
    }
    and_more(lines, outcomes.len())
}

/// Escapes the text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property, in which colons and commas are separators.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns `name=value` lines. `report` is the file with the run's Markdown, if there is one.
pub fn outputs(run: &Run, conclusion: Conclusion, report: Option<&Path>) -> String {
    let mut text = format!("verdict={}\n", verdict(run, conclusion));
    let counts = [
        ("slower", run.slower().count()),
        ("accepted", run.accepted_tests().count()),
        ("slower-than-ratchet", run.cumulative_losses().len()),
        ("faster", run.count(Verdict::Faster)),
        ("inconclusive", run.inconclusive().count()),
        ("failing", run.failing(Side::Head).count()),
        ("uncovered", run.selection.uncovered.len()),
    ];
    for (name, count) in counts {
        let _ = writeln!(text, "{name}={count}");
    }
    if let Some(excluded) = Excluded::describe(run) {
        let _ = writeln!(text, "excluded={excluded}");
    }
    // A path with a line break would set another variable.
    if let Some(path) = report.and_then(Path::to_str).filter(|path| !path.contains(['\n', '\r'])) {
        let _ = writeln!(text, "report={path}");
    }
    text
}

/// Returns the conclusion in one word; for a run that passed, the result of the tests.
pub(super) fn verdict(run: &Run, conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Slower
        | Conclusion::FunctionSlower
        | Conclusion::ProgramSlower
        | Conclusion::SlowerThanRatchet
        | Conclusion::GeneratedSlower => "slower",
        Conclusion::Grows => "grows",
        Conclusion::Interrupted => "interrupted",
        Conclusion::FailsOnHead => "failing",
        Conclusion::Undecided => "inconclusive",
        Conclusion::Uncovered => "uncovered",
        Conclusion::NotBuilt | Conclusion::NotCompared => "not-compared",
        Conclusion::FailsOnBase => "unmeasured",
        Conclusion::NothingMeasured | Conclusion::Passed => of_tests(run),
    }
}

fn of_tests(run: &Run) -> &'static str {
    let any = |verdict| run.count(verdict) > 0;
    match () {
        () if run.inconclusive().next().is_some() => "inconclusive",
        () if run.accepted_tests().next().is_some() => "accepted",
        () if any(Verdict::Faster) => "faster",
        () if run.outcomes.iter().any(|outcome| outcome.measured.is_some()) => "same",
        () if run.outcomes.iter().all(is_unaffected) => "nothing",
        () => "unmeasured",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{self, growth, measured, metered, outcome, run, unmeasured};
    use perfunit_model::{Denied, FailedOn, Failure, Metric, MetricVerdict, NotCompared, Ratchet, Reason, VersionName};

    #[test]
    fn slower_tests_without_a_responsible_function_share_an_annotation_without_a_place() {
        let outcomes = ["a::x", "a::y"].map(|name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.25)))).to_vec();
        let expected = "::error title=2 tests slower::mycrate a::x: +25.0 %25 [+24.0 %25, +26.0 %25]%0Amycrate a::y: \
            +25.0 %25 [+24.0 %25, +26.0 %25]\n";
        assert_eq!(annotations(&run(outcomes)), expected);
        assert_eq!(annotations(&run(vec![outcome("a::x", Verdict::Same, Some(measured(1e3, 0.0)))])), "");
    }

    fn fails() -> Reason {
        Reason::Fails { side: FailedOn::Head, how: Failure::Said("no\nnetwork".into()), intermittent: false }
    }

    #[test]
    fn tests_that_fail_on_head_alone_are_an_error() {
        let expected = "::error title=1 test passes on base and fails on head::mycrate a: no network\n";
        assert_eq!(annotations(&run(vec![unmeasured("a", Some(fails()))])), expected);
    }

    #[test]
    fn what_fails_comes_before_what_is_slower_and_the_last_one_counts_the_others() {
        let mut run = run(vec![unmeasured("broken", Some(fails()))]);
        let uncovered = samples::uncovered();
        run.selection.uncovered = (0..13).map(|_| uncovered.clone()).collect();
        run.outcomes.push(outcome("slow", Verdict::Slower, Some(measured(1e3, 0.25))));
        let text = annotations(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("fails on head") && lines[1].contains("1 test slower"), "{text}");
        assert_eq!(lines.len(), 2 + MOST);
        assert_eq!(
            lines[2 + MOST - 1],
            "::warning title=... and 4 more::GitHub shows 10 of a step, the report has all"
        );
    }

    #[test]
    fn what_decides_besides_time_is_said() {
        let mut worse = outcome("a", Verdict::Slower, Some(measured(1e3, 0.0)));
        worse.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        let run = Run { gates: vec![Metric::Allocations], ..run(vec![worse]) };
        let text = annotations(&run);
        assert!(text.contains("1 test worse") && text.contains("allocations 12 → 18 (+50.0 %25)"), "{text}");
    }

    #[test]
    fn values_do_not_end_early() {
        assert_eq!(property("a::b, 5 %\n"), "a%3A%3Ab%2C 5 %25%0A");
    }

    #[track_caller]
    fn check(verdicts: &[Verdict], expected: &str) {
        let outcomes = verdicts.iter().map(|verdict| outcome("t", *verdict, Some(measured(1e3, 0.1)))).collect();
        assert_eq!(of_run(&run(outcomes)), expected);
    }

    fn of_run(run: &Run) -> &'static str {
        verdict(run, Conclusion::of(run, Denied::default()))
    }

    #[test]
    fn the_worst_news_is_the_verdict() {
        check(&[Verdict::Faster, Verdict::Inconclusive, Verdict::Slower], "slower");
        check(&[Verdict::Faster, Verdict::Inconclusive], "inconclusive");
        check(&[Verdict::Same, Verdict::Faster], "faster");
        check(&[Verdict::Same, Verdict::ChangedBelowThreshold], "same");
        check(&[], "nothing");
        let mut left = outcome("t", Verdict::NotMeasured, None);
        left.reason = Some(Reason::BudgetUsedUp);
        assert_eq!(of_run(&run(vec![left.clone()])), "inconclusive");
        let same = outcome("t", Verdict::Same, Some(measured(1e3, 0.0)));
        assert_eq!(of_run(&run(vec![left.clone(), same.clone()])), "same");
        left.reason =
            Some(Reason::Fails { side: FailedOn::Head, how: Failure::Said("no".into()), intermittent: false });
        assert_eq!(of_run(&run(vec![left])), "failing");
    }

    #[test]
    fn what_is_unchanged_within_a_bound_is_not_inconclusive() {
        let mut run = run(vec![samples::open_within("t", 1e3, -0.02, 0.04)]);
        assert_eq!(of_run(&run), "same");
        let outputs = |run: &Run| outputs(run, Conclusion::of(run, Denied::default()), None);
        let text = outputs(&run);
        assert!(text.contains("\ninconclusive=0\n"), "{text}");
        assert!(text.ends_with("excluded=1 of 1 measured test is not slower by 5 % or more\n"), "{text}");
        run.set_bound("3%".parse().unwrap());
        assert_eq!(of_run(&run), "inconclusive");
        let text = outputs(&run);
        assert!(text.contains("\ninconclusive=1\n") && !text.contains("excluded"), "{text}");
    }

    #[test]
    fn what_fails_the_run_is_never_same() {
        let same = || run(vec![outcome("t", Verdict::Same, Some(measured(1e3, 0.0)))]);
        let grows = Run { growth: Some(growth()), ..same() };
        assert_eq!(of_run(&grows), "same");
        let denied = Denied { growth: true, ..Denied::default() };
        assert_eq!(verdict(&grows, Conclusion::of(&grows, denied)), "grows");
        let version = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let not_compared = Ratchet { version, comparison: Err(NotCompared::HeadChanged) };
        assert_eq!(of_run(&Run { ratchet: Some(not_compared), ..same() }), "not-compared");
    }

    #[test]
    fn each_variable_has_a_line() {
        let run = run(vec![outcome("t", Verdict::Slower, Some(measured(1e3, 0.1)))]);
        let expected = "verdict=slower\nslower=1\naccepted=0\nslower-than-ratchet=0\nfaster=0\ninconclusive=0\nfailing=0\nuncovered=0\nreport=/tmp/a b.md\n";
        assert_eq!(outputs(&run, Conclusion::Slower, Some(Path::new("/tmp/a b.md"))), expected);
        assert!(!outputs(&run, Conclusion::Slower, Some(Path::new("/tmp/a\nb=c"))).contains("report"));
        assert!(!outputs(&run, Conclusion::Slower, None).contains("report"));
    }
}
