#!/usr/bin/env bash
# inferno 0.12.8 (library of `inferno-diff-folded`), Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# A differential flame graph compares two profiles. The option `normalize` is documented to "normalize the first profile count to
# match the second", so that a different number of samples does not color everything red or blue. Each count of the first profile
# is multiplied by the ratio of the totals, and the fraction is cut off. The totals therefore do not match afterwards, and the
# loss depends on how the samples are spread over the stacks:
#
# - A thousand stacks with one sample each, against the same profile without one of the stacks: every count becomes 0.999 and
#   then 0. The first profile is empty, and every function looks new. Without `normalize`, one stack differs. Single samples are
#   common in profiles of deep or recursive code.
# - A thousand stacks with five samples each, against nine tenths of the samples: the first profile is left with 4,000 samples
#   instead of 4,500. The root itself has grown by 12.5 %, and every function between the root and the leaves with it.
# - The same numbers of samples in ten stacks: 4,500 samples, nothing grew.
#
# So a second run that is a little shorter shows growth everywhere, the more so the finer the stacks are.
#
# Output seen (samples before and after, both totals in the output, stacks with more samples in the second):
#   single samples: 1000 999, normalized 0 999, 999 of 1000 stacks grew
#   five samples: 5000 4500, normalized 4000 4500, 500 of 1000 stacks grew
#   many samples: 5000 4500, normalized 4500 4500, 0 of 10 stacks grew
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "balanced"
version = "0.0.0"
edition = "2024"

[dependencies]
inferno = { version = "=0.12.8", default-features = false }

[workspace]
EOF
cat > src/main.rs <<'EOF'
use inferno::differential::{Options, from_readers};

/// Returns folded stacks `main;work;leaf0`, `main;work;leaf1` and so on with these counts.
fn folded(counts: &[usize]) -> String {
    let lines = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    lines.map(|(leaf, count)| format!("main;work;leaf{leaf} {count}\n")).collect()
}

fn compare(name: &str, before: &[usize], after: &[usize]) {
    let options = Options { normalize: true, ..Options::default() };
    let mut out = Vec::new();
    from_readers(options, folded(before).as_bytes(), folded(after).as_bytes(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let pairs: Vec<(usize, usize)> = text
        .lines()
        .map(|line| {
            let mut counts = line.rsplit(' ').map(|count| count.parse().unwrap());
            let second = counts.next().unwrap();
            (counts.next().unwrap(), second)
        })
        .collect();
    println!(
        "{name}: {} {}, normalized {} {}, {} of {} stacks grew",
        before.iter().sum::<usize>(),
        after.iter().sum::<usize>(),
        pairs.iter().map(|pair| pair.0).sum::<usize>(),
        pairs.iter().map(|pair| pair.1).sum::<usize>(),
        pairs.iter().filter(|pair| pair.1 > pair.0).count(),
        pairs.len(),
    );
}

fn main() {
    let mut fewer = vec![1; 1000];
    fewer[0] = 0;
    compare("single samples", &[1; 1000], &fewer);
    // Nine tenths of the samples, spread as evenly as integers allow.
    let spread: Vec<usize> = (0..1000).map(|leaf| 4 + leaf % 2).collect();
    compare("five samples", &[5; 1000], &spread);
    compare("many samples", &[500; 10], &[450; 10]);
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='single samples: 1000 999, normalized 0 999, 999 of 1000 stacks grew
five samples: 5000 4500, normalized 4000 4500, 500 of 1000 stacks grew
many samples: 5000 4500, normalized 4500 4500, 0 of 10 stacks grew'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
