//! Styled text that knows its width: the palette of cargo-nextest, truncation and wrapping.
//!
//! A character counts as one column; a test named in wide characters stands a little off its column, no more.

use anstyle::{AnsiColor, Style};
use perfunit_model::TestId;
use std::fmt;

/// Good news and plain progress.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What fails a gate.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What deserves a look.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub const STRONG: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const PLAIN: Style = Style::new();
pub const TARGET: Style = AnsiColor::Magenta.on_default().bold();
const MODULE: Style = AnsiColor::Cyan.on_default();
const NAME: Style = AnsiColor::Blue.on_default().bold();

/// Units that no line break may separate from their number.
const UNITS: [&str; 14] = ["%", "ns", "µs", "us", "ms", "s", "min", "B", "KiB", "MiB", "GiB", "k", "M", "G"];

/// Characters, each with its style.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text(Vec<(Style, char)>);

impl Text {
    /// Text in one style.
    pub fn new(style: Style, text: impl AsRef<str>) -> Self {
        Self::default().with(style, text)
    }

    /// Text as it is.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(PLAIN, text)
    }

    /// Appends text in a style.
    #[must_use]
    pub fn with(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.0.extend(text.as_ref().chars().map(|c| (style, c)));
        self
    }

    /// Appends text as it is.
    #[must_use]
    pub fn and(self, text: impl AsRef<str>) -> Self {
        self.with(PLAIN, text)
    }

    #[must_use]
    pub fn join(mut self, other: Text) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Appends columns of nothing.
    #[must_use]
    pub fn pad(mut self, columns: usize) -> Self {
        self.0.extend(std::iter::repeat_n((PLAIN, ' '), columns));
        self
    }

    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// True without any character.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lines of at most `width` columns, broken at spaces (0 = one line). A longer word keeps its own line.
    pub fn wrapped(&self, width: usize) -> Vec<Text> {
        if width == 0 || self.width() <= width {
            return vec![self.clone()];
        }
        let mut lines: Vec<Text> = Vec::new();
        for chunk in self.chunks() {
            let first = chunk.0.iter().take_while(|(_, c)| *c == ' ').count();
            match lines.last_mut() {
                Some(line) if line.width() + chunk.width() <= width => line.0.extend(chunk.0),
                _ => lines.push(Text(chunk.0[first..].to_vec())),
            }
        }
        lines
    }

    /// Splits before each run of spaces that may become a line break.
    fn chunks(&self) -> Vec<Text> {
        let mut chunks: Vec<Text> = Vec::new();
        for (index, &(style, c)) in self.0.iter().enumerate() {
            let starts = c == ' ' && index > 0 && self.0[index - 1].1 != ' ' && !self.unit_follows(index);
            match chunks.last_mut() {
                Some(chunk) if !starts => chunk.0.push((style, c)),
                _ => chunks.push(Text(vec![(style, c)])),
            }
        }
        chunks
    }

    fn unit_follows(&self, space: usize) -> bool {
        let word: String = self.0[space + 1..].iter().map(|(_, c)| *c).take_while(|c| *c != ' ').collect();
        UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')', ']']))
    }
}

impl fmt::Display for Text {
    /// With ANSI codes, one pair for each run of equal style.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in self.0.chunk_by(|a, b| a.0 == b.0) {
            let style = run[0].0;
            let text: String = run.iter().map(|(_, c)| c).collect();
            write!(f, "{style}{text}{style:#}")?;
        }
        Ok(())
    }
}

/// A test's full name in nextest's colours: target, module path, name.
pub fn test_id(test: &TestId) -> Text {
    Text::new(TARGET, test.target.to_string()).and(" ").join(test_name(&test.name))
}

/// A test's name inside its target.
pub fn test_name(name: &str) -> Text {
    let start = name.rfind("::").map_or(0, |at| at + 2);
    Text::new(MODULE, &name[..start]).with(NAME, &name[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;

    fn plain(text: &Text) -> String {
        without_escapes(&text.to_string())
    }

    #[track_caller]
    fn check_wrapped(text: &str, width: usize, expected: &[&str]) {
        let lines: Vec<String> = Text::plain(text).wrapped(width).iter().map(plain).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn equal_styles_share_their_codes() {
        let text = Text::new(BAD, "1").with(BAD, " slower").and(", 2 same");
        assert_eq!(text.to_string(), "\u{1b}[1m\u{1b}[31m1 slower\u{1b}[0m, 2 same");
    }

    #[test]
    fn lines_break_at_spaces() {
        check_wrapped("one two three", 8, &["one two", "three"]);
        check_wrapped("one two three", 0, &["one two three"]);
        check_wrapped("unbreakable word", 4, &["unbreakable", "word"]);
        check_wrapped("", 4, &[""]);
    }

    #[test]
    fn no_line_starts_with_a_unit() {
        check_wrapped("change of 10 %, more", 12, &["change of", "10 %, more"]);
    }

    #[test]
    fn names_are_coloured_in_three_parts() {
        let name = test_name("parser::tests::long").to_string();
        assert_eq!(name, format!("{MODULE}parser::tests::{MODULE:#}{NAME}long{NAME:#}"));
    }
}
