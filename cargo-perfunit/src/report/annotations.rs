//! GitHub's annotations: what got slower, at the line of the responsible function; and what fails on head alone.
//!
//! Workflow commands as in GitHub's documentation ("Workflow commands for GitHub Actions", setting an error message); the
//! runner reads them from stderr as well as from stdout.

use super::by_cause::{self, Responsible};
use super::figures::{self, Words, phrase, sorted};
use super::format::{Glyphs, count, one_line};
use super::{failing, growth as grown, ratchet, responsible, uncovered};
use crate::model::{Function, Outcome, Run, Side, Verdict};
use std::fmt::Write as _;

/// GitHub shows so many errors of a step.
const MOST: usize = 10;
/// Tests named in one annotation.
const TESTS: usize = 5;

/// One workflow command a line; empty if nothing got slower or fails.
pub fn github(run: &Run) -> String {
    let slower = sorted(&run.outcomes, Verdict::Slower);
    let mut groups = by_cause::groups(&slower);
    // Those with a place are worth more than those without.
    groups.sort_by_key(|group| !matches!(group.responsible, Responsible::Function { .. }));
    let mut text = String::new();
    let slower = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    for group in groups.iter().take(MOST) {
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
        let _ = writeln!(text, "::error {place}title={}::{}", property(&title), data(&message(&group.tests)));
    }
    text + &ratchet(run) + &failing(run) + &uncovered(run) + &growth(run)
}

/// The tests that are slower than the ratchet's version alone, in one annotation without a place.
fn ratchet(run: &Run) -> String {
    let Some(title) = ratchet::headline(run).filter(|_| ratchet::is_bad(run)) else { return String::new() };
    let lost = run.cumulative_losses();
    let (title, lines) = if lost.is_empty() { ("Ratchet", title) } else { (&*title, message(&lost)) };
    format!("::error title={}::{}\n", property(title), data(&lines))
}

/// The tests that base passes and head does not, in one annotation without a place.
fn failing(run: &Run) -> String {
    let Some(title) = failing::headline(run) else { return String::new() };
    let tests: Vec<&Outcome> = run.failing(Side::Head).collect();
    let line = |outcome: &&Outcome| format!("{}: {}", one_line(&outcome.test.to_string()), failing::said(outcome));
    let mut lines: Vec<String> = tests.iter().take(TESTS).map(line).collect();
    if tests.len() > TESTS {
        lines.push(format!("... and {} more", tests.len() - TESTS));
    }
    format!("::error title={}::{}\n", property(&title), data(&lines.join("\n")))
}

/// The changed functions that no test executes, each at its line.
fn uncovered(run: &Run) -> String {
    let mut text = String::new();
    for uncovered in run.selection.uncovered.iter().take(MOST) {
        let Function { file, line, name, .. } = &uncovered.function;
        let title = format!("{} is executed by no test", one_line(name));
        let place = format!("file={},line={line},", property(file));
        let _ = writeln!(text, "::warning {place}title={}::{}", property(&title), data(uncovered::because(uncovered)));
    }
    text
}

/// The functions whose work grows with a larger power than before, each at its line.
fn growth(run: &Run) -> String {
    let mut text = String::new();
    for finding in run.growing().take(MOST) {
        let Function { file, line, name, .. } = &finding.function;
        let title = format!("{} grows with a larger power", one_line(name));
        let place = format!("file={},line={line},", property(file));
        let _ = writeln!(text, "::warning {place}title={}::{}", property(&title), data(&grown::said(finding)));
    }
    text
}

fn message(outcomes: &[&Outcome]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for outcome in outcomes.iter().take(TESTS) {
        let figures = outcome.measured.as_ref().map(phrase).unwrap_or_default();
        lines.push(format!("{}: {figures}", one_line(&outcome.test.to_string())));
        let explanation = outcome.explanation.as_ref();
        lines.extend(explanation.and_then(|found| responsible::lines(found, Glyphs::Unicode).into_iter().next()));
    }
    if outcomes.len() > TESTS {
        lines.push(format!("... and {} more", outcomes.len() - TESTS));
    }
    lines.join("\n")
}

/// Text that a command carries.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value before the text, where colons and commas part.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples::{measured, outcome, run, unmeasured};
    use crate::model::{FailedOn, Failure, Reason};

    #[test]
    fn slower_tests_without_a_responsible_function_share_an_annotation_without_a_place() {
        let outcomes = ["a::x", "a::y"].map(|name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.25)))).to_vec();
        let expected = "::error title=2 tests slower::mycrate a::x: +25.0 %25 [+24.0 %25, +26.0 %25]%0Amycrate a::y: \
            +25.0 %25 [+24.0 %25, +26.0 %25]\n";
        assert_eq!(github(&run(outcomes)), expected);
        assert_eq!(github(&run(vec![outcome("a::x", Verdict::Same, Some(measured(1e3, 0.0)))])), "");
    }

    #[test]
    fn tests_that_fail_on_head_alone_are_an_error() {
        let fails =
            Reason::Fails { side: FailedOn::Head, how: Failure::Said("no\nnetwork".into()), intermittent: false };
        let expected = "::error title=1 test passes on base and fails on head::mycrate a: no network\n";
        assert_eq!(github(&run(vec![unmeasured("a", Some(fails))])), expected);
    }

    #[test]
    fn values_do_not_end_early() {
        assert_eq!(property("a::b, 5 %\n"), "a%3A%3Ab%2C 5 %25%0A");
    }
}
