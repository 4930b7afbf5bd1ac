//! Wording of the comparison with the ratchet's version.

use super::counts::Unmeasured;
use super::figures::{self, Words, phrase};
use super::{acceptance, causes, counts};
use perfunit_model::format::{Glyphs, count, one_line};
use perfunit_model::{AcceptedLoss, AcceptedVersion, NotCompared, Note, Outcome, Ratchet, Run, Verdict, VersionName};
use std::fmt::Write as _;

/// Returns the result as a line without a full stop; `None` if no such comparison was requested.
pub fn headline(run: &Run) -> Option<String> {
    let ratchet = run.ratchet.as_ref()?;
    let version = one_line(&ratchet.version.label);
    let second = match &ratchet.comparison {
        Err(why) => return Some(format!("not compared with {version}: {why}")),
        Ok(second) => second,
    };
    let lost = run.cumulative_losses();
    let programs = lost_programs(run).map(|found| format!("{found} over the tests that the change can reach"));
    let slower = figures::word(Verdict::Slower, Words::of(&second.all_gates()));
    let of_tests =
        (!lost.is_empty()).then(|| format!("{}, {}", losses(run, lost.len()), against_base(&lost, run, &slower)));
    if of_tests.is_some() || programs.is_some() {
        return Some(of_tests.into_iter().chain(programs).collect::<Vec<_>>().join("; "));
    }
    Some(match counts::count_measured(second) {
        0 => match &second.selection.nothing_because {
            Some(_) => format!("no test can have changed since {version}"),
            None => counts::describe_unmeasured(second, &version),
        },
        measured => {
            let is_other = second.slower().next().is_some() || accepted_losses(run).next().is_some();
            let further = if is_other { "no further test" } else { "no test" };
            let open = second.inconclusive().count() - second.probably_slower().count();
            let parts = [
                (measured, "measured".to_owned()),
                (second.accepted_tests().count(), "accepted".to_owned()),
                (second.probably_slower().count(), format!("probably {slower}")),
                (open, "inconclusive".to_owned()),
                (Unmeasured::of(second).not_measured, "not measured".to_owned()),
            ];
            let parts = parts.into_iter().filter(|(tests, _)| *tests > 0);
            let parts: Vec<String> = parts.map(|(tests, word)| format!("{tests} {word}")).collect();
            format!("{further} {slower} than {version} ({})", parts.join(", "))
        }
    })
}

/// Describes the result of these tests in the comparison with base.
fn against_base(lost: &[&Outcome], run: &Run, slower: &str) -> String {
    let base = one_line(&run.base.label);
    match lost.iter().filter(|outcome| run.is_open(&outcome.test)).count() {
        0 => format!("although not {slower} than {base}"),
        open if open == lost.len() => format!("without a verdict against {base}"),
        open => format!("{open} of them without a verdict against {base}"),
    }
}

/// Formats `2 tests slower than v1.2.0, 1 program slower than v1.2.0`; `None` if there are neither.
pub fn found(run: &Run) -> Option<String> {
    let lost = run.cumulative_losses().len();
    let found = (lost > 0).then(|| losses(run, lost)).into_iter().chain(lost_programs(run));
    found.reduce(|tests, programs| format!("{tests}, {programs}"))
}

fn lost_programs(run: &Run) -> Option<String> {
    let lost = run.cumulative_losses_of_programs().len();
    (lost > 0).then(|| format!("{} slower than {}", count(lost, "program"), version(run)))
}

fn version(run: &Run) -> String {
    run.ratchet.iter().map(|ratchet| one_line(&ratchet.version.label)).collect()
}

fn losses(run: &Run, lost: usize) -> String {
    let gates = run.against_ratchet().into_iter().flat_map(Run::all_gates).collect::<Vec<_>>();
    format!("{} {} than {}", count(lost, "test"), figures::word(Verdict::Slower, Words::of(&gates)), version(run))
}

/// Returns true for a loss, or if the comparison is missing for a reason that needs attention.
pub fn is_bad(run: &Run) -> bool {
    let is_missing = |ratchet: &Ratchet| matches!(&ratchet.comparison, Err(why) if *why != NotCompared::IsBase);
    run.ratchet.as_ref().is_some_and(is_missing) || found(run).is_some()
}

