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
use crate::measure::{Bench, Config, Layouts, Seeds, find_valgrind};
use crate::model::{Engine, Explanation, Mode, Outcome, TargetId, TestId, Verdict};
use crate::system::interrupt;
use crate::system::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Probability that some interval of an explanation misses.
pub const ALPHA: f64 = 0.01;
/// Longest measuring for one explanation.
const LONGEST: Duration = Duration::from_secs(8);
/// Pairs without which nothing is found out: one to settle how to run it, one to see who is called, four for an interval.
const FEWEST_PAIRS: f64 = 6.0;
/// From this factor on a test with probes is so much another one that instructions tell more.
const DISTORTED: f64 = 4.0;
/// So many tests are explained unasked: several that got slower mostly did so for one reason.
const UNASKED: usize = 3;

/// A test to explain, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
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
    /// Time of a call of both versions, s.
    fn pair_seconds(&self) -> f64 {
        self.base_ns * (2.0 + self.change) / 1e9
    }

    /// Whether fewer pairs fit an explanation than it needs.
    fn is_too_long(&self) -> bool {
        FEWEST_PAIRS * self.pair_seconds() > LONGEST.as_secs_f64()
    }

    fn too_long(&self) -> String {
        let (pair, longest) = (self.pair_seconds(), LONGEST.as_secs());
        format!("a pair of calls takes {pair:.1} s, and {FEWEST_PAIRS} at least would have to fit {longest} s")
    }

    /// What there is to explain about an outcome: nothing unless its time was measured in steady state.
    pub fn about(outcome: &Outcome) -> Option<Self> {
        let measured = outcome.measured.as_ref().filter(|measured| measured.mode == Mode::Steady)?;
        if measured.bound.as_ref().is_some_and(|bound| bound.limit_ns.is_some()) {
            return None;
        }
        Some(Self { test: outcome.test.clone(), base_ns: measured.base_ns, change: measured.change.estimate })
    }
}

/// Why a test that got slower or faster raises no question.
fn without_question(outcome: &Outcome, explain: Explain) -> Option<String> {
    let is_asked = match explain {
        Explain::Never => false,
        Explain::Auto => outcome.verdict == Verdict::Slower,
        Explain::Always => matches!(outcome.verdict, Verdict::Slower | Verdict::Faster),
    };
    let measured = outcome.measured.as_ref().filter(|_| is_asked && Question::about(outcome).is_none())?;
    let stopped = measured.bound.as_ref().and_then(|bound| bound.limit_ns);
    Some(match (stopped, measured.mode) {
        (Some(ns), _) => format!("calls were stopped after {:.1} s, and only whole ones can be explained", ns / 1e9),
        (None, Mode::Process) => "whole processes were measured, and only calls can be explained".to_owned(),
        (None, _) => "only first calls were measured".to_owned(),
    })
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
            Some(Ok(explanation)) => {
                outcome.unexplained = explanation.why_nobody();
                outcome.explanation = Some(explanation);
            }
            Some(Err(why)) => outcome.unexplained = Some(why),
            None => outcome.unexplained = without_question(outcome, options.explaining.explain),
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
        return Ok(nothing(questions, "the budget was used up by measuring"));
    }
    let Explaining { engine, goal, .. } = options.explaining;
    if engine == Some(Engine::Callgrind) && goal == Goal::Blame {
        return instructions::explain(setup, options, selected, built, questions, deadline);
    }
    let (long, short): (Vec<Question>, Vec<Question>) = questions.iter().cloned().partition(Question::is_too_long);
    let mut answers = Answers::default();
    if !short.is_empty() {
        answers = in_time(setup, options, selected, built, &short, deadline)?;
    }
    answers.tests.extend(long.into_iter().map(|question| (question.test.clone(), Err(question.too_long()))));
    if engine.is_none() && goal == Goal::Blame && find_valgrind().is_some() && !is_over(deadline) {
        let is_open = |question: &&Question| answers.is_open(question) && instructions::can_end(question);
        let open: Vec<Question> = questions.iter().filter(is_open).cloned().collect();
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

fn nothing(questions: &[Question], why: &str) -> Answers {
    let tests = questions.iter().map(|question| (question.test.clone(), Err(why.to_owned()))).collect();
    Answers { warnings: vec![format!("nothing is explained: {why}")], tests }
}

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
        Err(why) => return Ok(nothing(questions, &why)),
    };
    let measuring = &options.measuring;
    let mut bench = Bench::open(&setup.ours)?;
    bench.seeds = Seeds::new(built.seeds.clone());
    bench.made = Some(InPlace::put(&probed.sides, &setup.ours)?);
    let layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let Explaining { strategy, goal, .. } = options.explaining;
    let facts = causes::facts(setup, selected, &options.build.profile);
    let mut examiner = Examiner {
        bench: &bench,
        // The deadline ends it: that fewer pairs fit than a verdict needs is no reason not to try.
        config: config(options, Duration::MAX, None),
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
