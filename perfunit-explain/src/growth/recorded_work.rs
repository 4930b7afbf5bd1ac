//! Recorded work of functions in both versions by length, over all tests. Pure.

use perfunit_decide::{Faster, Growing, TimeAt, WorkAt, growth, scaling};
use perfunit_measure::CountedWork;
use perfunit_model::{Exponent, Mode, Outcome, Scaling, Sides, TargetId, TestId, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// An argument of a function, by base's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub key: u64,
    /// Index of the argument, from 0.
    pub argument: u32,
}

/// Kind of work of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// Including called functions.
    Whole,
    /// Without other counted functions.
    Own,
}

/// Sums over tests that have both versions at a length. Each test counts once, because the versions may call a function
/// in different numbers of calls per test.
#[derive(Debug, Clone, Default)]
struct Sums {
    tests: f64,
    length: f64,
    work: Sides<f64>,
    own: Sides<f64>,
}

/// Recorded work of all tests.
#[derive(Debug, Clone, Default)]
pub struct RecordedWork {
    places: BTreeMap<Place, BTreeMap<u32, Sums>>,
    tests: BTreeMap<Place, BTreeSet<TestId>>,
}

impl RecordedWork {
    /// Adds a test; `renamed` has head's keys of functions with another key in base.
    pub fn add(&mut self, test: &TestId, work: &Sides<Vec<CountedWork>>, renamed: &BTreeMap<u64, u64>) {
        let known = |key: u64| renamed.get(&key).copied().unwrap_or(key);
        let head: BTreeMap<(u64, u32, u32), &CountedWork> =
            work.head.iter().map(|seen| ((known(seen.key), seen.argument, seen.bin), seen)).collect();
        for base in &work.base {
            let Some(head) = head.get(&(base.key, base.argument, base.bin)) else { continue };
            let place = Place { key: base.key, argument: base.argument };
            self.tests.entry(place).or_default().insert(test.clone());
            let sums = self.places.entry(place).or_default().entry(base.bin).or_default();
            sums.tests += 1.0;
            sums.length += f64::midpoint(base.length, head.length);
            sums.work.base += base.work;
            sums.work.head += head.work;
            sums.own.base += base.own;
            sums.own.head += head.own;
        }
    }

    /// Returns the functions with work that grows faster than before.
    pub fn faster(&self, which: WorkKind) -> BTreeMap<Place, Faster> {
        let judged = self.places.keys().map(|place| (*place, growth(&self.at(*place, which))));
        judged
            .filter_map(
                |(place, growing)| if let Growing::Faster(faster) = growing { Some((place, faster)) } else { None },
            )
            .collect()
    }

    /// Returns the result for each argument of a function.
    pub fn places(&self, key: u64) -> Vec<(Place, Growing)> {
        let of_key = self.places.range(Place { key, argument: 0 }..).take_while(|(place, _)| place.key == key);
        of_key.map(|(place, _)| (*place, growth(&self.at(*place, WorkKind::Whole)))).collect()
    }

    /// Returns the keys of the compared functions.
    pub fn compared_keys(&self) -> BTreeSet<u64> {
        let keys: BTreeSet<u64> = self.places.keys().map(|place| place.key).collect();
        let is_known = |key: &u64| {
            let worst = worst(&self.places(*key));
            matches!(worst, Some((_, Growing::AsBefore | Growing::Faster(_))))
        };
        keys.into_iter().filter(is_known).collect()
    }

    /// Returns the smallest and the largest length of an argument, without empty inputs.
    pub fn range(&self, place: Place) -> Option<(f64, f64)> {
        let at = self.at(place, WorkKind::Whole);
        let lengths = || at.iter().map(|at| at.length).filter(|length| *length >= 1.0);
        Some((lengths().min_by(f64::total_cmp)?, lengths().max_by(f64::total_cmp)?))
    }

    /// Returns the tests that call any of these functions.
    pub fn tests_of(&self, places: &BTreeSet<Place>) -> Vec<TestId> {
        let tests = places.iter().filter_map(|place| self.tests.get(place)).flatten();
        tests.cloned().collect::<BTreeSet<TestId>>().into_iter().collect()
    }

    fn at(&self, place: Place, which: WorkKind) -> Vec<WorkAt> {
        let bins = self.places.get(&place).into_iter().flat_map(BTreeMap::values);
        bins.map(|sums| WorkAt {
            length: sums.length / sums.tests,
            work: if which == WorkKind::Whole { sums.work } else { sums.own }.map(|work| work / sums.tests),
        })
        .collect()
    }
}

