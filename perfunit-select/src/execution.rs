//! Excludes the tests that can reach changed code but do not execute it, either themselves or in programs that they
//! start. Each test runs several times with breakpoints.

use super::candidates::{Candidate, Candidates, not_measured};
use super::code::{self, stable_name};
use super::functions::{changed_functions, is_path_of, name};
use super::selection_cache::{RunAnswer, SelectionCache};
use super::target_code::{Place, ProgramCode, Watched};
use super::target_selection::TargetSelection;
use super::trace::{self, Execution, Functions, Places, Program, Programs};
use perfunit_build as build;
use perfunit_build::{Builder, BuiltSides, InPlace, Seeds, SideBuild, TestClock, TestExecutable, stand_in_of};
use perfunit_model::error::Result;
use perfunit_model::{
    ChangedFunction, CodeChange, EnteredFunction, OtherInput, Reason, SelectedBecause, Side, Sides, TargetId,
    Untraceable, Warning, Why,
};
use perfunit_system::cache::KeyBuilder;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use perfunit_system::temporary::TestFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limits for tracing.
#[derive(Debug, Clone, Copy)]
pub struct Tracing {
    /// Timeout of a measured process.
    pub timeout: Duration,
    /// Time at which the whole run must end.
    pub deadline: Option<Instant>,
}

/// Traces the chosen tests and excludes those that do not reach a changed place. Returns a warning if tracing was not
/// possible or not complete.
pub fn leave_out_unexecuted(
    builder: &mut Builder<'_>,
    built: &BuiltSides,
    selected: &TargetSelection,
    candidates: &mut Candidates,
    tracing: Tracing,
) -> Result<Option<Warning>> {
    let _span = tracing::info_span!("trace").entered();
    let ours = &builder.context().ours;
    let numbered = candidates.chosen.iter().enumerate();
    let in_question: BTreeMap<usize, String> = numbered
        .filter(|(_, candidate)| candidates.watched_places(candidate).is_some())
        .map(|(index, candidate)| (index, surroundings(built, &candidate.test.target)))
        .collect();
    if in_question.is_empty() {
        return Ok(None);
    }
    if let Err(why) = trace::available() {
        return Ok(Some(Warning::NotTraced { why }));
    }
    let mut cache = SelectionCache::load(ours, &built.sides)?;
    let is_known = |(index, surroundings): (&usize, &String)| {
        cache.run_answer(&candidates.chosen[*index].test, surroundings).is_some()
    };
    let fresh = !in_question.iter().all(is_known);
    if fresh {
        builder.checkout(build::Place::Measured, &*built.pairing.data()?, &built.injections)?;
    }
    let progress = Progress::bar(builder.context().terminal, "Tracing", in_question.len());
    let temporary = TestFolder::create("traced")?;
    temporary.empty()?;
    // Cached results need no programs.
    let programs = if fresh {
        let read = |which, side| programs(side, which, ours, &candidates.programs, temporary.path());
        built.sides.as_ref().try_map(read)?
    } else {
        Sides::default()
    };
    let mut tracer = Tracer {
        built,
        seeds: Seeds::new(built.seeds.clone()),
        programs: programs.map(Arc::new),
        executables: BTreeMap::new(),
        made: InPlace::put(&built.sides, ours)?,
        temporary,
        limit: tracing.timeout.min(trace::LONGEST),
        deadline: tracing.deadline.map(interrupt::half_way),
    };
    let (answers, late) = tracer.answers(candidates, in_question, &mut cache, &progress)?;
    if fresh {
        // Restore the files that tests wrote, so that measuring does not find them.
        builder.restore(&*built.pairing.data()?, &built.injections)?;
    }
    cache.save()?;
    candidates.apply(answers, selected);
    Ok(late.map(|why| Warning::NotTraced { why }))
}

