//! The answer in a few words, with how many tests have which verdict.

use super::rows::{self, VERDICTS};
use crate::counts::{self, Unmeasured};
use crate::figures::{self, Words};
use crate::ratchet;
use crate::rendering::with_conclusion;
use crate::sections::{Kind, Sections};
use maud::{Markup, html};
use perfunit_model::format::{self, count, one_line};
use perfunit_model::{Conclusion, Run, Verdict, VersionName};

/// Returns the title of the window.
pub fn title(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> String {
    let [base, head] = [&run.base, &run.head].map(|version| one_line(&version.label));
    format!("{}: {base} → {head} – cargo-perfunit", headline(run, sections, conclusion))
}

/// Returns the answer in a few words.
fn headline(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> String {
    with_conclusion(of_tests(run, sections), sections, conclusion)
}

fn of_tests(run: &Run, sections: &Sections<'_>) -> String {
    let answer = match ratchet::found(run) {
        Some(found) => format!("{}; {found}", of_time(run)),
        None => of_time(run),
    };
    match sections.headline(Kind::Failing) {
        Some(failing) if counts::measured(run) == 0 => failing.to_owned(),
        Some(failing) => format!("{failing}; {}{}", answer[..1].to_lowercase(), &answer[1..]),
        None => answer,
    }
}

/// What the figures say.
fn of_time(run: &Run) -> String {
    let worse = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    match (run.count(Verdict::Slower), counts::measured(run)) {
        (0, 0) if run.selection.nothing_because.is_some() => "No test can have changed".to_owned(),
        (0, 0) => "No test was measured".to_owned(),
        (0, _) => match run.count(Verdict::Inconclusive) {
            0 => format!("No test got {worse}"),
            open => format!("No test got {worse}, {open} inconclusive"),
        },
        (slower, _) => format!("{} got {worse}", count(slower, "test")),
    }
}

/// Returns the answer, what was compared, and how many tests have which verdict.
pub fn header(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> Markup {
    let is_bad = conclusion != Conclusion::Passed;
    let words = Words::of(&run.all_gates());
    html! {
        header {
            p.tool { "cargo-perfunit" }
            h1 class=[is_bad.then_some("slower")] { (headline(run, sections, conclusion)) }
            p { (version(&run.base)) " → " (version(&run.head)) }
            ul.counts aria-label="Tests by verdict" {
                @for verdict in with_tests(run).filter(|verdict| *verdict != Verdict::NotMeasured) {
                    li class=(rows::class(verdict)) {
                        (rows::sign(verdict)) " "
                        b { (run.count(verdict)) } " "
                        (figures::word(verdict, words))
                    }
                }
                @for (tests, kind) in unmeasured_kinds(run) {
                    li class=(rows::class(Verdict::NotMeasured)) {
                        (rows::sign(Verdict::NotMeasured)) " " b { (tests) } " " (kind)
                    }
                }
            }
            @if let Some(insensitive) = counts::insensitive(run) {
                p { (insensitive) }
            }
            @if let Some(because) = &run.selection.nothing_because {
                p { (because) }
            }
        }
    }
}

fn unmeasured_kinds(run: &Run) -> impl Iterator<Item = (usize, &'static str)> {
    let tests = Unmeasured::of(run);
    let known = [(tests.not_measured, "not measured"), (tests.unaffected, "unaffected")];
    known.into_iter().filter(|(tests, _)| *tests > 0).chain(tests.others())
}

fn with_tests(run: &Run) -> impl Iterator<Item = Verdict> {
    VERDICTS.into_iter().filter(|verdict| run.count(*verdict) > 0)
}

fn version(version: &VersionName) -> Markup {
    let changes = if version.dirty { " + changes" } else { "" };
    html! {
        b { (one_line(&version.label)) }
        @match version.commit_beside_label() {
            None => { (changes) }
            Some(commit) => { " (" code { (commit) } (changes) ")" }
        }
    }
}

/// What the script filters by. It can do nothing without, so the script brings it to light.
pub fn filter(run: &Run) -> Markup {
    let words = Words::of(&run.all_gates());
    // The long tail of tests that cannot have changed would bury the others.
    let is_shown = |verdict| verdict != Verdict::NotMeasured || counts::measured(run) == 0;
    let targets = rows::targets(run);
    html! {
        form id="filter" role="search" autocomplete="off" hidden="hidden" {
            label.find {
                span.away { "Find tests by name, target or remark" }
                input type="search" id="text" placeholder="Find tests";
            }
            @if targets.len() > 1 {
                label {
                    span.away { "Target" }
                    select id="target" {
                        option { "all targets" }
                        @for (target, number) in &targets {
                            option value=(number) { (target.to_string()) }
                        }
                    }
                }
            }
            fieldset {
                legend.away { "Verdicts" }
                @for verdict in with_tests(run) {
                    label class=(rows::class(verdict)) {
                        input type="checkbox" value=(rows::class(verdict)) checked[is_shown(verdict)];
                        " " (rows::word(verdict, words))
                    }
                }
            }
            p id="shown" role="status" {}
        }
        p.note id="order" {
            "Worst first. All intervals share one scale: linear up to the threshold "
            "(" (format::threshold(run.threshold)) ", dotted) and logarithmic beyond."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{growth, measured, outcome, run};
    use perfunit_model::{Denied, Measured, Metric, NothingBecause, Outcome};

    #[track_caller]
    fn check(outcomes: Vec<Outcome>, expected: &str) {
        assert_eq!(of(&run(outcomes), Denied::default()), expected);
    }

    fn of(run: &Run, denied: Denied) -> String {
        headline(run, &Sections::of(run, denied), Conclusion::of(run, denied))
    }

    #[test]
    fn the_headline_is_the_answer() {
        let figures = || Some(measured(1e3, 0.3));
        check(vec![], "No test was measured");
        check(vec![outcome("a", Verdict::Same, figures())], "No test got slower");
        check(vec![outcome("a", Verdict::Inconclusive, figures())], "No test got slower, 1 inconclusive");
        check(vec![outcome("a", Verdict::Slower, figures())], "1 test got slower");
        let mut gated = run(vec![outcome("a", Verdict::Slower, figures())]);
        gated.gates = vec![Metric::Allocations];
        assert_eq!(of(&gated, Denied::default()), "1 test got worse");
        let mut nothing = run(vec![]);
        nothing.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
        assert_eq!(of(&nothing, Denied::default()), "No test can have changed");
        let grows = Run { growth: Some(growth()), ..run(vec![outcome("a", Verdict::Same, figures())]) };
        assert_eq!(of(&grows, Denied::default()), "No test got slower");
        let denied = Denied { growth: true, ..Denied::default() };
        let said = "No test got slower; work grows with a larger power of an input's length in 1 function";
        assert_eq!(of(&grows, denied), said);
        assert!(
            header(&grows, &Sections::of(&grows, denied), Conclusion::of(&grows, denied))
                .0
                .contains("h1 class=\"slower\"")
        );
    }

    #[test]
    fn what_could_not_have_shown_the_change_stands_in_front() {
        let cold = Measured { threshold: 0.3, ..measured(1e3, 0.0) };
        let run = run(vec![outcome("a", Verdict::Same, Some(cold))]);
        let page = header(&run, &Sections::of(&run, Denied::default()), Conclusion::Passed);
        assert!(page.0.contains("1 of 1 test could not have detected a change of 10 %"));
    }
}
