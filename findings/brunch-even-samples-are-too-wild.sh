#!/usr/bin/env bash
# brunch 0.12.0 with dactyl 0.14.1, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# brunch runs a benchmark 2,500 times, or as many times as `with_samples` says, and removes outliers. If fewer than 100 samples
# remain, it shows no time but "Samples too wild to analyze", in the documentation: "too chaotic". For some numbers of samples it
# removes all of them, the more surely the more even they are: 220, 4,000, 7,000, 20,000 and 100,000 for instance.
#
# - The limits for outliers come from the 5 % and the 95 % quantile. Each is compared with the quantiles half a sample below and
#   above it, and replaced by the middle between it and the one that is at least twice as far away as the other. If neither is,
#   the result is 0. In quantogram, the model for this function, it is `None`.
# - With 0 as the 95 % quantile, the upper limit is negative, so every sample is above it.
# - In most cases, half a sample is rounded away on one side, and the case does not occur. For 36 numbers of samples up to 5,000,
#   all multiples of 20, the product of the lower quantile and the number is just below a half, and rounded down: 3,799.4999...
#
# Many equal samples (a function of a few nanoseconds) are not affected. A benchmark that ends by its timeout has such a number of
# samples now and then.
#
# Below, benchmarks run by a simulated clock. Samples in equal steps from 1 to 1.4 ms are always refused if there are 220 or 4,000
# of them. Of a hundred benchmarks with random noise, 31 are refused for 4,000 samples and none for 3,980.
#
# Output seen (valid samples/all samples; number of benchmarks with random noise that are refused):
#   even: 200/200
#   even: Samples too wild to analyze.
#   even: 2,500/2,500
#   even: 3,980/3,980
#   even: Samples too wild to analyze.
#   random, 3980 samples: 0 of 100
#   random, 4000 samples: 31 of 100
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "even"
version = "0.0.0"
edition = "2024"

[dependencies]
brunch = "=0.12.0"
dactyl = "=0.14.1"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use brunch::{Bench, Benches};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The time in nanoseconds.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Replaces the function of libc that std calls for `Instant::now`.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(_: i32, time: *mut [i64; 2]) -> i32 {
    let now = CLOCK.load(Relaxed) as i64;
    unsafe { *time = [now / 1_000_000_000, now % 1_000_000_000] };
    0
}

fn main() {
    let mut benches = Benches::default();
    for samples in [200, 220, 2500, 3980, 4000] {
        let times = (0..samples).map(|i| 1_000_000 + i * 400_000 / samples);
        let mut times = times.map(u64::from);
        let bench = Bench::new(format!("even {samples}")).with_samples(samples);
        benches.push(bench.run(|| CLOCK.fetch_add(times.next().unwrap(), Relaxed)));
    }
    let mut state = 1_u64;
    for samples in [3980, 4000] {
        for i in 0..100 {
            let bench = Bench::new(format!("random {samples} {i}")).with_samples(samples);
            benches.push(bench.run(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                CLOCK.fetch_add(1_000_000 + (state >> 33) % 400_000, Relaxed)
            }));
        }
    }
    benches.finish();
}
EOF
export CARGO_TARGET_DIR="$work/target" NO_BRUNCH_HISTORY=1
cargo run --quiet > colored 2>&1 || { cat colored >&2; exit 1; }
sed 's/\x1b\[[0-9;]*m//g' colored > report
refused() {
    echo "random, $1 samples: $(grep -c "^random $1 .*too wild" report || true) of $(grep -c "^random $1 " report)"
}
seen=$(sed -n 's/^even [0-9]* \( *[0-9.]* ms\)\{0,1\} */even: /p' report; refused 3980; refused 4000)
echo "$seen"
expected='even: 200/200
even: Samples too wild to analyze.
even: 2,500/2,500
even: 3,980/3,980
even: Samples too wild to analyze.
random, 3980 samples: 0 of 100
random, 4000 samples: 31 of 100'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
