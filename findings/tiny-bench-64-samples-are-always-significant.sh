#!/usr/bin/env bash
# tiny-bench 0.4.0, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# tiny-bench compares a benchmark with its last run, as criterion does: it draws 100,000 samples with replacement from the values
# of both runs, computes t for each of them, and p says how many are as far out as the t that was measured. The number of values
# of a run, `num_samples`, is 100 by default and should be "at least 50". With 64 or 128, p is always 0, whatever the values are.
#
# - The random numbers come from a linear congruential generator modulo 2^48. A value is chosen by the remainder of dividing such
#   a number by the number of values. With 2 x 64 values, these are the lowest 7 bits. In such a generator, they repeat after 128
#   numbers, and in these each combination of them occurs once.
# - So a resample, instead of being drawn with replacement, has each of the 128 values once, and in the same order as all other
#   resamples. All 100,000 values of t are equal. None of them is on the other side of the measured one, which gives p = 0.
#
# With 2 x 50, 2 x 60 or 2 x 100 values, only two or three bits of the choice repeat, and p is plausible.
#
# Below are a hundred benchmarks for each number of samples, which take 90 to 110 µs and do not change. The times are those of a
# simulated clock. The library highlights a change as better or worse if p is at most 0.05 and the mean differs by 1 % or more.
#
# Output seen:
#   50 samples: 3 of 100 with p <= 0.05, 0 with p = 0.00, 3 highlighted
#   60 samples: 7 of 100 with p <= 0.05, 0 with p = 0.00, 7 highlighted
#   64 samples: 100 of 100 with p <= 0.05, 100 with p = 0.00, 38 highlighted
#   100 samples: 8 of 100 with p <= 0.05, 1 with p = 0.00, 8 highlighted
#   128 samples: 100 of 100 with p <= 0.05, 100 with p = 0.00, 18 highlighted
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "same"
version = "0.0.0"
edition = "2024"

[dependencies]
tiny-bench = "=0.4.0"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tiny_bench::{BenchmarkConfig, bench_with_configuration_labeled};

/// The time and what a call takes at the moment, both in nanoseconds.
static CLOCK: AtomicU64 = AtomicU64::new(0);
static CALL: AtomicU64 = AtomicU64::new(0);
static NOISE: AtomicU64 = AtomicU64::new(1);

/// Replaces the function of libc that std calls for `Instant::now` and `SystemTime::now`. A sample begins and ends by reading the
/// clock, so all calls of a sample take the same time.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(_: i32, time: *mut [i64; 2]) -> i32 {
    let mut noise = NOISE.load(Relaxed);
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    NOISE.store(noise, Relaxed);
    CALL.store(90_000 + noise % 20_001, Relaxed);
    let now = CLOCK.load(Relaxed) as i64;
    unsafe { *time = [now / 1_000_000_000, now % 1_000_000_000] };
    0
}

fn main() {
    for num_samples in [50, 60, 64, 100, 128] {
        // Fewer resamples save time.
        let config = BenchmarkConfig { num_samples, num_resamples: 2_000, ..BenchmarkConfig::default() };
        for i in 0..100 {
            let label: &'static str = format!("of-{num_samples}-{i}").leak();
            // The first run is the base.
            for _ in 0..2 {
                bench_with_configuration_labeled(label, &config, || CLOCK.fetch_add(CALL.load(Relaxed), Relaxed));
            }
        }
    }
}
EOF
CARGO_TARGET_DIR="$work/target" cargo run --release --quiet > report 2>&1 || { cat report >&2; exit 1; }
cat > count.awk <<'EOF'
match($0, /of-[0-9]+-/) { samples = substr($0, RSTART + 3, RLENGTH - 4) }
/\tchange\t/ {
    all[samples]++
    p = $0
    sub(/.*\(p = /, "", p)
    significant[samples] += p + 0 <= 0.05
    zero[samples] += p ~ /^0\.00\)/
    # Bright red or bright green.
    highlighted[samples] += /\033\[0;9[12]m/
}
END {
    for (samples in all)
        print samples " samples: " significant[samples] " of " all[samples] " with p <= 0.05, " zero[samples] " with p = 0.00, " \
            highlighted[samples] " highlighted"
}
EOF
seen=$(awk -f count.awk report | sort -n)
echo "$seen"
expected='50 samples: 3 of 100 with p <= 0.05, 0 with p = 0.00, 3 highlighted
60 samples: 7 of 100 with p <= 0.05, 0 with p = 0.00, 7 highlighted
64 samples: 100 of 100 with p <= 0.05, 100 with p = 0.00, 38 highlighted
100 samples: 8 of 100 with p <= 0.05, 1 with p = 0.00, 8 highlighted
128 samples: 100 of 100 with p <= 0.05, 100 with p = 0.00, 18 highlighted'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
