#!/usr/bin/env bash
# statrs 0.19.1, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `ContinuousCDF::inverse_cdf` returns a finite, plausible number of which `cdf` of the same distribution says that it is
# another quantile. There is no error, and nothing in the documentation limits the parameters.
#
# - Student's t with ten million degrees of freedom (a Welch test on two series of five million times): the 97.5 % quantile
#   is 1.959965, as that of the normal distribution. The library returns 1.826556, which is the 96.6 % quantile, so an
#   interval said to cover 95 % covers 93.2 %. The quantile is derived from one of the beta distribution near 1, of which few
#   digits are left after it is subtracted from 1. With a thousand degrees of freedom all is well.
# - Chi-squared with 0.3 degrees of freedom: the quantiles of 0.0001 % and of 1 % are both given as 9.3e-10, which is the
#   4.27 % quantile: the search stops at an absolute distance.
# - Beta(0.001, 1), of which the cdf is x^0.001: the median is 9.3e-302, a normal f64. The library returns 4.2e-19, which is
#   the 95.9 % quantile, and gives the 0.1 % quantile a larger value than the median, so the function does not even increase.
#
# Output seen:
#   students_t 1.826556 0.966117
#   chi_squared 9.313e-10 9.314e-10 0.0427
#   beta 4.884e-19 4.202e-19 0.9586
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "quantiles"
version = "0.0.0"
edition = "2021"

[dependencies]
statrs = { version = "=0.19.1", default-features = false, features = ["std"] }

[workspace]
EOF
cat > src/main.rs <<'EOF'
use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, StudentsT};

fn main() {
    let t = StudentsT::new(0.0, 1.0, 1e7).unwrap();
    let quantile = t.inverse_cdf(0.975);
    println!("students_t {quantile:.6} {:.6}", t.cdf(quantile));

    let chi = ChiSquared::new(0.3).unwrap();
    let (low, high) = (chi.inverse_cdf(1e-6), chi.inverse_cdf(0.01));
    println!("chi_squared {low:.3e} {high:.3e} {:.4}", chi.cdf(low));

    let beta = Beta::new(0.001, 1.0).unwrap();
    let (low, median) = (beta.inverse_cdf(0.001), beta.inverse_cdf(0.5));
    println!("beta {low:.3e} {median:.3e} {:.4}", beta.cdf(median));
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='students_t 1.826556 0.966117
chi_squared 9.313e-10 9.314e-10 0.0427
beta 4.884e-19 4.202e-19 0.9586'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
