//! System calls of single runs of a test, in its own process and in processes that it starts, counted by a tracer.

use super::bench::Bench;
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
    let numbers: BTreeSet<u64> = runs.base.iter().chain(&runs.head).flat_map(BTreeMap::keys).copied().collect();
    let named = |number: u64| {
        let mut counts =
            runs.as_ref().map(|runs| runs.iter().map(|run| *run.get(&number).unwrap_or(&0) as f64).collect::<Vec<_>>());
        let verdict = exact(&RULE, &counts.base, &counts.head)?;
        let counts = Sides { base: median(&mut counts.base), head: median(&mut counts.head) };
        let differs = matches!(verdict, MetricVerdict::More | MetricVerdict::Less);
        differs.then(|| NamedCount { name: os::system_call_name(number), counts })
    };
    let mut differing: Vec<NamedCount> = numbers.into_iter().filter_map(named).collect();
    let size = |count: &NamedCount| (count.counts.head - count.counts.base).abs();
    differing.sort_by(|a, b| size(b).total_cmp(&size(a)));
    differing
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
    fn sections_become_readings() {
        let calls = BTreeMap::from([(0, 3), (5, 4)]);
        let counted = Counted { status: None, timed_out: false, calls: Some(BTreeMap::from([(2, calls.clone())])) };
        assert_eq!(counted.of_readings(2), Some(vec![SystemCalls::new(), calls]));
        assert_eq!(Counted { status: None, timed_out: false, calls: None }.of_readings(2), None);
    }
}
