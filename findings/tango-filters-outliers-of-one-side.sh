#!/usr/bin/env bash
# tango-bench 0.9.0, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# A benchmark of tango compares two programs by pairs of samples, candidate minus baseline. `--filter-outliers` looks for pairs
# whose difference is more than 1.5 interquartile ranges outside of the quartiles. The source says that an "equal number of
# observations" is removed from each side, and means as many as there are outliers on the side with fewer of them. In fact it is
# always the number of low outliers, that is of pauses of the baseline: the place of the upper limit is counted from the third
# quartile and then used as if it were counted from the start, so that there always seem to be enough high ones.
#
# Below, two programs are equally fast (10 to 11 ms a sample), but one of them is paused for 50 ms in every tenth sample:
#
# - As the candidate, it is 48 % slower with and without the option. Nothing is removed, the report says "outliers: 0", and the
#   exit code is 1.
# - As the baseline, its pauses are removed, and with them as many ordinary pairs of the other side. The candidate, which has no
#   pauses, is now 0.8 % faster instead of 32 %.
#
# So the option hides the pauses that a change has removed, and shows in full those that it has added. Pauses of the candidate
# are removed only as far as the baseline had as many. The times are those of a simulated clock, given by the library's trait
# `Metric`.
#
# Output seen (baseline -> candidate, option: outliers, change of the mean with * if significant, exit code):
#   even -> paused: 0 +47.62%* 1
#   paused -> even: 0 -32.26%* 0
#   even -> paused --filter-outliers: 0 +47.62%* 1
#   paused -> even --filter-outliers: 199 -0.80% 0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "times"
version = "0.0.0"
edition = "2024"

[dependencies]
tango-bench = "=0.9.0"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use std::sync::atomic::{AtomicU64, Ordering};
use tango_bench::{IntoBenchmarks, Metric, benchmark_fn, tango_benchmarks};

static SAMPLES: AtomicU64 = AtomicU64::new(0);

/// A simulated clock: 10 to 11 ms a call, in a program called `paused` every tenth call 50 ms more.
struct Clock;

impl Metric for Clock {
    fn measure_fn(mut call: impl FnMut()) -> u64 {
        call();
        let sample = SAMPLES.fetch_add(1, Ordering::Relaxed);
        let paused = std::env::args().next().unwrap().ends_with("paused");
        let (noise, pause) = if paused { (sample * 7, sample % 10) } else { (sample * 919, 1) };
        10_000_000 + 1000 * (noise % 1000) + if pause == 0 { 50_000_000 } else { 0 }
    }
}

fn benchmarks() -> impl IntoBenchmarks {
    [benchmark_fn("call", |bencher| bencher.metric::<Clock>().iter(|| ()))]
}

tango_benchmarks!(benchmarks());
EOF
export CARGO_TARGET_DIR="$work/target"
cargo build --quiet
cp target/debug/times even
cp target/debug/times paused
compare() {
    local code=0 removed change
    "./$2" compare "./$1" --samples 1000 --verbose "${@:3}" > report 2> log || code=$?
    removed=$(sed -n 's/.*outliers: \([0-9]*\)).*/\1/p' report)
    change=$(sed -n 's/^ *mean .* \([+-][0-9.]*%\*\{0,1\}\)$/\1/p' report)
    echo "$1 -> $2${3:+ $3}: $removed $change $code"
}
seen=$(for option in '' --filter-outliers; do
    compare even paused $option
    compare paused even $option
done)
echo "$seen"
expected='even -> paused: 0 +47.62%* 1
paused -> even: 0 -32.26%* 0
even -> paused --filter-outliers: 0 +47.62%* 1
paused -> even --filter-outliers: 199 -0.80% 0'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
