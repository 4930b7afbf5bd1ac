#!/usr/bin/env bash
# streaming-stats 0.2.3, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `stats::mode` returns the most frequent value: "If the data does not have a mode, then `None` is returned". If two values are
# equally frequent, however, it may return a third one that is much rarer. 400 calls of 10 ms, 400 of 11 ms and 2 of 500 ms, which
# ran into a timeout, have the mode 500 ms. `modes` of the same crate returns 10 and 11.
#
# - The function goes through the sorted values with the best value and its count so far. On a tie it forgets both, as there is no
#   mode then, and with them that a mode has to beat a count of 400.
# - The first of equal values is not counted. A single value after the tie is thus never the mode, two of them always are.
#
# With 399 or 401 calls of 11 ms, there is no tie and the mode is right.
#
# Output seen (numbers of calls of 10, 11 and 500 ms: mode; modes):
#   400, 399, 2: Some(10); [10]
#   400, 400, 0: None; [10, 11]
#   400, 400, 1: None; [10, 11]
#   400, 400, 2: Some(500); [10, 11]
#   400, 401, 2: Some(11); [11]
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "rarest"
version = "0.0.0"
edition = "2024"

[dependencies]
streaming-stats = "=0.2.3"

[workspace]
EOF
cat > src/main.rs <<'EOF'
fn main() {
    for [a, b, c] in [[400, 399, 2], [400, 400, 0], [400, 400, 1], [400, 400, 2], [400, 401, 2]] {
        let times = [vec![10; a], vec![11; b], vec![500; c]].concat();
        let (mode, modes) = (stats::mode(times.iter().copied()), stats::modes(times.iter().copied()));
        println!("{a}, {b}, {c}: {mode:?}; {modes:?}");
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='400, 399, 2: Some(10); [10]
400, 400, 0: None; [10, 11]
400, 400, 1: None; [10, 11]
400, 400, 2: Some(500); [10, 11]
400, 401, 2: Some(11); [11]'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
