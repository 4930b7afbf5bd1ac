//! Measures the tests of a pairing with the same data files on both sides, first those of the version that has the test
//! code.

use super::attempts::{Fallback, may_be_for_other_data, new_code};
use super::environment;
use super::options::Options;
use super::session::Session;
use perfunit_build::{Builder, BuiltSides, InPlace, Linkers, Place, Seeds, TestExecutable, share_libraries};
use perfunit_explain::{explain_outcomes, growth};
use perfunit_measure::{
    AllEnded, Bench, Config, Ended, Figures, Gauges, Measuring, Metering, Observer, Subject, find_valgrind,
    measure_all, verdicts_of_pairs,
};
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    AcceptedLoss, Basis, Environment, Explain, Growth, Instructions, Metered, Metric, MetricVerdict, Metrics, Mode,
    NotCounted, Note, Outcome, PooledChange, Readings, Side, Sides, TargetId, TestId, Warning,
};
use perfunit_project::config::Terms;
use perfunit_project::git::path::is_rust;
use perfunit_select::Candidate;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The results of measuring tests.
#[derive(Debug, Default)]
pub struct Measured {
    /// One outcome for each test, measured or not.
    pub outcomes: Vec<Outcome>,
    /// The prepared machine; `None` if there was no test to measure.
    pub environment: Option<Environment>,
    /// Warnings of measuring.
    pub warnings: Vec<Warning>,
    /// Mean changes of tests that enter the changed code through one function.
    pub pooled: Vec<PooledChange>,
    /// Growth of functions' work, if requested.
    pub growth: Option<Growth>,
    /// Time for building and selecting more after the first measurements.
    pub building: Duration,
    pub selecting: Duration,
    /// Time for explaining after measuring.
    pub explaining: Duration,
}

impl Measured {
    /// Adds the results of another pairing.
    pub fn add(&mut self, more: Self) {
        self.building += more.building;
        self.selecting += more.selecting;
        self.explaining += more.explaining;
        if let Some(growth) = &mut self.growth {
            // Tests that moved to the second pairing have its outcome.
            let anew: BTreeSet<&TestId> = more.outcomes.iter().map(|outcome| &outcome.test).collect();
            growth.not_counted.retain(|(test, _)| !anew.contains(test));
        }
        if let Some(more) = more.growth {
            self.growth.get_or_insert_default().add(more);
        }
        self.outcomes.extend(more.outcomes);
        Warning::add(&mut self.warnings, more.warnings);
        self.pooled.extend(more.pooled);
        match (&mut self.environment, more.environment) {
            (Some(environment), Some(more)) => environment.layouts.extend(more.layouts),
            (environment @ None, more) => *environment = more,
            (Some(_), None) => {}
        }
    }
}

/// Limit of the time reserved for explaining. Naming functions by instructions takes seconds and no build.
const LEFT_AT_MOST: Duration = Duration::from_secs(10);

/// Maximum number of paths in the warning about tests that write into the tree.
const NAMED_PATHS: usize = 3;

/// Checks that this machine can provide what the options request, before anything is built.
pub fn check(measuring: &Measuring) -> Result<()> {
    if measuring.instructions == Instructions::Callgrind && find_valgrind().is_none() {
        return Err(Error::setup("--instructions callgrind needs valgrind, which is not in PATH")
            .hint("install valgrind, or remove the option to use the processor's counter"));
    }
    if measuring.instructions == Instructions::Never && measuring.gates.contains(&Metric::Instructions) {
        return Err(Error::usage("`--metric instructions` cannot be used with `--instructions never`")
            .hint("remove one of the two; `cargo perfunit show-config` shows where they are set"));
    }
    Ok(())
}

