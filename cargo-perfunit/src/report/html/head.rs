//! The whole run: the headline, what to know before trusting the figures, and the circumstances.

use super::rows::{self, VERDICTS};
use crate::model::{Outcome, Run, Side, Verdict, VersionName};
use crate::report::counts::Unmeasured;
use crate::report::figures::{self, Words};
use crate::report::format::{self, count, one_line};
use crate::report::{caveats, failing, generated, growth, metrics, ratchet, text, uncovered, unmeasured as groups};
use maud::{Markup, html};

/// Tests named of those that share a reason.
const NAMED: usize = 20;

/// What the window is called.
pub fn title(run: &Run) -> String {
    let [base, head] = [&run.base, &run.head].map(|version| one_line(&version.label));
    format!("{}: {base} → {head} – cargo-perfunit", headline(run))
}

/// The answer in a few words.
fn headline(run: &Run) -> String {
    let answer = match ratchet::found(run) {
        Some(found) => format!("{}; {found}", of_time(run)),
        None => of_time(run),
    };
    match failing::headline(run) {
        Some(failing) if caveats::measured(run) == 0 => failing,
        Some(failing) => format!("{failing}; {}{}", answer[..1].to_lowercase(), &answer[1..]),
        None => answer,
    }
}

/// What the figures say.
fn of_time(run: &Run) -> String {
    let worse = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    match (run.count(Verdict::Slower), caveats::measured(run)) {
        (0, 0) if run.selection.nothing_because.is_some() => "No test can have changed".to_owned(),
        (0, 0) => "No test was measured".to_owned(),
        (0, _) => match run.count(Verdict::Inconclusive) {
            0 => format!("No test got {worse}"),
            open => format!("No test got {worse}, {open} inconclusive"),
        },
        (slower, _) => format!("{} got {worse}", count(slower, "test")),
    }
}

/// The answer, what was compared, and how many tests have which verdict.
pub fn header(run: &Run) -> Markup {
    let is_bad = run.count(Verdict::Slower) > 0 || ratchet::is_bad(run) || run.failing(Side::Head).next().is_some();
    let words = Words::of(&run.all_gates());
    html! {
        header {
            p.tool { "cargo-perfunit" }
            h1 class=[is_bad.then_some("slower")] { (headline(run)) }
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
            @if let Some(insensitive) = caveats::insensitive(run) {
                p { (insensitive) }
            }
            @if let Some(because) = &run.selection.nothing_because {
                p { (one_line(because)) }
            }
        }
    }
}

fn unmeasured_kinds(run: &Run) -> impl Iterator<Item = (usize, &'static str)> {
    let counts = Unmeasured::of(run);
    let known = [(counts.not_measured, "not measured"), (counts.unaffected, "unaffected")];
    known.into_iter().filter(|(tests, _)| *tests > 0).chain(counts.others())
}

fn with_tests(run: &Run) -> impl Iterator<Item = Verdict> {
    VERDICTS.into_iter().filter(|verdict| run.count(*verdict) > 0)
}

fn version(version: &VersionName) -> Markup {
    let changes = if version.dirty { " + changes" } else { "" };
    html! {
        b { (one_line(&version.label)) }
        @match format::commit_beside_label(version) {
            None => { (changes) }
            Some(commit) => { " (" code { (commit) } (changes) ")" }
        }
    }
}

/// Tests that base passes and head does not; nothing where there is none.
pub fn failing(run: &Run) -> Markup {
    html! {
        @if let Some(headline) = failing::headline(run) {
            section.remarks aria-labelledby="failing-title" {
                h2 id="failing-title" { (headline) }
                ul {
                    @for outcome in run.failing(Side::Head) {
                        li { code { (one_line(&outcome.test.to_string())) } ": " (failing::said(outcome)) }
                    }
                }
            }
            "\n"
        }
    }
}

/// What the comparison with the ratchet's version says; nothing where there is none.
pub fn ratchet(run: &Run) -> Markup {
    html! {
        @if let Some(headline) = ratchet::headline(run) {
            section.remarks aria-labelledby="ratchet-title" {
                h2 id="ratchet-title" { "Ratchet: " (headline) }
                ul {
                    @for (outcome, said) in ratchet::items(run) {
                        li { code { (one_line(&outcome.test.to_string())) } ": " (said) }
                    }
                }
            }
            "\n"
        }
    }
}

