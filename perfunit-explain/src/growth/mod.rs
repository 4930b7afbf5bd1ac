//! Growth of functions' work with the length of their input: the question of `PerfDetect` about larger inputs.
//!
//! The pairing is built again with counters ([`Probes::Counting`]). One call of each test, on both sides with equal
//! random numbers, records work by length ([`RecordedWork`]). Functions that [`decide`](perfunit_decide::growth) reports are
//! counted again, separately and with other random numbers, so that a caller that only contains the growth is not
//! named.

mod recorded_work;

pub use recorded_work::parameters;

use super::by_probes::{self, Probed};
use super::causes::sources;
use super::question::Inquiry;
use perfunit_build::{Builder, InPlace, Probes, Seeds};
use perfunit_decide as decide;
use perfunit_decide::Growing;
use perfunit_measure::{Bench, Config, CountedWork, Subject, WorkTables, count_work};
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{
    BuiltWith, Exponent, Growth, GrowthFinding, GrowthUnseen, NotCounted, Side, Sides, TargetId, TestId, Unexplained,
    UnseenBecause,
};
use perfunit_select::changed_functions;
use perfunit_select::source::{Returns, Site};
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use recorded_work::{Place, RecordedWork, WorkKind, worst};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Counts the work of the functions that tests of a pairing call. Tests that cannot be counted have a reason.
pub fn growth(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, tests: &[TestId]) -> Result<Growth> {
    if tests.is_empty() {
        return Ok(Growth::default());
    }
    let nothing = |why: Unexplained| Growth {
        not_counted: tests.iter().map(|test| (test.clone(), NotCounted::Because(why.clone()))).collect(),
        ..Growth::default()
    };
    if let Some(why) = inquiry.over() {
        return Ok(nothing(why));
    }
    let targets: BTreeSet<TargetId> = tests.iter().map(|test| test.target.clone()).collect();
    let probed = match apart(by_probes::build(builder, inquiry, &targets, Probes::Counting))? {
        Ok(probed) => probed,
        Err(why) => return Ok(nothing(why)),
    };
    let context = builder.context();
    let mut bench = Bench::open(&context.ours)?;
    bench.seeds = Seeds::new(inquiry.built.seeds.clone());
    bench.made = Some(InPlace::put(&probed.sides, &context.ours)?);
    let counter =
        Counter { bench: &bench, config: inquiry.config(Duration::MAX, inquiry.end()), probed: &probed, inquiry };
    let progress = Progress::bar(context.terminal, "Counting", tests.len());
    let mut random = fastrand::Rng::with_seed(inquiry.measuring.seed);
    let (seen, mut not_counted) = counter.count(tests, &[], &mut random, &progress)?;
    let suspects: BTreeSet<Place> = seen.faster(WorkKind::Whole).into_keys().collect();
    let again: Vec<TestId> = seen.tests_of(&suspects);
    let confirmed = if again.is_empty() {
        RecordedWork::default()
    } else {
        let (confirmed, not_again) = counter.count(&again, &counter.keys(&suspects), &mut random, &progress)?;
        // Without the second count, findings are not confirmed.
        not_counted.extend(not_again);
        confirmed
    };
    let findings = counter.findings(&confirmed, &suspects);
    let unseen = counter.find_unseen(&seen);
    let compared = seen.compared_keys();
    let compared = compared.iter().filter_map(|key| probed.functions.head.get(key).cloned()).collect();
    Ok(Growth { findings, compared, unseen, not_counted })
}

/// Runs tests that record the work of their functions.
struct Counter<'a> {
    bench: &'a Bench,
    config: Config,
    probed: &'a Probed,
    inquiry: &'a Inquiry<'a>,
}

