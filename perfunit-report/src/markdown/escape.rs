//! Foreign text in Markdown.

use perfunit_model::format::one_line;
use std::fmt::Write as _;

/// Longer texts lose their middle.
const LONGEST: usize = 200;

/// A code span that holds in running text and in the cell of a table.
pub fn code(text: &str) -> String {
    let text = cut(&one_line(text));
    if text.is_empty() {
        return String::new();
    }
    // Backticks would end the span, a bar the cell; whether a backslash is one depends on what follows. Rust's names
    // have none of them.
    if text.contains(['`', '|', '\\']) { format!("<code>{}</code>", entities(&text)) } else { format!("`{text}`") }
}

/// Running text without markup.
pub fn plain(text: &str) -> String {
    entities(&cut(&one_line(text)))
}

/// Characters that Markdown, GitHub or HTML may read as something else, as numbers: those are never markup.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '(' | ')' | ',' | '+' | '-' | '.' | ';' | '/') || !c.is_ascii_punctuation() {
            out.push(c);
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "&#{};", u32::from(c));
        }
    }
    out
}

fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let (front, end) = (LONGEST * 2 / 5, LONGEST * 3 / 5 - 1);
    text.chars().take(front).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code() {
        assert_eq!(code("<T as Into<U>>::into"), "`<T as Into<U>>::into`");
        assert_eq!(code("a | b"), "<code>a &#124; b</code>");
        assert_eq!(code("`*\\"), "<code>&#96;&#42;&#92;</code>");
        assert_eq!(code("two\nlines"), "`two lines`");
        assert_eq!(code(" "), "");
    }

    #[test]
    fn what_is_too_long_loses_its_middle() {
        let long = code(&format!("a{}z", "é".repeat(500)));
        assert_eq!(long.chars().count(), LONGEST + 2);
        assert!(long.starts_with("`aé") && long.ends_with("éz`") && long.contains('…'));
    }

    #[test]
    fn words_are_no_markup() {
        assert_eq!(plain("@me <b> #1 +2.0 %"), "&#64;me &#60;b&#62; &#35;1 +2.0 %");
    }
}