/// The functions whose work grows faster than before, and what is not known of others.
pub fn growth(run: &Run) -> Markup {
    let lines: Vec<String> = run.growth.iter().flat_map(growth::unknown).collect();
    html! {
        @for scaling in &run.scaling {
            p.remarks { code { (one_line(&format!("{} {}", scaling.target, scaling.name))) } ": " (growth::scaled(scaling)) }
        }
        @if let Some(headline) = growth::headline(run) {
            section.remarks aria-labelledby="growth-title" {
                h2 id="growth-title" { (headline) }
                ul {
                    @for finding in run.growing() {
                        li {
                            code { (one_line(&finding.function.name)) } ": " (growth::said(finding)) " "
                            code { (growth::place(&finding.function)) }
                        }
                    }
                }
            }
            "\n"
        }
        @if !lines.is_empty() {
            details {
                summary { "Growth that is not known" }
                ul { @for line in &lines { li { (one_line(line)) } } }
            }
        }
    }
}

/// What the comparison of generated calls says; nothing where there is none.
pub fn generated(run: &Run) -> Markup {
    html! {
        @if let Some(headline) = generated::headline(run) {
            section.remarks aria-labelledby="generated-title" {
                h2 id="generated-title" { "Generated calls: " (headline) }
                ul {
                    @for (call, said) in generated::items(run) {
                        li { code { (call) } ": " (said) }
                    }
                }
            }
            "\n"
        }
    }
}

/// Changed functions that no test executes, and those that are not compiled; nothing where there is none.
pub fn uncovered(run: &Run) -> Markup {
    html! {
        @if let Some(headline) = uncovered::headline(&run.selection) {
            section.remarks aria-labelledby="uncovered-title" {
                h2 id="uncovered-title" { (headline) }
                ul {
                    @for function in &run.selection.uncovered {
                        li {
                            code { (one_line(&function.function.name)) } " ("
                            code { (growth::place(&function.function)) } "): " (uncovered::because(function))
                        }
                    }
                }
            }
            "\n"
        }
        @if let Some(headline) = uncovered::not_compiled(&run.selection) {
            section.remarks aria-labelledby="not-compiled-title" {
                h2 id="not-compiled-title" { (headline) }
                ul {
                    @for function in &run.selection.not_compiled {
                        li { code { (one_line(&function.name)) } " (" code { (growth::place(function)) } ")" }
                    }
                }
            }
            "\n"
        }
    }
}

/// What limits the figures; nothing where nothing does.
pub fn remarks(run: &Run) -> Markup {
    let remarks = caveats::all(run);
    html! {
        @if !remarks.is_empty() {
            section.remarks aria-labelledby="remarks-title" {
                h2 id="remarks-title" { "Caveats" }
                ul {
                    @for (word, text) in remarks {
                        li { b { (word) } ": " (text) }
                    }
                }
            }
            "\n"
        }
    }
}

