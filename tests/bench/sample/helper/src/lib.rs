//! A path dependency.

/// Steps of a scale.
pub static STEPS: [u32; 8] = [2, 2, 1, 2, 2, 2, 1, 12];

/// Returns a sum of steps.
pub fn scale(degree: usize) -> u32 {
    let mut sum = 0;
    for index in 0..degree {
        sum += STEPS[index % 7];
    }
    sum
}

/// Generic, so it is compiled where it is used.
pub fn largest<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut largest = *values.first()?;
    for value in values {
        if *value > largest {
            largest = *value;
        }
    }
    Some(largest)
}

/// Unused.
pub fn unused(value: u32) -> u32 {
    value * 31
}
