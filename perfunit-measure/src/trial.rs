//! One test with everything that it takes to run it, and the way it is measured.

use super::bench::{Bench, Config};
use super::lockstep::{self, PairEnd, Task};
use super::process_pair::{self, Asked};
use super::running::{Pads, Programs};
use super::work::Comparison;
use perfunit_build::TestClock;
use perfunit_model::error::Result;
use perfunit_model::{Capture, Note, Sides};

/// Where, on what terms and by which executables a test is run.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    pub bench: &'a Bench,
    /// What the user set for this test.
    pub config: &'a Config,
    pub programs: Programs<'a>,
}

/// Fewer ns than this are a few cycles: code that only moved by some bytes was seen to cost or save one. No threshold below.
pub const LEAST_NS: f64 = 1.0;
/// The same where the instructions changed as the time did: about one cycle.
pub const LEAST_NS_BY_INSTRUCTIONS: f64 = 0.3;
/// A whole process is noisier, and much of it is not the test: no threshold below this.
pub const PROCESS_THRESHOLD: f64 = 0.05;

/// How a test is measured.
#[derive(Debug, Clone)]
pub struct Settled {
    pub task: Task,
    pub capture: Capture,
    /// Whether what is the same in both versions lies at the same places.
    pub matched: bool,
    pub notes: Vec<Note>,
    /// Whether both processes of a pair get the same random numbers.
    pub equal_seeds: bool,
    /// The clock by which both do the same work.
    pub clock: TestClock,
    /// How a pair's estimate is made.
    pub comparison: Comparison,
    /// What reading the clock can do to a pair's log ratio.
    pub clock_bias: f64,
    /// The smallest difference that counts, ns.
    pub least_ns: f64,
    /// Time of a run on each side by the pilot, ns; of a first call where nothing more is known.
    pub ns: Sides<f64>,
}

impl Settled {
    /// The smallest change that counts where a run takes so long on base, as a fraction.
    pub fn least_change(&self, base_ns: f64) -> f64 {
        self.least_ns / base_ns.max(self.least_ns).max(f64::MIN_POSITIVE)
    }

    /// Draws what the next pair has in common.
    pub fn draw(&self, random: &mut fastrand::Rng) -> Pads {
        let pads = Pads::draw(random).with_clock(self.clock);
        if self.equal_seeds { pads } else { pads.without_seed() }
    }

    /// Runs the next pair.
    pub fn pair(&self, trial: &Trial<'_>, random: &mut fastrand::Rng) -> Result<PairEnd> {
        let Trial { bench, config, programs } = trial;
        let (pads, limit) = (self.draw(random), config.timeout);
        match self.task {
            Task::Process => process_pair::run(bench, programs, Asked::Test, pads, limit),
            task => lockstep::run(bench, programs, task, pads, limit),
        }
    }
}
