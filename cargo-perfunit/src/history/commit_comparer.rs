//! Compares two commits, with stored results if there are any.

use super::store::{Key, Store};
use perfunit_build::with_code_settings;
use perfunit_measure::kernel;
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    Explain, Joined, NoTests, Note, Outcome, Reason, Run, Side, Skipped, Step, StepFigures, StepTest, TargetId, TestId,
    UnmeasuredTarget,
};
use perfunit_project::cargo::Cargo;
use perfunit_project::git::{Repository, Request};
use perfunit_session as session;
use perfunit_session::Options;
use perfunit_system::cache::KeyBuilder;
use perfunit_system::interrupt;
use perfunit_system::term::Terminal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// File name of the store in our folder.
const FILE: &str = "history.sqlite";

/// The result of comparing two commits.
#[derive(Debug, Clone, PartialEq)]
pub enum CommitComparison {
    Step(Step),
    /// This side cannot be compared with any commit.
    Broken(Side, Skipped),
    /// The comparison failed for another reason, which may be temporary.
    Failed(Error),
    /// Ctrl-C or the budget stopped the comparison.
    Interrupted,
}

/// Minimum number of comparisons that share an error rate, so that stored results remain valid if a range grows a
/// little.
const LEAST_FAMILY: usize = 32;

/// Compares commits of one repository under the same options.
#[derive(Clone)]
pub struct CommitComparer {
    options: Options,
    terminal: Terminal,
    /// Our folder in the target folder.
    ours: PathBuf,
    repository: Rc<Repository>,
    project: String,
    store: Rc<Store>,
    /// Version of cargo's toolchain, which determines the measured code.
    toolchain: String,
    terms: String,
    machine: String,
    /// Number of comparisons that share one family-wise error rate.
    family: usize,
    deadline: Option<Instant>,
    /// Multiple of the usual time for measuring a test.
    effort: u32,
}

impl CommitComparer {
    /// Opens the store: the named one, or the one in our folder.
    pub fn open(options: &Options, store: Option<PathBuf>, family: usize, terminal: Terminal) -> Result<Self> {
        let repository = Repository::discover(&options.folder)?;
        let project = repository.beginning()?;
        let ours = session::home(&options.folder, options.manifest.as_deref(), options.target_dir.as_deref())?;
        let store = Rc::new(Store::open(&store.unwrap_or_else(|| ours.join(FILE)), &project)?);
        let toolchain = Cargo::find(&options.folder)?.version;
        Ok(Self {
            options: options.clone(),
            terminal,
            ours,
            project,
            store,
            terms: terms(options, &repository, &toolchain)?,
            repository: Rc::new(repository),
            toolchain,
            machine: kernel::cpu_name(&kernel::read("/proc/cpuinfo").unwrap_or_default()),
            family: family_of(family),
            deadline: options.measuring.budget.map(|budget| Instant::now() + budget),
            effort: 1,
        })
    }

    /// Imports results of another machine.
    pub fn join(&self, file: &Path) -> Result<Joined> {
        self.store.join(file, &self.project, &self.terms)
    }

    /// Exports all results to a file.
    pub fn export(&self, file: &Path) -> Result<()> {
        self.store.export(file)
    }

    /// Returns a copy that compares only the tests with these names.
    pub fn of_tests(&self, names: Vec<String>) -> Result<Self> {
        let mut options = self.options.clone();
        options.filter.names = names;
        options.filter.exact = true;
        let terms = terms(&options, &self.repository, &self.toolchain)?;
        Ok(Self { options, terms, ..self.clone() })
    }

    /// Multiplies the time for measuring each test.
    pub fn with_effort(&mut self, effort: u32) -> &mut Self {
        self.effort = effort;
        self
    }

    /// Returns the stored result for two commits without measuring.
    pub fn recall(&self, base: &str, head: &str) -> Result<Option<CommitComparison>> {
        if let Some(step) = self.known(base, head)? {
            return Ok(Some(CommitComparison::Step(step)));
        }
        for (side, commit) in [(Side::Head, head), (Side::Base, base)] {
            if let Some(why) = self.store.skip_reason(commit, &self.terms, &self.machine)? {
                return Ok(Some(CommitComparison::Broken(side, why)));
            }
        }
        Ok(None)
    }

    /// Returns the stored step. If a slower or faster test needs a second comparison at a lower error rate to count, it
    /// is falsely reported with the error rate of that comparison.
    fn known(&self, base: &str, head: &str) -> Result<Option<Step>> {
        let terms = self.terms();
        let step = self.store.step(Key { base, head, terms: &terms, machine: &self.machine })?;
        Ok(step.map(|step| {
            let alpha = if step.changed_tests().next().is_none() { step.alpha.min(self.share()) } else { step.alpha };
            Step { alpha, ..step }
        }))
    }

