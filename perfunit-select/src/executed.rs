//! Leaves out the tests that can reach changed code but do not execute it: some runs of each, under breakpoints.

use super::candidates::{Candidate, Candidates, not_measured};
use super::selection_cache::Remembered;
use super::target_code::{Place, TargetCode};
use super::trace::{self, Executed, Places, Program};
use perfunit_build as build;
use perfunit_build::{Builder, BuiltSides, InPlace, Seeds, TestClock, TestExecutable};
use perfunit_model::error::Result;
use perfunit_model::{Reason, Side, Sides, TargetId, Untraceable, Warning};
use perfunit_system::cache::KeyBuilder;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use perfunit_system::temporary::TestFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// How tests are run to see what they execute.
#[derive(Debug, Clone, Copy)]
pub struct Tracing {
    /// Longest run that a test may take when it is measured.
    pub timeout: Duration,
    /// When the whole run has to end.
    pub deadline: Option<Instant>,
}

/// Runs the chosen tests and leaves out those that come by no changed place. Returns what the user should know.
pub fn leave_out_unexecuted(
    builder: &mut Builder<'_>,
    built: &BuiltSides,
    candidates: &mut Candidates,
    tracing: Tracing,
) -> Result<Option<Warning>> {
    let _span = tracing::info_span!("trace").entered();
    let ours = &builder.context().ours;
    let numbered = candidates.chosen.iter().enumerate();
    let in_question: BTreeMap<usize, String> = numbered
        .filter(|(_, candidate)| candidates.places_of(candidate).is_some())
        .map(|(index, candidate)| (index, surroundings(built, &candidate.test.target)))
        .collect();
    if in_question.is_empty() {
        return Ok(None);
    }
    if let Err(why) = trace::available() {
        return Ok(Some(Warning::NotTraced { why }));
    }
    let mut remembered = Remembered::load(ours, &built.sides)?;
    let is_known = |(index, surroundings): (&usize, &String)| {
        remembered.executed(&candidates.chosen[*index].test, surroundings).is_some()
    };
    let fresh = !in_question.iter().all(is_known);
    if fresh {
        builder.checkout(build::Place::Measured, built.pairing.data(), &built.injections)?;
    }
    let progress = Progress::bar(builder.context().terminal, "Tracing", in_question.len());
    let mut tracer = Tracer {
        built,
        seeds: Seeds::new(built.seeds.clone()),
        places: BTreeMap::new(),
        made: InPlace::put(&built.sides, ours)?,
        temporary: TestFolder::create("traced")?,
        limit: tracing.timeout.min(trace::LONGEST),
        deadline: tracing.deadline.map(interrupt::half_way),
    };
    let (idle, late) = tracer.idle(candidates, in_question, &mut remembered, &progress)?;
    if fresh {
        // What the tests wrote is not for the measuring to find.
        builder.restore(built.pairing.data(), &built.injections)?;
    }
    remembered.save()?;
    candidates.leave_out(&idle);
    Ok(late.map(|why| Warning::NotTraced { why }))
}

/// Key of what the tests of a target can see, besides their code, when they run: environment, folder, and whose files are
/// in it (what these are, the keys of the sides say).
fn surroundings(built: &BuiltSides, target: &TargetId) -> String {
    let mut key = KeyBuilder::default().with(built.pairing.tests_of.to_string());
    for side in Side::BOTH {
        let Some(executable) = executable(built, side, target) else { continue };
        key = key.with(executable.cwd.as_os_str().as_encoded_bytes());
        for (name, value) in executable.environment() {
            key = key.with(name.as_encoded_bytes()).with(value.as_encoded_bytes());
        }
    }
    key.finish()
}

fn executable<'a>(built: &'a BuiltSides, side: Side, target: &TargetId) -> Option<&'a TestExecutable> {
    built.sides.get(side).executables.iter().find(|executable| executable.target == *target)
}

struct Tracer<'a> {
    built: &'a BuiltSides,
    seeds: Seeds,
    places: BTreeMap<(TargetId, Side), Places>,
    made: InPlace,
    temporary: TestFolder,
    limit: Duration,
    deadline: Option<Instant>,
}

