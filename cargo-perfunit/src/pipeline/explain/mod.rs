//! Finds out who is to blame: builds with probes, then one test after the other.

mod by_probes;

pub use self::by_probes::changed;

use self::by_probes::Examiner;
use super::build::BuiltSides;
use super::instructions;
use super::options::{Explain, Explaining, Options};
use super::probes;
use super::select::Selected;
use super::setup::Setup;
use crate::error::Result;
use crate::interrupt;
use crate::measure::{Bench, Config, Layouts, Seeds};
use crate::model::{Engine, Explanation, Mode, Outcome, TargetId, TestId, Verdict};
use crate::progress::Progress;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Probability that some interval of an explanation misses.
const ALPHA: f64 = 0.01;
/// Longest measuring for one explanation.
const LONGEST: Duration = Duration::from_secs(8);
/// So many tests are explained unasked: several that got slower mostly did so for one reason.
const UNASKED: usize = 3;

/// A test to explain, with what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Which test.
    pub test: TestId,
    /// Time of one run on base without probes, ns.
    pub base_ns: f64,
    /// Head's change, as a fraction of that.
    pub change: f64,
}

/// What was found out.
#[derive(Debug, Default)]
pub struct Answers {
    /// By test: the explanation, or in words why there is none.
    pub tests: BTreeMap<TestId, std::result::Result<Explanation, String>>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Question {
    /// What there is to explain about an outcome: nothing unless its time was measured in steady state.
    pub fn about(outcome: &Outcome) -> Option<Self> {
        let measured = outcome.measured.as_ref().filter(|measured| measured.mode == Mode::Steady)?;
        Some(Self { test: outcome.test.clone(), base_ns: measured.base_ns, change: measured.change.estimate })
    }
}

/// The questions that outcomes raise.
pub fn questions(outcomes: &[Outcome], explain: Explain) -> Vec<Question> {
    let of = |verdicts: &[Verdict]| {
        let raised = outcomes.iter().filter(|outcome| verdicts.contains(&outcome.verdict));
        raised.filter_map(Question::about).collect::<Vec<_>>()
    };
    match explain {
        Explain::Never => Vec::new(),
        Explain::Always => of(&[Verdict::Slower, Verdict::Faster]),
        Explain::Auto => {
            let mut slower = of(&[Verdict::Slower]);
            slower.sort_by(|a, b| b.change.total_cmp(&a.change));
            slower.truncate(UNASKED);
            slower
        }
    }
}

/// Explains outcomes as far as that was asked for. Returns what the user should know: whatever goes wrong here, what was
/// measured is not lost.
pub fn explain_outcomes(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    outcomes: &mut [Outcome],
    deadline: Option<Instant>,
) -> Vec<String> {
    let questions = questions(outcomes, options.explaining.explain);
    let mut answers = match explain(setup, options, selected, built, &questions, deadline) {
        Ok(answers) => answers,
        Err(error) => {
            return vec![format!(
                "nothing more is explained: {}",
                error.to_string().lines().next().unwrap_or_default()
            )];
        }
    };
    for outcome in outcomes {
        match answers.tests.remove(&outcome.test) {
            Some(Ok(explanation)) => outcome.explanation = Some(explanation),
            Some(Err(why)) => outcome.notes.push(format!("not explained: {why}")),
            None => {}
        }
    }
    answers.warnings
}

/// Answers questions about tests of this pairing.
pub fn explain(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    questions: &[Question],
    deadline: Option<Instant>,
) -> Result<Answers> {
    let mut answers = Answers::default();
    let nothing =
        |why: String| Answers { warnings: vec![format!("nothing is explained: {why}")], ..Answers::default() };
    let targets: BTreeSet<TargetId> = questions.iter().map(|question| question.test.target.clone()).collect();
    if targets.is_empty() || interrupt::requested() {
        return Ok(answers);
    }
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if is_over() {
        return Ok(nothing("the budget was used up by measuring".to_owned()));
    }
    if options.explaining.engine == Engine::Callgrind {
        return instructions::explain(setup, options, selected, built, questions, deadline);
    }
    let probed = match probes::build(setup, options, selected, built, &targets)? {
        Ok(probed) => probed,
        Err(why) => return Ok(nothing(why)),
    };
    let measuring = &options.measuring;
    let mut bench = Bench::open(&setup.ours)?;
    bench.seeds = Seeds::new(built.seeds.clone().filter(|_| measuring.equal_seeds));
    let layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let Explaining { strategy, .. } = options.explaining;
    let mut examiner = Examiner {
        bench: &bench,
        config: config(options),
        probed: &probed,
        changes: &selected.diff.items,
        layouts,
        strategy,
    };
    let progress = Progress::bar(setup.terminal, "Explaining", questions.len());
    for question in questions {
        if interrupt::requested() {
            break;
        }
        let answer = if is_over() {
            Err("the budget was used up".to_owned())
        } else {
            progress.message(question.test.to_string());
            let limit = Instant::now() + LONGEST;
            examiner.explain(question, deadline.map_or(limit, |deadline| deadline.min(limit)))?
        };
        answers.tests.insert(question.test.clone(), answer);
        progress.advance();
    }
    Ok(answers)
}

fn config(options: &Options) -> Config {
    let measuring = &options.measuring;
    Config {
        timeout: measuring.timeout,
        per_test_budget: LONGEST,
        deadline: None,
        threshold: measuring.threshold,
        alpha: ALPHA,
        seed: measuring.seed,
        placement: measuring.placement,
        metering: None,
    }
}
