//! System calls of single runs of a test, in its own process and in processes that it starts, counted by a tracer.

use super::bench::Bench;
use super::column::readings;
use super::measured_process::{self, Programs, Start};
use perfunit_build::stand_ins_beside;
use perfunit_decide::{ExactRule, exact, median};
use perfunit_model::error::Result;
use perfunit_model::{MetricVerdict, NamedCount, Side, Sides};
use perfunit_runtime::page::MARK;
use perfunit_system::interrupt;
use perfunit_system::os::{self, SystemCalls, Traceable};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The exact rule in which each call counts.
const RULE: ExactRule = ExactRule { threshold: 0.0, least: 1.0, resolution: 0.0 };

/// A process with counted system calls.
pub struct Counted {
    pub status: Option<ExitStatus>,
    pub timed_out: bool,
    /// The calls by the index of the reading; `None` if the system refuses to trace.
    calls: Option<BTreeMap<u64, SystemCalls>>,
}

/// Runs a process of each of these sides under the tracer, at once and each on a core of its own where there are enough.
pub fn count(
    bench: &Bench,
    programs: &Programs<'_>,
    sides: &[Side],
    start: Start<'_>,
    limit: Duration,
) -> Result<Vec<(Side, Counted)>> {
    let mut processes = Vec::with_capacity(sides.len());
    for (at, side) in sides.iter().enumerate() {
        let core = bench.core_at(at);
        let _core = bench.visit(core);
        processes.push(Traceable {
            command: measured_process::measured_command(bench, programs, *side, start)?,
            spawn: Box::new(move |command| {
                let _core = bench.visit(core);
                measured_process::spawn_on(bench, *side, command)
            }),
            // Stand-ins that become the side's program do not belong to the test.
            spared: stand_ins_beside(programs.folders.get(*side)),
        });
    }
    let deadline = Instant::now() + limit;
    let is_over = || Instant::now() >= deadline || interrupt::is_requested();
    let counted = os::count_system_calls(processes, MARK, is_over)?.into_iter().map(|counted| match counted {
        Ok(counted) => {
            let timed_out = counted.status.is_none() && !interrupt::is_requested();
            Counted { status: counted.status, timed_out, calls: Some(counted.sections) }
        }
        Err(error) => {
            tracing::info!(%error, "system calls cannot be counted");
            Counted { status: None, timed_out: false, calls: None }
        }
    });
    Ok(sides.iter().copied().zip(counted).collect())
}

impl Counted {
    /// Returns the calls of this many readings; `None` if the system refuses to trace.
    pub fn of_readings(self, readings: usize) -> Option<Vec<SystemCalls>> {
        let mut sections = self.calls?;
        Some((1..=readings as u64).map(|section| sections.remove(&section).unwrap_or_default()).collect())
    }
}

/// Returns the counts by name that differ in each run, the largest difference first.
pub fn differing(runs: &Sides<Vec<SystemCalls>>) -> Vec<NamedCount> {
    let is_certain = |counts: &Sides<Vec<f64>>| {
        let verdict = exact(&RULE, &counts.base, &counts.head);
        verdict.is_some_and(MetricVerdict::is_change) && are_apart(counts)
    };
    let differing = counts_by_number(runs).filter(|(_, counts)| is_certain(counts));
    let mut differing: Vec<NamedCount> = differing
        .map(|(number, counts)| {
            let counts = counts.map(|mut counts| median(&mut counts));
            NamedCount { name: os::system_call_name(number), counts }
        })
        .collect();
    let size = |count: &NamedCount| (count.counts.head - count.counts.base).abs();
    differing.sort_by(|a, b| size(b).total_cmp(&size(a)));
    differing
}

/// Returns whether more runs can show a kind that differs in each of them.
pub fn may_differ(runs: &Sides<Vec<SystemCalls>>) -> bool {
    counts_by_number(runs).any(|(_, counts)| are_apart(&counts))
}

/// Returns the verdict on the sum of all kinds. If the sum varies because threads wait for each other, the kinds that differ
/// in each run decide: together they must reach the limits, and the medians of the sum must not contradict them.
pub fn verdict(rule: &ExactRule, of_sum: MetricVerdict, sum: Sides<f64>, differing: &[NamedCount]) -> MetricVerdict {
    let certain: f64 = differing.iter().map(|kind| kind.counts.head - kind.counts.base).sum();
    let is_large = certain.abs() >= rule.least.max(rule.threshold * sum.base);
    if of_sum != MetricVerdict::Varies || !is_large || certain * (sum.head - sum.base) <= 0.0 {
        of_sum
    } else if certain > 0.0 {
        MetricVerdict::More
    } else {
        MetricVerdict::Less
    }
}

