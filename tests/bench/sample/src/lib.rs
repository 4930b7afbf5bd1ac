//! One example of each way in which code reaches a test without being named in its source.

pub mod shapes;
pub mod state;
pub mod words;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Reads the table of the build script.
pub fn square(index: usize) -> u64 {
    SQUARES[index % SQUARES.len()]
}

/// Uses the dependency's generic function for a type of this crate.
pub fn longest(words: &[&str]) -> usize {
    let lengths: Vec<usize> = words.iter().map(|word| word.len()).collect();
    helper::largest(&lengths).unwrap_or(0)
}

/// Returns a result of the dependency.
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

/// Calls the function above, through the linker only.
pub fn checksum(length: u32) -> u32 {
    unsafe { checksum_by_symbol(length) }
}
