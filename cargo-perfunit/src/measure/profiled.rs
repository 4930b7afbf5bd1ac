//! Single calls of a test in callgrind, with who executed which instruction.

use super::bench::{Bench, Config};
use super::gauge::Gauge;
use super::lockstep::{self, Task};
use super::meter::{total, why_failed};
use super::running::Pads;
use super::schedule::{Subject, programs};
use super::screen;
use super::trial::Trial;
use super::unsteady::{Unsteady, steady};
use crate::build::SideBuild;
use crate::error::Result;
use crate::model::{Side, Sides};
use crate::system::fs;
use crate::system::interrupt;
use perfunit_runtime::page::{FIRST, SETTLING_CALLS, state};
use std::time::Instant;

/// Later calls of a process: as many as an interval needs.
const CALLS: u64 = 4;
/// All calls of a process.
pub const CALLS_PER_PROCESS: u64 = 1 + SETTLING_CALLS + CALLS;
/// Calls of one version that differ by more than this part may differ more with other random numbers.
const EQUAL: f64 = 0.001;

/// callgrind's output for later calls of a test, counterparts of both sides beside each other: equal seeds, equal
/// addresses, the n-th call of the process. Or why there is none.
pub fn profiles(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subject: &Subject<'_>,
) -> Result<std::result::Result<Vec<Sides<String>>, Unsteady>> {
    let mut random = fastrand::Rng::with_seed(config.seed);
    let trial = Trial { bench, config, programs: programs(sides, subject) };
    let settled = match steady(screen::settle(&trial, &mut random)?) {
        Ok((settled, _)) => settled,
        Err(why) => return Ok(Err(why)),
    };
    let mut counterparts: Vec<Sides<String>> = Vec::new();
    // Every process takes valgrind most of a second to start.
    while counterparts.is_empty() || (counterparts.len() == CALLS as usize && vary(&counterparts)) {
        let pads = settled.draw(&mut random);
        let base = match one(&trial, Side::Base, pads)? {
            Ok(calls) => calls,
            Err(why) => return Ok(Err(why)),
        };
        let head = match one(&trial, Side::Head, pads)? {
            Ok(calls) => calls,
            Err(why) => return Ok(Err(why)),
        };
        counterparts.extend(base.into_iter().zip(head).map(|(base, head)| Sides { base, head }));
    }
    Ok(Ok(counterparts))
}

/// Whether calls of one version differ.
fn vary(counterparts: &[Sides<String>]) -> bool {
    let of = |side: Side| counterparts.iter().filter_map(move |calls| total(calls.get(side))).map(|count| count as f64);
    Side::BOTH.into_iter().any(|side| {
        let (least, most) =
            of(side).fold((f64::INFINITY, 0.0), |(least, most), count| (count.min(least), count.max(most)));
        most > least * (1.0 + EQUAL)
    })
}

fn one(trial: &Trial<'_>, side: Side, pads: Pads) -> Result<std::result::Result<Vec<String>, Unsteady>> {
    let Trial { bench, config, programs } = trial;
    fs::remove_dir_all(&bench.gauges.folder)?;
    fs::create_dir_all(&bench.gauges.folder)?;
    let task = Task::Meter(side, Gauge::CallGraph, CALLS);
    let left = config.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let limit = left.map_or(config.per_test_budget, |left| left.min(config.per_test_budget));
    let end = lockstep::run(bench, programs, task, pads, limit)?;
    if interrupt::requested() {
        return Ok(Err(Unsteady::Interrupted));
    }
    if end.timed_out.is_some() {
        return Ok(Err(Unsteady::TooLongInCallgrind(limit)));
    }
    let end = end.sides.get(side);
    if end.state != state::DONE {
        return Ok(Err(Unsteady::FailsInCallgrind(why_failed(end))));
    }
    let later = (FIRST + 1)..(FIRST + 1 + CALLS as usize);
    let part = |at: usize| {
        // Parts are numbered from 1, and the call of nothing was read twice.
        let path = bench.gauges.out().with_extension((at + 2).to_string());
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let parts: std::io::Result<Vec<String>> = later.map(part).collect();
    Ok(parts.map_err(Unsteady::NoCounts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_random_numbers_are_tried_where_calls_differ() {
        let calls = |base: u64, head: u64| Sides { base, head }.map(|count| format!("0x1 1\ntotals: {count}\n"));
        assert!(!vary(&[calls(7_000, 9_000), calls(7_001, 9_000)]));
        assert!(vary(&[calls(7_000, 9_000), calls(7_000, 9_100)]));
    }
}
