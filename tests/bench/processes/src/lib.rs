//! Several kinds of work, from which a harness makes tests that each take a process.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

/// Computes a chain of dependent steps.
pub fn compute(rounds: u64) -> u64 {
    (0..black_box(rounds)).fold(1, |state: u64, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}

/// Allocates blocks of all sizes up to a page.
pub fn allocate(blocks: u64) -> u64 {
    let kept: Vec<Vec<u8>> = (0..blocks).map(|block| vec![block as u8; (block * 37 % 4096) as usize]).collect();
    black_box(kept).iter().map(|block| block.len() as u64).sum()
}

/// Fills a map with a random order.
pub fn map(entries: u64) -> u64 {
    let map: HashMap<u64, String> = (0..entries).map(|entry| (entry, entry.to_string())).collect();
    map.values().map(|text| text.len() as u64).sum()
}

/// Computes in parallel threads.
pub fn threads(rounds: u64) -> u64 {
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(move || compute(rounds))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap() & 1).sum()
}

/// Waits.
pub fn sleep(microseconds: u64) -> u64 {
    std::thread::sleep(Duration::from_micros(microseconds));
    microseconds
}
