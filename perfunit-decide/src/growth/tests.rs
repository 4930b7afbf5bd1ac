use super::*;

type Law = fn(f64) -> f64;

/// Laws for the growth of the work of functions, each with the law that a factor of the length makes of it.
const LAWS: [(Law, Law); 7] = [
    (|_| 30.0, |n| 30.0 * n),
    (|n| 12.0 + 3.0 * n.log2(), |n| n * (1.0 + 3.0 * n.log2())),
    (|n| 3.0 * n, |n| 3.0 * n * n),
    (|n| 250.0 + 3.0 * n, |n| 3.0 * n * n),
    (|n| 40.0 + 0.25 * n, |n| 3.0 * n * n),
    (|n| 2.0 * n * (1.0 + n.log2()), |n| 2.0 * n * n * (1.0 + n.log2())),
    (|n| 5.0 + n * n, |n| n * n * n),
];

/// Returns lengths as tests may have them: from the first to the last, `many` to an octave.
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

/// Returns the factor by which the content of an input changes its work, the same on both sides: a range of `spread`.
fn of_content(length: f64, spread: f64) -> f64 {
    let chance = fastrand::Rng::with_seed(length.to_bits()).f64();
    1.0 + spread * (chance - 0.5)
}

fn judge(lengths: &[f64], base: impl Fn(f64) -> f64, head: impl Fn(f64) -> f64) -> Growing {
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
                    let found = judge(&lengths, base, head);
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
fn more_work_that_no_law_explains_is_no_answer() {
    // The content of one length in the middle makes head's extra work five times smaller.
    let lengths = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0];
    let found = judge(
        &lengths,
        |n| 40.0 * n,
        |n| 40.0 * n + if (10.0..20.0).contains(&n) { 0.1 } else { 0.5 } * n * n * of_content(n, 0.8),
    );
    assert!(matches!(found, Growing::Faster(_) | Growing::Unclear(_)), "{found:?}");
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
                let Growing::Faster(Faster { exponent, largest, .. }) = judge(&lengths, base, head) else {
                    // Only scatter that lengths do not explain may hide the growth.
                    assert!(spread > 0.0, "{:?}", (lengths[0], last, weight, law(64.0)));
                    continue;
                };
                found += 1;
                assert!(exponent.head.estimate > exponent.base.estimate, "{exponent:?}");
                assert!((largest.length - last).abs() < 0.1 * last);
            }
        }
    }
    // With six lengths, work that depends on the contents hides more growth than with many lengths.
    assert!(f64::from(found) >= 0.9 * f64::from(all), "{found} of {all}");
}

/// Judges work at lengths that tests draw, at which some have other contents: a test sees about half of all lengths.
fn judge_drawn(
    random: &mut fastrand::Rng,
    tests: usize,
    mut work: impl FnMut(f64, &mut fastrand::Rng) -> Sides<f64>,
) -> Growing {
    let drawn: Vec<f64> = match random.usize(0..4) {
        0 => (0..100).map(f64::from).collect(),
        1 => (0..random.usize(10..24)).map(|_| 2_f64.powf(2.0 + 6.0 * random.f64()).round()).collect(),
        2 => (0..random.usize(8..16)).map(|_| 2_f64.powf(2.0 + 10.0 * random.f64()).round()).collect(),
        _ => ranges()[random.usize(0..7)].clone(),
    };
    let mut lengths = drawn;
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let mut at = Vec::new();
    for length in lengths {
        let mut sums = Sides { base: 0.0, head: 0.0 };
        for _ in 0..tests {
            let Sides { base, head } = work(length, random);
            sums = Sides { base: sums.base + base.round(), head: sums.head + head.round() };
        }
        at.push(WorkAt { length, work: sums.map(|work| work / tests as f64) });
    }
    growth(&at)
}

/// Effects of contents on the work at a length: none, up to 15 % or a half more or less, or an end at any place.
const CONTENTS: [fn(&mut fastrand::Rng) -> f64; 4] =
    [|_| 1.0, |random| 0.85 + 0.3 * random.f64(), |random| 0.5 + random.f64(), fastrand::Rng::f64];

