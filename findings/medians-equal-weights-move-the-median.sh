#!/usr/bin/env bash
# medians 3.0.12 with indxvec 1.9.6, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `medf_weighted` of the crate medians is an "iterative weighted median". With equal weights it should be the median, which
# `medf_checked` of the same crate gives. It is, if the values are as far above the median as below it. Otherwise it is somewhere
# between the median and the mean, so that a few slow runs move it, which is what a median is taken to avoid:
#
# - The result is the mean of all values, weighted anew in each step until it stays. To divide the weights by the distance of the
#   value to the last result would lead to the median, for which the sum of the distances is smallest. The crate divides by the
#   square root of the distance. This leads to the value for which the sum of the distances to the power of 1.5 is smallest.
# - So a single outlier pulls without a limit. If one of five runs of 10 ms takes 100 ms instead, the result is 15 ms. If it takes
#   10 s, the result is 598 ms: always a 17th of the way.
# - With different weights it is the same. If 60 % of all calls take 1 ms, so does the median, but not the result.
#
# Output seen (values, and weights if they are not equal: median, weighted median; sum of the weighted distances for both):
#   [9.8, 9.9, 10.0, 10.1, 10.2]: 10.0 10.0; 0.6 0.6
#   [9.8, 9.9, 10.0, 10.1, 100.0]: 10.0 15.2; 90.4 105.9
#   [9.8, 9.9, 10.0, 10.1, 10000.0]: 10.0 597.6; 9990.4 11753.0
#   [10.0, 10.1, 10.2, 10.3, 50.0, 60.0, 70.0]: 10.3 27.9; 149.7 167.3
#   [1.0, 20.0, 30.0] [60.0, 25.0, 15.0]: 1.0 7.9; 910.0 1047.8
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "equal"
version = "0.0.0"
edition = "2024"

[dependencies]
medians = "=3.0.12"
indxvec = "=1.9.6"

[workspace]
TOML
cat > src/main.rs <<'RUST'
use medians::Medianf64;

/// Returns what a median makes as small as possible.
fn distances(values: &[f64], weights: &[f64], middle: f64) -> f64 {
    values.iter().zip(weights).map(|(value, weight)| weight * (value - middle).abs()).sum()
}

fn main() {
    for values in [
        &[9.8, 9.9, 10.0, 10.1, 10.2][..],
        &[9.8, 9.9, 10.0, 10.1, 100.0],
        &[9.8, 9.9, 10.0, 10.1, 10_000.0],
        &[10.0, 10.1, 10.2, 10.3, 50.0, 60.0, 70.0],
    ] {
        let weights = vec![1.0; values.len()];
        let (median, weighted) = (values.medf_checked().unwrap(), values.medf_weighted(&weights, 1e-9).unwrap());
        let (least, sum) = (distances(values, &weights, median), distances(values, &weights, weighted));
        println!("{values:?}: {median:.1} {weighted:.1}; {least:.1} {sum:.1}");
    }
    let (values, weights) = (&[1.0, 20.0, 30.0][..], &[60.0, 25.0, 15.0][..]);
    let weighted = values.medf_weighted(weights, 1e-9).unwrap();
    let (least, sum) = (distances(values, weights, 1.0), distances(values, weights, weighted));
    println!("{values:?} {weights:?}: 1.0 {weighted:.1}; {least:.1} {sum:.1}");
}
RUST
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='[9.8, 9.9, 10.0, 10.1, 10.2]: 10.0 10.0; 0.6 0.6
[9.8, 9.9, 10.0, 10.1, 100.0]: 10.0 15.2; 90.4 105.9
[9.8, 9.9, 10.0, 10.1, 10000.0]: 10.0 597.6; 9990.4 11753.0
[10.0, 10.1, 10.2, 10.3, 50.0, 60.0, 70.0]: 10.3 27.9; 149.7 167.3
[1.0, 20.0, 30.0] [60.0, 25.0, 15.0]: 1.0 7.9; 910.0 1047.8'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
