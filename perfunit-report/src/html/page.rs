//! The page of a run: the headline, the sections with content, the table of tests, and the environment.

use super::table::{self, GROUPS, Group};
use crate::counts::{self, Excluded, Unmeasured};
use crate::figures::{self, Words};
use crate::headline::headline;
use crate::sections::{Item, Kind, Section, Sections, unmeasured_targets};
use crate::{metrics, text};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use perfunit_model::format::{self, Glyphs, count, first, is_deceptive, one_line, sentence};
use perfunit_model::{Conclusion, Denied, Run, Selection, Verdict, VersionName};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Hides most rows before the first layout, because laying out thousands of rows is slow.
const EARLY: &str = "document.documentElement.classList.add('js');\n";

/// Options of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// Size limit of the page in bytes. The page always has every test; details are included until the limit, the most
    /// severe verdicts first.
    pub most_bytes: usize,
    /// The facts that fail the run. The headline states them.
    pub denied: Denied,
}

impl Default for HtmlOptions {
    /// Returns a limit that suits the viewers of CI systems and mail.
    fn default() -> Self {
        Self { most_bytes: 4_500_000, denied: Denied::default() }
    }
}

/// Returns the page of a run.
pub fn render(run: &Run, options: &HtmlOptions) -> String {
    let conclusion = Conclusion::of(run, options.denied);
    let sections = Sections::of(run, options.denied);
    let header = header(run, &sections, conclusion);
    let remarks = remarks(&sections);
    let filter = filter(run);
    let above = STYLE.len() + header.0.len() + remarks.0.len() + filter.0.len();
    let early = html! { script { "\n" (PreEscaped(EARLY)) } "\n" };
    let body = html! {
        (header) "\n"
        main {
            (remarks)
            @if !run.outcomes.is_empty() {
                section aria-labelledby="tests-title" {
                    h2 id="tests-title" { "Tests" }
                    (filter)
                    (table::table(run, &sections, options.most_bytes.saturating_sub(above)))
                    // Directly after the table, which is thus filtered before it is drawn.
                    script { "\n" (PreEscaped(SCRIPT)) } "\n"
                }
            }
            (not_measured(&sections, run))
            (about(run))
        }
    };
    document(&title(run, &sections, conclusion), &early, &body)
}

/// Renders a page that stands alone, with our style and `head` in its head.
pub(super) fn document(title: &str, head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { "\n" (PreEscaped(STYLE)) } "\n"
                (head)
            }
            body { (body) }
        }
        "\n"
    };
    page.0.replace(is_deceptive, "\u{fffd}")
}

