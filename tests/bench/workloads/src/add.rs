//! Registers, and one place on the stack.

const OPERATIONS: u64 = 300;

/// Computes a sequence of pseudo-random numbers.
pub fn add() -> u64 {
    let mut state = std::hint::black_box(88_172_645_463_325_252_u64);
    for _ in 0..std::hint::black_box(OPERATIONS) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::hint::black_box(state);
    }
    state
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_ne!(super::add(), 0);
    }
}
