//! Pairs of one test whose processes leave call trees beside their times.

use super::bench::{Bench, Config};
use super::call_trees::{CallTrees, ProbeRequest, ProbedRun};
use super::lockstep;
use super::screen;
use super::settled::Settled;
use super::subject::Subject;
use super::trial::Trial;
use super::unsteady::steady;
use perfunit_build::SideBuild;
use perfunit_model::error::{Result, Tried};
use perfunit_model::{Sides, Unsteady};
use perfunit_system::interrupt;
use std::time::Instant;

/// Pairs in a row that may fail.
const FAILURES_BORNE: usize = 2;

/// Pairs of one test.
#[derive(Debug)]
pub struct ProbedPairs<'a> {
    bench: &'a Bench,
    config: &'a Config,
    sides: Sides<&'a SideBuild>,
    subject: Subject<'a>,
    settled: Settled,
    random: fastrand::Rng,
}

impl<'a> ProbedPairs<'a> {
    /// Settles how to measure with the probes of this request switched on, or says why the test cannot be measured.
    pub fn open(
        bench: &'a Bench,
        config: &'a Config,
        sides: Sides<&'a SideBuild>,
        subject: Subject<'a>,
        request: ProbeRequest,
    ) -> Tried<Self, Unsteady> {
        let mut random = fastrand::Rng::with_seed(config.seed);
        bench.settle();
        bench.trees.replace(Some(CallTrees::new(request)?));
        let trial = Trial { bench, config, programs: subject.programs(&sides) };
        let (settled, _) = steady(screen::settle(&trial, &mut random))?;
        Ok(Self { bench, config, sides, subject, settled, random })
    }

    /// The next pair; `None` after Ctrl-C, at the deadline, or when processes fail again and again.
    pub fn pair(&mut self) -> Result<Option<Sides<ProbedRun>>> {
        for _ in 0..=FAILURES_BORNE {
            let late = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if late || interrupt::requested() {
                return Ok(None);
            }
            let pads = self.settled.draw(&mut self.random);
            let programs = self.subject.programs(&self.sides);
            let end = lockstep::run(self.bench, &programs, self.settled.task, pads, self.config.timeout)?;
            let trees = self.bench.trees.borrow();
            let runs = trees.as_ref().filter(|_| end.complete()).and_then(|trees| trees.read(end.shape.repetitions));
            if let Some(runs) = runs {
                return Ok(Some(runs));
            }
        }
        Ok(None)
    }
}

impl Drop for ProbedPairs<'_> {
    fn drop(&mut self) {
        self.bench.trees.replace(None);
    }
}