/// Returns the accepted losses of compared tests, each with its test.
pub fn accepted_losses(run: &Run) -> impl Iterator<Item = (&Outcome, &AcceptedLoss)> {
    let outcomes = run.against_ratchet().into_iter().flat_map(|run| &run.outcomes);
    outcomes.filter_map(|outcome| Some((outcome, accepted_of(outcome)?)))
}

/// Returns the accepted loss of a test.
pub fn accepted_of(outcome: &Outcome) -> Option<&AcceptedLoss> {
    outcome.notes.iter().find_map(|note| match note {
        Note::AcceptedLoss(accepted) => Some(accepted),
        _ => None,
    })
}

/// Formats how much of an accepted loss a test has, and why the loss is accepted.
fn accepted_loss(outcome: &Outcome, accepted: &AcceptedLoss) -> String {
    let now = outcome.measured.as_ref().map(phrase).unwrap_or_default();
    format!("{now}, {accepted}")
}

/// Returns the name of the pinned version.
pub fn pinned(accepted: &AcceptedVersion) -> VersionName {
    VersionName { label: accepted.revision.clone(), commit: accepted.commit.clone(), dirty: false }
}

/// Formats the pinned version and the accepted losses of a project.
pub fn project(accepted: &AcceptedVersion) -> String {
    let version = pinned(accepted);
    let mut text = match accepted.losses.len() {
        0 => format!("{version}, without accepted losses\n"),
        tests => format!("{version}, with accepted losses of {}\n", count(tests, "test")),
    };
    for accepted in &accepted.losses {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  {}  {accepted}", one_line(&accepted.test));
    }
    text
}

