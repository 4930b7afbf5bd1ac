//! The terminal: styled text that knows its width, lines with a status word in a column of 12 like cargo and nextest,
//! and rows of figures in shared columns.
//!
//! Every character counts as one column, so wide characters in test names shift the columns.

use anstyle::{AnsiColor, Style};
use perfunit_model::TestId;
use perfunit_model::format::{Glyphs, is_deceptive, without_escapes};
use std::fmt;
use std::fmt::Write;

/// Width of the status column.
const STATUS: usize = 12;
/// Column of the text after a status word.
pub const INDENT: usize = STATUS + 2;

#[derive(Debug)]
pub struct Screen {
    out: String,
    width: usize,
    glyphs: Glyphs,
}

impl Screen {
    /// Returns an empty page; `width` is in columns, 0 for no limit.
    pub fn new(width: usize, glyphs: Glyphs) -> Self {
        Self { out: String::new(), width, glyphs }
    }

    /// Returns the number of columns; 0 for no limit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the glyphs that the terminal can show.
    pub fn glyphs(&self) -> Glyphs {
        self.glyphs
    }

    /// Writes a line as it is.
    pub fn line(&mut self, text: &Text) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.out, "{text}");
    }

    /// Writes a status word and its text, wrapped at the text's column.
    pub fn status(&mut self, word: &str, style: Style, text: &Text) {
        let room = self.room(INDENT);
        let mut lines = text.wrap(room).into_iter();
        self.line(&status(word, style).join(lines.next().unwrap_or_default()));
        for line in lines {
            self.line(&Text::default().pad(INDENT).join(line));
        }
    }

    /// Writes text that continues the lines above, wrapped at its indent.
    pub fn below(&mut self, indent: usize, text: &Text) {
        for line in text.wrap(self.room(indent)) {
            self.line(&Text::default().pad(indent).join(line));
        }
    }

    /// Writes the number of items that a list leaves out, if any.
    pub fn more(&mut self, indent: usize, left_out: usize) {
        if left_out > 0 {
            self.below(indent, &Text::new(DIM, format!("... and {left_out} more (-v)")));
        }
    }

    /// Writes a short rule between parts; repeated rules are merged.
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

    /// Returns the columns to the right of an indent, 0 for no limit. Very narrow terminals wrap the text themselves.
    pub fn room(&self, indent: usize) -> usize {
        if self.width == 0 { 0 } else { self.width.saturating_sub(indent).max(20) }
    }
}

/// Returns a right-aligned status word and the space after it.
pub fn status(word: &str, style: Style) -> Text {
    Text::default().pad(STATUS.saturating_sub(word.chars().count())).with(style, word).pad(INDENT - STATUS)
}

/// Good news and plain progress.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Results that fail the run.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Results that need attention.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub const STRONG: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const PLAIN: Style = Style::new();
pub const TARGET: Style = AnsiColor::Magenta.on_default().bold();
const MODULE: Style = AnsiColor::Cyan.on_default();
const NAME: Style = AnsiColor::Blue.on_default().bold();

/// Units that stay on the same line as their number.
const UNITS: [&str; 14] = ["%", "ns", "µs", "us", "ms", "s", "min", "B", "KiB", "MiB", "GiB", "k", "M", "G"];

/// Characters with their styles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text(Vec<(Style, char)>);

impl Text {
    /// Returns text in one style.
    pub fn new(style: Style, text: impl AsRef<str>) -> Self {
        Self::default().with(style, text)
    }