/// Returns the worst known result of a function's arguments, with its argument.
pub fn worst(places: &[(Place, Growing)]) -> Option<(Place, Growing)> {
    let rank = |growing: Growing| match growing {
        Growing::TooClose => 0,
        Growing::AsBefore => 1,
        Growing::Unclear(_) => 2,
        Growing::Faster(_) => 3,
    };
    places.iter().copied().max_by_key(|(_, growing)| rank(*growing))
}

/// Returns the parametrized workloads that are slower at their largest parameter because time grows with another power.
pub fn parameters(outcomes: &[Outcome]) -> Vec<Scaling> {
    let mut series: BTreeMap<(&TargetId, String), Vec<(TimeAt, Verdict)>> = BTreeMap::new();
    for outcome in outcomes {
        let Some(measured) = outcome.measured.as_ref().filter(|measured| measured.mode == Mode::Steady) else {
            continue;
        };
        let Some((name, parameter)) = parameter(&outcome.test.name) else { continue };
        let error = (measured.change.high - measured.change.low) / 2.0 / (1.0 + measured.change.estimate);
        let ns = Sides { base: measured.base_ns, head: measured.head_ns };
        let time = TimeAt { parameter: parameter as f64, ns, error };
        series.entry((&outcome.test.target, name)).or_default().push((time, outcome.verdict));
    }
    let found = series.into_iter().filter_map(|((target, name), mut times)| {
        times.sort_by(|(a, _), (b, _)| a.parameter.total_cmp(&b.parameter));
        // Its verdict there is certain within the error rate of the run.
        times.last().filter(|(_, verdict)| *verdict == Verdict::Slower)?;
        let times: Vec<TimeAt> = times.into_iter().map(|(time, _)| time).collect();
        let (exponent, last) = scaling(&times)?;
        let exponent =
            exponent.map(|interval| Exponent { estimate: interval.estimate, low: interval.low, high: interval.high });
        let ratio = last.ns.head / last.ns.base;
        Some(Scaling { target: target.clone(), name, exponent, largest: last.parameter as u64, ratio, ns: last.ns })
    });
    found.collect()
}

