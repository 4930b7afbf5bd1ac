#!/usr/bin/env bash
# codspeed 5.0.3 with codspeed-criterion-compat-walltime 5.0.3, Rust 1.95.0 (x86-64 Linux). Needs cargo, a C compiler and the
# crates.io registry.
#
# CodSpeed's version of criterion runs a benchmark as criterion does, and then writes a file for CodSpeed's service: minimum,
# quartiles, mean and so on of the time of an iteration in nanoseconds, all of them floats ("mean_ns"). A round has thousands of
# iterations, so criterion reports 1.95 ns. In the file, the same benchmark takes 1.0 ns: CodSpeed divides the time of a round by
# its iterations as integers and makes a float of the result.
#
# - A benchmark that slows down from 1.05 to 1.95 ns, by 86 %, has not changed. From 1.95 to 2.05 ns, 5 %, it has doubled.
# - Below 1 ns, all figures are 0. At 9.95 ns, a tenth of the time is missing.
# - The standard deviation is 0 if all rounds are within the same nanosecond. Rounds that vary by 3 % around 2 ns become rounds of
#   1 and of 2 ns, so that the mean is 1.5 ns and the quartiles are a factor of two apart.
#
# The same file has the total time and the number of iterations, which give the correct mean. Benchmarks of a few nanoseconds are
# common: a hash, a lock, an atomic counter. The times below are those of a simulated clock.
#
# Output seen (time; mean of criterion; in the file: quartile, mean, quartile, standard deviation; total time by iterations):
#   0.95: 0.95; 0.0 0.0 0.0 0.0; 0.95
#   1.05: 1.05; 1.0 1.0 1.0 0.0; 1.05
#   1.94 to 2.06: 2.00; 1.0 1.5 2.0 0.5; 2.00
#   1.95: 1.95; 1.0 1.0 1.0 0.0; 1.95
#   2.05: 2.05; 2.0 2.0 2.0 0.0; 2.05
#   9.95: 9.95; 9.0 9.0 9.0 0.0; 9.95
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "fractions"
version = "0.0.0"
edition = "2024"

[dependencies]
codspeed = "=5.0.3"
criterion = { package = "codspeed-criterion-compat-walltime", version = "=5.0.3", default-features = false }
serde_json = "=1.0.154"

[profile.dev]
debug = false

[workspace]
EOF
cat > src/main.rs <<'EOF'
use criterion::Criterion;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time in picoseconds.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Replaces the function of libc that std calls for `Instant::now`.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(_: i32, time: *mut [i64; 2]) -> i32 {
    let now = (CLOCK.load(Relaxed) / 1000) as i64;
    unsafe { *time = [now / 1_000_000_000, now % 1_000_000_000] };
    0
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .nresamples(1000)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(10));
    let benches = [("0.95", 950, 0), ("1.05", 1050, 0), ("1.95", 1950, 0), ("2.05", 2050, 0), ("9.95", 9950, 0)];
    for (name, least, step) in benches.into_iter().chain([("1.94 to 2.06", 1940, 12)]) {
        let mut round = 0;
        criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                round += 1;
                let start = Instant::now();
                CLOCK.fetch_add(iterations * (least + step * (round % 11)), Relaxed);
                start.elapsed()
            })
        });
    }
    for file in Path::new("target/codspeed/walltime/raw_results/criterion").read_dir().unwrap() {
        let codspeed = read(&file.unwrap().path());
        let name = codspeed["name"].as_str().unwrap();
        let criterion = read(&Path::new("target/criterion").join(name).join("new/estimates.json"));
        let mean = criterion["mean"]["point_estimate"].as_f64().unwrap();
        let value = |key| codspeed["stats"][key].as_f64().unwrap();
        let [low, middle, high, deviation] = ["q1_ns", "mean_ns", "q3_ns", "stdev_ns"].map(value);
        let total = 1e9 * value("total_time") / value("rounds") / value("iter_per_round");
        println!("seen {name}: {mean:.2}; {low:.1} {middle:.1} {high:.1} {deviation:.1}; {total:.2}");
    }
}

fn read(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
EOF
export CARGO_TARGET_DIR="$work/target"
cargo build --quiet
# The variables that `cargo codspeed run` and CodSpeed's runner set.
export CODSPEED_ENV=runner CODSPEED_CARGO_WORKSPACE_ROOT="$work"
target/debug/fractions > out 2> log || { cat log >&2; exit 1; }
seen=$(sed -n 's/^seen //p' out | LC_ALL=C sort)
echo "$seen"
expected='0.95: 0.95; 0.0 0.0 0.0 0.0; 0.95
1.05: 1.05; 1.0 1.0 1.0 0.0; 1.05
1.94 to 2.06: 2.00; 1.0 1.5 2.0 0.5; 2.00
1.95: 1.95; 1.0 1.0 1.0 0.0; 1.95
2.05: 2.05; 2.0 2.0 2.0 0.0; 2.05
9.95: 9.95; 9.0 9.0 9.0 0.0; 9.95'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