impl Tracer<'_> {
    /// Those of the tests in question that come by no changed place, with the number of these places; and why not all of
    /// the tests were run.
    fn idle(
        &mut self,
        candidates: &Candidates,
        in_question: BTreeMap<usize, String>,
        remembered: &mut Remembered,
        progress: &Progress,
    ) -> Result<(BTreeMap<usize, usize>, Option<Untraceable>)> {
        let (mut idle, mut late) = (BTreeMap::new(), None);
        let tests = in_question.len();
        for (traced, (index, surroundings)) in in_question.into_iter().enumerate() {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                late = Some(Untraceable::OutOfTime { tests: tests - traced });
                break;
            }
            let candidate = &candidates.chosen[index];
            progress.message(candidate.test.to_string());
            let places = candidates.places_of(candidate).unwrap_or_default();
            let executed = match remembered.executed(&candidate.test, &surroundings) {
                Some(known) => known,
                None => self.executes(candidate, &places)?,
            };
            if interrupt::requested() {
                break;
            }
            remembered.insert_executed(&candidate.test, surroundings, executed);
            if !executed {
                idle.insert(index, places.len());
            }
            progress.advance();
        }
        Ok((idle, late))
    }

    /// True unless all runs on both sides came by no changed place.
    ///
    /// Until a place is passed both sides do the same, so each run is one more for both.
    fn executes(&mut self, candidate: &Candidate, places: &[&Place]) -> Result<bool> {
        let head = executable(self.built, Side::Head, &candidate.test.target);
        if candidate.ignored && head.is_some_and(|executable| !executable.harness.runs_ignored()) {
            return Ok(true);
        }
        let union = |of: fn(&Place) -> &BTreeSet<String>| places.iter().flat_map(|place| of(place)).cloned().collect();
        let symbols: Sides<BTreeSet<String>> =
            Sides { base: union(|place| &place.base), head: union(|place| &place.head) };
        if places.iter().any(|place| place.base.is_empty() && place.head.is_empty()) {
            return Ok(true);
        }
        trace::in_any_run(|side, seed| self.on_side(candidate, side, symbols.get(side), seed))
    }

    fn on_side(
        &mut self,
        candidate: &Candidate,
        side: Side,
        symbols: &BTreeSet<String>,
        seed: Option<NonZeroU64>,
    ) -> Result<Executed> {
        let target = &candidate.test.target;
        let Some(executable) = executable(self.built, side, target) else {
            return Ok(Executed::Unknown(trace::Unseen::NotBuilt));
        };
        let key = (target.clone(), side);
        if !self.places.contains_key(&key) {
            self.places.insert(key.clone(), Places::read(&executable.path)?);
        }
        let variables = self.seeds.variables(seed, TestClock::True, None, &executable.environment());
        let program =
            Program { executable, places: &self.places[&key], temporary: &self.temporary, variables: &variables };
        let _entered = self.made.enter(side)?;
        trace::executes(&program, executable.known_as(&candidate.test.name), symbols, self.limit)
    }
}

impl Candidates {
    /// The places that a candidate must pass to have changed, if that is known.
    fn places_of(&self, candidate: &Candidate) -> Option<Vec<&Place>> {
        self.code.get(&candidate.test.target).and_then(|code: &TargetCode| code.places_of(&candidate.test.name))
    }

    /// Moves candidates to the excluded: position, and how many places they could have come by.
    fn leave_out(&mut self, idle: &BTreeMap<usize, usize>) {
        let chosen = std::mem::take(&mut self.chosen);
        for (index, candidate) in chosen.into_iter().enumerate() {
            match idle.get(&index) {
                Some(functions) => {
                    let reason = self.unchanged(Reason::NotExecuted { functions: *functions }, &candidate.test);
                    let mut outcome = not_measured(candidate.test, reason, candidate.capture, Some(candidate.because));
                    outcome.why = candidate.why;
                    self.excluded.push(outcome);
                }
                None => self.chosen.push(candidate),
            }
        }
    }
}
