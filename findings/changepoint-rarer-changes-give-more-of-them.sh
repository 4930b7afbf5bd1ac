#!/usr/bin/env bash
# changepoint 0.15.0 with rv 0.19.2, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `Bocpd` and `BocpdTruncated` detect change points online by Bayes' rule. `hazard_lambda` is the number of values after which a
# change is expected: "the larger the value, the lower the prior probability is for the any point to be a change-point". `step`
# returns "the distribution of run lengths". Up to 1,000 all is well. Above, the most recent run lengths are wrong:
#
# - A step goes from the longest run length to the shortest and stops once it has seen 99.9 % of the probability. The shorter
#   ones keep what they had in the step before, without growing by the new value, and are divided by the new total with the
#   rest. With lambda up to 1,000, the shortest run length alone has 0.1 % or more, so that the loop never stops early.
# - The new total is a probability density of the new value, so it depends on the unit. If it is below 1, the leftover grows
#   with each step, and the "probabilities" add up to 5e192. If it is above 1, it shrinks, and a new run never gets far.
#
# Below is a history of 300 values: 200 of 10 ms, then 100 of 12 ms, with a noise of 0.5 ms. The prior is given in the same unit
# as the values, so the unit should not matter. If a change is expected after 900 values, both detectors find the one at 199. If
# it is expected after 2,000 values, `Bocpd` takes 299 of 300 values in milliseconds or microseconds for changes, and none in
# seconds (the first value is always listed). The same recursion without the stop, below, always finds the one at 199.
#
# Output seen (unit, lambda: change points of Bocpd, BocpdTruncated and the recursion without the stop, or how many if they are
# ten or more; largest sum of the probabilities of Bocpd):
#   s 900: [0, 199] [0, 199] [0, 199]; 1e0
#   s 2000: [0] [0, 3] [0, 199]; 2e2
#   ms 900: [0, 199] [0, 199] [0, 199]; 1e0
#   ms 2000: 299 283 [0, 199]; 5e192
#   us 900: [0, 199] [0, 199] [0, 199]; 1e0
#   us 2000: 299 299 [0, 199]; inf
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "rarer"
version = "0.0.0"
edition = "2024"

[dependencies]
changepoint = "=0.15.0"
rv = { version = "=0.19.2", default-features = false }

[workspace]
EOF
cat > src/main.rs <<'EOF'
use changepoint::rv::data::GaussianSuffStat;
use changepoint::rv::prelude::*;
use changepoint::utils::map_changepoints;
use changepoint::{Bocpd, BocpdLike, BocpdTruncated};

/// Returns 200 times near 10 and 100 near 12, in milliseconds.
fn history() -> Vec<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut time = |i| {
        let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        if i < 200 { 10.0 + 0.5 * normal } else { 12.0 + 0.5 * normal }
    };
    (0..300).map(&mut time).collect()
}

/// Returns the distributions of the run length after each value, with all run lengths updated in each step.
fn run_lengths(values: &[f64], lambda: f64, prior: &NormalGamma) -> Vec<Vec<f64>> {
    let mut runs = vec![(1.0, GaussianSuffStat::new())];
    let mut distributions = vec![vec![1.0]];
    for value in &values[1..] {
        for (chance, seen) in &mut runs {
            *chance *= prior.ln_pp(value, &DataOrSuffStat::SuffStat(&*seen)).exp();
            seen.observe(value);
        }
        let total: f64 = runs.iter().map(|run| run.0).sum();
        for (chance, _) in &mut runs {
            *chance *= (1.0 - 1.0 / lambda) / total;
        }
        runs.insert(0, (1.0 / lambda, GaussianSuffStat::new()));
        distributions.push(runs.iter().map(|run| run.0).collect());
    }
    distributions
}

fn show(changes: &[usize]) -> String {
    if changes.len() < 10 { format!("{changes:?}") } else { changes.len().to_string() }
}

fn main() {
    for (unit, scale) in [("s", 0.001), ("ms", 1.0), ("us", 1000.0)] {
        for lambda in [900.0, 2000.0] {
            let values: Vec<f64> = history().iter().map(|time| scale * time).collect();
            let prior = NormalGamma::new(10.0 * scale, 0.1, (0.5 * scale).powi(2), 1.0).unwrap();
            let mut all = Bocpd::new(lambda, prior.clone());
            let all: Vec<Vec<f64>> = values.iter().map(|value| all.step(value).to_vec()).collect();
            let mut truncated = BocpdTruncated::new(lambda, prior.clone());
            let truncated: Vec<Vec<f64>> = values.iter().map(|value| truncated.step(value).to_vec()).collect();
            let exact = run_lengths(&values, lambda, &prior);
            let [a, b, c] = [&all, &truncated, &exact].map(|distributions| show(&map_changepoints(distributions)));
            let largest = all.iter().map(|chances| chances.iter().sum()).fold(0.0, f64::max);
            println!("{unit} {lambda}: {a} {b} {c}; {largest:.0e}");
        }
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='s 900: [0, 199] [0, 199] [0, 199]; 1e0
s 2000: [0] [0, 3] [0, 199]; 2e2
ms 900: [0, 199] [0, 199] [0, 199]; 1e0
ms 2000: 299 283 [0, 199]; 5e192
us 900: [0, 199] [0, 199] [0, 199]; 1e0
us 2000: 299 299 [0, 199]; inf'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
