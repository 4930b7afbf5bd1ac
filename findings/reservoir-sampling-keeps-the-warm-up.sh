#!/usr/bin/env bash
# reservoir-sampling 0.5.1 with rand 0.8.5, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `l` draws a fixed number of items from a stream of unknown length, each with the same chance ("Algorithm L"). It is the
# function of the crate's first example, 10 of 100 numbers. A sample of 1,000 of 10,000 calls should have 100 of the first
# 1,000. It has 992 of them, none of the second 1,000, and 8 of all the others. If the first calls are slow, the mean of the
# sample is that of the warm-up: 49.7 ms instead of 14.0 ms.
#
# - The algorithm computes the index of the next item to take, and from it the index after that. The code gives this index to
#   `Iterator::nth`, which counts from the current item, not from the first. So all items that were skipped before are skipped
#   again at each step.
# - The first index is above the size of the sample, and is counted from the end of the first fill. So the items after the first
#   fill, as many again, can never be drawn.
# - The larger the sample, the worse. With a sample of 10 of 100,000 it hardly shows.
#
# `r`, the slower function of the same crate ("Algorithm R"), gives each tenth of the calls its share. Below are 1,000 samples
# of each kind with fixed seeds. The first tenth of the calls takes 50 ms each, the others 10 ms.
#
# Output seen (size of the sample and number of calls; share of the calls of the first tenth, the second and the other eight in
# the samples of `l`, mean time; the same of `r`):
#   10 of 100: 57.0 % 0.0 % 43.0 %, 32.8 ms; 8.9 % 10.2 % 80.9 %, 13.6 ms
#   100 of 1000: 92.3 % 0.0 % 7.7 %, 46.9 ms; 9.8 % 9.8 % 80.3 %, 13.9 ms
#   1000 of 10000: 99.2 % 0.0 % 0.8 %, 49.7 ms; 10.0 % 10.0 % 79.9 %, 14.0 ms
#   1000 of 100000: 91.8 % 0.9 % 7.3 %, 46.7 ms; 10.0 % 10.0 % 80.1 %, 14.0 ms
#   10 of 100000: 10.5 % 9.4 % 80.1 %, 14.2 ms; 10.0 % 9.8 % 80.2 %, 14.0 ms
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "calls"
version = "0.0.0"
edition = "2021"

[dependencies]
rand = "=0.8.5"
reservoir-sampling = "=0.5.1"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use std::ops::Range;

use rand::{SeedableRng, rngs::StdRng};
use reservoir_sampling::unweighted::core::{l, r};

const SAMPLES: u64 = 1000;

fn show(draw: fn(Range<usize>, &mut [usize], &mut StdRng), size: usize, calls: usize) -> String {
    let mut places = [0_usize; 3];
    for seed in 0..SAMPLES {
        let mut sample = vec![0; size];
        draw(0..calls, &mut sample, &mut StdRng::seed_from_u64(seed));
        for call in sample {
            places[(10 * call / calls).min(2)] += 1;
        }
    }
    let all = (SAMPLES * size as u64) as f64;
    let [first, second, others] = places.map(|number| 100.0 * number as f64 / all);
    let mean = 10.0 + 40.0 * places[0] as f64 / all;
    format!("{first:.1} % {second:.1} % {others:.1} %, {mean:.1} ms")
}

fn main() {
    for (size, calls) in [(10, 100), (100, 1000), (1000, 10_000), (1000, 100_000), (10, 100_000)] {
        println!("{size} of {calls}: {}; {}", show(l, size, calls), show(r, size, calls));
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet --release)
echo "$seen"
expected='10 of 100: 57.0 % 0.0 % 43.0 %, 32.8 ms; 8.9 % 10.2 % 80.9 %, 13.6 ms
100 of 1000: 92.3 % 0.0 % 7.7 %, 46.9 ms; 9.8 % 9.8 % 80.3 %, 13.9 ms
1000 of 10000: 99.2 % 0.0 % 0.8 %, 49.7 ms; 10.0 % 10.0 % 79.9 %, 14.0 ms
1000 of 100000: 91.8 % 0.9 % 7.3 %, 46.7 ms; 10.0 % 10.0 % 80.1 %, 14.0 ms
10 of 100000: 10.5 % 9.4 % 80.1 %, 14.2 ms; 10.0 % 9.8 % 80.2 %, 14.0 ms'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
