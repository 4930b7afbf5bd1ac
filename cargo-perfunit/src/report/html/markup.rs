//! HTML that nothing shown in it can break: every element closes itself, and whatever is not a literal is escaped.

use std::fmt::Write;

/// Names of attributes with their values. An attribute without a value is left out.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

/// Markup in the making.
#[derive(Debug, Default)]
pub struct Markup(String);

impl Markup {
    /// A document, which begins with its type.
    pub fn document() -> Self {
        Self("<!DOCTYPE html>\n".to_owned())
    }

    /// An element with what `inside` writes.
    pub fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.start(tag, attributes);
        self.0.push('>');
        inside(self);
        self.0.extend(["</", tag, ">"]);
    }

    /// An element of a class that holds text alone; without a class if that is empty.
    pub fn words(&mut self, tag: &'static str, class: &'static str, text: &str) {
        self.element(tag, &[("class", class)], |inside| inside.text(text));
    }

    /// An element that holds nothing.
    pub fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.start(tag, attributes);
        self.0.push_str("/>");
    }

    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// A style sheet or a script of ours, as it is.
    pub fn embed(&mut self, tag: &'static str, source: &'static str) {
        self.0.extend(["<", tag, ">\n", source, "</", tag, ">\n"]);
    }

    /// A line break in the source, for people who look at it.
    pub fn line(&mut self) {
        self.0.push('\n');
    }

    pub fn append(&mut self, other: &Markup) {
        self.0.push_str(&other.0);
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without anything written.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that was written.
    pub fn finish(self) -> String {
        self.0
    }

    fn start(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.extend(["<", tag]);
        for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            self.0.extend([" ", name, "=\""]);
            escape(value, &mut self.0);
            self.0.push('"');
        }
    }
}

/// A place or a length as a part of the whole width: `12.34%`.
pub fn percent(part: f64) -> String {
    let mut text = format!("{part:.2}");
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    // Writing into a string cannot fail.
    let _ = write!(text, "%");
    text
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}

/// Writes text so that it is shown and never obeyed.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || reorders(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
}

/// Characters that make other text appear in another order: a name could pass for another one.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut markup = Markup::default();
        markup.text(text);
        markup.finish()
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            shown("</script><b a=\"1\" b='2'>&amp;"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;"
        );
        assert_eq!(shown("a\u{0}b\u{1b}[1mc\u{7f}\u{85}\r"), "a\u{fffd}b\u{fffd}[1mc\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(shown("abc\u{202e}cba"), "abc\u{fffd}cba");
        assert_eq!(shown("größer → µs"), "größer → µs");
    }

    #[test]
    fn attributes_are_escaped_and_left_out_when_empty() {
        let mut markup = Markup::default();
        markup.element("p", &[("class", ""), ("title", "a \"b\" <c>")], |inside| {
            inside.text("x");
            inside.empty("br", &[]);
        });
        assert_eq!(markup.finish(), "<p title=\"a &quot;b&quot; &lt;c&gt;\">x<br/></p>");
    }

    #[test]
    fn places_have_no_idle_digits() {
        assert_eq!([0.0, 50.0, 12.345, 33.1, -1.5].map(percent), ["0%", "50%", "12.35%", "33.1%", "-1.5%"]);
    }
}
