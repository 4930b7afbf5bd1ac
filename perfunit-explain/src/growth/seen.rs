//! What functions of both versions did at which lengths, over all tests. Pure.

use perfunit_decide::{Faster, Growing, WorkAt, growth};
use perfunit_measure::CountedWork;
use perfunit_model::{Sides, TestId};
use std::collections::{BTreeMap, BTreeSet};

/// An argument of a function, by base's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub key: u64,
    /// Number of the argument, from 0.
    pub argument: u32,
}

/// Which work of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// With what it called.
    Whole,
    /// Without other functions that were looked at.
    Own,
}

/// Sums over tests that saw both versions at a length. Each test counts once: how often it calls a function may differ
/// between the versions.
#[derive(Debug, Clone, Default)]
struct Sums {
    tests: f64,
    length: f64,
    work: Sides<f64>,
    own: Sides<f64>,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    places: BTreeMap<Place, BTreeMap<u32, Sums>>,
    tests: BTreeMap<Place, BTreeSet<TestId>>,
}

impl Seen {
    /// Adds a test; `renamed` are head's keys of functions that base knows by another one.
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

    /// The functions whose work grows faster than before.
    pub fn faster(&self, which: Which) -> BTreeMap<Place, Faster> {
        let judged = self.places.keys().map(|place| (*place, growth(&self.at(*place, which))));
        judged
            .filter_map(
                |(place, growing)| if let Growing::Faster(faster) = growing { Some((place, faster)) } else { None },
            )
            .collect()
    }

    /// What is known of each argument of a function.
    pub fn places(&self, key: u64) -> Vec<(Place, Growing)> {
        let of_key = self.places.keys().filter(|place| place.key == key);
        of_key.map(|place| (*place, growth(&self.at(*place, Which::Whole)))).collect()
    }

    /// The functions that were compared, by key.
    pub fn compared(&self) -> BTreeSet<u64> {
        let compared = self.places.keys().filter(|place| growth(&self.at(**place, Which::Whole)) != Growing::TooClose);
        compared.map(|place| place.key).collect()
    }

    /// The smallest and the largest length of an argument, empty inputs apart.
    pub fn range(&self, place: Place) -> Option<(f64, f64)> {
        let at = self.at(place, Which::Whole);
        let lengths = || at.iter().map(|at| at.length).filter(|length| *length >= 1.0);
        Some((lengths().min_by(f64::total_cmp)?, lengths().max_by(f64::total_cmp)?))
    }

    /// The tests that call any of these functions.
    pub fn tests_of(&self, places: &BTreeSet<Place>) -> Vec<TestId> {
        let tests = places.iter().filter_map(|place| self.tests.get(place)).flatten();
        tests.cloned().collect::<BTreeSet<TestId>>().into_iter().collect()
    }

    fn at(&self, place: Place, which: Which) -> Vec<WorkAt> {
        let bins = self.places.get(&place).into_iter().flat_map(BTreeMap::values);
        bins.map(|sums| WorkAt {
            length: sums.length / sums.tests,
            work: if which == Which::Whole { sums.work } else { sums.own }.map(|work| work / sums.tests),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut seen = Seen::default();
        seen.add(&test("a"), &Sides { base, head }, &BTreeMap::new());
        assert_eq!(keys(&seen.faster(Which::Whole)), [1, 2]);
        assert_eq!(keys(&seen.faster(Which::Own)), [2]);
        assert_eq!(seen.compared().len(), 2);
    }

    #[test]
    fn a_renamed_function_is_compared_with_what_it_was() {
        let base = side(|n| vec![(1, n, n)]);
        let head = side(|n| vec![(7, n * n, n * n)]);
        let mut seen = Seen::default();
        seen.add(&test("a"), &Sides { base: base.clone(), head: head.clone() }, &BTreeMap::new());
        assert!(seen.faster(Which::Whole).is_empty());
        seen.add(&test("a"), &Sides { base, head }, &BTreeMap::from([(7, 1)]));
        assert_eq!(keys(&seen.faster(Which::Whole)), [1]);
    }

    #[test]
    fn tests_that_call_it_more_often_than_before_do_not_change_what_a_call_does() {
        let mut seen = Seen::default();
        // Two tests with other contents, and so other work: equal on both sides.
        for (name, factor) in [("light", 1.0), ("heavy", 30.0)] {
            let both = side(|n| vec![(1, factor * n, factor * n)]);
            seen.add(&test(name), &Sides { base: both.clone(), head: both }, &BTreeMap::new());
        }
        assert!(seen.faster(Which::Whole).is_empty());
        assert_eq!(seen.tests_of(&BTreeSet::from([Place { key: 1, argument: 0 }])), [test("heavy"), test("light")]);
    }

    #[test]
    fn what_one_version_was_not_seen_at_is_not_compared() {
        let base = side(|n| vec![(1, n, n)]);
        let mut seen = Seen::default();
        seen.add(
            &test("a"),
            &Sides { base, head: vec![work(1, 4, 1.0, 1.0), work(1, 200, 9.0, 9.0)] },
            &BTreeMap::new(),
        );
        assert_eq!(seen.range(Place { key: 1, argument: 0 }), Some((4.0, 4.0)));
        assert_eq!(seen.places(1), [(Place { key: 1, argument: 0 }, Growing::TooClose)]);
    }
}