/// Returns the counts of each kind that occurs, by run.
fn counts_by_number(runs: &Sides<Vec<SystemCalls>>) -> impl Iterator<Item = (u64, Sides<Vec<f64>>)> {
    let numbers: BTreeSet<u64> = runs.base.iter().chain(&runs.head).flat_map(BTreeMap::keys).copied().collect();
    let of = |number: u64, runs: &[SystemCalls]| -> Vec<f64> {
        runs.iter().map(|run| *run.get(&number).unwrap_or(&0) as f64).collect()
    };
    numbers.into_iter().map(move |number| (number, runs.as_ref().map(|runs| of(number, runs))))
}

/// Returns whether all counts of a version are larger than all of the other one.
fn are_apart(counts: &Sides<Vec<f64>>) -> bool {
    let Sides { base, head } = counts.as_ref().map(|counts| readings(counts));
    base.high < head.low || head.high < base.low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_each_run_are_told_largest_first() {
        let run = |calls: [u64; 4]| -> SystemCalls { (0..).zip(calls).filter(|(_, count)| *count > 0).collect() };
        let base = [[10, 5, 7, 3], [10, 5, 9, 3], [10, 5, 8, 3], [10, 5, 7, 3]].map(run).to_vec();
        let head = [[10, 6, 8, 0], [10, 6, 7, 0], [10, 6, 7, 0], [10, 6, 9, 0]].map(run).to_vec();
        let found = differing(&Sides { base, head });
        let counts: Vec<(f64, f64)> = found.iter().map(|named| (named.counts.base, named.counts.head)).collect();
        assert_eq!(counts, [(3.0, 0.0), (5.0, 6.0)]);
        assert!(differing(&Sides { base: Vec::new(), head: Vec::new() }).is_empty());
    }

    #[test]
    fn kinds_that_vary_differ_if_all_runs_of_a_version_make_more() {
        let runs = |counts: [u64; 4]| counts.map(|count| SystemCalls::from([(0, count)])).to_vec();
        let of = |base, head| Sides { base: runs(base), head: runs(head) };
        let more = of([346, 344, 347, 346], [401, 400, 403, 401]);
        assert_eq!(differing(&more)[0].counts, Sides { base: 346.0, head: 401.0 });
        // Counterparts agree on what is added, but a run of base makes as many as one of head.
        let by_chance = of([10, 12, 14, 16], [14, 16, 18, 20]);
        assert!(differing(&by_chance).is_empty() && !may_differ(&by_chance));
        let few = Sides { base: more.base[..2].to_vec(), head: more.head[..2].to_vec() };
        assert!(differing(&few).is_empty() && may_differ(&few));
    }

    #[test]
    fn kinds_that_differ_decide_where_the_sum_varies() {
        let rule = ExactRule { threshold: 0.01, least: 1.0, resolution: 0.0 };
        let kind = |base, head| NamedCount { name: "statx".to_owned(), counts: Sides { base, head } };
        let of = |of_sum, sum: [f64; 2], kinds: &[NamedCount]| {
            verdict(&rule, of_sum, Sides { base: sum[0], head: sum[1] }, kinds)
        };
        let varies = MetricVerdict::Varies;
        assert_eq!(of(varies, [1000.0, 1030.0], &[kind(90.0, 110.0), kind(12.0, 10.0)]), MetricVerdict::More);
        assert_eq!(of(varies, [1000.0, 980.0], &[kind(110.0, 90.0)]), MetricVerdict::Less);
        // Nothing is certain, too little is, or the sum went the other way.
        assert_eq!(of(varies, [1000.0, 1030.0], &[]), varies);
        assert_eq!(of(varies, [1000.0, 1030.0], &[kind(90.0, 99.0)]), varies);
        assert_eq!(of(varies, [1000.0, 990.0], &[kind(90.0, 110.0)]), varies);
        // A sum that does not vary needs no such answer.
        assert_eq!(of(MetricVerdict::Same, [1000.0, 1000.0], &[kind(90.0, 110.0)]), MetricVerdict::Same);
    }

    #[test]
    fn sections_become_readings() {
        let calls = BTreeMap::from([(0, 3), (5, 4)]);
        let counted = Counted { status: None, timed_out: false, calls: Some(BTreeMap::from([(2, calls.clone())])) };
        assert_eq!(counted.of_readings(2), Some(vec![SystemCalls::new(), calls]));
        assert_eq!(Counted { status: None, timed_out: false, calls: None }.of_readings(2), None);
    }
}
