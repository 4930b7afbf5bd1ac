//! GitHub's annotations: what got slower, at the line of the responsible function; and what fails on head alone.
//!
//! Workflow commands as in GitHub's documentation ("Workflow commands for GitHub Actions", setting an error message); the
//! runner reads them from stderr as well as from stdout.

use super::by_cause::{Group, Responsible};
use super::figures::{self, Words};
use super::responsible;
use super::sections::{Item, Kind, Section, Sections};
use perfunit_model::format::{Glyphs, count, one_line};
use perfunit_model::{Denied, Outcome, Run, Verdict};

/// Annotations of a level that GitHub shows for a step.
const MOST: usize = 10;
/// Tests named in one annotation.
const TESTS: usize = 5;

/// Returns a workflow command per line; empty if there is nothing to annotate.
pub fn github(run: &Run) -> String {
    let sections = Sections::of(run, Denied::default());
    let slower = sections.get(Kind::Tests(Verdict::Slower));
    let mut groups: Vec<&Group<'_>> = slower.iter().flat_map(|section| &section.causes).collect();
    // Those with a place are worth more than those without.
    groups.sort_by_key(|group| !matches!(group.responsible, Responsible::Function { .. }));
    let slower = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    let of_group = |group: &&Group<'_>| {
        let tests = count(group.tests.len(), "test");
        let (place, title) = match &group.responsible {
            Responsible::Function { function, .. } => (
                format!("file={},line={},", property(&function.file), function.line),
                format!("{} makes {tests} {slower}", function.name),
            ),
            Responsible::Unknown => (String::new(), format!("{tests} {slower}")),
            Responsible::Other(_) | Responsible::Code(_) => {
                (String::new(), format!("{} makes {tests} {slower}", group.name()))
            }
        };
        format!("::error {place}title={}::{}\n", property(&title), data(&message(&group.tests, run)))
    };
    // What has no place in the source comes first: it would be the first to be left out.
    let failing = sections.get(Kind::Failing).map(failing);
    let ratchet = sections.bad(Kind::Ratchet).map(|section| ratchet(section, run));
    let errors = failing.into_iter().chain(ratchet).chain(groups.iter().map(of_group));
    let growing = sections.items(Kind::Growth).iter().map(|item| warning(item, "grows with a larger power"));
    let uncovered = sections.items(Kind::Uncovered).iter().map(|item| warning(item, "is executed by no test"));
    limited("error", errors.collect()) + &limited("warning", growing.chain(uncovered).collect())
}

/// Returns the annotations that GitHub shows; the last one counts the others.
fn limited(level: &str, mut all: Vec<String>) -> String {
    if all.len() > MOST {
        let more = all.split_off(MOST - 1).len();
        all.push(format!("::{level} title=... and {more} more::GitHub shows {MOST} of a step, the report has all\n"));
    }
    all.concat()
}

/// Returns the losses against the ratchet's version, or why there was no comparison, in one annotation without a place.
fn ratchet(section: &Section<'_>, run: &Run) -> String {
    let lost = run.cumulative_losses();
    let second = run.against_ratchet().filter(|_| !lost.is_empty());
    let (title, lines) = match second {
        Some(second) => (section.headline.as_str(), message(&lost, second)),
        None => ("Ratchet", section.headline.clone()),
    };
    format!("::error title={}::{}\n", property(title), data(&lines))
}

/// Returns the tests that pass on base and fail on head, in one annotation without a place.
fn failing(section: &Section<'_>) -> String {
    let lines = section.items.iter().take(TESTS).map(|item| format!("{}: {}", item.name, item.text));
    let lines = and_more(lines.collect(), section.items.len());
    format!("::error title={}::{}\n", property(&section.headline), data(&lines))
}

/// Returns the lines of the first tests, and how many there are beyond them.
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
        lines.push(format!("{}: {}", one_line(&outcome.test.to_string()), figures::decided(outcome, run)));
        let explanation = outcome.explanation.as_ref();
        lines.extend(explanation.and_then(|found| responsible::lines(found, Glyphs::Unicode).into_iter().next()));
    }
    and_more(lines, outcomes.len())
}

/// Escapes the text that a command carries.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a value before the text, where colons and commas separate values.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{self, measured, metered, outcome, run, unmeasured};
    use perfunit_model::{FailedOn, Failure, Metric, MetricVerdict, Reason};

    #[test]
    fn slower_tests_without_a_responsible_function_share_an_annotation_without_a_place() {
        let outcomes = ["a::x", "a::y"].map(|name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.25)))).to_vec();
        let expected = "::error title=2 tests slower::mycrate a::x: +25.0 %25 [+24.0 %25, +26.0 %25]%0Amycrate a::y: \
            +25.0 %25 [+24.0 %25, +26.0 %25]\n";
        assert_eq!(github(&run(outcomes)), expected);
        assert_eq!(github(&run(vec![outcome("a::x", Verdict::Same, Some(measured(1e3, 0.0)))])), "");
    }

    fn fails() -> Reason {
        Reason::Fails { side: FailedOn::Head, how: Failure::Said("no\nnetwork".into()), intermittent: false }
    }

    #[test]
    fn tests_that_fail_on_head_alone_are_an_error() {
        let expected = "::error title=1 test passes on base and fails on head::mycrate a: no network\n";
        assert_eq!(github(&run(vec![unmeasured("a", Some(fails()))])), expected);
    }

    #[test]
    fn what_fails_comes_before_what_is_slower_and_the_last_one_counts_the_others() {
        let mut run = run(vec![unmeasured("broken", Some(fails()))]);
        let uncovered = samples::uncovered();
        run.selection.uncovered = (0..13).map(|_| uncovered.clone()).collect();
        run.outcomes.push(outcome("slow", Verdict::Slower, Some(measured(1e3, 0.25))));
        let text = github(&run);
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
        let text = github(&run);
        assert!(text.contains("1 test worse") && text.contains("allocations 12 → 18 (+50.0 %25)"), "{text}");
    }

    #[test]
    fn values_do_not_end_early() {
        assert_eq!(property("a::b, 5 %\n"), "a%3A%3Ab%2C 5 %25%0A");
    }
}