    /// Returns the terms of a verdict: everything it depends on besides commits and machine.
    fn terms(&self) -> String {
        if self.effort == 1 { self.terms.clone() } else { format!("{} x{}", self.terms, self.effort) }
    }

    /// Returns the share of the error rate for one comparison.
    fn share(&self) -> f64 {
        self.options.measuring.alpha / self.family as f64
    }

    /// Returns the stored result if its error rate is low enough for this family.
    fn stored_result(&self, base: &str, head: &str) -> Result<Option<CommitComparison>> {
        let known = self.recall(base, head)?;
        Ok(known.filter(|known| !matches!(known, CommitComparison::Step(step) if step.alpha > self.share())))
    }

    /// Compares two commits, or returns the stored result.
    pub fn compare(&self, base: &str, head: &str) -> Result<CommitComparison> {
        if let Some(settled) = self.stored_result(base, head)? {
            return Ok(settled);
        }
        let compared = match session::lock(&self.ours, self.terminal) {
            Err(_) if interrupt::is_requested() => CommitComparison::Interrupted,
            Err(error) => return Err(error),
            // Another process may have compared them while this one waited for the lock.
            Ok(lock) => match self.stored_result(base, head)? {
                Some(settled) => settled,
                None => self.measure(base, head, &lock)?,
            },
        };
        // A stored result with a higher error rate is better than none, and reports its rate.
        let known = if compared == CommitComparison::Interrupted { self.recall(base, head)? } else { None };
        Ok(known.unwrap_or(compared))
    }

    /// Compares only these tests of two commits, or returns the stored result.
    pub fn compare_tests(&self, base: &str, head: &str, tests: &BTreeSet<TestId>) -> Result<CommitComparison> {
        if let Some(CommitComparison::Step(step)) = self.stored_result(base, head)? {
            let tests = step.tests.into_iter().filter(|found| tests.contains(&found.test)).collect();
            return Ok(CommitComparison::Step(Step { tests, ..step }));
        }
        self.of_tests(tests.iter().map(|test| test.name.clone()).collect())?.compare(base, head)
    }

