//! Tests that run until a time has passed.
//!
//! Such a test does as much as its time allows: its time is the same however slow its code is. It is recognised by what it
//! does if its clock goes twice as fast: it reads the clock less often, and computes less. A test that only looks at the
//! clock, or waits, does the same by any clock. Base and head of a test that runs by the clock are compared by a clock that
//! each reading advances by one step: both then do the same work, and what it takes is measured as ever.

use super::classify::longest_call;
use super::lockstep::{PairEnd, SideEnd, Task};
use super::pair;
use super::running::Pads;
use super::trial::Trial;
use perfunit_build::TestClock;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::num::NonZeroU64;
use std::time::Duration;

/// A loop that ends by the clock reads it at least so often: before, and after each of two rounds.
const FEWEST_READINGS: u64 = 3;
/// No test ends by the clock sooner.
const SHORTEST_NS: f64 = 1e6;
/// By a clock that goes twice as fast a test that runs by it does half as much, besides what it does in any case.
const FEWER: f64 = 0.75;
/// Calls by either clock: the processor's time is noisy.
const TRIES: usize = 2;
/// Steps are so long that a call takes no more than this, or than this part of the longest call that pairs can bear.
const LONGEST: Duration = Duration::from_millis(50);
const SHARE: u32 = 4;
/// A call by a stepped clock that takes so many times as long, and a second, waits for something that does not come.
const LONGER: f64 = 10.0;

/// A call by a stepped clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Call {
    readings: u64,
    /// Processor time, ns.
    cpu_ns: f64,
}

/// Returns the clock by which both versions of a test do the same work; the true one unless the test runs by the clock.
pub fn clock_for(trial: &Trial<'_>, pilot: &PairEnd, random: &mut fastrand::Rng) -> Result<TestClock> {
    let base = &pilot.sides.base;
    if base.clock_readings < FEWEST_READINGS || base.passed_ns < SHORTEST_NS {
        return Ok(TestClock::True);
    }
    let Some(step) = step(base, LONGEST.min(longest_call(trial.config.per_test_budget) / SHARE)) else {
        return Ok(TestClock::True);
    };
    let limit = Duration::from_secs_f64(base.passed_ns * LONGER / 1e9 + 1.0).min(trial.config.timeout);
    let pads = Pads::draw(random);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        for (step, calls) in [(step, &mut slow), (step.saturating_mul(TWICE), &mut fast)] {
            let Some(call) = call(trial, pads.with_clock(TestClock::Stepped(step)), limit)? else {
                return Ok(TestClock::True);
            };
            calls.push(call);
        }
        if !reads_less(&slow, &fast) {
            return Ok(TestClock::True);
        }
    }
    Ok(if computes_less(&slow, &fast) { TestClock::Stepped(step) } else { TestClock::True })
}

const TWICE: NonZeroU64 = NonZeroU64::MIN.saturating_add(1);

/// Returns the step by which a test does as much as it did by the true clock, or works for this long if that is less. While
/// others had the core the true clock went on and the test did not work.
fn step(call: &SideEnd, longest: Duration) -> Option<NonZeroU64> {
    let shortened = (call.first_ns / longest.as_nanos() as f64).max(1.0);
    NonZeroU64::new((call.passed_ns / call.clock_readings as f64 * shortened) as u64)
}

/// Makes a first call on base; `None` if it does not pass.
fn call(trial: &Trial<'_>, pads: Pads, limit: Duration) -> Result<Option<Call>> {
    let end = pair::run(trial.bench, &trial.programs, Task::Solo(Side::Base), pads, limit)?;
    let base = &end.sides.base;
    let has_passed = end.timed_out.is_none() && base.state == state::DONE && !interrupt::requested();
    Ok(has_passed.then_some(Call { readings: base.clock_readings, cpu_ns: base.first_cpu_ns }))
}

/// Returns whether calls by the faster clock read it less often.
fn reads_less(slow: &[Call], fast: &[Call]) -> bool {
    let readings = |calls: &[Call]| calls.iter().map(|call| call.readings).min().unwrap_or(0);
    readings(slow) >= FEWEST_READINGS && readings(fast) as f64 <= FEWER * readings(slow) as f64
}

/// Returns whether calls by the faster clock took less of the processor's time.
fn computes_less(slow: &[Call], fast: &[Call]) -> bool {
    let cpu_ns = |calls: &[Call]| calls.iter().map(|call| call.cpu_ns).fold(f64::INFINITY, f64::min);
    cpu_ns(fast) <= FEWER * cpu_ns(slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls<const N: usize>(readings: u64, cpu_ns: [f64; N]) -> Vec<Call> {
        cpu_ns.map(|cpu_ns| Call { readings, cpu_ns }).to_vec()
    }

    fn runs_by_clock(slow: &[Call], fast: &[Call]) -> bool {
        reads_less(slow, fast) && computes_less(slow, fast)
    }

    #[test]
    fn less_work_by_a_faster_clock_is_work_by_the_clock() {
        assert!(runs_by_clock(&calls(1001, [5e7]), &calls(501, [2.5e7])));
        // A few long rounds: three of them, or two.
        assert!(runs_by_clock(&calls(4, [9e7]), &calls(3, [6e7])));
        // Another program left its traces in the caches.
        assert!(runs_by_clock(&calls(1001, [5e7, 5.1e7]), &calls(501, [4.9e7, 2.5e7])));
    }

    #[test]
    fn a_test_that_looks_at_the_clock_or_waits_does_not_run_by_it() {
        // It times each of its rounds.
        assert!(!runs_by_clock(&calls(1001, [5e7]), &calls(1001, [5e7])));
        // It polls until a time has passed, and computes elsewhere.
        assert!(!runs_by_clock(&calls(1001, [5e7]), &calls(501, [4.9e7])));
        assert!(!runs_by_clock(&calls(2, [5e7]), &calls(1, [2.5e7])));
    }

    #[test]
    fn steps_are_as_long_as_readings_are_apart_unless_that_takes_too_long() {
        let step = |first_ns, passed_ns, clock_readings| {
            let call = SideEnd { first_ns, clock_readings, passed_ns, ..SideEnd::default() };
            step(&call, Duration::from_millis(100)).map(NonZeroU64::get)
        };
        assert_eq!(step(5e7, 5e7, 1000), Some(50_000));
        assert_eq!(step(1e9, 1e9, 1000), Some(10_000_000));
        // Others had the core for three quarters of the time.
        assert_eq!(step(2.5e7, 1e8, 1000), Some(100_000));
        assert_eq!(step(2.5e8, 1e9, 1000), Some(2_500_000));
        assert_eq!(step(1e6, 1e6, 2_000_000), None);
    }
}
