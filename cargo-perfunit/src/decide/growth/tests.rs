use super::*;

type Law = fn(f64) -> f64;

/// How the work of functions grows, and by what a factor of the length adds to it.
const LAWS: [(Law, Law); 7] = [
    (|_| 30.0, |n| 30.0 * n),
    (|n| 12.0 + 3.0 * n.log2(), |n| n * (1.0 + 3.0 * n.log2())),
    (|n| 3.0 * n, |n| 3.0 * n * n),
    (|n| 250.0 + 3.0 * n, |n| 3.0 * n * n),
    (|n| 40.0 + 0.25 * n, |n| 3.0 * n * n),
    (|n| 2.0 * n * (1.0 + n.log2()), |n| 2.0 * n * n * (1.0 + n.log2())),
    (|n| 5.0 + n * n, |n| n * n * n),
];

/// Lengths that tests happen to have: from the first to the last, `many` to an octave.
fn lengths(first: f64, last: f64, many: f64) -> Vec<f64> {
    let count = ((last / first).log2() * many).round() as usize;
    (0..=count).map(|step| (first * 2_f64.powf(step as f64 / many)).round()).collect()
}

fn ranges() -> [Vec<f64>; 7] {
    [
        lengths(2.0, 64.0, 3.0),
        lengths(3.0, 80.0, 2.0),
        lengths(4.0, 300.0, 6.0),
        lengths(8.0, 200.0, 1.5),
        lengths(16.0, 4096.0, 2.0),
        lengths(1.0, 100_000.0, 1.0),
        vec![9.0, 100.0, 1019.0, 1024.0, 4704.0, 5536.0],
    ]
}

/// How the content of an input decides about its work, the same on both sides: by up to `spread`.
fn of_content(length: f64, spread: f64) -> f64 {
    let chance = fastrand::Rng::with_seed(length.to_bits()).f64();
    1.0 + spread * (chance - 0.5)
}

fn judged(lengths: &[f64], base: impl Fn(f64) -> f64, head: impl Fn(f64) -> f64) -> Growing {
    let at = |length: &f64| WorkAt { length: *length, work: Sides { base: base(*length), head: head(*length) } };
    growth(&lengths.iter().map(at).collect::<Vec<_>>())
}

#[test]
fn constants_factors_logarithms_and_other_paths_are_no_other_power() {
    for lengths in ranges() {
        let last = lengths[lengths.len() - 1];
        for (law, _) in LAWS {
            for spread in [0.0, 0.3, 0.8] {
                let base = |n: f64| law(n) * of_content(n, spread);
                let check = |name: &str, head: &dyn Fn(f64) -> f64| {
                    let found = judged(&lengths, base, head);
                    let place = (lengths[0], last, spread, law(64.0));
                    assert_eq!(found, Growing::AsBefore, "{name} at {place:?}");
                };
                check("equal", &base);
                check("+ constant", &|n| base(n) + 500.0);
                check("twice", &|n| 2.0 * base(n));
                check("fifty times", &|n| 50.0 * base(n));
                check("+ logarithm", &|n| base(n) + 20.0 * n.log2());
                check("times logarithm", &|n| base(n) * (1.0 + n.log2()));
                check("faster", &|n| base(n) / n);
                check("more by remainders", &|n| base(n) + 3.0 * (n % 8.0));
                check("three times from 20 on", &|n| base(n) * if n < 20.0 { 1.0 } else { 3.0 });
                check("nine times for large ones", &|n| base(n) * if n < last / 5.0 { 1.0 } else { 9.0 });
            }
        }
    }
}

#[test]
fn a_factor_of_the_length_is_another_power_whatever_its_weight() {
    let (mut found, mut all) = (0, 0);
    for lengths in ranges() {
        let last = lengths[lengths.len() - 1];
        for (law, more) in LAWS {
            for (spread, weight) in [(0.0, 1.0), (0.0, 0.1), (0.3, 1.0), (0.3, 0.1), (0.8, 1.0)] {
                let base = |n: f64| law(n) * of_content(n, spread);
                let head = |n: f64| base(n) + weight * more(n);
                if head(last) < 3.0 * base(last) {
                    continue;
                }
                all += 1;
                let Growing::Faster(Faster { exponent, largest }) = judged(&lengths, base, head) else {
                    // Only what lengths do not explain may hide it.
                    assert!(spread > 0.0, "{:?}", (lengths[0], last, weight, law(64.0)));
                    continue;
                };
                found += 1;
                assert!(exponent.head.estimate > exponent.base.estimate, "{exponent:?}");
                assert!((largest.length - last).abs() < 0.1 * last);
            }
        }
    }
    // With six lengths, work of contents hides more than with many.
    assert!(f64::from(found) >= 0.9 * f64::from(all), "{found} of {all}");
}

#[test]
fn lengths_that_do_not_spread_say_nothing() {
    let square = |n: f64| n * n;
    assert_eq!(judged(&lengths(10.0, 140.0, 8.0), |n| n, square), Growing::TooClose);
    assert_eq!(judged(&lengths(1.0, 60.0, 8.0), |n| n, square), Growing::TooClose);
    assert_eq!(judged(&[0.0, 4.0, 1000.0], |n| n, square), Growing::TooClose);
    assert_eq!(judged(&[], |n| n, square), Growing::TooClose);
    assert!(matches!(judged(&lengths(10.0, 160.0, 8.0), |n| n, square), Growing::Faster(_)));
}