/// Returns the programs of a side that tests may start. `fresh` is a folder that was just created.
fn programs(built: &SideBuild, side: Side, ours: &Path, changed: &[ProgramCode], fresh: &Path) -> Result<Programs> {
    let mut programs = Programs::new(fresh)?;
    for folder in ["build", "sides"] {
        programs.add_folder(&ours.join(folder));
    }
    for path in built.binaries()? {
        let stand_in = stand_in_of(ours, &path);
        if stand_in.exists() {
            programs.add_same(&stand_in)?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(ProgramCode { places, .. }) = changed.iter().find(|program| program.name == name) else {
            programs.add_same(&path)?;
            continue;
        };
        let symbols = places.as_ref().map(|places| symbols_of(places.iter()));
        let symbols = symbols.as_ref().map(|symbols| symbols.get(side)).map_err(|why| (*why).clone());
        programs.add_changed(&name, &path, symbols)?;
    }
    Ok(programs)
}

/// Collects the symbols of places.
fn symbols_of<'a>(places: impl Iterator<Item = &'a Place>) -> Sides<BTreeSet<String>> {
    let mut symbols = Sides::<BTreeSet<String>>::default();
    for place in places {
        symbols.base.extend(place.base.iter().cloned());
        symbols.head.extend(place.head.iter().cloned());
    }
    symbols
}

/// Returns a key of everything except code that tests of a target can see at run time: environment, folder, and the
/// side whose files are in it. The keys of the sides identify the files themselves.
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
    programs: Sides<Arc<Programs>>,
    executables: BTreeMap<(TargetId, Side), Traceable>,
    made: InPlace,
    temporary: TestFolder,
    limit: Duration,
    deadline: Option<Instant>,
}

/// Number of tests that run together at most.
const RUN_TOGETHER: usize = 1000;
/// Time limit of tests that run together, in time limits of a test.
const LIMITS_TOGETHER: usize = 6;

/// A test executable prepared for tracing.
struct Traceable {
    places: Places,
    /// Symbols at which any of its tests can start to differ, if known.
    of_all_tests: Option<BTreeSet<String>>,
}

/// Result of tracing a test, with the number of places that it could reach.
type Answered = (RunAnswer, usize);