/// Measures and explains the tests of a pairing. `others` is the number of other tests that the whole run may measure.
pub fn run_pairing(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    built: &BuiltSides,
    tests: Vec<Candidate>,
    others: usize,
) -> Result<Measured> {
    let began = Instant::now();
    let Session { context, options, .. } = session;
    if tests.is_empty() {
        // Looking for a quiet core would take longer than the rest.
        let growth = options.growth.then(Growth::default);
        return Ok(Measured { growth, ..Measured::default() });
    }
    let mut bench = Bench::open(&context.ours)?;
    let mut warnings = Vec::new();
    bench.seeds = Seeds::new(built.seeds.clone());
    bench.linkers = Linkers::of(&context.cargo);
    bench.gauges = Gauges::new(built.meter.clone(), find_valgrind(), bench.callgrind());
    warnings.extend(bench.seeds.shortcoming(programs(built, &tests)));
    let data = built.pairing.tests_of;
    checkout(builder, built, data)?;
    share_libraries(&built.sides)?;
    bench.exchange_programs(&built.sides)?;
    bench.made = Some(InPlace::put(&built.sides, &context.ours)?);
    let round = Round { session, built, bench: &bench };
    let config = config(session, others);
    let AllEnded { tests: mut ended, pooled, layouts } = round.measure(&config, &tests)?;
    warnings.extend(undo_writes(builder, built, data)?);
    let again = round.fail_on_other_data(&ended);
    if !again.is_empty() && !interrupt::is_requested() {
        checkout(builder, built, data.other())?;
        round.measure_again(&config, &tests, &again, &mut ended)?;
        warnings.extend(undo_writes(builder, built, data.other())?);
    }
    let is_open = |outcome: &Outcome| round.is_open_by_code(outcome);
    let mut outcomes: Vec<Outcome> = tests.into_iter().zip(ended).map(|(test, end)| outcome(test, end, data)).collect();
    outcomes.iter().filter(|outcome| !is_open(outcome)).for_each(|outcome| session.news.announce(outcome));
    let environment =
        Some(Environment { layouts, lto_off: built.lto_off, ..environment::describe(context, options, Some(&bench)) });
    warnings.extend(bench.remarks().into_iter().map(Warning::Machine));
    // Explaining uses its own bench.
    drop(bench);
    let started = Instant::now();
    warnings.extend(explain_outcomes(builder, &session.inquiry(built).after(began.elapsed()), &mut outcomes));
    let growth = options.growth.then(|| count_growth(session, builder, built, &outcomes));
    let explaining = started.elapsed();
    Ok(Measured { outcomes, environment, warnings, pooled, growth, explaining, ..Measured::default() })
}

/// Counts the growth of the functions that these tests call. Errors become reasons, so that results are kept.
fn count_growth(session: &Session<'_>, builder: &mut Builder<'_>, built: &BuiltSides, outcomes: &[Outcome]) -> Growth {
    let tests: Vec<TestId> = outcomes.iter().map(|outcome| outcome.test.clone()).collect();
    growth(builder, &session.inquiry(built), &tests).unwrap_or_else(|error| {
        let why = NotCounted::Ended { why: error.message().to_owned() };
        let not_counted = tests.into_iter().map(|test| (test, why.clone())).collect();
        Growth { not_counted, ..Growth::default() }
    })
}

fn config(session: &Session<'_>, others: usize) -> Config {
    let measuring = &session.options.measuring;
    Config {
        deadline: session.deadline.map(|deadline| end_of_measuring(session.options, deadline)),
        other_verdicts: others * most_verdicts(session.options),
        family: measuring.family,
        metering: Some(Metering { gates: measuring.gates.clone(), instructions: measuring.instructions }),
        ..Config::of(measuring)
    }
}

/// Returns the end of measuring for a run that must end at the deadline. A tenth of the time is reserved for
/// explaining, if requested.
fn end_of_measuring(options: &Options, deadline: Instant) -> Instant {
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now);
    match options.explaining.explain {
        Explain::Never => deadline,
        Explain::Auto | Explain::Always => now + left.saturating_sub((left / 10).min(LEFT_AT_MOST)),
    }
}

/// Returns the maximum number of verdicts by pairs on one test under all rules.
fn most_verdicts(options: &Options) -> usize {
    let overrides = options.rules.overrides.iter().filter_map(|rule| rule.metrics.as_ref());
    let gates = overrides.chain([&options.measuring.gates]);
    gates.map(|gates| verdicts_of_pairs(gates)).max().unwrap_or(1)
}