/// Returns the title of the page.
pub fn title(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> String {
    let [base, head] = [&run.base, &run.head].map(|version| one_line(&version.label));
    format!("{}: {base} → {head} – cargo-perfunit", headline(run, sections, conclusion))
}

/// Renders the answer, the compared versions, and the number of tests by verdict.
pub fn header(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> Markup {
    let is_bad = conclusion != Conclusion::Passed;
    let words = Words::of(&run.all_gates());
    html! {
        header {
            p.tool { "cargo-perfunit" }
            h1 class=[is_bad.then_some("slower")] { (headline(run, sections, conclusion)) }
            @if let Some(excluded) = Excluded::describe_beyond_verdicts(run) { p.excluded { (sentence(&excluded)) } }
            p { (version(&run.base)) " → " (version(&run.head)) }
            ul.counts aria-label="Tests by verdict" {
                @for group in with_tests(run) {
                    @match group {
                        Group::Of(Verdict::NotMeasured) => {}
                        Group::Of(verdict) => li class=(group.class()) {
                            (group.sign()) " "
                            b { (group.tests(run)) } " "
                            (figures::word(verdict, words))
                        }
                        Group::Accepted => li class=(group.class()) {
                            (group.sign()) " " b { (group.tests(run)) } " accepted"
                        }
                        Group::Within => @for (bound, tests) in counts::within(run) {
                            li class=(group.class()) {
                                (group.sign()) " "
                                b { (tests.len()) } " " (counts::unchanged_within(bound, Glyphs::Unicode))
                            }
                        }
                    }
                }
                @for (tests, kind) in unmeasured_kinds(run) {
                    li class=(table::class(Verdict::NotMeasured)) {
                        (table::sign(Verdict::NotMeasured)) " " b { (tests) } " " (kind)
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

fn with_tests(run: &Run) -> impl Iterator<Item = Group> {
    GROUPS.into_iter().filter(|group| group.tests(run) > 0)
}

fn version(version: &VersionName) -> Markup {
    let changes = version.changes();
    html! {
        b { (one_line(&version.label)) }
        @match version.commit_beside_label() {
            None => { (changes) }
            Some(commit) => { " (" code { (commit) } (changes) ")" }
        }
    }
}

/// Renders the filter. The script shows it, because it does nothing without the script.
pub fn filter(run: &Run) -> Markup {
    let words = Words::of(&run.all_gates());
    // Many tests that cannot have changed would hide the others.
    let is_shown = |group| group != Group::Of(Verdict::NotMeasured) || counts::count_measured(run) == 0;
    let targets = table::targets(run);
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
                @for group in with_tests(run) {
                    label class=(group.class()) {
                        input type="checkbox" value=(group.class()) checked[is_shown(group)];
                        " " (group.word(words))
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

/// Tests named per reason.
const NAMED: usize = 20;
/// Sections above the table of tests, in this order.
const ABOVE: [Kind; 11] = [
    Kind::Failing,
    Kind::Programs,
    Kind::Functions,
    Kind::Ratchet,
    Kind::Generated,
    Kind::Uncovered,
    Kind::NotCompiled,
    Kind::Scaling,
    Kind::Growth,
    Kind::GrowthUnknown,
    Kind::Caveats,
];

/// Renders the sections above the table of tests.
pub fn remarks(sections: &Sections<'_>) -> Markup {
    html! { @for section in sections.of_kinds(&ABOVE) { (remark(section)) } }
}

fn remark(section: &Section<'_>) -> Markup {
    let headline = &section.headline;
    match section.kind {
        Kind::Failing => list("failing-title", headline, section, told),
        Kind::Ratchet => list("ratchet-title", &format!("Ratchet: {headline}"), section, told),
        Kind::Generated => list("generated-title", &format!("Generated calls: {headline}"), section, told),
        Kind::Uncovered => list("uncovered-title", headline, section, |item| {
            html! { code { (item.name) } " (" code { (item.place()) } "): " (item.text) }
        }),
        Kind::NotCompiled => list("not-compiled-title", headline, section, |item| {
            html! { code { (item.name) } " (" code { (item.place()) } ")" }
        }),
        Kind::Scaling => html! { @for item in &section.items { p.remarks { (told(item)) } } },
        Kind::Programs => list("programs-title", headline, section, of_function),
        Kind::Functions => list("functions-title", headline, section, of_function),
        Kind::Growth => list("growth-title", headline, section, of_function),
        Kind::GrowthUnknown => html! {
            details {
                summary { (headline) }
                ul { @for item in &section.items { li { (with_code(&one_line(&item.text))) } } }
            }
        },
        Kind::Caveats => list("remarks-title", headline, section, |item| {
            html! { b { (item.name) } ": " (with_code(&item.text)) }
        }),
        Kind::ProbablySlower | Kind::Tests(_) | Kind::Accepted | Kind::Within | Kind::Undecided => Markup::default(),
    }
}

fn of_function(item: &Item<'_>) -> Markup {
    html! { code { (item.name) } ": " (with_code(&item.text)) @if item.function.is_some() { " " code { (item.place()) } } }
}

/// Renders a list below a headline.
fn list(id: &str, headline: &str, section: &Section<'_>, item: impl Fn(&Item<'_>) -> Markup) -> Markup {
    html! {
        section.remarks aria-labelledby=(id) {
            h2 id=(id) { (headline) }
            ul {
                @for each in &section.items {
                    li { (item(each)) }
                }
            }
        }
        "\n"
    }
}

/// Renders text, with commands and names between backticks as code.
fn with_code(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // A single backtick is not a pair of quotes.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.into_iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn told(item: &Item<'_>) -> Markup {
    html! { code { (item.name) } ": " (item.text) }
}

/// Renders the tests without figures, by reason.
pub fn not_measured(sections: &Sections<'_>, run: &Run) -> Markup {
    let Some(section) = sections.get(Kind::Tests(Verdict::NotMeasured)) else { return Markup::default() };
    html! {
        section aria-labelledby="unmeasured-title" {
            h2 id="unmeasured-title" { "Not measured" }
            ul.groups {
                @for group in &section.reasons {
                    li {
                        details {
                            summary { (count(group.items.len(), "test")) ": " (group.reason) }
                            p.names { (names(&group.items)) }
                        }
                    }
                }
                @for line in unmeasured_targets(&run.selection.unmeasured_targets, true) {
                    li { (line) }
                }
            }
        }
        "\n"
    }
}

fn names(items: &[Item<'_>]) -> String {
    first(items.iter().map(|item| item.name.clone()), NAMED, |more| format!("{more} more"))
}

/// Renders the environment of a run.
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
    let alpha = format::threshold(run.alpha);
    let rule = format!("{}; at most {alpha} false verdicts per test before confirmation", figures::rule(run));
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

fn lines(facts: &[impl ToString]) -> Vec<String> {
    facts.iter().map(|fact| one_line(&fact.to_string())).collect()
}

fn found(run: &Run) -> String {
    let Selection { found, .. } = run.selection;
    format!("{found} found{}, {} measured", counts::in_targets(&run.selection), counts::count_measured(run))
}

#[cfg(test)]
pub(super) mod tests;
