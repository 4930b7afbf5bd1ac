//! Sections of the page that exist only if there is something to say.

use crate::sections::{Item, Kind, Section, Sections, unmeasured_targets};
use maud::{Markup, html};
use perfunit_model::format::{count, first, one_line};
use perfunit_model::{Run, Verdict};

/// Tests named of those that share a reason.
const NAMED: usize = 20;
/// Sections above the table of tests, in this order.
const ABOVE: [Kind; 9] = [
    Kind::Failing,
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
        Kind::Growth => list("growth-title", headline, section, |item| {
            html! { code { (item.name) } ": " (item.text) " " code { (item.place()) } }
        }),
        Kind::GrowthUnknown => html! {
            details {
                summary { (headline) }
                ul { @for item in &section.items { li { (one_line(&item.text)) } } }
            }
        },
        Kind::Caveats => list("remarks-title", headline, section, |item| html! { b { (item.name) } ": " (item.text) }),
        Kind::ProbablySlower | Kind::Tests(_) | Kind::Undecided => Markup::default(),
    }
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

fn told(item: &Item<'_>) -> Markup {
    html! { code { (item.name) } ": " (item.text) }
}

/// Renders what was not measured and why.
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

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Denied;
    use perfunit_model::samples::{full, run};

    #[test]
    fn remarks_are_only_there_where_there_are_some() {
        assert!(remarks(&Sections::of(&run(vec![]), Denied::default())).0.is_empty());
        let text = remarks(&Sections::of(&full(), Denied::default())).0;
        assert!(
            text.contains("<b>Note</b>: code layout not controlled in mycrate: the linker ld refuses: no such option"),
            "{text}"
        );
    }
}
