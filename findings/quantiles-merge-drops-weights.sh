#!/usr/bin/env bash
# quantiles 0.7.1, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `quantiles::ckms::CKMS` summarizes a stream of values and states for `query`: the result is within εΦn ranks of the true
# quantile, n being the number of inserted points. `+=` merges two summaries, for instance those of two hosts or of two runs. The entries of
# a summary carry a weight: the number of inserted values that an entry stands for. The merge inserts only the values of the
# right-hand entries, each with weight 1, and drops the weights. So
#
# - the right-hand side counts as often as it has entries, here 4,460 times instead of 50,000;
# - `a += b` and `b += a` differ. For 50,000 times near 0.1 s and 50,000 near 0.2 s, the "10 % quantile" is the 5.5 % quantile in
#   one order and the 51.0 % quantile in the other, so the fast half has disappeared from it;
# - `count` still returns the sum of both, and `error_bound` still returns 0.01.
#
# The longer the merged stream, the less it counts. The merge is right as long as the right-hand side is too short to have been
# compressed, so a test with few values does not notice. One summary of all values, in the table below, is right within
# half a percent. Its ranks are counted in the sorted values.
#
# Output seen (quantile asked for; what the returned value is, for one summary, fast += slow, slow += fast; all in %):
#   counts 100000 100000 100000
#   10 10.1 5.5 51.0
#   25 24.7 13.7 59.2
#   50 50.0 27.2 72.7
#   75 74.6 40.7 86.2
#   90 89.9 49.0 94.6
#   entries 4460
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "merged"
version = "0.0.0"
edition = "2024"

[dependencies]
quantiles = "=0.7.1"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use quantiles::ckms::CKMS;

fn summary(times: &[u32]) -> CKMS<u32> {
    let mut summary = CKMS::new(0.01);
    for time in times {
        summary.insert(*time);
    }
    summary
}

fn main() {
    // 7,919 and 50,000 have no common factor, so each value of a range occurs once, in a mixed order (microseconds).
    let fast: Vec<u32> = (0..50_000).map(|i| 100_000 + i * 7_919 % 50_000).collect();
    let slow: Vec<u32> = (0..50_000).map(|i| 200_000 + i * 7_919 % 50_000).collect();
    let mut sorted: Vec<u32> = fast.iter().chain(&slow).copied().collect();
    let one = summary(&sorted);
    sorted.sort_unstable();

    let mut fast_first = summary(&fast);
    fast_first += summary(&slow);
    let mut slow_first = summary(&slow);
    slow_first += summary(&fast);

    println!("counts {} {} {}", one.count(), fast_first.count(), slow_first.count());
    for percent in [10, 25, 50, 75, 90] {
        let rank = |summary: &CKMS<u32>| {
            let (_, value) = summary.query(f64::from(percent) / 100.0).unwrap();
            100.0 * sorted.partition_point(|other| *other <= value) as f64 / sorted.len() as f64
        };
        println!("{percent} {:.1} {:.1} {:.1}", rank(&one), rank(&fast_first), rank(&slow_first));
    }
    println!("entries {}", summary(&slow).into_vec().len());
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='counts 100000 100000 100000
10 10.1 5.5 51.0
25 24.7 13.7 59.2
50 50.0 27.2 72.7
75 74.6 40.7 86.2
90 89.9 49.0 94.6
entries 4460'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
