#!/usr/bin/env bash
# edivisive 0.1.0, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# E-Divisive finds changes of a history of benchmarks and tests each by permutations: a change is significant if hardly any order
# of the values has one that is as strong. The crate counts the orders with a change that is strictly stronger, and no tie. For
# values without noise, as counts of instructions, ties are the rule. With the default p-value of 1 %:
#
# - Eight values, of which only the last one differs, have a change. A quarter of all orders has one of the same strength: those
#   with the other value at an end. So p is 25 %, and the crate has 0 %.
# - Any two different values have a change between them, since both orders are equally strong.
# - If the values rise, no order is stronger than the sorted one. The same holds for each part after a change. So 20 values that
#   rise evenly from 10.0 to 11.9 have 19 changes.
#
# The permutations are random, but none of them can be strictly stronger here, so that the output is always the same.
#
# Output seen (changes, sorted):
#   last of eight: [7]
#   two values: [1]
#   rising: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "rising"
version = "0.0.0"
edition = "2024"

[dependencies]
edivisive = "=0.1.0"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use edivisive::EDivisive;

fn show(name: &str, values: Vec<f64>) {
    let mut changes = EDivisive::default().get_change_points(&values);
    changes.sort();
    println!("{name}: {changes:?}");
}

fn main() {
    show("last of eight", vec![10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 11.0]);
    show("two values", vec![10.0, 11.0]);
    show("rising", (0..20).map(|i| 10.0 + 0.1 * f64::from(i)).collect());
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='last of eight: [7]
two values: [1]
rising: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