impl Tracer<'_> {
    /// Traces the candidate tests. Returns the results, and a reason if some were not traced.
    fn answers(
        &mut self,
        candidates: &Candidates,
        in_question: BTreeMap<usize, String>,
        cache: &mut SelectionCache,
        progress: &Progress,
    ) -> Result<(BTreeMap<usize, Answered>, Option<Untraceable>)> {
        let (mut answers, mut late) = (BTreeMap::new(), None);
        let idle = self.idle(candidates, &in_question, cache, progress)?;
        let in_programs = candidates.programs.iter().filter_map(|program| program.places.as_ref().ok());
        let in_programs: usize = in_programs.map(Vec::len).sum();
        let tests = in_question.len();
        for (traced, (index, surroundings)) in in_question.into_iter().enumerate() {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                late = Some(Untraceable::OutOfTime { tests: tests - traced });
                break;
            }
            let candidate = &candidates.chosen[index];
            progress.message(candidate.test.to_string());
            let Some(watched) = candidates.watched_places(candidate) else { continue };
            let answer = match cache.run_answer(&candidate.test, &surroundings) {
                Some(known) => known.clone(),
                None if idle.contains(&index) => RunAnswer::Nothing,
                None => self.answer(candidate, &watched, &candidates.programs)?,
            };
            if interrupt::is_requested() {
                break;
            }
            cache.insert_executed(&candidate.test, surroundings, answer.clone());
            answers.insert(index, (answer, watched.by_test.len() + in_programs));
            progress.advance();
        }
        Ok((answers, late))
    }

    /// Returns the tests that execute nothing that differs, among those that have the same code and are not seen to
    /// start programs. Those of an executable run together, once and in head. If one of them still executes a changed
    /// program, or reads its file, none of the executable's tests is returned.
    fn idle(
        &mut self,
        candidates: &Candidates,
        in_question: &BTreeMap<usize, String>,
        cache: &SelectionCache,
        progress: &Progress,
    ) -> Result<BTreeSet<usize>> {
        let mut passive: BTreeMap<&TargetId, Vec<(usize, &Candidate)>> = BTreeMap::new();
        for (index, surroundings) in in_question {
            let candidate = &candidates.chosen[*index];
            let Candidate { test, .. } = candidate;
            let is_passive = candidates.code.get(&test.target).is_some_and(|code| code.is_passive(&test.name));
            if is_passive && cache.run_answer(test, surroundings).is_none() {
                passive.entry(&test.target).or_default().push((*index, candidate));
            }
        }
        let mut idle = BTreeSet::new();
        for (target, tests) in passive {
            for tests in tests.chunks(RUN_TOGETHER) {
                if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Ok(idle);
                }
                progress.message(format!("{target} {} tests", tests.len()));
                let watched = candidates.watched_places(tests[0].1);
                let by_all_tests = watched.and_then(|watched| watched.by_all_tests);
                let (seed, limit) = (NonZeroU64::new(1), self.limit * tests.len().min(LIMITS_TOGETHER) as u32);
                let passed =
                    self.traced(target, Side::Head, by_all_tests, (seed, 1), |program, executable, of_all_tests| {
                        let names = tests.iter().map(|(_, candidate)| executable.known_as(&candidate.test.name));
                        let functions = Functions { of_test: &BTreeSet::new(), of_all_tests };
                        trace::pass_by_programs(program, &names.collect::<Vec<_>>(), functions, limit)
                    })?;
                if passed == Some(true) {
                    idle.extend(tests.iter().map(|(index, _)| index));
                }
            }
        }
        Ok(idle)
    }

    /// Traces a test on both sides.
    ///
    /// Both sides do the same until a changed place is executed, so a run of one side counts for both.
    fn answer(&mut self, candidate: &Candidate, watched: &Watched<'_>, programs: &[ProgramCode]) -> Result<RunAnswer> {
        let head = executable(self.built, Side::Head, &candidate.test.target);
        let unknown = |why: &str| Ok(RunAnswer::Unknown { why: why.to_owned() });
        if candidate.ignored && head.is_some_and(|executable| !executable.harness.runs_ignored()) {
            return unknown("its harness does not run ignored tests");
        }
        if !are_functions(watched.by_test.iter().copied()) {
            return unknown("the difference is not in a function");
        }
        let symbols = symbols_of(watched.by_test.iter().copied());
        let executed = trace::in_any_run(|side, seed, calls| {
            self.on_side(candidate, side, symbols.get(side), watched.by_all_tests, (seed, calls))
        })?;
        Ok(match executed {
            Execution::No => RunAnswer::Nothing,
            Execution::Unknown(why) => RunAnswer::Unknown { why: why.to_string() },
            Execution::Yes(trace::Entered { symbol, program }) => {
                let mut places: Box<dyn Iterator<Item = &Place>> = match &program {
                    None => Box::new(watched.by_test.iter().copied()),
                    Some(name) => {
                        let program = programs.iter().find(|program| program.name == *name);
                        Box::new(program.into_iter().flat_map(|program| &program.places).flatten())
                    }
                };
                let place = places.find(|place| place.base.contains(&symbol) || place.head.contains(&symbol));
                let function =
                    place.map_or_else(|| stable_name(&symbol).into_owned(), |place| place.function.name.clone());
                RunAnswer::Executed { program, function, symbol }
            }
        })
    }

    fn on_side(
        &mut self,
        candidate: &Candidate,
        side: Side,
        of_test: &BTreeSet<String>,
        by_all_tests: Option<&[Place]>,
        (seed, calls): (Option<NonZeroU64>, u32),
    ) -> Result<Execution> {
        let (limit, runs) = (self.limit, (seed, calls));
        let executed =
            self.traced(&candidate.test.target, side, by_all_tests, runs, |program, executable, of_all_tests| {
                let functions = Functions { of_test, of_all_tests };
                trace::executes(program, executable.known_as(&candidate.test.name), functions, limit)
            })?;
        Ok(executed.unwrap_or(Execution::Unknown(trace::TraceFailure::NotBuilt)))
    }

    /// Calls `trace` with the program of a target on a side, which is then in place, and the functions at which any of
    /// its tests can start to differ. Returns `None` if it was not built.
    fn traced<T>(
        &mut self,
        target: &TargetId,
        side: Side,
        by_all_tests: Option<&[Place]>,
        (seed, calls): (Option<NonZeroU64>, u32),
        trace: impl FnOnce(&Program<'_>, &TestExecutable, Option<&BTreeSet<String>>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(executable) = executable(self.built, side, target) else { return Ok(None) };
        let key = (target.clone(), side);
        if !self.executables.contains_key(&key) {
            let all = by_all_tests.filter(|places| are_functions(places.iter()));
            let all = all.map(|places| std::mem::take(symbols_of(places.iter()).get_mut(side)));
            let traceable = Traceable { places: Places::read(&executable.path)?, of_all_tests: all };
            self.executables.insert(key.clone(), traceable);
        }
        let variables = self.seeds.variables(seed, TestClock::True, None, &executable.environment());
        let Traceable { places, of_all_tests } = &self.executables[&key];
        let program = Program {
            executable,
            places,
            programs: self.programs.get(side),
            temporary: &self.temporary,
            variables: &variables,
            calls,
        };
        let _entered = self.made.enter(side)?;
        trace(&program, executable, of_all_tests.as_ref()).map(Some)
    }
}

