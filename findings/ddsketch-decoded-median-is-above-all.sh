#!/usr/bin/env bash
# sketches-ddsketch 0.4.2, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# A `DDSketch` summarizes a stream of values and gives its quantiles with a relative error of `alpha`. It has a bin for each power
# of about 1 + 2 alpha, and at most `max_num_bins` of them; if these do not suffice, the lowest ones become one. So whoever wants
# a smaller `alpha` asks for more bins. `to_java_bytes` and `from_java_bytes` send a sketch from one process to another. The bytes
# hold `alpha` and all bins, but not `max_num_bins`. The decoded sketch has the default, 2,048, and has folded what is beyond:
#
# - With an `alpha` of 0.1 %, 2,048 bins cover a factor of 60. A million calls take 1 to 2 ms, and one is paused for a second. The
#   median is 1.5 ms. After a round trip it is 16.7 ms, eight times as long as any call but one, and so are the 1 % and the 99 %
#   quantile: all are 1/60 of the largest value. Number, minimum, mean and maximum are still right.
# - Without the pause nothing is lost, nor with the default `alpha` of 1 %, of which 2,048 bins cover 17 orders of magnitude.
# - A decoded sketch cannot be merged into one of the same settings unless they are the default ones: "Can not merge sketches with
#   different configs". Decoded sketches can be merged with each other, so a process that collects them notices nothing.
#
# Decoding gives no error, and the documentation does not limit the settings. The bytes are not at fault: those of the original
# are 1,390, and those of the decoded sketch 60.
#
# Output seen (alpha, bins; quantiles of 1, 50 and 99 % in ms; number, minimum, mean, maximum; bytes; whether the decoded sketch
# can be merged into the original, and into a decoded one):
#   0.01 2048, with a pause
#     original: 1.010 1.507 1.994; 1000001 1.0 1.501 1000.0; 194 bytes
#     decoded: 1.010 1.507 1.994; 1000001 1.0 1.501 1000.0; 194 bytes; true true
#   0.001 32768, without a pause
#     original: 1.009 1.499 1.992; 1000000 1.0 1.500 2.0; 1387 bytes
#     decoded: 1.009 1.499 1.992; 1000000 1.0 1.500 2.0; 1387 bytes; false true
#   0.001 32768, with a pause
#     original: 1.009 1.499 1.992; 1000001 1.0 1.501 1000.0; 1390 bytes
#     decoded: 16.660 16.660 16.660; 1000001 1.0 1.501 1000.0; 60 bytes; false true
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "send"
version = "0.0.0"
edition = "2024"

[dependencies]
sketches-ddsketch = "=0.4.2"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use sketches_ddsketch::{Config, DDSketch};

fn describe(sketch: &DDSketch) -> String {
    let quantile = |q| sketch.quantile(q).unwrap().unwrap();
    let mean = sketch.sum().unwrap() / sketch.count() as f64;
    let (min, max) = (sketch.min().unwrap(), sketch.max().unwrap());
    format!(
        "{:.3} {:.3} {:.3}; {} {min:.1} {mean:.3} {max:.1}; {} bytes",
        quantile(0.01),
        quantile(0.5),
        quantile(0.99),
        sketch.count(),
        sketch.to_java_bytes().len()
    )
}

fn main() {
    for (alpha, bins, pause) in [(0.01, 2048, true), (0.001, 32_768, false), (0.001, 32_768, true)] {
        let mut original = DDSketch::new(Config::new(alpha, bins, 1e-9));
        for i in 0..1_000_000 {
            original.add(1.0 + f64::from(i) / 1_000_000.0);
        }
        if pause {
            original.add(1000.0);
        }
        let decoded = DDSketch::from_java_bytes(&original.to_java_bytes()).unwrap();
        println!("{alpha} {bins}, {} a pause", if pause { "with" } else { "without" });
        println!("  original: {}", describe(&original));
        let merged = (original.merge(&decoded).is_ok(), decoded.clone().merge(&decoded).is_ok());
        println!("  decoded: {}; {} {}", describe(&decoded), merged.0, merged.1);
    }
}
EOF
seen=$(CARGO_TARGET_DIR="$work/target" cargo run --release --quiet)
echo "$seen"
expected='0.01 2048, with a pause
  original: 1.010 1.507 1.994; 1000001 1.0 1.501 1000.0; 194 bytes
  decoded: 1.010 1.507 1.994; 1000001 1.0 1.501 1000.0; 194 bytes; true true
0.001 32768, without a pause
  original: 1.009 1.499 1.992; 1000000 1.0 1.500 2.0; 1387 bytes
  decoded: 1.009 1.499 1.992; 1000000 1.0 1.500 2.0; 1387 bytes; false true
0.001 32768, with a pause
  original: 1.009 1.499 1.992; 1000001 1.0 1.501 1000.0; 1390 bytes
  decoded: 16.660 16.660 16.660; 1000001 1.0 1.501 1000.0; 60 bytes; false true'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
