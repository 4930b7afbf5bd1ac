//! Work of several kinds, of which a harness makes tests that take a process each.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

/// A chain of dependent steps.
pub fn compute(rounds: u64) -> u64 {
    (0..black_box(rounds)).fold(1, |state: u64, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}

/// Blocks of all sizes up to a page.
pub fn allocate(blocks: u64) -> u64 {
    let kept: Vec<Vec<u8>> = (0..blocks).map(|block| vec![block as u8; (block * 37 % 4096) as usize]).collect();
    black_box(kept).iter().map(|block| block.len() as u64).sum()
}

/// A map in an order of its own.
pub fn map(entries: u64) -> u64 {
    let map: HashMap<u64, String> = (0..entries).map(|entry| (entry, entry.to_string())).collect();
    map.values().map(|text| text.len() as u64).sum()
}

/// Threads that compute side by side.
pub fn threads(rounds: u64) -> u64 {
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(move || compute(rounds))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap() & 1).sum()
}

/// Waits.
pub fn sleep(microseconds: u64) -> u64 {
    std::thread::sleep(Duration::from_micros(microseconds));
    microseconds
}
