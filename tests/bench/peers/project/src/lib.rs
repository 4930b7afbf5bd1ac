//! Five kinds of work with a given number of operations, as in `cargo perfunit calibrate`.
//!
//! The functions are not inlined, so that all tools measure the same machine code.

mod unrelated;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::LazyLock;

pub use unrelated::unrelated;

/// Read from memory, so that the code of the work is identical in all versions.
pub static OPERATIONS: u32 = 300;

/// Xorshift generator.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Random(black_box(88_172_645_463_325_252))
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[inline(never)]
pub fn add(operations: u32) -> u64 {
    let (mut random, mut sum) = (Random::new(), 0_u64);
    for _ in 0..operations {
        sum = black_box(sum.wrapping_add(random.draw()));
    }
    sum
}

#[inline(never)]
pub fn allocate(operations: u32) -> usize {
    let mut held: [Vec<u8>; 16] = Default::default();
    for number in 0..operations as usize {
        held[number % 16] = black_box(vec![number as u8; 16 + number % 7 * 8]);
    }
    held[0].len()
}

#[inline(never)]
pub fn format(operations: u32) -> usize {
    let (mut random, mut text) = (Random::new(), String::with_capacity(64));
    for _ in 0..operations {
        text.clear();
        write!(text, "{:>6}: {:x}", "word", random.draw()).unwrap();
        black_box(&mut text);
    }
    text.len()
}

/// Makes one system call per operation. It does not write to standard output, which some benchmark tools use for their
/// own protocol.
#[inline(never)]
pub fn print(operations: u32) -> u64 {
    static NOWHERE: LazyLock<File> = LazyLock::new(|| File::options().write(true).open("/dev/null").unwrap());
    let (mut random, mut nowhere) = (Random::new(), &*NOWHERE);
    for _ in 0..operations {
        nowhere.write_all(format!("{}\n", random.draw()).as_bytes()).unwrap();
    }
    random.draw()
}

#[inline(never)]
pub fn hash_and_sort(operations: u32) -> u64 {
    let (mut random, mut counts, mut least) = (Random::new(), HashMap::with_capacity(64), 0);
    for _ in 0..operations {
        let mut few: [u64; 8] = std::array::from_fn(|_| random.draw());
        few.sort_unstable();
        least ^= few[0];
        *counts.entry(few[7] % 64).or_insert(0_u32) += 1;
    }
    least ^ counts.len() as u64
}

#[cfg(test)]
mod tests {
    use super::OPERATIONS;
    use std::hint::black_box;

    #[test]
    fn add() {
        assert_ne!(super::add(black_box(OPERATIONS)), 0);
    }

    #[test]
    fn allocate() {
        assert_ne!(super::allocate(black_box(OPERATIONS)), 0);
    }

    #[test]
    fn format() {
        assert_ne!(super::format(black_box(OPERATIONS)), 0);
    }

    #[test]
    fn print() {
        assert_ne!(super::print(black_box(OPERATIONS)), 0);
    }

    #[test]
    fn hash_and_sort() {
        assert_ne!(super::hash_and_sort(black_box(OPERATIONS)), 0);
    }

    /// Never measured; only its code matters.
    #[test]
    fn unrelated() {
        assert_ne!(super::unrelated(black_box(1_u32)), 0);
    }
}