/// What the script filters by. It can do nothing without, so the script brings it to light.
pub fn filter(run: &Run) -> Markup {
    let words = Words::of(&run.all_gates());
    // The long tail of tests that cannot have changed would bury the others.
    let is_shown = |verdict| verdict != Verdict::NotMeasured || caveats::measured(run) == 0;
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

/// What was not measured and why.
pub fn unmeasured(run: &Run) -> Markup {
    let groups = groups::groups(run);
    html! {
        @if !groups.is_empty() || !run.selection.unmeasured_targets.is_empty() {
            section aria-labelledby="unmeasured-title" {
                h2 id="unmeasured-title" { "Not measured" }
                ul.groups {
                    @for (why, tests) in groups {
                        li {
                            details {
                                summary { (count(tests.len(), "test")) ": " (why) }
                                p.names { (names(&tests)) }
                            }
                        }
                    }
                    @for target in &run.selection.unmeasured_targets {
                        li { (one_line(target)) }
                    }
                }
            }
            "\n"
        }
    }
}

fn names(tests: &[&Outcome]) -> String {
    let names: Vec<String> = tests.iter().take(NAMED).map(|outcome| one_line(&outcome.test.to_string())).collect();
    let more = tests.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// With what, how long, and what was looked at.
pub fn about(run: &Run) -> Markup {
    html! {
        section aria-labelledby="about-title" {
            h2 id="about-title" { "About this run" }
            dl {
                @for (term, texts) in facts(run).into_iter().filter(|(_, texts)| !texts.is_empty()) {
                    dt { (term) }
                    @for text in texts {
                        dd { (text) }
                    }
                }
            }
        }
    }
}

fn facts(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let environment = &run.environment;
    let lines = |texts: &[String]| texts.iter().map(|text| one_line(text)).collect::<Vec<_>>();
    let gates: Vec<String> = run.gates.iter().map(ToString::to_string).collect();
    let rule = format!(
        "{}, threshold {}; at most {} false verdicts per test before confirmation",
        gates.join(", "),
        format::threshold(run.threshold),
        format::threshold(run.alpha)
    );
    let addresses =
        if environment.paired_address_space { "equal in both processes of a pair" } else { "random in each process" };
    let layouts = environment.layouts.iter().map(|(target, state)| match state {
        Ok(layout) => format!("{target}: {}", text::layout(layout)),
        Err(why) => format!("{target}: not controlled ({})", one_line(&why.to_string())),
    });
    vec![
        ("Tests", vec![found(run)]),
        ("Changes", lines(&run.selection.changes)),
        ("Their effects", lines(&run.selection.effects)),
        ("Decided by", vec![rule]),
        ("Stages", text::stages(&run.stages).into_iter().collect()),
        ("Toolchain", vec![format!("{}, {} profile, {}", environment.rustc, environment.profile, environment.host)]),
        ("Processor", vec![format!("{}, core {}", one_line(&environment.cpu), environment.core)]),
        ("Addresses", vec![addresses.to_owned()]),
        ("Layout", layouts.collect()),
        ("Not available", metrics::for_none(&run.outcomes).iter().map(|text| one_line(text)).collect()),
    ]
}

fn found(run: &Run) -> String {
    let selection = &run.selection;
    let place = match selection.targets {
        0 => String::new(),
        targets => format!(" in {} of {}", selection.targets_reached, count(targets, "target")),
    };
    format!("{} found{place}, {} measured", selection.found, caveats::measured(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples::{full, measured, outcome, run};
    use crate::model::{Measured, Metric};

    #[track_caller]
    fn check(outcomes: Vec<Outcome>, expected: &str) {
        assert_eq!(headline(&run(outcomes)), expected);
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
        assert_eq!(headline(&gated), "1 test got worse");
        let mut nothing = run(vec![]);
        nothing.selection.nothing_because = Some("only comments changed".into());
        assert_eq!(headline(&nothing), "No test can have changed");
    }

    #[test]
    fn what_could_not_have_shown_the_change_stands_in_front() {
        let cold = Measured { threshold: 0.3, ..measured(1e3, 0.0) };
        let page = header(&run(vec![outcome("a", Verdict::Same, Some(cold))]));
        assert!(page.0.contains("1 of 1 test could not have detected a change of 10 %"));
    }

    #[test]
    fn circumstances_leave_out_what_is_not_known() {
        let text = about(&full()).0;
        assert!(text.contains("<dd>412 found in 3 of 12 targets, 7 measured</dd>"), "{text}");
        assert!(text.contains("<dt>Stages</dt><dd>prepare 0.4 s, build 12.1 s, measure 8.3 s</dd>"), "{text}");
        assert!(text.contains("mycrate: not controlled (the linker ld refuses: no such option)"), "{text}");
        assert!(!text.contains("Their effects") && !text.contains("Not available"), "{text}");
    }

    #[test]
    fn remarks_are_only_there_where_there_are_some() {
        assert!(remarks(&run(vec![])).0.is_empty());
        let text = remarks(&full()).0;
        assert!(
            text.contains("<b>Note</b>: code layout not controlled in mycrate: the linker ld refuses: no such option"),
            "{text}"
        );
    }
}
