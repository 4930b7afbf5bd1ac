//! One test with everything needed to run it, and the way to measure it.

use super::at_once::{self, Pace};
use super::bench::{Bench, Config};
use super::lockstep::{PairEnd, Task};
use super::measured_process::{Pads, Programs};
use super::pair;
use super::process_pair::{self, Asked};
use super::waiting_time::WaitingTime;
use super::work::Comparison;
use perfunit_build::TestClock;
use perfunit_decide::Looks;
use perfunit_model::error::Result;
use perfunit_model::{Capture, Note, Side, Sides};
use perfunit_system::interrupt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// The machine, settings and executables with which a test runs.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    pub bench: &'a Bench,
    /// The settings for this test.
    pub config: &'a Config,
    pub programs: Programs<'a>,
}

/// The smallest difference that counts, ns: a few cycles. Code that moved by some bytes was measured to cost or save one
/// cycle.
pub const LEAST_NS: f64 = 1.0;
/// The smallest difference that counts where the instructions changed in the direction of the time, ns: about one cycle.
pub const LEAST_NS_BY_INSTRUCTIONS: f64 = 0.3;
/// The smallest threshold of whole processes, which are noisier and only partly consist of the test, and of tests that start
/// processes: the layout of started programs is not controlled, and no instructions can confirm a smaller change.
pub const PROCESS_THRESHOLD: f64 = 0.05;

/// The way a test is measured, as its pilot settled it.
#[derive(Debug, Clone)]
pub struct Settled {
    pub task: Task,
    pub capture: Capture,
    /// True if equal code lies at the same places in both versions.
    pub matched: bool,
    pub notes: Vec<Note>,
    /// True if the test starts processes.
    pub starts_processes: bool,
    /// True if both processes of a pair get the same random numbers.
    pub equal_seeds: bool,
    /// The clock with which both processes do the same work.
    pub clock: TestClock,
    /// The estimate of a pair in turns.
    pub comparison: Comparison,
    /// The effect that reading the clock can have on a pair's log ratio.
    pub clock_bias: f64,
    /// The way in which the calls of both sides follow each other; all series of the test share it.
    pub pace: Rc<Cell<Pace>>,
    /// The smallest difference that counts, ns.
    pub least_ns: f64,
    /// Time of a run on each side in the pilot, ns; of a first call where the pilot shows no more.
    pub ns: Sides<f64>,
    /// Time of a first call on each side in the pilot, ns.
    pub first_ns: Sides<f64>,
    /// The number of pairs that ran, which all series of the test share.
    pub pairs_run: Rc<Cell<usize>>,
    /// The waiting of the test, as far as calls show it; all series of the test share it.
    pub waiting: Rc<RefCell<WaitingTime>>,
}

impl Settled {
    /// Returns the smallest change that counts, as a fraction, given the time of a run on base.
    pub fn least_change(&self, base_ns: f64) -> f64 {
        let of_clock = self.least_ns / base_ns.max(self.least_ns).max(f64::MIN_POSITIVE);
        if self.starts_processes { of_clock.max(PROCESS_THRESHOLD) } else { of_clock }
    }

    /// Returns whether first calls take about as long as later ones, so that little of them is initialization.
    pub fn is_like_first_call(&self) -> bool {
        const ALIKE: f64 = 1.25;
        Side::BOTH.into_iter().all(|side| *self.first_ns.get(side) <= ALIKE * self.ns.get(side))
    }

    /// Returns whether programs that differ may be part of what is measured.
    pub fn may_start_programs(&self) -> bool {
        self.starts_processes || self.task == Task::Process
    }

    /// Returns the estimate of a pair. Calls at once share the state of the machine with their counterparts.
    pub fn comparison(&self) -> Comparison {
        if self.pace.get() == Pace::AtOnce { Comparison::Counterparts } else { self.comparison }
    }

    /// Returns the number of values that a pair gives.
    pub fn values(&self) -> usize {
        match self.task {
            Task::Steady(shape) => self.comparison.values(shape.batches),
            _ => 1,
        }
    }

    /// Returns the time of the first look at calls that start processes, in units of this many pairs.
    pub fn first_look(&self, pairs: usize) -> Duration {
        // The first call of a pair may not count.
        let calls = if let Task::Steady(shape) = self.task { f64::from(shape.batches + 1) } else { 1.0 };
        let pairs = pairs * Looks::of_calls(self.values()).first() / self.values();
        Duration::from_secs_f64(pairs as f64 * calls * (self.ns.base + self.ns.head) / 1e9)
    }

    /// Draws the random shifts and seeds that both processes of the next pair share.
    pub fn draw(&self, random: &mut fastrand::Rng) -> Pads {
        let pads = Pads::draw(random).with_clock(self.clock);
        if self.equal_seeds { pads } else { pads.without_seed() }
    }

    /// Runs the next pair: in turns from the first one that cannot run at once.
    pub fn pair(&self, trial: &Trial<'_>, random: &mut fastrand::Rng) -> Result<PairEnd> {
        if let Task::Steady(shape) = self.task
            && self.pace.get() == Pace::AtOnce
        {
            let pair =
                pair::run(trial.bench, &trial.programs, Task::AtOnce(shape), self.draw(random), trial.config.timeout)?;
            if at_once::is_valid(&pair) || interrupt::is_requested() {
                self.pairs_run.set(self.pairs_run.get() + 1);
                return Ok(pair);
            }
            tracing::info!(test = trial.programs.test, "calls cannot run at once");
            self.pace.set(Pace::InTurns);
        }
        let Trial { bench, config, programs } = trial;
        let (pads, limit) = (self.draw(random), config.timeout);
        self.pairs_run.set(self.pairs_run.get() + 1);
        bench.watch_idle(self.starts_processes && !self.waiting.borrow().is_disturbed());
        let pair = match self.task {
            Task::Process => process_pair::run(bench, programs, Asked::Test, pads, limit),
            task => pair::run(bench, programs, task, pads, limit),
        };
        bench.watch_idle(false);
        let mut pair = pair?;
        self.waiting.borrow_mut().correct(&mut pair, self.ns);
        Ok(pair)
    }
}
