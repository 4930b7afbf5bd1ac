//! Lists without repetitions.

/// Returns the first occurrence of each number, in order.
pub fn unique(numbers: &[u32]) -> Vec<u32> {
    let mut unique = Vec::new();
    for number in numbers {
        if !unique.contains(number) {
            unique.push(*number);
        }
    }
    unique
}

/// Returns the sum of all numbers.
pub fn total(numbers: &[u32]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

#[cfg(test)]
mod tests;
