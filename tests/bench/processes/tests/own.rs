//! A minimal harness: five kinds of work in eight sizes each.

use processes::{allocate, compute, map, sleep, threads};

/// Each kind with the size that takes about a millisecond.
const KINDS: [(&str, fn(u64) -> u64, u64); 5] = [
    ("compute", compute, 500_000),
    ("allocate", allocate, 3_000),
    ("map", map, 6_000),
    ("threads", threads, 400_000),
    ("sleep", sleep, 1_000),
];
/// Sizes in eighths of that size.
const EIGHTHS: [u64; 8] = [1, 4, 8, 16, 28, 48, 88, 160];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    for (kind, work, size) in KINDS {
        for eighths in EIGHTHS {
            let name = format!("{kind}_{eighths}");
            if has("--list") {
                if !has("--ignored") {
                    println!("{name}: test");
                }
            } else if has(&name) {
                assert_ne!(work(size * eighths / 8), u64::MAX);
            }
        }
    }
}
