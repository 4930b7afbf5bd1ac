#!/usr/bin/env bash
# stats-ci 0.1.1, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `stats_ci::quantile::ci` returns a confidence interval for a quantile whose ends are two of the values. Between which order
# statistics a quantile lies has an exact probability, the same for every continuous distribution: that of a binomial
# distribution. The library takes Wilson's interval of the proportion instead and rounds both ends of it down to a value.
# Wilson's interval is made for a share that was counted, and rounding the lower end up and the upper end down costs what
# little it leaves: at a level of 95 %
#
# - the interval of the median of five or six values is the second to the fifth of them. It holds the median in 25 of
#   32 cases, and no choice of inner values could do better: only the smallest and the largest of six reach 95 %;
# - of 9 or 10 values it misses one median in nine, of 12 one in seven;
# - of 30 values the interval of the 90 % quantile, the figure of latencies, misses one in five.
#
# The documentation gives no least number of values, and fewer than four are refused as too few.
#
# Output seen (quantile, number of values, the two order statistics, probability that the quantile is between them in %):
#   0.5 6 2 5 78.1
#   0.5 12 4 9 85.4
#   0.9 30 23 29 80.9
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "covered"
version = "0.0.0"
edition = "2021"

[dependencies]
stats-ci = "=0.1.1"

[workspace]
TOML
cat > src/main.rs <<'RUST'
use stats_ci::{Confidence, quantile};

/// Returns the probability that the quantile lies between two of n ordered values, counted from 1.
fn coverage(n: u32, quantile: f64, low: u32, high: u32) -> f64 {
    // The number of values below the quantile is binomial: at least `low` and less than `high` of them.
    let mut chance = (1.0 - quantile).powi(n as i32);
    let mut sum = 0.0;
    for below in 0..=n {
        if (low..high).contains(&below) {
            sum += chance;
        }
        chance *= f64::from(n - below) / f64::from(below + 1) * quantile / (1.0 - quantile);
    }
    sum
}

fn main() {
    for (q, n) in [(0.5, 6), (0.5, 12), (0.9, 30)] {
        let indices = quantile::ci_indices(Confidence::new_two_sided(0.95), n as usize, q).unwrap();
        let place = |index: Option<&usize>| *index.unwrap() as u32 + 1;
        let (low, high) = (place(indices.left()), place(indices.right()));
        println!("{q} {n} {low} {high} {:.1}", 100.0 * coverage(n, q, low, high));
    }
}
RUST
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='0.5 6 2 5 78.1
0.5 12 4 9 85.4
0.9 30 23 29 80.9'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