/// Checks whether each place has a function to watch on some side.
fn are_functions<'a>(mut places: impl Iterator<Item = &'a Place>) -> bool {
    places.all(|place| !place.base.is_empty() || !place.head.is_empty())
}

impl Candidates {
    /// Returns the places that a candidate must execute in its executable to count as changed, if they are known.
    /// Changes in programs are separate.
    fn watched_places(&self, candidate: &Candidate) -> Option<Watched<'_>> {
        self.code.get(&candidate.test.target)?.watched_places(&candidate.test.name)
    }

    /// Moves the candidates that executed no changed place to the excluded tests, and records those found in programs.
    fn apply(&mut self, mut answers: BTreeMap<usize, Answered>, selected: &TargetSelection) {
        let chosen = std::mem::take(&mut self.chosen);
        for (index, mut candidate) in chosen.into_iter().enumerate() {
            match answers.remove(&index) {
                Some((RunAnswer::Nothing, functions)) => {
                    let programs = self.programs.iter().map(|program| program.name.clone()).collect();
                    let reason = Reason::NotExecuted { functions, programs };
                    let reason = self.reason_without_change(reason, &candidate.test);
                    let mut outcome = not_measured(candidate.test, reason, candidate.capture, Some(candidate.because));
                    outcome.why = candidate.why;
                    self.excluded.push(outcome);
                    continue;
                }
                Some((RunAnswer::Executed { program, function, symbol }, _)) => {
                    let entered = EnteredFunction { item: changed_item(&symbol, selected), function };
                    match program {
                        Some(program) => candidate.note_program(program, entered),
                        None => candidate.enters = Some(entered),
                    }
                }
                Some((RunAnswer::Unknown { why }, _)) if !self.programs.is_empty() => {
                    candidate.because = SelectedBecause::Unwatched { why };
                }
                Some((RunAnswer::Unknown { .. }, _)) | None => {}
            }
            self.chosen.push(candidate);
        }
    }
}

impl Candidate {
    /// Records that a test executed a function of a program.
    fn note_program(&mut self, program: String, entered: EnteredFunction) {
        let EnteredFunction { function, item } = entered;
        let input = OtherInput::Binary { name: program.clone() };
        let place = ChangedFunction { name: function.clone(), data: None };
        self.why = Some(Why { path: vec![self.test.name.clone()], changed: vec![place], others: vec![input] });
        self.because = SelectedBecause::InProgram { program, function, item };
    }
}

/// Returns the changed item that the symbol of a function names, if it is the only one.
fn changed_item(symbol: &str, selected: &TargetSelection) -> Option<CodeChange> {
    let changed = changed_functions(&selected.diff);
    let names: Vec<_> = changed.iter().map(|item| name(item)).collect();
    match code::named_by(symbol, &names)[..] {
        [one] if is_path_of(symbol, changed[one]) => Some(changed[one].code_change()),
        _ => None,
    }
}
