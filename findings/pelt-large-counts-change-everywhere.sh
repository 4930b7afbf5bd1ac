#!/usr/bin/env bash
# pelt 0.3.4, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# pelt finds the changes of a series: those for which the costs of all segments and a penalty for each of them are lowest. With
# the cost `L2`, the squared distances to the mean of the segment, it finds changes where there are none if the values are large
# compared to their noise, as counts of instructions are. A thousand counts near 1e10 with one change have 77 changes.
#
# - A comment in the source calls the computation Welford's algorithm, which is made for such values. What it does is to subtract
#   sums: all squares up to the end of the segment, minus those before its start, minus the square of the sum by the length. The
#   squares add up to 1e23, of which a float has 16 digits. The error is 1e7, the penalty 3e4, and a cost may well be negative.
# - If 1e10 is subtracted from each count before, or with the cost `L1`, there is one change.
#
# Besides, only every `jump`th place is tried. "If `jump = 1`, a check is done every possible prior change point, guaranteeing an
# exact solution", says the documentation. In fact, there is no solution with `jump = 1`, for any series, but an error:
# "calculated segment of loss function is too short". The minimum segment length must be from 2 to `jump`. If it is one more than
# a multiple of `jump`, the first place that is tried is before the end of the shortest segment. If it is longer than `jump`, a
# segment is to follow one that was not tried.
#
# The noise below has a standard deviation of 50, and the counts rise by 300 after the first 500.
#
# Output seen (level: ends of the segments, or number of changes, by L2; by L1. Then the minimum lengths up to
# 25 that have a solution):
#   0: [500, 1000]; [500, 1000]
#   100000000: [500, 1000]; [500, 1000]
#   1000000000: 3 changes; [500, 1000]
#   3000000000: 17 changes; [500, 1000]
#   10000000000: 77 changes; [500, 1000]
#   100000000000: 100 changes; [500, 1000]
#   jump 1: no length
#   jump 2: length 2 to 2
#   jump 3: length 2 to 3
#   jump 9: length 2 to 9
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "counts"
version = "0.0.0"
edition = "2024"

[dependencies]
pelt = "=0.3.4"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use pelt::{Pelt, SegmentCostFunction};
use std::num::NonZero;

/// Returns 500 counts near `level` and 500 that are higher by 300.
fn history(level: f64) -> Vec<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut noise = || 50.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
    (0..1000).map(|i| (level + noise() + if i < 500 { 0.0 } else { 300.0 }).round()).collect()
}

/// Returns the ends of the segments if there is a solution.
fn segments(cost: SegmentCostFunction, jump: usize, length: usize, counts: &[f64], penalty: f64) -> Option<Vec<usize>> {
    let pelt = Pelt::new()
        .with_segment_cost_function(cost)
        .with_jump(NonZero::new(jump).unwrap())
        .with_minimum_segment_length(NonZero::new(length).unwrap());
    let result = pelt.predict(counts, penalty);
    result.inspect_err(|error| assert_eq!(error.to_string(), "calculated segment of loss function is too short")).ok()
}

fn show(ends: Vec<usize>) -> String {
    if ends.len() < 4 { format!("{ends:?}") } else { format!("{} changes", ends.len() - 1) }
}

fn main() {
    // Twice the logarithm of the number of values, in the unit of the cost.
    let penalties = [2.0 * 50_f64.powi(2) * 1000_f64.ln(), 2.0 * 50.0 * 1000_f64.ln()];
    for level in [0.0, 1e8, 1e9, 3e9, 1e10, 1e11] {
        let counts = history(level);
        let l2 = segments(SegmentCostFunction::L2, 5, 2, &counts, penalties[0]).unwrap();
        let l1 = segments(SegmentCostFunction::L1, 5, 2, &counts, penalties[1]).unwrap();
        println!("{level}: {}; {}", show(l2), show(l1));
    }
    let counts = history(0.0);
    for jump in [1, 2, 3, 9] {
        let solved = |length: &usize| segments(SegmentCostFunction::L2, jump, *length, &counts, penalties[0]).is_some();
        let lengths: Vec<usize> = (1..=25).filter(solved).collect();
        match (lengths.first(), lengths.last()) {
            (Some(first), Some(last)) if lengths.len() == last - first + 1 => println!("jump {jump}: length {first} to {last}"),
            (None, None) => println!("jump {jump}: no length"),
            _ => println!("jump {jump}: lengths {lengths:?}"),
        }
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='0: [500, 1000]; [500, 1000]
100000000: [500, 1000]; [500, 1000]
1000000000: 3 changes; [500, 1000]
3000000000: 17 changes; [500, 1000]
10000000000: 77 changes; [500, 1000]
100000000000: 100 changes; [500, 1000]
jump 1: no length
jump 2: length 2 to 2
jump 3: length 2 to 3
jump 9: length 2 to 9'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
