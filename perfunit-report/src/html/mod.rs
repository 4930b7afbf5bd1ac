//! A run or a history as one HTML page that opens from disk: no network, no fonts, no other files.
//!
//! Everything is in the markup and can be read without scripts; the script sorts, filters and folds. Names and messages
//! come from foreign code: the templates (maud's `html!`) escape whatever is not a literal of ours, and
//! [`page::render`] replaces characters that could hide or reorder text.

mod explanation;
mod history;
mod page;
mod plots;
mod table;

pub use history::render as history;
pub use page::{HtmlOptions, render};

/// Returns a place or a length as a part of the whole width: `12.34%`.
fn percent(part: f64) -> String {
    let text = format!("{part:.2}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_have_no_idle_digits() {
        assert_eq!([0.0, 50.0, 12.345, 33.1, -1.5].map(super::percent), ["0%", "50%", "12.35%", "33.1%", "-1.5%"]);
    }
}
