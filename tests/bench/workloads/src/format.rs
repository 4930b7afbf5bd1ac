//! Numbers and words that are written into one string.

use std::fmt::Write;

const OPERATIONS: u64 = 300;

/// Returns the string.
pub fn format() -> String {
    let mut text = String::new();
    for number in 0..std::hint::black_box(OPERATIONS) {
        let _ = write!(text, "{number}: {}, ", if number % 3 == 0 { "fizz" } else { "none" });
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn formats() {
        assert!(super::format().starts_with("0: fizz, 1: none, "));
    }
}
