//! Small vectors that are created and dropped.

const OPERATIONS: u64 = 300;

/// Returns the sum of their lengths.
pub fn allocate() -> usize {
    let mut sum = 0;
    for number in 0..std::hint::black_box(OPERATIONS) {
        let mut values = Vec::new();
        for value in 0..number % 11 + 1 {
            values.push(value);
        }
        sum += std::hint::black_box(values).len();
    }
    sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn allocates() {
        assert!(super::allocate() > 1000);
    }
}
