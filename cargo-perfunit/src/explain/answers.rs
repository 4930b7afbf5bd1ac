//! Answers the questions that a run raises: in time, and where that does not answer well, in instructions.

use super::options::Goal;
use super::question::{Answers, Inquiry, Question};
use super::{by_instructions, by_probes};
use crate::build::Builder;
use crate::error::Result;
use crate::measure::find_valgrind;
use crate::model::{Engine, Explain, Mode, Outcome, Unexplained, Verdict, Warning};
use crate::system::interrupt;

/// So many tests are explained unasked: several that got slower mostly did so for one reason.
const UNASKED: usize = 3;

/// Why a test that got slower or faster raises no question.
fn without_question(outcome: &Outcome, explain: Explain) -> Option<Unexplained> {
    let is_asked = match explain {
        Explain::Never => false,
        Explain::Auto => outcome.verdict == Verdict::Slower,
        Explain::Always => matches!(outcome.verdict, Verdict::Slower | Verdict::Faster),
    };
    let measured = outcome.measured.as_ref().filter(|_| is_asked && Question::about(outcome).is_none())?;
    let stopped = measured.bound.as_ref().and_then(|bound| bound.limit_ns);
    Some(match (stopped, measured.mode) {
        (Some(ns), _) => Unexplained::Stopped { seconds: ns / 1e9 },
        (None, Mode::Process) => Unexplained::WholeProcesses,
        (None, _) => Unexplained::FirstCalls,
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
pub fn explain_outcomes(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, outcomes: &mut [Outcome]) -> Vec<Warning> {
    let asked = inquiry.explaining.explain;
    let mut answers = match explain(builder, inquiry, &questions(outcomes, asked)) {
        Ok(answers) => answers,
        Err(error) => {
            let why = error.to_string().lines().next().unwrap_or_default().to_owned();
            return vec![Warning::NothingMoreExplained { why }];
        }
    };
    for outcome in outcomes {
        match answers.tests.remove(&outcome.test) {
            Some(Ok(explanation)) => {
                outcome.unexplained = explanation.why_nobody();
                outcome.explanation = Some(explanation);
            }
            Some(Err(why)) => outcome.unexplained = Some(why),
            None => outcome.unexplained = without_question(outcome, asked),
        }
    }
    answers.warnings
}

/// Answers questions about tests of a pairing.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    if questions.is_empty() || interrupt::requested() {
        return Ok(Answers::default());
    }
    if inquiry.is_over() {
        return Ok(Answers::none(questions, Unexplained::BudgetUsed { by_measuring: true }));
    }
    let (engine, goal) = (inquiry.explaining.engine, inquiry.explaining.goal);
    if engine == Some(Engine::Callgrind) && goal == Goal::Blame {
        return by_instructions::explain(builder, inquiry, questions);
    }
    let (long, short): (Vec<Question>, Vec<Question>) = questions.iter().cloned().partition(Question::is_too_long);
    let mut answers = Answers::default();
    if !short.is_empty() {
        answers = by_probes::explain(builder, inquiry, &short)?;
    }
    answers.tests.extend(long.into_iter().map(|question| (question.test.clone(), Err(question.too_long()))));
    if engine.is_none() && goal == Goal::Blame && find_valgrind().is_some() && !inquiry.is_over() {
        let is_open = |question: &&Question| answers.is_open(question) && by_instructions::can_end(question);
        let open: Vec<Question> = questions.iter().filter(is_open).cloned().collect();
        if !open.is_empty() && !interrupt::requested() {
            // Whatever goes wrong with it, what the probes told is not lost.
            match by_instructions::explain(builder, inquiry, &open) {
                Ok(others) => answers.improve(questions, &others),
                Err(error) => answers.warnings.push(Warning::NoInstructions { why: error.message().to_owned() }),
            }
        }
    }
    Ok(answers)
}
