//! Sections of the page that are there only if there is something to say.

use crate::figures::Detail;
use crate::{caveats, failing, generated, growth, ratchet, uncovered, unmeasured as groups};
use maud::{Markup, html};
use perfunit_model::format::{count, first, one_line};
use perfunit_model::{Outcome, Run, Side};

/// Tests named of those that share a reason.
const NAMED: usize = 20;

/// What to know before the verdicts of tests.
pub fn remarks(run: &Run) -> Markup {
    html! {
        (failing(run)) (ratchet(run)) (generated(run)) (uncovered(run)) (not_compiled(run)) (growth(run)) (caveats(run))
    }
}

/// A list below a headline.
fn section(id: &str, headline: &str, items: impl Iterator<Item = Markup>) -> Markup {
    html! {
        section.remarks aria-labelledby=(id) {
            h2 id=(id) { (headline) }
            ul {
                @for item in items {
                    li { (item) }
                }
            }
        }
        "\n"
    }
}

/// Tests that base passes and head does not.
fn failing(run: &Run) -> Markup {
    let Some(headline) = failing::headline(run) else { return Markup::default() };
    let said =
        |outcome: &Outcome| html! { code { (one_line(&outcome.test.to_string())) } ": " (failing::said(outcome)) };
    section("failing-title", &headline, run.failing(Side::Head).map(said))
}

/// What the comparison with the ratchet's version says.
fn ratchet(run: &Run) -> Markup {
    let Some(headline) = ratchet::headline(run) else { return Markup::default() };
    let items = ratchet::items(run).into_iter();
    let items = items.map(|(outcome, said)| html! { code { (one_line(&outcome.test.to_string())) } ": " (said) });
    section("ratchet-title", &format!("Ratchet: {headline}"), items)
}

/// What the comparison of generated calls says.
fn generated(run: &Run) -> Markup {
    let Some(headline) = generated::headline(run) else { return Markup::default() };
    let items = generated::items(run).into_iter().map(|(call, said)| html! { code { (call) } ": " (said) });
    section("generated-title", &format!("Generated calls: {headline}"), items)
}

/// Changed functions that no test executes.
fn uncovered(run: &Run) -> Markup {
    let Some(headline) = uncovered::headline(&run.selection) else { return Markup::default() };
    let items = run.selection.uncovered.iter().map(|function| {
        html! {
            code { (one_line(&function.function.name)) } " ("
            code { (growth::place(&function.function)) } "): " (uncovered::because(function))
        }
    });
    section("uncovered-title", &headline, items)
}

/// Changed functions that are not compiled.
fn not_compiled(run: &Run) -> Markup {
    let Some(headline) = uncovered::not_compiled(&run.selection) else { return Markup::default() };
    let functions = run.selection.not_compiled.iter();
    let items = functions
        .map(|function| html! { code { (one_line(&function.name)) } " (" code { (growth::place(function)) } ")" });
    section("not-compiled-title", &headline, items)
}

/// The functions whose work grows faster than before, and what is not known of others.
fn growth(run: &Run) -> Markup {
    let lines: Vec<String> = run.growth.iter().flat_map(growth::unknown).collect();
    let growing = run.growing().map(|finding| {
        html! {
            code { (one_line(&finding.function.name)) } ": " (growth::said(finding)) " "
            code { (growth::place(&finding.function)) }
        }
    });
    html! {
        @for scaling in &run.scaling {
            p.remarks { code { (one_line(&format!("{} {}", scaling.target, scaling.name))) } ": " (growth::scaled(scaling)) }
        }
        @if let Some(headline) = growth::headline(run) {
            (section("growth-title", &headline, growing))
        }
        @if !lines.is_empty() {
            details {
                summary { "Growth that is not known" }
                ul { @for line in &lines { li { (one_line(line)) } } }
            }
        }
    }
}

/// What limits the figures.
fn caveats(run: &Run) -> Markup {
    let caveats = caveats::all(run);
    if caveats.is_empty() {
        return Markup::default();
    }
    let items = caveats.into_iter().map(|(word, text)| html! { b { (word) } ": " (text) });
    section("remarks-title", "Caveats", items)
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
                    @for line in groups::targets(&run.selection.unmeasured_targets, Detail::Full) {
                        li { (line) }
                    }
                }
            }
            "\n"
        }
    }
}

fn names(tests: &[&Outcome]) -> String {
    let names = tests.iter().map(|outcome| one_line(&outcome.test.to_string()));
    first(names, NAMED, |more| format!("{more} more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{full, run};

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
