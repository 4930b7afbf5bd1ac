#!/usr/bin/env bash
# average 0.17.0, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `average::Quantile` estimates a quantile of a stream and says of fewer than five values that it sorts them. It sorts a copy
# and then takes the result from the values as they came, so a median of three is the second value that was added: 1, 2 or 5
# for the same three values in another order, and 1, their minimum, for [5, 1, 2]. From five values on, order is heeded only
# as far as the P2 algorithm needs it. Three to five runs are what people take for a benchmark of seconds, and its median is
# then any of them.
#
# Output seen:
#   median of [1, 2, 5]: 2
#   median of [5, 1, 2]: 1
#   median of [2, 5, 1]: 5
#   90 % quantile of [9, 1, 2, 3]: 3
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "medians"
version = "0.0.0"
edition = "2024"

[dependencies]
average = "=0.17.0"
easy-cast = "=0.5.4"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use average::{Estimate, Quantile};

fn quantile(p: f64, values: &[f64]) -> f64 {
    let mut estimate = Quantile::new(p);
    for value in values {
        estimate.add(*value);
    }
    estimate.quantile()
}

fn main() {
    for values in [[1.0, 2.0, 5.0], [5.0, 1.0, 2.0], [2.0, 5.0, 1.0]] {
        println!("median of {values:.0?}: {}", quantile(0.5, &values));
    }
    let values = [9.0, 1.0, 2.0, 3.0];
    println!("90 % quantile of {values:.0?}: {}", quantile(0.9, &values));
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='median of [1, 2, 5]: 2
median of [5, 1, 2]: 1
median of [2, 5, 1]: 5
90 % quantile of [9, 1, 2, 3]: 3'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
