//! The page as a whole.

use super::markup::Markup;
use super::{head, rows};
use crate::model::Run;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Thousands of rows are laid out once, after most of them were hidden, and not again and again while they are read.
const EARLY: &str = "document.documentElement.classList.add('js');\n";

/// What the reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// The page has every test, but no more details than fit into so many bytes; those of the gravest verdicts come first.
    pub most_bytes: usize,
}

impl Default for HtmlOptions {
    /// Small enough for the viewers of CI systems and for mail.
    fn default() -> Self {
        Self { most_bytes: 4_500_000 }
    }
}

pub fn render(run: &Run, options: &HtmlOptions) -> String {
    let mut out = Markup::document();
    out.element("html", &[("lang", "en")], |out| {
        out.element("head", &[], |out| {
            out.empty("meta", &[("charset", "utf-8")]);
            out.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
            out.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            out.words("title", "", &head::title(run));
            out.embed("style", STYLE);
            out.embed("script", EARLY);
        });
        out.element("body", &[], |out| {
            head::header(run, out);
            out.element("main", &[], |out| {
                head::failing(run, out);
                head::remarks(run, out);
                tests(run, options.most_bytes, out);
                head::unmeasured(run, out);
                head::about(run, out);
            });
        });
    });
    out.line();
    out.finish()
}

fn tests(run: &Run, most_bytes: usize, out: &mut Markup) {
    if run.outcomes.is_empty() {
        return;
    }
    out.element("section", &[("aria-labelledby", "tests-title")], |out| {
        out.element("h2", &[("id", "tests-title")], |out| out.text("Tests"));
        head::filter(run, out);
        rows::write(run, most_bytes, out);
        // Right behind the table: it is filtered before it is first drawn.
        out.embed("script", SCRIPT);
    });
}

#[cfg(test)]
mod tests;