    /// Returns text without a style.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(PLAIN, text)
    }

    /// Appends text in a style. Names may hold anything, so escape sequences, line breaks and characters that hide or
    /// reorder others do not reach the terminal.
    #[must_use]
    pub fn with(mut self, style: Style, text: impl AsRef<str>) -> Self {
        let shown = |c| match c {
            '\n' | '\t' => ' ',
            c if is_deceptive(c) => '\u{fffd}',
            c => c,
        };
        self.0.extend(without_escapes(text.as_ref()).chars().map(|c| (style, shown(c))));
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

    /// Appends spaces.
    #[must_use]
    pub fn pad(mut self, columns: usize) -> Self {
        self.0.extend(std::iter::repeat_n((PLAIN, ' '), columns));
        self
    }

    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Wraps the text at spaces to lines of at most `width` columns (0 for no limit). Longer words keep their own line.
    pub fn wrap(&self, width: usize) -> Vec<Text> {
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
    /// Writes the text with ANSI codes, one pair for each run of equal style.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in self.0.chunk_by(|a, b| a.0 == b.0) {
            let style = run[0].0;
            let text: String = run.iter().map(|(_, c)| c).collect();
            write!(f, "{style}{text}{style:#}")?;
        }
        Ok(())
    }
}

/// Formats a test's full name in nextest's colors: target, module path, name.
pub fn test_id(test: &TestId) -> Text {
    Text::new(TARGET, test.target.to_string()).and(" ").join(test_name(&test.name))
}

/// Formats a test's name inside its target.
pub fn test_name(name: &str) -> Text {
    let start = name.rfind("::").map_or(0, |at| at + 2);
    Text::new(MODULE, &name[..start]).with(NAME, &name[start..])
}

/// Figures go below the name if fewer columns than this remain for it.
const NARROWEST_NAME: usize = 28;
/// Space between the name and the figures, and before a remark.
const GAP: usize = 2;

/// Figures of a row in order: base, arrow, head, change, difference, `[`, low, high, `]`, mode.
pub const COLUMNS: usize = 10;
/// Space before each figure.
const GAPS: [usize; COLUMNS] = [GAP, 1, 1, 3, GAP, GAP, 0, 1, 0, GAP];

#[derive(Debug, Clone)]
pub struct Row {
    pub status: &'static str,
    /// Style of the status word.
    pub style: Style,
    pub name: Text,
    /// Right-aligned figures; empty if missing.
    pub cells: [Text; COLUMNS],
    /// A remark after the figures, or below them if it is too wide.
    pub remark: Option<String>,
    pub details: Vec<String>,
}

/// Column widths shared by all rows of a report.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    name: usize,
    cells: [usize; COLUMNS],
    stacked: bool,
    remarks_beside: bool,
}

impl Layout {
    /// Computes the layout of these rows on `width` columns (0 for no limit).
    pub fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone, width: usize) -> Self {
        let cells = std::array::from_fn(|at| widest(rows.clone().map(|row| row.cells[at].width())));
        let figures: usize = cells.iter().zip(GAPS).filter(|(cell, _)| **cell > 0).map(|(cell, gap)| cell + gap).sum();
        let names = rows.clone().map(|row| row.name.width());
        let longest = widest(names.clone());
        let remark = widest(rows.filter_map(|row| row.remark.as_ref()).map(|remark| remark.chars().count()));
        if width == 0 {
            return Self { name: longest, cells, stacked: false, remarks_beside: true };
        }
        let room = width.saturating_sub(INDENT + figures);
        let stacked = longest > room && room < NARROWEST_NAME;
        let name = if stacked { 0 } else { widest(names.filter(|name| *name <= room)) };
        let used = if stacked { figures } else { name + figures };
        Self { name, cells, stacked, remarks_beside: INDENT + used + GAP + remark <= width }
    }

    /// Writes a row and its details.
    pub fn write(&self, row: &Row, screen: &mut Screen) {
        let head = status(row.status, row.style).join(row.name.clone());
        let mut figures = self.figures(row);
        if let Some(remark) = row.remark.as_ref().filter(|_| self.remarks_beside) {
            figures = figures.pad(GAP).with(DIM, remark);
        }
        match self.name.checked_sub(row.name.width()) {
            _ if figures.is_empty() => screen.line(&head),
            Some(spare) if !self.stacked => screen.line(&head.pad(spare).join(figures)),
            // Names are never shortened, so that they can be copied.
            _ => {
                let indent = if self.stacked { INDENT - GAP } else { INDENT + self.name };
                screen.line(&head);
                screen.line(&Text::default().pad(indent).join(figures));
            }
        }
        if let Some(remark) = row.remark.as_ref().filter(|_| !self.remarks_beside) {
            screen.below(INDENT, &Text::new(DIM, remark));
        }
        for detail in &row.details {
            screen.below(INDENT, &Text::new(DIM, detail));
        }
    }

    /// Returns the figures with their gaps, without trailing spaces.
    fn figures(&self, row: &Row) -> Text {
        let mut line = Text::default();
        let mut pending = 0;
        for ((cell, width), gap) in row.cells.iter().zip(self.cells).zip(GAPS).filter(|((_, width), _)| *width > 0) {
            pending += gap + width - cell.width();
            if !cell.is_empty() {
                line = line.pad(pending).join(cell.clone());
                pending = 0;
            }
        }
        line
    }
}

