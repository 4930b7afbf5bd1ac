#!/usr/bin/env bash
# statest 0.2.2, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# The trait method `Chi2Vec::chi2_fit(probabilities, p)` tests whether counts fit given probabilities. By its documentation it
# returns true if the p-value is larger than `p`. It does the opposite: the struct `Chi2Fit`, which it calls, returns the
# p-value, and the trait subtracts that from 1 once more, as the test of independence in the same file has to (there the struct
# returns the distribution function).
#
# - 25, 25, 25 and 25 of 100 for four equal probabilities: the p-value is 1, and the fit is rejected.
# - 97, 1, 1 and 1 of 100: the p-value is 0, and the fit is accepted.
# - Between 5 and 95 %, both readings agree, so that random counts of a true fit are accepted in nine of ten cases and look
#   right.
#
# Output seen:
#   [25, 25, 25, 25] p-value 1.0000 fits false
#   [97, 1, 1, 1] p-value 0.0000 fits true
#   [20, 28, 24, 28] p-value 0.6237 fits true
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "fits"
version = "0.0.0"
edition = "2021"

[dependencies]
statest = "=0.2.2"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use statest::chi2::{Chi2Fit, Chi2Vec};

fn main() {
    let probabilities = [0.25_f64; 4];
    for counts in [vec![25, 25, 25, 25], vec![97, 1, 1, 1], vec![20, 28, 24, 28]] {
        let p_value = Chi2Fit::new(&counts).chi2_fit(&probabilities);
        let fits = counts.chi2_fit(&probabilities, 0.05);
        println!("{counts:?} p-value {p_value:.4} fits {fits}");
    }
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='[25, 25, 25, 25] p-value 1.0000 fits false
[97, 1, 1, 1] p-value 0.0000 fits true
[20, 28, 24, 28] p-value 0.6237 fits true'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
