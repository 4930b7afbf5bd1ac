//! Tables of text and numbers, formatting, and constant functions.

use std::fmt;

/// Names of days.
pub const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

static WEIGHTS: [u32; 10] = [1, 5, 9, 2, 6, 10, 3, 7, 11, 4];

const DIGITS: &[u8] = b"0123456789abcdef";

const LIMIT: u32 = 1000;

/// Evaluated at compile time where it is used.
pub const fn mask(bits: u32) -> u32 {
    if bits < 32 { (1 << bits) - 1 } else { u32::MAX }
}

const LOW: u32 = mask(6);

/// Returns the name of a day.
pub fn day(number: usize) -> &'static str {
    DAYS[number % 7]
}

/// Returns a weighted sum.
pub fn weigh(values: &[u32]) -> u32 {
    let mut sum = 0;
    for (value, weight) in values.iter().zip(WEIGHTS) {
        sum += value * weight;
    }
    if sum > LIMIT { sum & LOW } else { sum }
}

/// A number in hexadecimal digits.
pub struct Hex(pub u32);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut started = false;
        for position in (0..8).rev() {
            let digit = (self.0 >> (position * 4)) & 15;
            started |= digit > 0;
            if started {
                write!(f, "{}", DIGITS[digit as usize] as char)?;
            }
        }
        Ok(())
    }
}

/// Returns a sentence.
pub fn greet(name: &str) -> String {
    if name.is_empty() {
        return "hello, nobody".to_owned();
    }
    format!("hello, {name}; it is {}", Hex(LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        assert!(day(9).ends_with("day"));
    }

    #[test]
    fn weights() {
        assert!(weigh(&[100, 200, 300, 400]) < 10_000);
    }

    #[test]
    fn hexadecimal() {
        assert!(Hex(0xbeef).to_string().len() < 9);
    }

    #[test]
    fn greetings() {
        assert!(greet("you").len() > greet("").len() - 5);
    }

    #[test]
    fn masks() {
        assert!(mask(std::hint::black_box(5)) > 0);
    }
}