fn widest(widths: impl Iterator<Item = usize>) -> usize {
    widths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{BAD, GOOD};
    use perfunit_model::format::{Glyphs, without_escapes};

    #[test]
    fn text_wraps_below_itself() {
        let mut screen = Screen::new(36, Glyphs::Ascii);
        screen.bar();
        screen.bar();
        screen.status("Unchanged", GOOD, &Text::plain("31 tests (within +-10 %)"));
        screen.below(16, &Text::plain("as far as one can see"));
        let expected = "\
------------
   Unchanged  31 tests (within
              +-10 %)
                as far as one can
                see
";
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    fn plain(text: &Text) -> String {
        without_escapes(&text.to_string())
    }

    #[track_caller]
    fn check_wrapped(text: &str, width: usize, expected: &[&str]) {
        let lines: Vec<String> = Text::plain(text).wrap(width).iter().map(plain).collect();
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

    fn row(name: &str, base: &str, mode: &str, remark: Option<&str>) -> Row {
        let mut cells: [Text; COLUMNS] = Default::default();
        cells[0] = Text::plain(base);
        cells[COLUMNS - 1] = Text::plain(mode);
        let remark = remark.map(str::to_owned);
        Row { status: "Slower", style: BAD, name: Text::plain(name), cells, remark, details: Vec::new() }
    }

    #[track_caller]
    fn check(width: usize, rows: &[Row], expected: &str) {
        let layout = Layout::of(rows.iter(), width);
        let mut screen = Screen::new(width, Glyphs::Ascii);
        for row in rows {
            layout.write(row, &mut screen);
        }
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    #[test]
    fn columns_are_common_and_nothing_trails() {
        let rows = [row("a", "1 ns", "", None), row("long name", "100 ns", "(cold)", Some("noisy"))];
        let expected = "      Slower  a            1 ns\n      Slower  long name  100 ns  (cold)  noisy\n";
        check(0, &rows, expected);
    }

    #[test]
    fn names_that_do_not_fit_keep_a_line_of_their_own() {
        let rows = [row("a_name_of_more_than_thirty_six_columns", "1 ns", "", None), row("short", "2 ns", "", None)];
        let expected = "      Slower  a_name_of_more_than_thirty_six_columns
                     1 ns
      Slower  short  2 ns
";
        check(50, &rows, expected);
    }

    #[test]
    fn figures_go_below_where_names_have_no_room() {
        let rows = [row("a_name_of_twenty_eight_chars", "1 ns", "", Some("noisy"))];
        check(44, &rows, "      Slower  a_name_of_twenty_eight_chars\n              1 ns  noisy\n");
    }

    #[test]
    fn remarks_without_room_go_below() {
        let rows = [row("a", "1 ns", "", Some("a remark of some length"))];
        check(40, &rows, "      Slower  a  1 ns\n              a remark of some length\n");
    }
}
