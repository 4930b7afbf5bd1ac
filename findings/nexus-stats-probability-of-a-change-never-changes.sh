#!/usr/bin/env bash
# nexus-stats-detection 2.0.0 (part of nexus-stats 6.0.1), Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `BocpdF64` detects changes online by Bayes' rule. `update` takes a value, and "returns the change-point probability (posterior
# mass at run length 0)"; the example of the documentation asks whether it is below 0.3. It is the same for all data:
# 1 / `hazard_lambda`, the probability of a change before anything is known. In the recursion, the run length 0 gets this part of
# the sum over all run lengths, and the longer ones get the rest of the same sum, so the division by the total gives back the part.
# An alarm above any limit never comes, or always.
#
# The same detector sees the change: after the first new value, the run length is 1. Below, the time of a call doubles from 100 to
# 200 ms after 60 calls, with a noise of 1 ms, or stays as it is. The limits of `update` are those over all 120 calls.
#
# Output seen (hazard_lambda, times: least and largest probability by `update`; largest probability of run length 1 from the second
# call on, and the call that has it if it is above one half):
#   100, doubled: 0.010 to 0.010; 0.97 at 60
#   100, even: 0.010 to 0.010; 0.01
#   250, doubled: 0.004 to 0.004; 0.98 at 60
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "detect"
version = "0.1.0"
edition = "2021"

[dependencies]
nexus-stats-detection = "=2.0.0"
nexus-stats-core = "=3.0.1"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use nexus_stats_detection::detection::BocpdF64;

/// Returns times of calls in ms, with a noise of 1 ms from a generator with a fixed start.
fn times(later: f64) -> Vec<f64> {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        2.0 * (state >> 11) as f64 / (1_u64 << 53) as f64 - 1.0
    };
    (0..120).map(|call| if call < 60 { 100.0 } else { later } + noise()).collect()
}

fn main() {
    for (lambda, name, later) in [(100.0, "doubled", 200.0), (100.0, "even", 100.0), (250.0, "doubled", 200.0)] {
        let mut detector =
            BocpdF64::builder().max_run_length(200).hazard_lambda(lambda).prior_mu(100.0).build().unwrap();
        let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
        let mut new_run = (0.0, 0);
        for (call, time) in times(later).into_iter().enumerate() {
            let probability = detector.update(time).unwrap().unwrap();
            least = least.min(probability);
            largest = largest.max(probability);
            if call > 0 {
                let of_one = detector.run_length_posterior().unwrap()[1].exp();
                if of_one > new_run.0 {
                    new_run = (of_one, call);
                }
            }
        }
        let place = if new_run.0 > 0.5 { format!(" at {}", new_run.1) } else { String::new() };
        println!("{lambda}, {name}: {least:.3} to {largest:.3}; {:.2}{place}", new_run.0);
    }
}
EOF
seen=$(cargo run --quiet --release)
echo "$seen"
expected='100, doubled: 0.010 to 0.010; 0.97 at 60
100, even: 0.010 to 0.010; 0.01
250, doubled: 0.004 to 0.004; 0.98 at 60'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
