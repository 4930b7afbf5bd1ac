//! A run or a history as one HTML page that opens from disk: no network, no fonts, no other files.
//!
//! All content is in the markup and readable without scripts; the script sorts, filters and folds. Names and messages
//! come from foreign code: the templates (maud's `html!`) escape everything except our literals, and [`page::render`]
//! replaces characters that could hide or reorder text.

mod explanation;
mod history;
mod page;
mod plots;
mod table;

pub use history::render as history;
pub use page::{HtmlOptions, render};

/// Formats a fraction as a percentage of the whole width: `12.34%`.
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