    /// Returns the options for comparing two commits in the remaining time, if there is any.
    fn options_of(&self, base: &str, head: &str) -> Option<Options> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if interrupt::is_requested() || left == Some(Duration::ZERO) {
            return None;
        }
        let mut options = self.options.clone();
        options.request = Request::Range { base: base.to_owned(), head: Some(head.to_owned()) };
        options.measuring.budget = left;
        Some(options)
    }

    fn measure(&self, base: &str, head: &str, lock: &session::Lock) -> Result<CommitComparison> {
        let started = Instant::now();
        let Some(mut options) = self.options_of(base, head) else { return Ok(CommitComparison::Interrupted) };
        options.measuring.family = self.family;
        options.measuring.per_test_budget *= self.effort;
        let terms = self.terms();
        match session::compare(&options, self.terminal, Some(lock), &|_| {}) {
            Ok(compared) if is_cut_short(&compared.run) => Ok(CommitComparison::Interrupted),
            Ok(compared) => {
                let machine = self.machine.clone();
                let step = step(base, &compared.run, self.share(), (machine, started.elapsed()));
                let key = Key { base, head, terms: &terms, machine: &self.machine };
                self.store.keep(key, &step)?;
                // Two processes that share a store but not a folder return the same result.
                Ok(self.stored_result(base, head)?.unwrap_or(CommitComparison::Step(step)))
            }
            Err(_) if interrupt::is_requested() => Ok(CommitComparison::Interrupted),
            Err(error) => match error.as_broken().filter(|broken| !broken.may_pass()) {
                Some(broken) => {
                    let why = Skipped::DoesNotBuild { error: broken.first_error().to_owned() };
                    let commit = if broken.side == Side::Base { base } else { head };
                    self.store.skip(commit, &self.terms, &self.machine, &why)?;
                    Ok(CommitComparison::Broken(broken.side, why))
                }
                None => Ok(CommitComparison::Failed(error)),
            },
        }
    }

    /// Compares these tests of two commits again despite stored results, and saves the run for `report` and `explain`;
    /// `None` if there is no time.
    pub fn anew(&self, base: &str, head: &str, tests: &[String], explain: Explain) -> Result<Option<Run>> {
        let Some(mut options) = self.options_of(base, head) else { return Ok(None) };
        options.filter.names = tests.to_vec();
        options.filter.exact = true;
        options.explaining.explain = explain;
        match session::diff(&options, self.terminal, &|_| {}) {
            Ok(run) => Ok(Some(run).filter(|run| !is_cut_short(run))),
            Err(_) if interrupt::is_requested() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the size of the family. One comparison has the whole error rate; more are rounded up in steps, so that a
/// growing range rarely needs a lower error rate.
fn family_of(comparisons: usize) -> usize {
    if comparisons <= 1 { 1 } else { comparisons.next_power_of_two().max(LEAST_FAMILY) }
}

/// Returns the terms of a verdict: options, toolchain, tool version and the environment of builds.
fn terms(options: &Options, repository: &Repository, toolchain: &str) -> Result<String> {
    let measuring = &options.measuring;
    let asked = (
        (&options.scope, &options.filter, &options.rules, options.all_tests, &options.build),
        (measuring.threshold, measuring.alpha, measuring.timeout, measuring.per_test_budget),
        (measuring.placement, &measuring.gates, measuring.instructions),
    );
    let asked =
        serde_json::to_vec(&asked).map_err(|error| Error::setup(format!("cannot name the options: {error}")))?;
    let key = KeyBuilder::default().with(asked).with(toolchain).with(env!("CARGO_PKG_VERSION"));
    let folder = options.manifest.as_deref().and_then(Path::parent).unwrap_or(&options.folder);
    // It selects the packages.
    let place = folder.strip_prefix(repository.root()).unwrap_or(folder).to_string_lossy();
    let key = key.with(place.as_bytes());
    Ok(with_code_settings(key, folder, repository, &options.build.arguments)?.finish())
}

/// Returns true if some tests that should have been measured were not.
fn is_cut_short(run: &Run) -> bool {
    let unfinished = |outcome: &Outcome| {
        matches!(outcome.reason, Some(Reason::BudgetUsedUp | Reason::Unconfirmed { .. } | Reason::Interrupted))
    };
    run.interrupted || run.outcomes.iter().any(unfinished)
}

/// Returns the part of a run that is stored.
fn step(base: &str, run: &Run, alpha: f64, (machine, elapsed): (String, Duration)) -> Step {
    let tests: Vec<StepTest> =
        run.outcomes.iter().filter(|outcome| can_differ(outcome)).map(|outcome| test(run, outcome)).collect();
    Step {
        base: base.to_owned(),
        found: run.selection.found,
        selected: run.selection.executed,
        nothing_because: run.selection.nothing_because,
        // A step without measured tests has no false verdicts.
        alpha: if tests.iter().any(|test| test.figures.is_some()) { alpha } else { 0.0 },
        tests,
        programs: run.programs.clone(),
        unlisted: unlisted_targets(&run.selection.unmeasured_targets),
        seconds: elapsed.as_secs_f64(),
        machine,
    }
}

/// Returns the targets with tests that could not be listed on one version.
fn unlisted_targets(targets: &[UnmeasuredTarget]) -> BTreeSet<TargetId> {
    let unlisted = targets.iter().filter_map(|unmeasured| match unmeasured {
        UnmeasuredTarget::Target { target, why } => match why {
            NoTests::NotExtracted { .. }
            | NoTests::OneVersionOnly
            | NoTests::Unlisted { .. }
            | NoTests::NoBenchmarks { .. } => Some(target.clone()),
            NoTests::LeftOut(_) | NoTests::NotBuilt => None,
        },
        UnmeasuredTarget::Doctests { .. } | UnmeasuredTarget::Benches { .. } => None,
    });
    unlisted.collect()
}

fn can_differ(outcome: &Outcome) -> bool {
    use Reason::{DataChanged, Filtered, Ignored, NotExecuted, OtherShard, SameCode, SameExecutable, Skipped};
    let is_equal_or_unwanted = matches!(
        outcome.reason,
        Some(
            SameExecutable
                | SameCode
                | NotExecuted { .. }
                | DataChanged { .. }
                | Ignored
                | Filtered
                | OtherShard { .. }
                | Skipped { .. }
        )
    );
    outcome.measured.is_some() || !is_equal_or_unwanted
}

/// Returns the part of a test's outcome that is stored.
pub fn test(run: &Run, outcome: &Outcome) -> StepTest {
    let figures = outcome.measured.as_ref().map(|measured| StepFigures {
        change: measured.change,
        base_ns: measured.base_ns,
        head_ns: measured.head_ns,
        mode: measured.mode,
        effect: measured.effect,
    });
    let responsible = outcome.explanation.as_ref().and_then(|explanation| {
        let first = explanation.responsible.first()?;
        Some(explanation.functions[first.function].name.clone())
    });
    StepTest {
        test: outcome.test.clone(),
        verdict: outcome.verdict,
        reason: outcome.reason.as_ref().map(Reason::kind),
        figures,
        function: responsible,
        test_code: outcome.notes.iter().find_map(|note| match note {
            Note::TestCode { of, .. } => Some(*of),
            _ => None,
        }),
        metrics: run.gates_of(outcome).to_vec(),
    }
}