/// Splits a name at the number at its end. A macro that numbers its cases puts the case number before the value.
fn parameter(name: &str) -> Option<(String, u64)> {
    let digits = |text: &str| text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let length = digits(name);
    let (before, number) = name.split_at(name.len() - length);
    let number = number.parse().ok()?;
    let separator = before.chars().next_back()?;
    if !matches!(separator, '/' | ':' | '_') {
        return None;
    }
    let stem = &before[..before.len() - 1];
    let index = digits(stem);
    let stem = match stem[..stem.len() - index].strip_suffix('_') {
        Some(cut) if separator == '_' && index > 0 => format!("{cut}_*"),
        _ => stem.to_owned(),
    };
    Some((format!("{stem}{separator}*"), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;
    use perfunit_model::{TargetId, TargetKind};

    fn test(name: &str) -> TestId {
        let target = TargetId { package: "p".into(), kind: TargetKind::Lib, name: "p".into() };
        TestId { target, name: name.into() }
    }

    fn work(key: u64, length: u32, work: f64, own: f64) -> CountedWork {
        CountedWork { key, argument: 0, bin: length, length: f64::from(length), work, own }
    }

    const LENGTHS: [u32; 8] = [4, 8, 12, 16, 24, 32, 64, 128];

    fn side(of: impl Fn(f64) -> Vec<(u64, f64, f64)>) -> Vec<CountedWork> {
        let at =
            |length: u32| of(f64::from(length)).into_iter().map(move |(key, whole, own)| work(key, length, whole, own));
        LENGTHS.into_iter().flat_map(at).collect()
    }

    fn keys(found: &BTreeMap<Place, Faster>) -> Vec<u64> {
        found.keys().map(|place| place.key).collect()
    }

    #[test]
    fn a_caller_is_faster_only_with_what_it_calls() {
        let base = side(|n| vec![(1, 9.0 * n, 4.0 * n), (2, 5.0 * n, 5.0 * n)]);
        let head = side(|n| vec![(1, 4.0 * n + n * n, 4.0 * n), (2, n * n, n * n)]);
        let mut seen = RecordedWork::default();
        seen.add(&test("a"), &Sides { base, head }, &BTreeMap::new());
        assert_eq!(keys(&seen.faster(WorkKind::Whole)), [1, 2]);
        assert_eq!(keys(&seen.faster(WorkKind::Own)), [2]);
        assert_eq!(seen.compared_keys().len(), 2);
    }

    #[test]
    fn a_renamed_function_is_compared_with_what_it_was() {
        let base = side(|n| vec![(1, n, n)]);
        let head = side(|n| vec![(7, n * n, n * n)]);
        let mut seen = RecordedWork::default();
        seen.add(&test("a"), &Sides { base: base.clone(), head: head.clone() }, &BTreeMap::new());
        assert!(seen.faster(WorkKind::Whole).is_empty());
        seen.add(&test("a"), &Sides { base, head }, &BTreeMap::from([(7, 1)]));
        assert_eq!(keys(&seen.faster(WorkKind::Whole)), [1]);
    }

    #[test]
    fn tests_that_call_it_more_often_than_before_do_not_change_what_a_call_does() {
        let mut seen = RecordedWork::default();
        // Two tests with different inputs, and thus different work that is equal on both sides.
        for (name, factor) in [("light", 1.0), ("heavy", 30.0)] {
            let both = side(|n| vec![(1, factor * n, factor * n)]);
            seen.add(&test(name), &Sides { base: both.clone(), head: both }, &BTreeMap::new());
        }
        assert!(seen.faster(WorkKind::Whole).is_empty());
        assert_eq!(seen.tests_of(&BTreeSet::from([Place { key: 1, argument: 0 }])), [test("heavy"), test("light")]);
    }

    #[test]
    fn what_one_version_was_not_seen_at_is_not_compared() {
        let base = side(|n| vec![(1, n, n)]);
        let mut seen = RecordedWork::default();
        seen.add(
            &test("a"),
            &Sides { base, head: vec![work(1, 4, 1.0, 1.0), work(1, 200, 9.0, 9.0)] },
            &BTreeMap::new(),
        );
        assert_eq!(seen.range(Place { key: 1, argument: 0 }), Some((4.0, 4.0)));
        assert_eq!(seen.places(1), [(Place { key: 1, argument: 0 }, Growing::TooClose)]);
    }

    #[track_caller]
    fn check(name: &str, expected: Option<(&str, u64)>) {
        assert_eq!(parameter(name), expected.map(|(name, number)| (name.to_owned(), number)));
    }

    #[test]
    fn numbers_at_the_end_of_names_are_parameters() {
        check("sort/16", Some(("sort/*", 16)));
        check("sort/random/4096", Some(("sort/random/*", 4096)));
        check("benches::sort::256", Some(("benches::sort::*", 256)));
        check("tests::sums::n_2_256", Some(("tests::sums::n_*_*", 256)));
        check("tests::sums_100", Some(("tests::sums_*", 100)));
        check("tests::sha256", None);
        check("tests::sums", None);
        check("16", None);
        check("a/99999999999999999999999", None);
    }

    fn outcome(name: &str, base_ns: f64, head_ns: f64, verdict: Verdict) -> Outcome {
        let mut outcome = samples::outcome(name, verdict, Some(samples::measured(base_ns, head_ns / base_ns - 1.0)));
        if let Some(measured) = &mut outcome.measured {
            (measured.base_ns, measured.head_ns) = (base_ns, head_ns);
            measured.mode = Mode::Steady;
            let estimate = head_ns / base_ns - 1.0;
            measured.change = perfunit_model::Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
        }
        outcome
    }

    fn series(of_head: impl Fn(f64) -> f64, last: Verdict) -> Vec<Scaling> {
        let verdict = |n: f64| if n > 1000.0 { last } else { Verdict::Slower };
        let at = |n: f64| outcome(&format!("sort/{n}"), 5.0 + 2.0 * n, of_head(n), verdict(n));
        parameters(&[16.0, 256.0, 4096.0].map(at))
    }

    #[test]
    fn a_series_that_grows_with_another_power_is_found_if_it_is_slower_for_certain() {
        let found = series(|n| 5.0 + n * n, Verdict::Slower);
        assert_eq!((found[0].name.as_str(), found[0].largest), ("sort/*", 4096));
        assert!((found[0].exponent.head.estimate - 2.0).abs() < 0.05 && found[0].ratio > 2000.0);
        assert!(series(|n| 5.0 + n * n, Verdict::Inconclusive).is_empty());
        assert!(series(|n| 5.0 + 20.0 * n, Verdict::Slower).is_empty());
    }
}