/// Returns the executables of the tests to measure on both sides.
fn programs<'a>(built: &'a BuiltSides, candidates: &[Candidate]) -> impl Iterator<Item = &'a TestExecutable> {
    let targets: BTreeSet<&TargetId> = candidates.iter().map(|candidate| &candidate.test.target).collect();
    let both = Side::BOTH.into_iter().flat_map(|side| &built.sides.get(side).executables);
    both.filter(move |executable| targets.contains(&executable.target))
}

/// A pairing that is ready to be measured.
struct Round<'a> {
    session: &'a Session<'a>,
    built: &'a BuiltSides,
    bench: &'a Bench,
}

impl Round<'_> {
    fn measure(&self, config: &Config, tests: &[Candidate]) -> Result<AllEnded> {
        let executable = |side: Side, test: &Candidate| {
            let mut executables = self.built.sides.get(side).executables.iter();
            executables.find(|executable| executable.target == test.test.target)
        };
        let subject = |test: &'_ Candidate| {
            let executables = Sides { base: executable(Side::Base, test)?, head: executable(Side::Head, test)? };
            Some((executables, test.ignored))
        };
        let subjects: Vec<Subject<'_>> = tests
            .iter()
            .filter_map(|test| {
                let (executables, ignored) = subject(test)?;
                let subject = Subject::new(test.test.clone(), executables);
                Some(Subject { terms: Some(&test.terms), ignored, enters: test.enters.as_ref(), ..subject })
            })
            .collect();
        let progress = Progress::bar(self.session.context.terminal, "Measuring", subjects.len());
        let ended = |test: &TestId, end: &Ended| {
            let Some(candidate) = tests.iter().find(|candidate| candidate.test == *test) else { return };
            let outcome = outcome(candidate.clone(), end.clone(), self.built.pairing.tests_of);
            if self.session.news.are_new(&outcome) && !self.is_open_by_code(&outcome) && !self.is_open_by_data(end) {
                progress.suspend(|| self.session.news.announce(&outcome));
            }
        };
        let observer = Observer { progress: &progress, ended: &ended };
        measure_all(self.bench, config, &self.built.sides.as_ref(), &subjects, observer)
    }

    /// Returns true if a later pairing may have another result.
    fn is_open_by_code(&self, outcome: &Outcome) -> bool {
        let has_fallback = || Fallback::after(outcome, || new_code(&outcome.test, &self.session.names)).is_some();
        self.built.pairing.tests_of == Side::Base && has_fallback()
    }

    /// Returns true if the test may pass with the data files of the other version.
    fn is_open_by_data(&self, end: &Ended) -> bool {
        let files = &self.session.versions.files;
        let reason = end.reason.as_ref().filter(|_| end.figures.is_none());
        reason.is_some_and(|reason| may_be_for_other_data(reason, self.built.pairing.tests_of))
            && files.base.changed_paths(&files.head).iter().any(|path| !is_rust(path))
    }

    /// Returns the tests that fail on the version with missing data files, and may pass with them.
    fn fail_on_other_data(&self, ended: &[Ended]) -> Vec<usize> {
        (0..ended.len()).filter(|index| self.is_open_by_data(&ended[*index])).collect()
    }

    /// Measures these tests again with the data files now in the tree.
    fn measure_again(&self, config: &Config, tests: &[Candidate], again: &[usize], ended: &mut [Ended]) -> Result<()> {
        let data = self.built.pairing.tests_of;
        let done = tests.iter().zip(&*ended).filter(|(_, end)| end.figures.is_some());
        let done: usize = done.map(|(test, _)| verdicts_of_pairs(&test.terms.gates)).sum();
        let config = Config { other_verdicts: config.other_verdicts + done, ..config.clone() };
        let subset: Vec<Candidate> = again.iter().map(|index| tests[*index].clone()).collect();
        for (index, mut end) in again.iter().zip(self.measure(&config, &subset)?.tests) {
            end.spent += ended[*index].spent;
            if let Some(figures) = &mut end.figures {
                figures.notes.push(Note::DataFiles { of: data.other() });
                ended[*index] = end;
            }
        }
        Ok(())
    }
}

