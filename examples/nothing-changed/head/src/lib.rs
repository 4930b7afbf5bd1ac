//! Divisors of numbers, after Euclid.

/// Returns the greatest number that divides both.
pub fn greatest_common_divisor(
    a: u64,
    b: u64,
) -> u64 {
    // The remainder has the same divisors.
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests;
