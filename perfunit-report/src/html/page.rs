//! The page as a whole.

use super::{about, head, rows, sections};
use crate::sections::Sections;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use perfunit_model::{Conclusion, Denied, Run};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Thousands of rows are laid out once, after most of them were hidden, and not again and again while they are read.
const EARLY: &str = "document.documentElement.classList.add('js');\n";

/// What the reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// The page has every test, but no more details than fit into so many bytes; those of the gravest verdicts come first.
    pub most_bytes: usize,
    /// What fails the run, which the headline says.
    pub denied: Denied,
}

impl Default for HtmlOptions {
    /// Small enough for the viewers of CI systems and for mail.
    fn default() -> Self {
        Self { most_bytes: 4_500_000, denied: Denied::default() }
    }
}

/// The page of a run.
pub fn render(run: &Run, options: &HtmlOptions) -> String {
    let conclusion = Conclusion::of(run, options.denied);
    let sections = Sections::of(run, options.denied);
    let header = head::header(run, &sections, conclusion);
    let remarks = sections::remarks(&sections);
    let filter = head::filter(run);
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
                    (rows::table(run, &sections, options.most_bytes.saturating_sub(above)))
                    // Right behind the table: it is filtered before it is first drawn.
                    script { "\n" (PreEscaped(SCRIPT)) } "\n"
                }
            }
            (sections::not_measured(&sections, run))
            (about::about(run))
        }
    };
    document(&head::title(run, &sections, conclusion), &early, &body)
}

/// A page that stands alone, with our style and this besides in its head.
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

/// Characters that hide other text or make it appear in another order: a name could pass for another one.
fn is_deceptive(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || c.is_control() && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
pub(super) mod tests;