impl Counter<'_> {
    /// Calls each test once and returns the work of these functions, or of all functions.
    fn count(
        &self,
        tests: &[TestId],
        keys: &[u64],
        random: &mut fastrand::Rng,
        progress: &Progress,
    ) -> Result<(RecordedWork, Vec<(TestId, NotCounted)>)> {
        self.bench.tables.replace(Some(WorkTables::new(keys.to_vec())?));
        let (mut seen, mut not_counted) = (RecordedWork::default(), Vec::new());
        for test in tests {
            progress.message(test.to_string());
            match apart(self.one(test, random))? {
                Ok(work) => seen.add(test, &work, &self.probed.renamed),
                Err(why) => not_counted.push((test.clone(), why)),
            }
            progress.advance();
        }
        Ok((seen, not_counted))
    }

    fn one(&self, test: &TestId, random: &mut fastrand::Rng) -> Tried<Sides<Vec<CountedWork>>, NotCounted> {
        if interrupt::is_requested() {
            return Err(Stop::Because(NotCounted::Because(Unexplained::NotReached)));
        }
        if let Some(why) = self.inquiry.over() {
            return Err(Stop::Because(NotCounted::Because(why)));
        }
        let executable = |side: Side| {
            let mut executables = self.probed.sides.get(side).executables.iter();
            executables.find(|executable| executable.target == test.target)
        };
        let (Some(base), Some(head)) = (executable(Side::Base), executable(Side::Head)) else {
            let with = BuiltWith::Counters;
            return Err(Stop::Because(NotCounted::Because(Unexplained::TargetNotBuilt { with })));
        };
        let executables = Sides { base, head };
        let subject = Subject::new(test.clone(), executables);
        count_work(self.bench, &self.config, &self.probed.sides.as_ref(), &subject, random)
    }

    /// Returns the keys of these functions on both sides, sorted.
    fn keys(&self, places: &BTreeSet<Place>) -> Vec<u64> {
        let known: BTreeSet<u64> = places.iter().map(|place| place.key).collect();
        let renamed = self.probed.renamed.iter().filter(|(_, old)| known.contains(old)).map(|(new, _)| *new);
        known.iter().copied().chain(renamed).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// Returns the confirmed findings. Of functions that call each other, only those that also grow on their own are
    /// named.
    fn findings(&self, confirmed: &RecordedWork, suspects: &BTreeSet<Place>) -> Vec<GrowthFinding> {
        let mut whole = confirmed.faster(WorkKind::Whole);
        whole.retain(|place, _| suspects.contains(place));
        let own = confirmed.faster(WorkKind::Own);
        let innermost: BTreeSet<u64> =
            whole.keys().filter(|place| own.contains_key(place)).map(|place| place.key).collect();
        if !innermost.is_empty() {
            whole.retain(|place, _| innermost.contains(&place.key));
        }
        // One finding per function, by the argument with the largest ratio.
        let mut by_function: BTreeMap<u64, GrowthFinding> = BTreeMap::new();
        for (place, faster) in whole {
            let Some(finding) = self.finding(place, faster) else { continue };
            match by_function.get(&place.key) {
                Some(known) if known.ratio >= finding.ratio => {}
                _ => drop(by_function.insert(place.key, finding)),
            }
        }
        let mut findings: Vec<GrowthFinding> = by_function.into_values().collect();
        findings.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        findings
    }

    fn finding(&self, place: Place, faster: decide::Faster) -> Option<GrowthFinding> {
        let function = self.probed.functions.head.get(&place.key)?.clone();
        let exponent = |interval: decide::Interval| Exponent {
            estimate: interval.estimate,
            low: interval.low,
            high: interval.high,
        };
        let work = faster.largest.work;
        Some(GrowthFinding {
            function,
            argument: self.argument(place),
            exponent: faster.exponent.map(exponent),
            added: exponent(faster.added),
            length: faster.largest.length.round() as u64,
            ratio: work.head / work.base.max(1.0),
            work,
        })
    }

    fn argument(&self, place: Place) -> String {
        let arguments = self.probed.sites.get(&place.key).map(|site| &site.arguments);
        arguments.and_then(|arguments| arguments.get(place.argument as usize)).cloned().unwrap_or_default()
    }

    /// Returns the changed functions without a result.
    fn find_unseen(&self, seen: &RecordedWork) -> Vec<GrowthUnseen> {
        let sites = &self.probed.sites;
        let iterators: BTreeSet<&str> = sites
            .values()
            .filter(|site| site.implements.ends_with("Iterator"))
            .map(|site| site.owner.as_str())
            .collect();
        let changed = self.probed.functions.head.iter().filter_map(|(key, function)| {
            let site = sites.get(key).filter(|site| !site.test_only)?;
            self.inquiry.source_change(function).map(|_| (*key, function, site))
        });
        let unseen = changed.filter_map(|(key, function, site)| {
            let because = self.why_unseen(seen, key, site, &iterators)?;
            Some(GrowthUnseen { function: function.clone(), because })
        });
        unseen.chain(self.not_instrumented()).collect()
    }

    /// Returns the changed functions in files that do not compile with counters.
    fn not_instrumented(&self) -> Vec<GrowthUnseen> {
        let selected = self.inquiry.selected;
        let sources = sources(selected, Side::Head);
        let changed = changed_functions(&selected.diff).into_iter();
        let without = changed.filter(|item| self.probed.without.contains(&item.path)).filter_map(|item| {
            let function = sources.get(&item.path)?.function(&item.path, &item.name, item.line);
            Some(GrowthUnseen { function, because: UnseenBecause::NotInstrumented })
        });
        without.collect()
    }

    fn why_unseen(
        &self,
        seen: &RecordedWork,
        key: u64,
        site: &Site,
        iterators: &BTreeSet<&str>,
    ) -> Option<UnseenBecause> {
        match &site.returns {
            Returns::Iterator => return Some(UnseenBecause::Iterator),
            Returns::Value(name) if iterators.contains(name.as_str()) => return Some(UnseenBecause::Iterator),
            Returns::Future => return Some(UnseenBecause::Future),
            Returns::Value(_) => {}
        }
        if !self.probed.functions.base.contains_key(&key) {
            return Some(UnseenBecause::New);
        }
        let places = seen.places(key);
        match worst(&places) {
            Some((_, Growing::AsBefore | Growing::Faster(_))) => return None,
            Some((place, Growing::Unclear(at))) => {
                return Some(UnseenBecause::Unclear {
                    argument: self.argument(place),
                    length: at.length.round() as u64,
                    base: at.work.base.round() as u64,
                    head: at.work.head.round() as u64,
                });
            }
            Some((_, Growing::TooClose)) | None => {}
        }
        let widest = places.iter().filter_map(|(place, _)| Some((*place, seen.range(*place)?)));
        let widest = widest.max_by(|(_, a), (_, b)| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        Some(widest.map_or(UnseenBecause::NoLength, |(place, (from, to))| UnseenBecause::NarrowLengths {
            argument: self.argument(place),
            from: from.round() as u64,
            to: to.round() as u64,
        }))
    }
}
