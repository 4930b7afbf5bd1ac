//! Leaves out the tests that can reach changed code but do not execute it: one run of each, under breakpoints.

use super::build::BuiltSides;
use super::candidates::{Candidate, Candidates, not_measured};
use super::code::{Place, TargetCode};
use super::measure::checkout;
use super::options::Options;
use super::remembered::Remembered;
use super::setup::Setup;
use crate::build::InPlace;
use crate::error::Result;
use crate::execution::{self, Executed, Places, Program};
use crate::fs;
use crate::interrupt;
use crate::model::{Capture, Reason, Side, Sides, TargetId};
use crate::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A run that takes longer than this is not worth waiting for: the test is measured.
const LONGEST: Duration = Duration::from_secs(10);

/// Runs the chosen tests and leaves out those that come by no changed place. Returns what the user should know.
pub fn confirm(
    setup: &mut Setup,
    options: &Options,
    built: &BuiltSides,
    candidates: &mut Candidates,
    deadline: Option<Instant>,
) -> Result<Option<String>> {
    let in_question: BTreeSet<usize> = (0..candidates.chosen.len())
        .filter(|index| candidates.places_of(&candidates.chosen[*index]).is_some())
        .collect();
    if in_question.is_empty() {
        return Ok(None);
    }
    if let Err(why) = execution::available() {
        return Ok(Some(format!("which tests execute the change was not looked at: {why}")));
    }
    let mut remembered = Remembered::load(&setup.ours, &built.sides)?;
    let fresh = in_question.iter().any(|index| remembered.executed(&candidates.chosen[*index].test).is_none());
    if fresh {
        checkout(setup, built, built.pairing.tests_of)?;
    }
    let progress = Progress::bar(setup.terminal, "Tracing", in_question.len());
    let mut tracer = Tracer {
        built,
        places: BTreeMap::new(),
        made: InPlace::put(&built.sides, &setup.ours)?,
        temporary: setup.ours.join("tmp").join("traced"),
        limit: options.measuring.timeout.min(LONGEST),
    };
    // Half of what is left: the rest is for measuring.
    let deadline = deadline.map(|deadline| Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2);
    let mut idle = BTreeMap::new();
    for index in in_question {
        if interrupt::requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        let candidate = &candidates.chosen[index];
        progress.message(candidate.test.to_string());
        let places = candidates.places_of(candidate).unwrap_or_default();
        let executed = match remembered.executed(&candidate.test) {
            Some(known) => known,
            None => tracer.executes(candidate, &places)?,
        };
        remembered.insert_executed(&candidate.test, executed);
        if !executed {
            idle.insert(index, places.len());
        }
        progress.advance();
    }
    let _ = fs::remove_dir_all(&tracer.temporary);
    if fresh {
        // What the tests wrote is not for the measuring to find.
        setup.tree.restore(&setup.repository, built.pairing.files.get(built.pairing.tests_of), &built.injections)?;
    }
    remembered.save()?;
    candidates.leave_out(&idle);
    Ok(None)
}

struct Tracer<'a> {
    built: &'a BuiltSides,
    places: BTreeMap<(TargetId, Side), Places>,
    made: InPlace,
    temporary: PathBuf,
    limit: Duration,
}

impl Tracer<'_> {
    /// True unless a run on each side came by no changed place.
    ///
    /// Until a place is passed both sides do the same, so one run would do for a test that does the same every time.
    fn executes(&mut self, candidate: &Candidate, places: &[&Place]) -> Result<bool> {
        let union = |of: fn(&Place) -> &BTreeSet<String>| places.iter().flat_map(|place| of(place)).cloned().collect();
        let symbols: Sides<BTreeSet<String>> =
            Sides { base: union(|place| &place.base), head: union(|place| &place.head) };
        if places.iter().any(|place| place.base.is_empty() && place.head.is_empty()) {
            return Ok(true);
        }
        for side in [Side::Head, Side::Base] {
            if self.on_side(candidate, side, symbols.get(side))? != Executed::No {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn on_side(&mut self, candidate: &Candidate, side: Side, symbols: &BTreeSet<String>) -> Result<Executed> {
        let target = &candidate.test.target;
        let executables = &self.built.sides.get(side).executables;
        let Some(executable) = executables.iter().find(|executable| executable.target == *target) else {
            return Ok(Executed::Unknown("it was not built".to_owned()));
        };
        let key = (target.clone(), side);
        if !self.places.contains_key(&key) {
            self.places.insert(key.clone(), Places::read(&executable.path)?);
        }
        let program = Program { executable, places: &self.places[&key], temporary: &self.temporary };
        let _entered = self.made.enter(side)?;
        execution::executes(&program, &candidate.test.name, symbols, self.limit)
    }
}

impl Candidates {
    /// The places that a candidate must pass to have changed, if that is known.
    fn places_of(&self, candidate: &Candidate) -> Option<Vec<&Place>> {
        if candidate.capture == Some(Capture::Process) && candidate.ignored {
            // Its harness would have to be told that it is meant all the same.
            return None;
        }
        self.code.get(&candidate.test.target).and_then(|code: &TargetCode| code.places_of(&candidate.test.name))
    }

    /// Moves candidates to the excluded: position, and how many places they could have come by.
    fn leave_out(&mut self, idle: &BTreeMap<usize, usize>) {
        let chosen = std::mem::take(&mut self.chosen);
        for (index, candidate) in chosen.into_iter().enumerate() {
            match idle.get(&index) {
                Some(functions) => {
                    let reason = self.unchanged(Reason::NotExecuted { functions: *functions }, &candidate.test);
                    let mut outcome = not_measured(candidate.test, reason, candidate.capture, &candidate.because);
                    outcome.why = candidate.why;
                    self.excluded.push(outcome);
                }
                None => self.chosen.push(candidate),
            }
        }
    }
}
