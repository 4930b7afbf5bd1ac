//! One of everything by which code reaches a test without its source naming it.

pub mod shapes;
pub mod state;
pub mod words;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Reads the table of the build script.
pub fn square(index: usize) -> u64 {
    SQUARES[index % SQUARES.len()]
}

/// The dependency's generic function for a type of ours.
pub fn longest(words: &[&str]) -> usize {
    let lengths: Vec<usize> = words.iter().map(|word| word.len()).collect();
    helper::largest(&lengths).unwrap_or(0)
}

/// What the dependency computes.
pub fn melody(degrees: &[usize]) -> u32 {
    let mut sum = 0;
    for degree in degrees {
        sum += helper::scale(*degree);
    }
    sum
}

macro_rules! counter {
    ($name:ident, $step:expr) => {
        /// Counts in steps.
        pub fn $name(limit: u32) -> u32 {
            let mut count = 7;
            let mut at = 0;
            while at < limit {
                at += $step;
                count += 1;
            }
            count
        }
    };
}

counter!(twos, 2);
counter!(threes, 3);

/// Called by its symbol.
#[no_mangle]
pub extern "C" fn sample_checksum(length: u32) -> u32 {
    let mut sum: u32 = 17;
    for index in 0..length {
        sum = sum.rotate_left(3) ^ index;
    }
    sum
}

extern "C" {
    #[link_name = "sample_checksum"]
    fn checksum_by_symbol(length: u32) -> u32;
}

/// Nothing but the linker leads from here to the function above.
pub fn checksum(length: u32) -> u32 {
    unsafe { checksum_by_symbol(length) }
}