/// Returns the losses, then the accepted losses, each with its figures.
pub fn items(run: &Run) -> Vec<(&Outcome, String)> {
    let Some(second) = run.against_ratchet() else { return Vec::new() };
    let said = |outcome: &Outcome| {
        let figures = figures::deciding_figures(outcome, second);
        let beyond = accepted_of(outcome).map(|accepted| format!(", beyond {accepted}")).unwrap_or_default();
        let responsible = outcome.explanation.iter().flat_map(|found| causes::lines(found, Glyphs::Unicode)).next();
        format!("{figures}{beyond}{}", responsible.map(|line| format!("; {line}")).unwrap_or_default())
    };
    let lost = run.cumulative_losses().into_iter().map(|outcome| (outcome, said(outcome)));
    // A loss beyond the accepted one is already listed.
    let within = accepted_losses(run).filter(|(outcome, _)| outcome.verdict != Verdict::Slower);
    let within = within.map(|(outcome, accepted)| (outcome, accepted_loss(outcome, accepted)));
    let by_commits = second.accepted_tests().map(|outcome| {
        let accepted = acceptance::said(outcome, second).unwrap_or_default();
        (outcome, format!("{}, {accepted}", figures::deciding_figures(outcome, second)))
    });
    lost.chain(within).chain(by_commits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use crate::sections::Kind;
    use crate::text::plain_text;
    use perfunit_model::Side;
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::{self, measured, outcome, run, unmeasured};
    use perfunit_model::{Conclusion, Denied, Machine, Mode, ProgramChange, Reason, Warning};

    fn version() -> VersionName {
        let commit = "1f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3".to_owned();
        VersionName { label: "v1.2.0".to_owned(), commit, dirty: false }
    }

    fn accept(mut outcome: Outcome) -> Outcome {
        let (test, reason, date) = (outcome.test.to_string(), "checks for overflow".into(), "2026-11-23".into());
        outcome.notes.push(Note::AcceptedLoss(AcceptedLoss { test, loss: 0.03, mode: Mode::Steady, reason, date }));
        outcome
    }

    /// Builds a run with one test slower than base and three slower than the ratchet's version, one of them beyond its
    /// accepted loss.
    pub fn with_ratchet() -> Run {
        let slower = |name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.125)));
        let same = |name, change| outcome(name, Verdict::Same, Some(measured(1e3, change)));
        let second = vec![slower("a"), slower("b"), accept(slower("c")), accept(same("d", 0.03)), same("e", 0.0)];
        let mut run = run(vec![slower("a"), same("b", 0.01), unmeasured("c", None)]);
        let second = Run { base: version(), outcomes: second, ..run.clone() };
        run.ratchet = Some(Ratchet { version: version(), comparison: Ok(Box::new(second)) });
        run
    }

    #[test]
    fn what_both_comparisons_warn_of_is_said_once() {
        let shared = |percent| Warning::Machine(Machine::SharedCore { percent, moves: 0 });
        let mut run = with_ratchet();
        run.warnings = vec![shared(30), Warning::WithoutRunner];
        let Ok(second) = &mut run.ratchet.as_mut().unwrap().comparison else { unreachable!() };
        second.warnings = vec![shared(25), Warning::WithoutRunner, Warning::NoTargetLeft];
        let text = plain_text(&run, &[Kind::Ratchet], Detail::Brief);
        assert_eq!(text.matches(" Warning ").count(), 1, "{text}");
        assert!(text.contains(&Warning::NoTargetLeft.to_string()), "{text}");
    }

    fn without(why: NotCompared) -> Run {
        Run { ratchet: Some(Ratchet { version: version(), comparison: Err(why) }), ..run(Vec::new()) }
    }

    #[test]
    fn losses_that_base_does_not_show_come_with_what_was_accepted() {
        let run = with_ratchet();
        assert_eq!(headline(&run).unwrap(), "2 tests slower than v1.2.0, although not slower than main");
        let items: Vec<String> =
            items(&run).into_iter().map(|(test, said)| format!("{}: {said}", test.test.name)).collect();
        let expected = [
            "b: +12.5 % [+11.5 %, +13.5 %]",
            "c: +12.5 % [+11.5 %, +13.5 %], beyond +3.0 % accepted on 2026-11-23: checks for overflow",
            "d: +3.0 % [+2.0 %, +4.0 %], +3.0 % accepted on 2026-11-23: checks for overflow",
        ];
        assert_eq!(items, expected);
        let expected = "\
------------
     Ratchet  since v1.2.0 (1f2a91c): 3 slower, 2 unchanged (within +-10 %)
      Slower  mycrate b  1.00 us -> 1.12 us   +12.5 %  [+11.5 %, +13.5 %]
      Slower  mycrate c  1.00 us -> 1.12 us   +12.5 %  [+11.5 %, +13.5 %]  beyond +3.0 % accepted on 2026-11-23: checks for overflow
    Accepted  mycrate d  +3.0 % [+2.0 %, +4.0 %], +3.0 % accepted on 2026-11-23: checks for overflow
";
        assert_eq!(plain_text(&run, &[Kind::Ratchet], Detail::Brief), expected);
        let text = crate::text::render(&run, &crate::TextOptions::default(), perfunit_model::Denied::default());
        let last = "     Ratchet  2 tests slower than v1.2.0, although not slower than main\n";
        assert!(without_escapes(&text).ends_with(last), "{text}");
    }

    #[test]
    fn whether_a_loss_is_one_against_base_is_said_where_it_is_known() {
        let check = |names: &[&str], reason: Reason, said: &str| {
            let mut run = with_ratchet();
            for outcome in run.outcomes.iter_mut().filter(|outcome| names.contains(&outcome.test.name.as_str())) {
                *outcome = unmeasured(&outcome.test.name, Some(reason.clone()));
            }
            assert_eq!(headline(&run).unwrap(), format!("2 tests slower than v1.2.0, {said}"));
        };
        check(&["b"], Reason::SameCode, "although not slower than main");
        check(&["b"], Reason::BudgetUsedUp, "1 of them without a verdict against main");
        check(&["b", "c"], Reason::BudgetUsedUp, "without a verdict against main");
    }

    #[test]
    fn programs_that_lost_come_after_the_tests() {
        let lost = samples::started_by_many(0.06);
        let with = |mut run: Run, of_base: &[&ProgramChange]| {
            run.programs = of_base.iter().map(|program| (*program).clone()).collect();
            let Ok(second) = &mut run.ratchet.as_mut().unwrap().comparison else { unreachable!() };
            second.programs = vec![lost.clone()];
            run
        };
        let slower = "1 program slower than v1.2.0";
        let run = with(with_ratchet(), &[]);
        let expected = format!(
            "2 tests slower than v1.2.0, although not slower than main; {slower} over the tests that the change can reach"
        );
        assert_eq!(headline(&run).unwrap(), expected);
        assert_eq!(found(&run).unwrap(), format!("2 tests slower than v1.2.0, {slower}"));
        let mut alone = run;
        let Ok(second) = &mut alone.ratchet.as_mut().unwrap().comparison else { unreachable!() };
        second.outcomes.clear();
        assert_eq!(found(&alone).as_deref(), Some(slower));
        assert!(is_bad(&alone));
        let text = plain_text(&alone, &[Kind::Ratchet], Detail::Brief);
        assert!(text.contains("     Program  mytool: typically slower, +6.0 % ["), "{text}");
        for text in [crate::junit::render(&alone, Denied::default()), crate::short::render(&alone, Denied::default())] {
            assert!(text.contains("typically slower, +6.0 % ["), "{text}");
        }
        let blocked =
            crate::push::describe_block("topic", "main", &alone, (Conclusion::SlowerThanRatchet, Denied::default()));
        assert!(blocked.ends_with(&format!("{slower} over the tests that the change can reach: mytool")), "{blocked}");
        // A program that is slower than base as well is not a loss of its own.
        assert_eq!(found(&with(alone, &[&lost])), None);
    }

    #[test]
    fn what_was_not_compared_comes_with_the_reason_and_is_bad_unless_it_is_base() {
        let check = |why: NotCompared, said: &str| {
            let is_base = why == NotCompared::IsBase;
            let run = without(why);
            assert_eq!(headline(&run).unwrap(), format!("not compared with v1.2.0: {said}"));
            assert_eq!(is_bad(&run), !is_base);
        };
        check(NotCompared::IsBase, "it is base");
        check(NotCompared::HeadChanged, "the working tree changed in the meantime");
        check(
            NotCompared::DoesNotBuild { side: Side::Base, error: "error: no".into() },
            "it does not build: error: no",
        );
        check(NotCompared::Failed { why: "no\nway".into() }, "no way");
        assert_eq!(headline(&run(Vec::new())), None);
    }

    #[test]
    fn without_a_loss_the_line_says_how_many_tests_were_compared_and_what_is_open() {
        let check = |second: Vec<Outcome>, said: &str| {
            let second = Run { base: version(), outcomes: second, ..run(Vec::new()) };
            let comparison = Ok(Box::new(second));
            let run = Run { ratchet: Some(Ratchet { version: version(), comparison }), ..run(Vec::new()) };
            assert_eq!(headline(&run).unwrap(), said);
            assert!(!is_bad(&run));
        };
        let of = |verdict| outcome("a", verdict, Some(measured(1e3, 0.0)));
        let mut probably = of(Verdict::Inconclusive);
        probably.reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
        let late = unmeasured("a", Some(Reason::BudgetUsedUp));
        check(vec![of(Verdict::Same)], "no test slower than v1.2.0 (1 measured)");
        let said = "no test slower than v1.2.0 (3 measured, 1 probably slower, 1 inconclusive, 1 not measured)";
        check(vec![of(Verdict::Same), probably, of(Verdict::Inconclusive), late.clone()], said);
        check(vec![late], "no test was measured against v1.2.0");
    }

    #[test]
    fn every_format_names_the_losses() {
        use crate::{github, json, junit, markdown, push};
        use perfunit_model::Conclusion;
        let mut run = with_ratchet();
        run.outcomes.remove(0);
        let rendering = crate::Rendering::default();
        let expected = "3 tests slower than v1.2.0";
        let html = crate::html::render(&run, &crate::html::HtmlOptions::default());
        let blocked =
            push::describe_block("topic", "main", &run, (Conclusion::of(&run, rendering.denied), rendering.denied));
        let texts = [markdown::render(&run, &rendering), github::annotations(&run), html, blocked];
        for text in texts.iter().chain([&junit::render(&run, rendering.denied)]) {
            assert!(text.contains(expected), "{text}");
        }
        assert!(
            github::outputs(&run, Conclusion::SlowerThanRatchet, None)
                .starts_with("verdict=slower\nslower=0\naccepted=0\nslower-than-ratchet=3\n")
        );
        let document: serde_json::Value = serde_json::from_str(&json::render(&run)).unwrap();
        let ratchet = &document["ratchet"];
        assert_eq!(ratchet["cumulative_losses"].as_array().unwrap().len(), 3);
        assert_eq!(ratchet["accepted"][1]["loss"], 0.03);
        assert_eq!(ratchet["comparison"]["tests"].as_array().unwrap().len(), 5);
        let missing = without(NotCompared::HeadChanged);
        let document: serde_json::Value = serde_json::from_str(&json::render(&missing)).unwrap();
        let not_compared =
            serde_json::json!({"kind": "head-changed", "text": "the working tree changed in the meantime"});
        assert_eq!(document["ratchet"]["not_compared"], not_compared);
        assert_eq!(document["ratchet"]["comparison"], serde_json::Value::Null);
    }
}