/// Head's work as a function of length, of base's work there, and of the part of it that depends on contents.
type Head = dyn Fn(f64, f64, f64) -> f64;
/// Change of a law, with a factor.
type Change = dyn Fn(Law, f64) -> Box<Head>;

/// Returns the number of cases that have enough lengths, and how many of these cases grow faster.
fn rate(random: &mut fastrand::Rng, cases: usize, head: &Change) -> (usize, usize) {
    let (mut known, mut faster) = (0, 0);
    for _ in 0..cases {
        let (law, more) = LAWS[random.usize(0..LAWS.len())];
        let factor = [1.1, 1.5, 2.0, 4.0, 20.0][random.usize(0..5)];
        let (content, tests) = (CONTENTS[random.usize(0..4)], [1, 4][random.usize(0..2)]);
        let (head, weight) = (head(law, factor), law(16.0) / more(16.0));
        let judged = judge_drawn(random, tests, |n, random| {
            let base = law(n) * content(random);
            Sides { base, head: head(n, base, weight * more(n)) }
        });
        known += usize::from(judged != Growing::TooClose);
        faster += usize::from(matches!(judged, Growing::Faster(_)));
    }
    (known, faster)
}

#[test]
fn simulated_unchanged_and_heavier_work_is_not_faster() {
    let mut random = fastrand::Rng::with_seed(1);
    let laws: [(&str, &Change); 9] = [
        ("equal", &|_, _| Box::new(|_, base, _| base)),
        ("constant", &|_, factor| Box::new(move |_, base, _| base + 100.0 * factor)),
        ("factor", &|_, factor| Box::new(move |_, base, _| factor * base)),
        ("factor of what contents do not decide about", &|law, factor| {
            Box::new(move |n, base, _| base + (factor - 1.0) * law(n))
        }),
        ("other blocks", &|_, _| Box::new(|n, base, _| 1.03 * base + n % 4.0)),
        ("logarithm", &|_, factor| Box::new(move |n, base, _| base + 20.0 * factor * n.max(1.0).log2())),
        ("times logarithm", &|_, factor| Box::new(move |n, base, _| base * (1.0 + factor * n.max(1.0).log2()))),
        ("remainders", &|_, factor| Box::new(move |n, base, _| base + factor * (n % 16.0))),
        ("another path", &|_, factor| Box::new(move |n, base, _| if n < 50.0 { base } else { factor * base })),
    ];
    let (mut known, mut faster) = (0, 0);
    for (name, head) in laws {
        let (of_law, false_ones) = rate(&mut random, 400, head);
        println!("{name}: {false_ones} of {of_law}");
        (known, faster) = (known + of_law, faster + false_ones);
    }
    assert!(known >= 1000 && faster * 1000 <= known * 5, "{faster} of {known}");
}

#[test]
fn simulated_terms_of_another_power_are_found() {
    let mut random = fastrand::Rng::with_seed(2);
    for (weight, least) in [(1.0, 0.9), (0.1, 0.5)] {
        let head = move |_: Law, _: f64| -> Box<Head> { Box::new(move |_, base, more| base + weight * more) };
        let (known, faster) = rate(&mut random, 800, &head);
        println!("{weight} of the work at n = 16: {faster} of {known}");
        assert!(faster as f64 >= least * known as f64, "{weight}: {faster} of {known}");
    }
}

#[test]
fn lengths_that_do_not_spread_say_nothing() {
    let square = |n: f64| n * n;
    assert_eq!(judge(&lengths(10.0, 140.0, 8.0), |n| n, square), Growing::TooClose);
    assert_eq!(judge(&lengths(1.0, 60.0, 8.0), |n| n, square), Growing::TooClose);
    assert_eq!(judge(&[0.0, 4.0, 1000.0], |n| n, square), Growing::TooClose);
    assert_eq!(judge(&[], |n| n, square), Growing::TooClose);
    assert!(matches!(judge(&lengths(10.0, 160.0, 8.0), |n| n, square), Growing::Faster(_)));
}
