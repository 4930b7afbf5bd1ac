//! Tests that run until a time has passed.
//!
//! Such a test does as much work as its time allows, so its time is the same however slow its code is. Its behavior
//! under a clock that goes twice as fast gives it away: it reads the clock less often, and computes less. A test that
//! only looks at the clock, or waits, does the same work under any clock. Base and head of a test that runs by the
//! clock are compared under a clock that advances by one step at each reading: both then do the same work, and its time
//! is measured as usual.

use super::classify::longest_call;
use super::lockstep::{PairEnd, SideEnd, Task};
use super::measured_process::Pads;
use super::pair;
use super::trial::Trial;
use perfunit_build::TestClock;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::num::NonZeroU64;
use std::time::Duration;

/// Fewest readings by a loop that ends by the clock: one before, and one after each of two rounds.
const FEWEST_READINGS: u64 = 3;
/// Shortest time of a test that ends by the clock, ns.
const SHORTEST_NS: f64 = 1e6;
/// Largest ratio of the work under a clock that goes twice as fast to the usual work, for a test that runs by the clock:
/// a half, plus the work that the test does in any case.
const FEWER: f64 = 0.75;
/// Calls with each clock: processor time is noisy.
const TRIES: usize = 2;
/// Limits of a call with a stepped clock, which shorten the steps: this time, and this part of the longest call that
/// pairs can measure.
const LONGEST: Duration = Duration::from_millis(50);
const SHARE: u32 = 4;
/// Least part of its time for which a test that runs by the clock computes. A test that waits until a time has passed would
/// wait for another time under another clock.
const COMPUTES: f64 = 0.5;
/// Ratio to the normal time, with another second added, beyond which a call with a stepped clock waits for an event
/// that does not come.
const LONGER: f64 = 10.0;

/// A call with a stepped clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Call {
    readings: u64,
    /// Processor time, ns.
    cpu_ns: f64,
}

/// Returns the clock with which both versions of a test do the same work: the true clock unless the test runs by the
/// clock.
pub fn clock_for(trial: &Trial<'_>, pilot: &PairEnd, random: &mut fastrand::Rng) -> Result<TestClock> {
    let base = &pilot.sides.base;
    if !may_run_by_clock(base) {
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

/// Returns whether a first call may have run until a time had passed.
fn may_run_by_clock(call: &SideEnd) -> bool {
    let computes = call.first_cpu_ns >= COMPUTES * call.first_ns;
    call.clock_readings >= FEWEST_READINGS && call.passed_ns >= SHORTEST_NS && computes
}

const TWICE: NonZeroU64 = NonZeroU64::MIN.saturating_add(1);

/// Returns the step with which a test does as much work as with the true clock, or works for `longest` if that is less.
/// While other programs had the core, the true clock advanced but the test did not work.
fn step(call: &SideEnd, longest: Duration) -> Option<NonZeroU64> {
    let shortened = (call.first_ns / longest.as_nanos() as f64).max(1.0);
    NonZeroU64::new((call.passed_ns / call.clock_readings as f64 * shortened) as u64)
}

/// Makes a first call on base; `None` if the call does not pass.
fn call(trial: &Trial<'_>, pads: Pads, limit: Duration) -> Result<Option<Call>> {
    let end = pair::run(trial.bench, &trial.programs, Task::Solo(Side::Base), pads, limit)?;
    let base = &end.sides.base;
    let has_passed = end.timed_out.is_none() && base.state == state::DONE && !interrupt::is_requested();
    Ok(has_passed.then_some(Call { readings: base.clock_readings, cpu_ns: base.first_cpu_ns }))
}

/// Returns whether calls with the faster clock read the clock less often.
fn reads_less(slow: &[Call], fast: &[Call]) -> bool {
    let readings = |calls: &[Call]| calls.iter().map(|call| call.readings).min().unwrap_or(0);
    readings(slow) >= FEWEST_READINGS && readings(fast) as f64 <= FEWER * readings(slow) as f64
}

/// Returns whether calls with the faster clock took less of the processor's time.
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
        // The rounds are few and long: three, or two.
        assert!(runs_by_clock(&calls(4, [9e7]), &calls(3, [6e7])));
        // Another program disturbed the caches.
        assert!(runs_by_clock(&calls(1001, [5e7, 5.1e7]), &calls(501, [4.9e7, 2.5e7])));
    }

    #[test]
    fn a_test_that_looks_at_the_clock_or_waits_does_not_run_by_it() {
        // The test times each of its rounds.
        assert!(!runs_by_clock(&calls(1001, [5e7]), &calls(1001, [5e7])));
        // The test polls until a time has passed, and computes elsewhere.
        assert!(!runs_by_clock(&calls(1001, [5e7]), &calls(501, [4.9e7])));
        assert!(!runs_by_clock(&calls(2, [5e7]), &calls(1, [2.5e7])));
    }

    #[test]
    fn a_test_that_waits_does_not_run_by_the_clock() {
        let may = |first_cpu_ns, clock_readings| {
            may_run_by_clock(&SideEnd {
                first_ns: 3e6,
                passed_ns: 3e6,
                first_cpu_ns,
                clock_readings,
                ..SideEnd::default()
            })
        };
        assert!(may(2.9e6, 100) && !may(0.3e6, 100) && !may(2.9e6, 2));
    }

    #[test]
    fn steps_are_as_long_as_readings_are_apart_unless_that_takes_too_long() {
        let step = |first_ns, passed_ns, clock_readings| {
            let call = SideEnd { first_ns, clock_readings, passed_ns, ..SideEnd::default() };
            step(&call, Duration::from_millis(100)).map(NonZeroU64::get)
        };
        assert_eq!(step(5e7, 5e7, 1000), Some(50_000));
        assert_eq!(step(1e9, 1e9, 1000), Some(10_000_000));
        // Other programs had the core for three quarters of the time.
        assert_eq!(step(2.5e7, 1e8, 1000), Some(100_000));
        assert_eq!(step(2.5e8, 1e9, 1000), Some(2_500_000));
        assert_eq!(step(1e6, 1e6, 2_000_000), None);
    }
}
