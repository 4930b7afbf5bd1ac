#!/usr/bin/env bash
# benchkit 0.28.1 (feature `statistical_analysis`), Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `StatisticalAnalysis::analyze` states the power of a benchmark to detect a difference of 10 %, and `is_reliable` requires 80 %
# of it. The power is computed from 0.1 and the standard deviation in seconds, as if 0.1 were seconds, too. It therefore
# depends on the length of a run instead of on its relative noise:
#
# - 20 runs of 100 ns that vary by half of that (coefficient of variation 0.51): the power to see 10 ns is given as 99.9 %. A
#   t test of two such series has a power of 9 %.
# - 20 runs of 10 s that vary by 3 %: the power to see 1 s is given as 20 %, and the result is not reliable. A t test has
#   100 %.
# - The same runs in units of a thousandth (10 ms): 99.9 %, reliable. Nothing but the unit has changed.
#
# Output seen:
#   100 ns, varies by 51 %: power 0.999
#   10 s, varies by 3 %: power 0.200, reliable: false
#   10 ms, varies by 3 %: power 0.999, reliable: true
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "power"
version = "0.0.0"
edition = "2021"

[dependencies]
benchkit = { version = "=0.28.1", default-features = false, features = ["enabled", "statistical_analysis"] }

[workspace]
EOF
cat > src/main.rs <<'EOF'
use benchkit::measurement::BenchmarkResult;
use benchkit::statistical::{SignificanceLevel, StatisticalAnalysis};
use std::time::Duration;

/// Ten runs on either side of a time.
fn analyze(nanoseconds: u64, apart: u64) -> StatisticalAnalysis {
    let times = (0..20).map(|run| if run % 2 == 0 { nanoseconds - apart } else { nanoseconds + apart });
    let result = BenchmarkResult::new("a", times.map(Duration::from_nanos).collect());
    StatisticalAnalysis::analyze(&result, SignificanceLevel::Standard).unwrap()
}

fn main() {
    let varies = |found: &StatisticalAnalysis| format!("{:.0} %", 100.0 * found.coefficient_of_variation);
    let short = analyze(100, 50);
    println!("100 ns, varies by {}: power {:.3}", varies(&short), short.statistical_power);
    for (unit, nanoseconds) in [("s", 10_000_000_000), ("ms", 10_000_000)] {
        let found = analyze(nanoseconds, nanoseconds * 3 / 100);
        let (power, reliable) = (found.statistical_power, found.is_reliable());
        println!("10 {unit}, varies by {}: power {power:.3}, reliable: {reliable}", varies(&found));
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='100 ns, varies by 51 %: power 0.999
10 s, varies by 3 %: power 0.200, reliable: false
10 ms, varies by 3 %: power 0.999, reliable: true'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
