//! The page that all text is written on: a status word in a column of 12, as in cargo and nextest, then the text.

use super::style::{DIM, Text};
use anstyle::Style;
use perfunit_model::format::Glyphs;
use std::fmt::Write;

/// Width of the status column.
const STATUS: usize = 12;
/// Where text begins after a status word.
pub const INDENT: usize = STATUS + 2;

#[derive(Debug)]
pub struct Screen {
    out: String,
    width: usize,
    glyphs: Glyphs,
}

impl Screen {
    /// An empty page; `width` in columns, 0 for no limit.
    pub fn new(width: usize, glyphs: Glyphs) -> Self {
        Self { out: String::new(), width, glyphs }
    }

    /// Columns, 0 for no limit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What the terminal can show.
    pub fn glyphs(&self) -> Glyphs {
        self.glyphs
    }

    /// A line as it is.
    pub fn line(&mut self, text: &Text) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.out, "{text}");
    }

    /// A status word and its text, wrapped below itself.
    pub fn status(&mut self, word: &str, style: Style, text: &Text) {
        let room = self.room(INDENT);
        let mut lines = text.wrapped(room).into_iter();
        self.line(&status(word, style).join(lines.next().unwrap_or_default()));
        for line in lines {
            self.line(&Text::default().pad(INDENT).join(line));
        }
    }

    /// Text that belongs to the lines above, wrapped at its indent.
    pub fn below(&mut self, indent: usize, text: &Text) {
        for line in text.wrapped(self.room(indent)) {
            self.line(&Text::default().pad(indent).join(line));
        }
    }

    /// What a list leaves out, if anything.
    pub fn more(&mut self, indent: usize, left_out: usize) {
        if left_out > 0 {
            self.below(indent, &Text::new(DIM, format!("... and {left_out} more (-v)")));
        }
    }

    /// A short rule between parts; two in a row are one.
    pub fn bar(&mut self) {
        let bar = format!("{}\n", Text::new(DIM, self.glyphs.bar().repeat(STATUS)));
        if !self.out.ends_with(&bar) {
            self.out.push_str(&bar);
        }
    }

    pub fn blank(&mut self) {
        self.line(&Text::default());
    }

    pub fn finish(self) -> String {
        self.out
    }

    /// Columns right of an indent, 0 for no limit; on a very narrow terminal the terminal wraps, not we.
    pub fn room(&self, indent: usize) -> usize {
        if self.width == 0 { 0 } else { self.width.saturating_sub(indent).max(20) }
    }
}

/// A status word, right-aligned, and the space after it.
pub fn status(word: &str, style: Style) -> Text {
    Text::default().pad(STATUS.saturating_sub(word.chars().count())).with(style, word).pad(INDENT - STATUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::GOOD;
    use perfunit_model::format::without_escapes;

    #[test]
    fn text_wraps_below_itself() {
        let mut screen = Screen::new(36, Glyphs::Ascii);
        screen.bar();
        screen.bar();
        screen.status("Same", GOOD, &Text::plain("31 tests: no change of 10 % or more"));
        screen.below(16, &Text::plain("as far as one can see"));
        let expected = "\
------------
        Same  31 tests: no change of
              10 % or more
                as far as one can
                see
";
        assert_eq!(without_escapes(&screen.finish()), expected);
    }
}
