//! Detects growth of time with a larger power of a parameter than before, from the times at a few parameters.
//!
//! Three times determine one power law with an offset, `c + a n^p`. The errors of the times give the error of `p`.

use super::location::Interval;
use perfunit_model::Sides;

/// Least ratio of the largest parameter to the smallest.
const SPREAD: f64 = 16.0;
/// Least factor between neighbors of the three parameters.
const STEP: f64 = 2.0;
/// Least ratio of head's time to base's at the largest parameter.
const LEAST_RATIO: f64 = 1.5;
/// Least difference between head's lower and base's upper end of the exponents' intervals.
const LEAST_EXPONENT: f64 = 0.25;
/// Smallest relative error when times of different workloads are compared, because their code is placed differently.
const LEAST_ERROR: f64 = 0.05;
/// Largest exponent that the search distinguishes.
const LARGEST: f64 = 6.0;

/// Times of both versions at one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeAt {
    pub parameter: f64,
    pub ns: Sides<f64>,
    /// Half the width of the interval of the ratio of head's time to base's, as a fraction.
    pub error: f64,
}

/// Returns the exponents of both versions and the time at the largest parameter, if head's exponent is larger.
pub fn scaling(times: &[TimeAt]) -> Option<(Sides<Interval>, TimeAt)> {
    let mut times = times.to_vec();
    times.sort_by(|a, b| a.parameter.total_cmp(&b.parameter));
    let (first, last) = (*times.first()?, *times.last()?);
    if first.parameter < 1.0 || last.parameter < SPREAD * first.parameter || last.ns.head < LEAST_RATIO * last.ns.base {
        return None;
    }
    let middle = (first.parameter * last.parameter).sqrt();
    let distance = |time: &&TimeAt| (time.parameter / middle).ln().abs();
    let middle = *times.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    if middle.parameter < STEP * first.parameter || last.parameter < STEP * middle.parameter {
        return None;
    }
    let three = [first, middle, last];
    let exponent = |of: fn(&Sides<f64>) -> f64| {
        interval(
            three.map(|time| time.parameter),
            three.map(|time| of(&time.ns)),
            three.map(|time| time.error.max(LEAST_ERROR)),
        )
    };
    let exponents = Sides { base: exponent(|ns| ns.base), head: exponent(|ns| ns.head) };
    (exponents.head.low >= exponents.base.high + LEAST_EXPONENT).then_some((exponents, last))
}

/// Returns the exponent, with the smallest and the largest exponent that times within their errors allow.
fn interval(at: [f64; 3], times: [f64; 3], errors: [f64; 3]) -> Interval {
    let corners = (0..8).map(|corner| {
        let sign = |index: usize| if corner >> index & 1 == 0 { -1.0 } else { 1.0 };
        let moved: [f64; 3] = std::array::from_fn(|index| times[index] * (1.0 + sign(index) * errors[index]));
        exponent(at, moved)
    });
    let (low, high) = corners.fold((LARGEST, 0.0_f64), |(low, high), power| (low.min(power), high.max(power)));
    Interval { estimate: exponent(at, times), low, high }
}

/// Returns the exponent of the law through three points, by bisection: the ratio of the two differences grows with the
/// exponent.
fn exponent(at: [f64; 3], times: [f64; 3]) -> f64 {
    let (first, second) = (times[1] - times[0], times[2] - times[1]);
    if second <= 0.0 {
        return 0.0;
    }
    if first <= 0.0 {
        return LARGEST;
    }
    let ratio = |power: f64| (at[2].powf(power) - at[1].powf(power)) / (at[1].powf(power) - at[0].powf(power));
    let (mut low, mut high) = (1e-3, LARGEST);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if ratio(middle) < second / first { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(parameters: &[f64], base: impl Fn(f64) -> f64, head: impl Fn(f64) -> f64) -> Option<Sides<Interval>> {
        let at = |parameter: &f64| TimeAt {
            parameter: *parameter,
            ns: Sides { base: base(*parameter), head: head(*parameter) },
            error: 0.01,
        };
        scaling(&parameters.iter().map(at).collect::<Vec<_>>()).map(|(exponents, _)| exponents)
    }

    const SIZES: [&[f64]; 4] =
        [&[16.0, 256.0, 4096.0], &[10.0, 100.0, 1000.0, 10_000.0], &[8.0, 64.0, 512.0], &[1.0, 4.0, 16.0, 64.0]];

    #[test]
    fn another_power_is_told_with_its_exponents() {
        for sizes in SIZES {
            let found = judge(sizes, |n| 20.0 + 3.0 * n, |n| 20.0 + 3.0 * n * n).unwrap();
            assert!((found.base.estimate - 1.0).abs() < 0.02 && (found.head.estimate - 2.0).abs() < 0.02, "{found:?}");
            assert!(found.head.low < 2.0 && found.head.high > 2.0 && found.base.low < 1.0, "{found:?}");
        }
    }

    #[test]
    fn factors_constants_and_logarithms_are_no_other_power() {
        for sizes in SIZES {
            for offset in [0.0, 50.0, 5000.0] {
                let base = |n: f64| offset + 3.0 * n;
                assert_eq!(judge(sizes, base, base), None);
                assert_eq!(judge(sizes, base, |n| offset + 30.0 * n), None);
                assert_eq!(judge(sizes, base, |n| 10.0 * base(n)), None);
                assert_eq!(judge(sizes, base, |n| base(n) + 9000.0), None);
                assert_eq!(judge(sizes, base, |n| offset + 3.0 * n * (1.0 + n.log2())), None);
                assert_eq!(judge(sizes, |n| offset + n * n, |n| offset + 4.0 * n * n), None);
            }
        }
    }

    #[test]
    fn two_parameters_or_near_ones_say_nothing() {
        let square = |n: f64| n * n;
        assert_eq!(judge(&[10.0, 1000.0], |n| n, square), None);
        assert_eq!(judge(&[100.0, 200.0, 400.0, 800.0], |n| n, square), None);
        assert_eq!(judge(&[10.0, 11.0, 1000.0], |n| n, square), None);
        assert_eq!(judge(&[0.0, 10.0, 1000.0], |n| n, square), None);
    }
}