/// Puts one version's data files into the tree. Both sides must use the same files, or the workloads would differ.
fn checkout(builder: &mut Builder<'_>, built: &BuiltSides, side: Side) -> Result<()> {
    builder.checkout(Place::Measured, &*built.pairing.data_of(side)?, &built.injections)
}

/// Reverts files that tests wrote into the tree and warns about them, because they may affect the next run of such
/// tests.
fn undo_writes(builder: &mut Builder<'_>, built: &BuiltSides, side: Side) -> Result<Option<Warning>> {
    let written = builder.restore(&*built.pairing.data_of(side)?, &built.injections)?;
    if written.is_empty() {
        return Ok(None);
    }
    let more = written.len().saturating_sub(NAMED_PATHS);
    Ok(Some(Warning::WritesIntoTree { files: written.into_iter().take(NAMED_PATHS).collect(), more }))
}

fn outcome(candidate: Candidate, end: Ended, tests_of: Side) -> Outcome {
    let capture = end.capture.or(candidate.capture);
    let Candidate { test, because, why, of_name, differs, terms, .. } = candidate;
    let of_tests = differs.map(|difference| Note::TestCode { of: tests_of, difference });
    let metrics = end.figures.as_ref().map_or_else(Metrics::new, with_time);
    let (measured, notes) = end.figures.map(|figures| (figures.measured, figures.notes)).unzip();
    let is_measured = measured.is_some();
    let mut outcome = Outcome {
        test,
        verdict: end.verdict,
        reason: end.reason,
        measured,
        possible: end.possible,
        metrics,
        cross_check: end.cross_check,
        capture,
        selected_because: Some(because),
        explanation: None,
        unexplained: None,
        why: why.filter(|_| is_measured),
        gates: (is_measured && terms.gates_from.is_some()).then(|| terms.gates.clone()),
        spent: Some(end.spent),
        notes: notes.unwrap_or_default(),
    };
    outcome.notes.extend(of_tests);
    outcome.notes.extend((of_name.base.max(of_name.head) > 1).then_some(Note::SharedName { tests: of_name }));
    if let Some(measured) = &outcome.measured {
        outcome.notes.extend(own_terms(&terms, measured.mode));
    }
    outcome
}

/// Returns notes on settings of the test that differ from the run's.
fn own_terms(terms: &Terms, mode: Mode) -> Vec<Note> {
    let accepted = |accepted: &AcceptedLoss| {
        let accepted = accepted.clone();
        if accepted.mode == mode { Note::AcceptedLoss(accepted) } else { Note::AcceptedOtherwise(accepted) }
    };
    let threshold = |from: &String| Note::OwnThreshold { threshold: terms.threshold, from: from.clone() };
    let gates = |from: &String| Note::OwnMetrics { metrics: terms.gates.clone(), from: from.clone() };
    let set = terms.threshold_from.iter().map(threshold).chain(terms.gates_from.iter().map(gates));
    set.chain(terms.accepted.iter().map(accepted)).collect()
}

/// Returns all metrics, including time.
fn with_time(figures: &Figures) -> Metrics {
    let measured = &figures.measured;
    let reading = |value: f64| Readings { value, low: value, high: value };
    let time = Metered {
        verdict: MetricVerdict::from(figures.verdict),
        readings: Sides { base: reading(measured.base_ns), head: reading(measured.head_ns) },
        change: Some(measured.change),
        threshold: measured.threshold,
        basis: Basis::Pairs(measured.pairs),
        programs: Vec::new(),
        names: Vec::new(),
    };
    let mut metrics = figures.metrics.clone();
    metrics.insert(Metric::Time, Ok(time));
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Machine;

    #[test]
    fn both_pairings_warn_of_the_same_machine_once() {
        let shared = |percent| vec![Warning::Machine(Machine::SharedCore { percent, moves: 0 })];
        let mut measured = Measured { warnings: shared(74), ..Measured::default() };
        measured.add(Measured { warnings: shared(52), ..Measured::default() });
        assert_eq!(measured.warnings, shared(74));
    }
}
