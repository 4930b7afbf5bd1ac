//! Pairs without a verdict, as the sequential rule would get them: the data for validating the rule.

use super::bench::{Bench, Config};
use super::classify::per_run;
use super::lockstep::{PairEnd, Shape, SideEnd, Task};
use super::pair;
use super::pilot::{self, steady};
use super::subject::Subject;
use super::trial::{Settled, Trial};
use perfunit_build::SideBuild;
use perfunit_model::error::{Error, Result, apart};
use perfunit_model::{Side, Sides, Unsteady};
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::time::Instant;

/// The number of consecutive pairs that may fail.
const FAILURES_BORNE: usize = 2;

/// The times of a process of each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedPair {
    /// Time of one run, ns: the 10 % quantile of the batches, which verdicts are based on.
    pub ns: Sides<f64>,
    /// Time of one run, ns: the mean of the batches.
    pub mean_ns: Sides<f64>,
    /// The pair's estimate ln(head / base), by the statistic that the pilot suggested.
    pub log_ratio: f64,
    /// Wall time of both processes.
    pub seconds: f64,
    /// The part of the wall time in batches, with the untimed repetitions before each.
    pub seconds_in_turns: f64,
}

/// Records pairs of one test.
pub struct Recorder<'a> {
    bench: &'a Bench,
    config: &'a Config,
    sides: Sides<&'a SideBuild>,
    subject: Subject<'a>,
    shape: Shape,
    settled: Settled,
    random: fastrand::Rng,
}

impl<'a> Recorder<'a> {
    /// Settles how to measure a test; `None` after Ctrl-C. A test that cannot be repeated is an error.
    pub fn open(
        bench: &'a Bench,
        config: &'a Config,
        sides: Sides<&'a SideBuild>,
        subject: Subject<'a>,
        seed: u64,
    ) -> Result<Option<Self>> {
        let mut random = fastrand::Rng::with_seed(seed);
        let trial = Trial { bench, config, programs: subject.programs(&sides) };
        let settled = apart(steady(pilot::settle(&trial, &mut random)))?;
        if interrupt::is_requested() {
            return Ok(None);
        }
        let unusable = |why: Unsteady| Error::setup(format!("cannot measure {}: {why}", subject.test));
        let (settled, shape) = settled.map_err(unusable)?;
        Ok(Some(Self { bench, config, sides, subject, shape, settled, random }))
    }

    /// Runs a pair in lockstep; `None` after Ctrl-C.
    pub fn pair(&mut self) -> Result<Option<RecordedPair>> {
        self.record(|recorder| {
            let end = recorder.run(Task::Steady(recorder.shape))?;
            let log_ratio = recorder.settled.comparison.log_ratio(&end);
            Ok(end.complete().then_some((end.sides, log_ratio)))
        })
    }

    /// Runs a process of base and then one of head, each alone on its core; `None` after Ctrl-C.
    pub fn sequential(&mut self) -> Result<Option<RecordedPair>> {
        self.record(|recorder| {
            let base = recorder.run(Task::Alone(Side::Base, recorder.shape))?.sides.base;
            let head = recorder.run(Task::Alone(Side::Head, recorder.shape))?.sides.head;
            let log_ratio = (per_run(&head, recorder.shape) / per_run(&base, recorder.shape)).ln();
            let done = base.state == state::DONE && head.state == state::DONE;
            Ok(done.then_some((Sides { base, head }, log_ratio)))
        })
    }

    fn run(&mut self, task: Task) -> Result<PairEnd> {
        let pads = self.settled.draw(&mut self.random);
        pair::run(self.bench, &self.subject.programs(&self.sides), task, pads, self.config.timeout)
    }

    /// Repeats a measurement that fails now and then; the time of failures counts, as it would for a verdict.
    fn record(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<(Sides<SideEnd>, f64)>>,
    ) -> Result<Option<RecordedPair>> {
        let started = Instant::now();
        for _ in 0..=FAILURES_BORNE {
            let ends = attempt(self)?;
            if interrupt::is_requested() {
                return Ok(None);
            }
            if let Some((ends, log_ratio)) = ends {
                return Ok(Some(RecordedPair {
                    ns: ends.as_ref().map(|end| per_run(end, self.shape).max(0.01)),
                    log_ratio,
                    mean_ns: ends.as_ref().map(|end| mean_per_run(end, self.shape)),
                    seconds_in_turns: Side::BOTH.iter().map(|side| in_turns(ends.get(*side), self.shape)).sum(),
                    seconds: started.elapsed().as_secs_f64(),
                }));
            }
        }
        Err(Error::setup(format!("processes of {} fail again and again", self.subject.test)))
    }
}

/// Returns the time of a process's batches with the untimed repetitions before each, seconds.
fn in_turns(end: &SideEnd, shape: Shape) -> f64 {
    let untimed = f64::from(shape.warm) / shape.repetitions.max(1) as f64;
    end.times.iter().sum::<f64>() * (1.0 + untimed) / 1e9
}

fn mean_per_run(end: &SideEnd, shape: Shape) -> f64 {
    end.times.iter().sum::<f64>() / (end.times.len() as f64 * shape.repetitions.max(1) as f64)
}
