//! Single calls of a test, each in a fresh process without one of the other version beside it, and what can be said for
//! certain of failures by them.

use super::classify::first_failure;
use super::lockstep::{self, Task};
use super::noise::undisturbed;
use super::process_pair;
use super::running::Pads;
use super::trial::Trial;
use perfunit_build::TestClock;
use perfunit_decide as decide;
use perfunit_decide::Calls;
use perfunit_model::error::Result;
use perfunit_model::{Reason, Side};
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Took {
        /// Time of the call, ns.
        ns: f64,
        /// Wall time of all that was done for it, in which others may have had the core, ns.
        wall_ns: f64,
        /// The same without what others had, about.
        own_ns: f64,
    },
    /// It was stopped at the limit.
    Stopped {
        /// Wall time until then without what others had, about, ns.
        own_ns: f64,
    },
    /// It did not pass.
    Failed(Reason),
    Interrupted,
}

/// One test, to be called alone.
pub struct Alone<'a> {
    pub trial: Trial<'a>,
    /// [`Task::Process`] for whole processes; anything else for first calls.
    pub task: Task,
    pub clock: TestClock,
}

impl Alone<'_> {
    /// Calls one side once.
    pub fn call(&self, side: Side, limit: Duration, random: &mut fastrand::Rng) -> Result<Call> {
        let Trial { bench, programs, .. } = &self.trial;
        let pads = Pads::draw(random).with_clock(self.clock);
        let (end, own) = undisturbed(bench.core(), || match self.task {
            Task::Process => process_pair::alone(bench, programs, side, pads, limit),
            _ => lockstep::run(bench, programs, Task::Solo(side), pads, limit),
        });
        let (end, own_ns) = (end?, own.as_nanos() as f64);
        if interrupt::requested() {
            return Ok(Call::Interrupted);
        }
        if end.timed_out.is_some() {
            return Ok(Call::Stopped { own_ns });
        }
        let of_side = end.sides.get(side);
        Ok(match first_failure(of_side, side) {
            Some(reason) => Call::Failed(reason),
            None => Call::Took { ns: of_side.first_ns, wall_ns: end.took.as_nanos() as f64, own_ns },
        })
    }

    /// The level at which a verdict on single calls needs no confirmation.
    pub fn level(&self) -> f64 {
        let config = self.trial.config;
        decide::confirmation_alpha(config.alpha, config.others * config.family)
    }

    /// What to say of a test that failed on one side only: the same, if it fails there each time and passes on the other
    /// side each time, in random order as far as the budget goes; otherwise it fails by chance.
    pub fn repeated(&self, reason: Reason, random: &mut fastrand::Rng) -> Result<Reason> {
        let Some(failing) = reason.failing_side() else { return Ok(reason) };
        // A failure and a success cost about the same.
        let Some(Calls { slow, quick }) = Calls::cheapest(self.level(), 1.0, 1.0) else { return Ok(reason) };
        let end = Instant::now() + self.trial.config.per_test_budget;
        let end = self.trial.config.deadline.map_or(end, |deadline| deadline.min(end));
        let mut order = vec![failing; slow];
        order.resize(slow + quick, failing.other());
        random.shuffle(&mut order);
        for side in order {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.call(side, self.trial.config.timeout.min(left), random)? {
                Call::Interrupted => return Ok(Reason::Interrupted),
                // What the budget cut short says nothing.
                Call::Stopped { .. } if Instant::now() >= end => break,
                call if matches!(call, Call::Failed(_)) != (side == failing) => return Ok(reason.now_and_then()),
                _ => {}
            }
        }
        Ok(reason)
    }
}
