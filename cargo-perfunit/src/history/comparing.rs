//! One commit against another, from the store or measured now.

use super::store::{Key, Store};
use crate::cargo::Cargo;
use crate::error::{Error, Result};
use crate::git::{Repository, Request};
use crate::measure::kernel;
use crate::model::{Outcome, Reason, Run, Side, Skipped, Step, StepFigures, StepTest};
use crate::session::{self, Options};
use crate::system::cache::KeyBuilder;
use crate::system::interrupt;
use crate::system::term::Terminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The file below our folder.
const FILE: &str = "history.sqlite";

/// What came of comparing two commits.
#[derive(Debug, Clone, PartialEq)]
pub enum Compared {
    Step(Step),
    /// This side cannot be compared with anything.
    Broken(Side, Skipped),
    /// The comparison failed for another reason, which may not last.
    Failed(Error),
    /// Ctrl-C or the budget ended it.
    Interrupted,
}

/// Compares commits of one repository under the same options.
pub struct Comparing {
    options: Options,
    terminal: Terminal,
    store: Store,
    terms: String,
    /// Comparisons that share one family-wise error rate.
    family: usize,
    deadline: Option<Instant>,
    /// How many times as long as usual a test may be measured.
    effort: u32,
}

impl Comparing {
    /// Opens the store: the one in our folder, unless another is named.
    pub fn open(options: &Options, store: Option<PathBuf>, family: usize, terminal: Terminal) -> Result<Self> {
        let repository = Repository::discover(&options.folder)?;
        let ours = session::home(&options.folder, options.manifest.as_deref(), options.target_dir.as_deref())?;
        let store = Store::open(&store.unwrap_or_else(|| ours.join(FILE)), &repository.beginning()?)?;
        let deadline = options.measuring.budget.map(|budget| Instant::now() + budget);
        let terms = terms(options)?;
        Ok(Self { options: options.clone(), terminal, store, terms, family: family.max(1), deadline, effort: 1 })
    }

    /// Takes only tests of this name from now on.
    pub fn only(&mut self, test: &str) -> Result<()> {
        self.options.filter.names = vec![test.to_owned()];
        self.options.filter.exact = true;
        self.terms = terms(&self.options)?;
        Ok(())
    }

    /// Measures each test for so many times as long from now on.
    pub fn with_effort(&mut self, effort: u32) -> &mut Self {
        self.effort = effort;
        self
    }

    /// Why a commit cannot be compared with any other, if that is known.
    fn skipped(&self, commit: &str) -> Result<Option<Skipped>> {
        self.store.skipped(commit, &self.terms)
    }

    /// The step, if it was measured before.
    fn known(&self, base: &str, head: &str) -> Result<Option<Step>> {
        self.store.step(Key { base, head, terms: &self.terms() })
    }

    /// Names what a verdict depends on besides the commits.
    fn terms(&self) -> String {
        if self.effort == 1 { self.terms.clone() } else { format!("{} x{}", self.terms, self.effort) }
    }

    /// Compares two commits, unless that was done before.
    pub fn compare(&mut self, base: &str, head: &str) -> Result<Compared> {
        if let Some(step) = self.known(base, head)? {
            return Ok(Compared::Step(step));
        }
        for (side, commit) in [(Side::Head, head), (Side::Base, base)] {
            if let Some(why) = self.skipped(commit)? {
                return Ok(Compared::Broken(side, why));
            }
        }
        let started = Instant::now();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(started));
        if interrupt::requested() || left == Some(Duration::ZERO) {
            return Ok(Compared::Interrupted);
        }
        let mut options = self.options.clone();
        options.request = Request::Range { base: base.to_owned(), head: Some(head.to_owned()) };
        options.measuring.budget = left;
        options.measuring.family = self.family;
        options.measuring.per_test_budget *= self.effort;
        match session::compare(&options, self.terminal, None) {
            Ok(compared) if is_cut_short(&compared.run) => Ok(Compared::Interrupted),
            Ok(compared) => {
                let alpha = options.measuring.alpha / self.family as f64;
                let step = step(base, &compared.run, alpha, started.elapsed());
                self.store.keep(Key { base, head, terms: &self.terms() }, &step)?;
                Ok(Compared::Step(step))
            }
            Err(_) if interrupt::requested() => Ok(Compared::Interrupted),
            Err(error) => match error.as_broken() {
                Some(broken) => {
                    let why = Skipped::DoesNotBuild { error: broken.first_error().to_owned() };
                    let commit = if broken.side == Side::Base { base } else { head };
                    self.store.skip(commit, &self.terms, &why)?;
                    Ok(Compared::Broken(broken.side, why))
                }
                None => Ok(Compared::Failed(error)),
            },
        }
    }
}

/// Everything but the commits that a verdict depends on.
fn terms(options: &Options) -> Result<String> {
    let measuring = &options.measuring;
    let asked = (
        (&options.scope, &options.filter, &options.rules, options.all_tests, &options.build),
        (measuring.threshold, measuring.alpha, measuring.timeout, measuring.per_test_budget),
        (measuring.placement, &measuring.gates, measuring.instructions),
    );
    let asked =
        serde_json::to_vec(&asked).map_err(|error| Error::setup(format!("cannot name the options: {error}")))?;
    let cargo = Cargo::find(&options.folder)?;
    let machine = kernel::cpu_name(&kernel::read("/proc/cpuinfo").unwrap_or_default());
    Ok(KeyBuilder::default().with(asked).with(&cargo.version).with(machine).finish())
}

/// True if not all that was to be measured was.
fn is_cut_short(run: &Run) -> bool {
    let unfinished = |outcome: &Outcome| {
        matches!(outcome.reason, Some(Reason::BudgetUsedUp | Reason::Unconfirmed { .. } | Reason::Interrupted))
    };
    run.interrupted || run.outcomes.iter().any(unfinished)
}

/// What lasts of a run.
fn step(base: &str, run: &Run, alpha: f64, elapsed: Duration) -> Step {
    Step {
        base: base.to_owned(),
        found: run.selection.found,
        selected: run.selection.executed,
        nothing_because: run.selection.nothing_because.clone(),
        tests: run.outcomes.iter().filter(|outcome| can_differ(outcome)).map(test).collect(),
        alpha,
        seconds: elapsed.as_secs_f64(),
    }
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

fn test(outcome: &Outcome) -> StepTest {
    let figures = outcome.measured.as_ref().map(|measured| StepFigures {
        change: measured.change,
        base_ns: measured.base_ns,
        head_ns: measured.head_ns,
        mode: measured.mode,
    });
    let responsible = outcome.explanation.as_ref().and_then(|explanation| {
        let first = explanation.blamed.first()?;
        Some(explanation.functions[first.function].name.clone())
    });
    StepTest {
        test: outcome.test.clone(),
        verdict: outcome.verdict,
        reason: outcome.reason.as_ref().map(|reason| reason.kind().to_owned()),
        figures,
        function: responsible,
    }
}
