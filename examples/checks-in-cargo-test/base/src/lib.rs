//! Lists without repetitions.

use std::collections::HashSet;

/// Returns the first occurrence of each number, in order.
pub fn unique(numbers: &[u32]) -> Vec<u32> {
    let mut seen = HashSet::new();
    numbers.iter().copied().filter(|number| seen.insert(*number)).collect()
}

/// Returns the sum of all numbers.
pub fn total(numbers: &[u32]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

#[cfg(test)]
mod tests;
