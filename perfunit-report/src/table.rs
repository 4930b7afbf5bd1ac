//! Rows of figures in common columns: one line per test, or two where the terminal is narrow.

use super::screen::{INDENT, Screen, status};
use super::style::{DIM, Text};
use anstyle::Style;

/// With fewer columns than this left for names, figures go below the name instead of beside it.
const NARROWEST_NAME: usize = 28;
/// Space between the name and the figures, and before a remark.
const GAP: usize = 2;

/// The figures of a row in order: base, arrow, head, change, difference, `[`, low, high, `]`, mode.
pub const COLUMNS: usize = 10;
/// Space before each figure.
const GAPS: [usize; COLUMNS] = [GAP, 1, 1, 3, GAP, GAP, 0, 1, 0, GAP];

#[derive(Debug, Clone)]
pub struct Row {
    pub status: &'static str,
    /// Style of the status word.
    pub style: Style,
    pub name: Text,
    /// Right-aligned figures; empty where there is none.
    pub cells: [Text; COLUMNS],
    /// A remark behind the figures, or below them if that is too wide.
    pub remark: Option<String>,
    pub details: Vec<String>,
}

/// How wide everything is, so that all rows of a report share their columns.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    name: usize,
    cells: [usize; COLUMNS],
    stacked: bool,
    remarks_beside: bool,
}

impl Layout {
    /// The layout for these rows on `width` columns (0 = no limit).
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

    /// Writes a row and what belongs to it.
    pub fn write(&self, row: &Row, screen: &mut Screen) {
        let head = status(row.status, row.style).join(row.name.clone());
        let mut figures = self.figures(row);
        if let Some(remark) = row.remark.as_ref().filter(|_| self.remarks_beside) {
            figures = figures.pad(GAP).with(DIM, remark);
        }
        match self.name.checked_sub(row.name.width()) {
            _ if figures.is_empty() => screen.line(&head),
            Some(spare) if !self.stacked => screen.line(&head.pad(spare).join(figures)),
            // A name is there to be copied: it is never shortened.
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

    /// The figures with the gap before them; nothing trails the last one.
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
    use crate::style::BAD;
    use perfunit_model::format::{Glyphs, without_escapes};

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
