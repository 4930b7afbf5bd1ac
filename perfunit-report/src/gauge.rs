//! A share as a bar: what a function does itself, then what is below it.

use super::style::{DIM, STRONG, Text};
use perfunit_model::format::Glyphs;

/// Columns of a whole bar.
pub const WIDTH: usize = 20;

/// A bar of [`WIDTH`] columns for two parts of 1. A part that is there has at least a column, if there is room.
pub fn gauge(own: f64, below: f64, glyphs: Glyphs) -> Text {
    let (full, light) = match glyphs {
        Glyphs::Unicode => ("█", "░"),
        Glyphs::Ascii => ("#", "-"),
    };
    let own = columns(own).min(WIDTH);
    let below = columns(below).min(WIDTH - own);
    Text::new(STRONG, full.repeat(own)).with(DIM, light.repeat(below)).pad(WIDTH - own - below)
}

/// Less than half a per cent is nothing to see.
fn columns(share: f64) -> usize {
    let columns = (share.clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    if columns == 0 && share >= 0.005 { 1 } else { columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;

    #[track_caller]
    fn check(own: f64, below: f64, expected: &str) {
        let bar = without_escapes(&gauge(own, below, Glyphs::Ascii).to_string());
        assert_eq!(bar, format!("{expected:<20}"));
    }

    #[test]
    fn both_parts_are_drawn_to_scale() {
        check(0.5, 0.25, "##########-----");
        check(0.0, 1.0, "--------------------");
        check(0.001, 0.0, "");
        check(0.01, 0.01, "#-");
        check(1.0, 0.1, "####################");
        check(f64::NAN, 0.5, "----------");
    }

    #[test]
    fn blocks_where_the_terminal_can_show_them() {
        let bar = without_escapes(&gauge(0.1, 0.1, Glyphs::Unicode).to_string());
        assert_eq!(bar.trim_end(), "██░░");
    }
}
