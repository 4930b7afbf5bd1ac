//! Finds out who is to blame: builds with probes, then one test after the other.

mod by_probes;

pub use self::by_probes::changed;

use self::by_probes::Examiner;
use super::build::BuiltSides;
use super::causes;
use super::instructions;
use super::options::{Explain, Explaining, Goal, Options};
use super::probes;
use super::select::Selected;
use super::setup::Setup;
use crate::build::InPlace;
use crate::error::Result;
use crate::interrupt;
use crate::measure::{Bench, Config, Layouts, Seeds, find_valgrind};
use crate::model::{Engine, Explanation, Mode, Outcome, TargetId, TestId, Verdict};
use crate::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Probability that some interval of an explanation misses.
pub const ALPHA: f64 = 0.01;
/// Longest measuring for one explanation.
const LONGEST: Duration = Duration::from_secs(8);
/// From this factor on a test with probes is so much another one that instructions tell more.
const DISTORTED: f64 = 4.0;
/// So many tests are explained unasked: several that got slower mostly did so for one reason.
const UNASKED: usize = 3;

/// A test to explain, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
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

/// Answers questions about tests of this pairing: in time, and where that does not answer well, in instructions.
pub fn explain(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    questions: &[Question],
    deadline: Option<Instant>,
) -> Result<Answers> {
    if questions.is_empty() || interrupt::requested() {
        return Ok(Answers::default());
    }
    if is_over(deadline) {
        return Ok(nothing("the budget was used up by measuring"));
    }
    let Explaining { engine, goal, .. } = options.explaining;
    if engine == Some(Engine::Callgrind) && goal == Goal::Blame {
        return instructions::explain(setup, options, selected, built, questions, deadline);
    }
    let mut answers = in_time(setup, options, selected, built, questions, deadline)?;
    if engine.is_none() && goal == Goal::Blame && find_valgrind().is_some() && !is_over(deadline) {
        let open: Vec<Question> = questions.iter().filter(|question| answers.is_open(question)).cloned().collect();
        if !open.is_empty() && !interrupt::requested() {
            // Whatever goes wrong with it, what the probes told is not lost.
            match instructions::explain(setup, options, selected, built, &open, deadline) {
                Ok(others) => answers.improve(questions, &others),
                Err(error) => answers.warnings.push(format!("callgrind does not explain more: {}", error.message())),
            }
        }
    }
    Ok(answers)
}

impl Answers {
    /// Whether instructions might tell more: nobody is named, or the probes make the test another one.
    fn is_open(&self, question: &Question) -> bool {
        match self.tests.get(&question.test) {
            Some(Ok(found)) => found.blamed.is_empty() || found.distortion >= DISTORTED,
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Takes over what names somebody for a difference in the direction of the one in time.
    fn improve(&mut self, questions: &[Question], others: &Answers) {
        for Question { test, change, .. } in questions {
            let Some(Ok(other)) = others.tests.get(test) else { continue };
            if !other.blamed.is_empty() && other.change.estimate.signum() == change.signum() {
                let before = self.tests.get(test).and_then(|answer| answer.as_ref().ok());
                let seconds = other.seconds + before.map_or(0.0, |before| before.seconds);
                self.tests.insert(test.clone(), Ok(Explanation { seconds, ..other.clone() }));
            }
        }
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

fn nothing(why: &str) -> Answers {
    Answers { warnings: vec![format!("nothing is explained: {why}")], ..Answers::default() }
}

/// Answers by probes.
fn in_time(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    questions: &[Question],
    deadline: Option<Instant>,
) -> Result<Answers> {
    let targets: BTreeSet<TargetId> = questions.iter().map(|question| question.test.target.clone()).collect();
    let probed = match probes::build(setup, options, selected, built, &targets)? {
        Ok(probed) => probed,
        Err(why) => return Ok(nothing(&why)),
    };
    let measuring = &options.measuring;
    let mut bench = Bench::open(&setup.ours)?;
    bench.seeds = Seeds::new(built.seeds.clone().filter(|_| measuring.equal_seeds));
    bench.made = Some(InPlace::put(&probed.sides, &setup.ours)?);
    let layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let Explaining { strategy, goal, .. } = options.explaining;
    let facts = causes::facts(setup, selected, &options.build.profile);
    let mut examiner = Examiner {
        bench: &bench,
        config: config(options, LONGEST, None),
        probed: &probed,
        changes: &selected.diff.items,
        facts: &facts,
        layouts,
        strategy,
    };
    let mut answers = Answers::default();
    let progress = Progress::bar(setup.terminal, "Explaining", questions.len());
    for question in questions {
        if interrupt::requested() {
            break;
        }
        progress.message(question.test.to_string());
        let longest = Instant::now() + LONGEST;
        let limit = deadline.map_or(longest, |deadline| deadline.min(longest));
        let answer = match goal {
            _ if is_over(deadline) => Ok(Err("the budget was used up".to_owned())),
            Goal::Blame => examiner.explain(question, limit),
            Goal::Profile => examiner.profile(question, limit),
        };
        match answer {
            Ok(answer) => drop(answers.tests.insert(question.test.clone(), answer)),
            Err(error) => {
                answers.warnings.push(format!("no more tests are explained: {}", error.message()));
                break;
            }
        }
        progress.advance();
    }
    Ok(answers)
}

/// How to run processes for explanations, each test for so long at most.
pub fn config(options: &Options, longest: Duration, deadline: Option<Instant>) -> Config {
    let measuring = &options.measuring;
    Config {
        timeout: measuring.timeout,
        per_test_budget: longest,
        deadline,
        threshold: measuring.threshold,
        alpha: ALPHA,
        others: 0,
        seed: measuring.seed,
        placement: measuring.placement,
        metering: None,
    }
}
