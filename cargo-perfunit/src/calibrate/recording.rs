//! Records all pairs of tests, each for a share of the time.

use super::profile::{BASE, CHANGED, Options, interruption, threshold};
use super::project::{self, Project, WORKLOADS};
use super::trial::Trial;
use perfunit_measure::{Bench, Config, RecordedPair, Recorder, Subject};
use perfunit_model::Terms;
use perfunit_model::error::{Error, Result};
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use std::time::{Duration, Instant};

/// Number of visits to each pair of tests. Several visits spread a noisy minute over all pairs.
const ROUNDS: usize = 3;

/// The recorded process pairs of one pair of tests: one list per visit.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The kind of work.
    pub workload: &'static str,
    /// Operations of head's test.
    pub operations: u32,
    pub pairs: Vec<Vec<RecordedPair>>,
    /// Pairs that ran one after the other; empty without `--compare`.
    pub sequential: Vec<Vec<RecordedPair>>,
}

pub struct Recordings(Vec<Recorded>);

/// The settings of a recording.
pub struct Studio<'a> {
    pub project: &'a Project,
    pub bench: &'a Bench,
    /// How each pair runs.
    pub config: &'a Config,
    /// The settings of the rule.
    pub terms: &'a Terms,
}

/// One of several visits to a pair of tests.
struct Visit {
    /// Index into the recordings.
    index: usize,
    /// Share of the time relative to other visits.
    weight: u32,
}

impl Recordings {
    /// Records until the deadline, and then until the verdict in progress is complete.
    pub fn make(studio: &Studio<'_>, options: &Options, deadline: Instant, terminal: Terminal) -> Result<Self> {
        let mut all = empty();
        let visits = plan(&all, if options.quick { 1 } else { ROUNDS });
        let progress = Progress::bar(terminal, "Recording", visits.len());
        let mut random = fastrand::Rng::with_seed(options.seed);
        let mut left: u32 = visits.iter().map(|visit| visit.weight).sum();
        for visit in visits {
            let recorded = &mut all[visit.index];
            progress.message(format!("{}, {BASE} against {}", recorded.workload, recorded.operations));
            let share = deadline.saturating_duration_since(Instant::now()) * visit.weight / left;
            studio.visit(recorded, share, options.compare, random.u64(..))?;
            if interrupt::is_requested() {
                break;
            }
            left -= visit.weight;
            progress.advance();
        }
        if all.iter().all(|recorded| recorded.pairs.is_empty()) {
            return Err(interruption());
        }
        Ok(Self(all))
    }

    /// Returns the recordings of all kinds of work with this many operations in head, in the order of [`WORKLOADS`].
    pub fn of(&self, operations: u32) -> impl Iterator<Item = &Recorded> {
        self.0.iter().filter(move |recorded| recorded.operations == operations)
    }
}

fn empty() -> Vec<Recorded> {
    let operations = || [BASE].into_iter().chain(CHANGED);
    let of = |workload| operations().map(move |operations| Recorded { workload, operations, ..Recorded::default() });
    WORKLOADS.into_iter().flat_map(of).collect()
}

fn plan(all: &[Recorded], rounds: usize) -> Vec<Visit> {
    let round = || all.iter().enumerate().map(|(index, recorded)| Visit { index, weight: weight(recorded) });
    (0..rounds).flat_map(|_| round()).collect()
}

/// Returns the share of time. Small effects take long, and equal tests are compared at every effect. Kinds of work with
/// kernel time or random seeds also take long.
fn weight(recorded: &Recorded) -> u32 {
    let by_effect = match recorded.operations {
        0..=301 => 6,
        302..=303 => 3,
        _ => 2,
    };
    by_effect * if matches!(recorded.workload, "print" | "hash_and_sort") { 2 } else { 1 }
}

impl Studio<'_> {
    /// Records one pair of tests for this long.
    fn visit(&self, recorded: &mut Recorded, share: Duration, compare: bool, seed: u64) -> Result<()> {
        let sides = self.project.sides(recorded.operations)?;
        let test = project::test(recorded.workload);
        let executables = sides.try_map(|_, side| {
            let found = side.executables.iter().find(|executable| executable.target == test.target);
            found.ok_or_else(|| Error::setup(format!("{} was not built", test.target)))
        })?;
        let subject = Subject::new(test, executables);
        let Some(mut tape) = Recorder::open(self.bench, self.config, sides, subject, seed)? else { return Ok(()) };
        let started = Instant::now();
        let pairs = self.pairs(&mut tape, recorded.operations, started + if compare { share / 2 } else { share })?;
        let spent = started.elapsed();
        recorded.pairs.push(pairs);
        if compare {
            recorded.sequential.push(sequential(&mut tape, Instant::now() + spent)?);
        }
        Ok(())
    }

    /// Records pairs until this time, and then until the verdict in progress is complete; cutting it off would favor
    /// quick verdicts.
    fn pairs(&self, tape: &mut Recorder<'_>, operations: u32, until: Instant) -> Result<Vec<RecordedPair>> {
        let mut pairs = Vec::new();
        // Equal tests serve all effects; the smallest takes longest.
        let mut trial = Trial::new(self.terms, threshold(operations.max(CHANGED[0])));
        while let Some(pair) = tape.pair()? {
            pairs.push(pair);
            if trial.add(&pair).is_some() && Instant::now() >= until {
                break;
            }
        }
        Ok(pairs)
    }
}

fn sequential(tape: &mut Recorder<'_>, until: Instant) -> Result<Vec<RecordedPair>> {
    let mut pairs = Vec::new();
    while Instant::now() < until {
        let Some(pair) = tape.sequential()? else { break };
        pairs.push(pair);
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_tests_is_visited_in_every_round_and_small_effects_get_most_of_the_time() {
        let all = empty();
        assert_eq!(all.len(), WORKLOADS.len() * (1 + CHANGED.len()));
        let visits = plan(&all, ROUNDS);
        for index in 0..all.len() {
            assert_eq!(visits.iter().filter(|visit| visit.index == index).count(), ROUNDS);
        }
        let share = |operations: &[u32]| -> u32 {
            visits
                .iter()
                .filter(|visit| operations.contains(&all[visit.index].operations))
                .map(|visit| visit.weight)
                .sum()
        };
        assert!(share(&[BASE, 301]) > share(&[303, 315, 450]));
    }
}
