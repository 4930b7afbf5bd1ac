#!/usr/bin/env bash
# hypors 0.4.2 with statrs 0.19.1, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `hypors::chi_square::variance` tests whether the variance of a sample differs from a given one, for instance whether a quieter
# machine has reduced the noise of a benchmark. Its documentation promises a p-value for `TailType::Two` and "the confidence
# interval for the population variance". For 41 times with variance 0.359:
#
# - Against a variance of 1, the two-sided p-value is 1.9999. The library doubles the upper tail, as for a symmetric
#   distribution. Chi-squared is not symmetric: the smaller of its two tails must be doubled, which gives 0.0001. A variance that
#   is too small is therefore never rejected, however small it is.
# - The interval is computed from the given variance instead of the sample's. It is the same for all samples of this size.
# - The interval is also too low by half. The library takes the degrees of freedom from `ChiSquared::shape` of statrs, which is
#   the shape of the underlying gamma distribution: half the degrees of freedom. From 24 values on, the "95 % interval" does not
#   even contain the variance that was given.
#
# The correct figures below use the closed form of chi-squared with an even number of degrees of freedom (a Poisson sum), without
# a statistics library.
#
# Output seen:
#   variance 1: p 1.9999, interval 0.337 to 0.819; correct: p 0.0001, interval 0.242 to 0.587
#   variance 0.3: p 0.3693, interval 0.101 to 0.246; correct: p 0.3693, interval 0.242 to 0.587
#   times a thousand, variance 1: interval 0.337 to 0.819
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "noise"
version = "0.0.0"
edition = "2024"

[dependencies]
hypors = "=0.4.2"
statrs = "=0.19.1"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use hypors::chi_square::variance;
use hypors::common::TailType;

/// Returns the probability that chi-squared with an even number of degrees of freedom exceeds `x`.
fn upper_tail(degrees: u32, x: f64) -> f64 {
    let mut term = (-x / 2.0).exp();
    let mut sum = 0.0;
    for j in 0..degrees / 2 {
        sum += term;
        term *= x / 2.0 / f64::from(j + 1);
    }
    sum
}

/// Returns the value that chi-squared exceeds with the given probability.
fn exceeded(degrees: u32, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if upper_tail(degrees, middle) > probability { low = middle } else { high = middle }
    }
    low
}

fn main() {
    let times: Vec<f64> = (-20..=20).map(|i| 100.0 + 0.05 * f64::from(i)).collect();
    let squares: f64 = times.iter().map(|time| (time - 100.0).powi(2)).sum();
    for given in [1.0, 0.3] {
        let seen = variance(times.iter().copied(), given, TailType::Two, 0.05).unwrap();
        let above = upper_tail(40, squares / given);
        let p = 2.0 * above.min(1.0 - above);
        println!(
            "variance {given}: p {:.4}, interval {:.3} to {:.3}; correct: p {p:.4}, interval {:.3} to {:.3}",
            seen.p_value,
            seen.confidence_interval.0,
            seen.confidence_interval.1,
            squares / exceeded(40, 0.025),
            squares / exceeded(40, 0.975),
        );
    }
    let wide = times.iter().map(|time| 1000.0 * time);
    let seen = variance(wide, 1.0, TailType::Two, 0.05).unwrap().confidence_interval;
    println!("times a thousand, variance 1: interval {:.3} to {:.3}", seen.0, seen.1);
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet -j1)
echo "$seen"
expected='variance 1: p 1.9999, interval 0.337 to 0.819; correct: p 0.0001, interval 0.242 to 0.587
variance 0.3: p 0.3693, interval 0.101 to 0.246; correct: p 0.3693, interval 0.242 to 0.587
times a thousand, variance 1: interval 0.337 to 0.819'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
