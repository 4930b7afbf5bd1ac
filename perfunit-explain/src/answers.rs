//! Answers the questions that a run raises: by instructions and, where these do not account for the time, by time.

use super::question::{Answers, Explaining, Goal, Inquiry, LEAST_UNASKED, Question};
use super::{by_instructions, by_probes};
use perfunit_build::Builder;
use perfunit_measure::find_valgrind;
use perfunit_model::error::Result;
use perfunit_model::{Engine, Explain, Metric, Mode, Outcome, TestId, Unexplained, Verdict, Warning, Why};
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// Number of tests that are explained without a request.
const MOST_UNASKED: usize = 3;

/// Returns the reason why a slower or faster test raises no question.
fn without_question(outcome: &Outcome, explain: Explain) -> Option<Unexplained> {
    let is_asked = match explain {
        Explain::Never => false,
        Explain::Auto => outcome.verdict == Verdict::Slower,
        Explain::Always => outcome.verdict.is_change(),
    };
    let measured = outcome.measured.as_ref().filter(|_| is_asked && Question::about(outcome).is_none())?;
    let stopped = measured.bound.as_ref().and_then(|bound| bound.limit_ns);
    Some(match (stopped, measured.mode) {
        (Some(ns), _) => Unexplained::Stopped { seconds: ns / 1e9 },
        (None, Mode::Process) => Unexplained::WholeProcesses,
        (None, _) => Unexplained::FirstCalls,
    })
}

/// The questions that a run raises.
struct Raised {
    questions: Vec<Question>,
    /// A test that is not explained because too little time is left: its system calls changed and its time did not.
    left_out: Option<TestId>,
}

/// Returns the questions that outcomes raise, with this time `left` for explanations without a request.
fn questions(outcomes: &[Outcome], explain: Explain, left: Duration) -> Raised {
    let of = |verdicts: &[Verdict]| {
        let raised = outcomes.iter().filter(|outcome| verdicts.contains(&outcome.verdict));
        raised.filter_map(Question::about).collect::<Vec<_>>()
    };
    let questions = match explain {
        Explain::Never => Vec::new(),
        Explain::Always => {
            let changed = of(&[Verdict::Slower, Verdict::Faster]);
            changed.into_iter().chain(of_programs(outcomes, &[])).collect()
        }
        Explain::Auto => return questions_of_run(outcomes, left),
    };
    Raised { questions, left_out: None }
}

/// Returns the questions of a run with `--explain auto`. Many tests mostly have few causes, so a test of each cause comes
/// first: of those that are explained about as quickly as the quickest one, the slowest. Further tests of a cause are
/// explained only if they start no programs, because those take many seconds each.
fn questions_of_run(outcomes: &[Outcome], left: Duration) -> Raised {
    let slower = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Slower);
    let mut asked: Vec<(Question, Option<&Why>)> =
        slower.filter_map(|outcome| Some((Question::about(outcome)?, outcome.why.as_ref()))).collect();
    sort_by_cost(&mut asked, |(question, _)| (question, question.change));
    let (mut first, mut others, mut causes) = (Vec::new(), Vec::new(), Vec::<&Why>::new());
    for (question, why) in asked {
        if !why.is_some_and(|why| causes.iter().any(|known| known.is_alike(why))) {
            first.push(question);
            causes.extend(why);
        } else if question.starts == 0.0 {
            others.push(question);
        }
    }
    first.extend(others);
    let mut of_programs = of_programs(outcomes, &causes);
    let fits = |question: &Question| by_instructions::usual_seconds(question) <= left.as_secs_f64();
    let fitting = of_programs.iter().position(fits);
    let left_out = of_programs.first().filter(|_| fitting.is_none()).map(|question| question.test.clone());
    first.extend(fitting.map(|at| of_programs.swap_remove(at)));
    first.truncate(MOST_UNASKED);
    Raised { questions: first, left_out }
}

/// Sorts questions by the doublings of the least time that an explanation may take, and those of about the same time by size,
/// the largest first.
fn sort_by_cost<T>(asked: &mut [T], of: impl Fn(&T) -> (&Question, f64)) {
    let doublings = |question: &Question| {
        (by_instructions::usual_seconds(question) / LEAST_UNASKED.as_secs_f64()).log2().ceil().max(0.0)
    };
    asked.sort_by(|a, b| {
        let ((a, of_a), (b, of_b)) = (of(a), of(b));
        doublings(a).total_cmp(&doublings(b)).then(of_b.total_cmp(&of_a))
    });
}

/// Returns the questions about tests of which the system calls changed and the time did not, because they start programs. What
/// has one of these causes is left out.
fn of_programs(outcomes: &[Outcome], causes: &[&Why]) -> Vec<Question> {
    if find_valgrind().is_none() {
        return Vec::new();
    }
    let change = |outcome: &Outcome| {
        let calls = outcome.metrics.get(&Metric::SystemCalls)?.as_ref().ok()?;
        let kinds = calls.names.iter().map(|kind| (kind.counts.head - kind.counts.base).abs());
        calls.verdict.is_change().then(|| kinds.fold(0.0, f64::max))
    };
    let is_open = |outcome: &&Outcome| {
        let is_known = |why: &Why| causes.iter().any(|known| known.is_alike(why));
        !outcome.verdict.is_change() && !outcome.why.as_ref().is_some_and(is_known)
    };
    let open = outcomes.iter().filter(is_open);
    let changed = open.filter_map(|outcome| Some((Question::about(outcome)?, change(outcome)?)));
    let mut started: Vec<(Question, f64)> = changed.filter(|(question, _)| question.starts > 0.0).collect();
    sort_by_cost(&mut started, |(question, change)| (question, *change));
    started.into_iter().map(|(question, _)| question).collect()
}

/// Explains outcomes as far as requested and returns the warnings for the user. An error here does not lose the
/// measurements.
pub fn explain_outcomes(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, outcomes: &mut [Outcome]) -> Vec<Warning> {
    let _span = tracing::info_span!("explain").entered();
    let asked = inquiry.explaining.explain;
    let left = inquiry.end().map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
    let Raised { questions, left_out } = questions(outcomes, asked, left);
    let mut answers = match explain(builder, inquiry, &questions) {
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
            None if left_out.as_ref() == Some(&outcome.test) => {
                outcome.unexplained = Some(Unexplained::LongerThanMeasuring { instructions: None });
            }
            None => outcome.unexplained = without_question(outcome, asked),
        }
    }
    answers.warnings
}

/// Answers questions about tests of a pairing.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    if questions.is_empty() || interrupt::is_requested() {
        return Ok(Answers::default());
    }
    if inquiry.over().is_some() {
        return Ok(Answers::none(questions, Unexplained::BudgetUsed { by_measuring: true }));
    }
    let Explaining { engine, strategy, goal, .. } = inquiry.explaining;
    match engine {
        Some(Engine::Callgrind) => by_instructions::explain(builder, inquiry, questions),
        None if goal == Goal::Responsible && strategy.is_none() && find_valgrind().is_some() => {
            Ok(counted_first(builder, inquiry, questions))
        }
        _ => explain_by_time(builder, inquiry, questions),
    }
}

/// Explains by instructions first, which need no other build and distinguish functions of a few nanoseconds. They do
/// not show waiting, system calls and cache misses.
fn counted_first(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Answers {
    let can_end = |question: &&Question| by_instructions::can_end(question, inquiry);
    let countable: Vec<Question> = questions.iter().filter(can_end).cloned().collect();
    let mut answers = Answers::default();
    if !countable.is_empty() {
        match by_instructions::explain(builder, inquiry, &countable) {
            // Timing may find what instructions do not show: each remaining test has its reason.
            Ok(Answers { tests, .. }) => answers.tests = tests,
            Err(error) => answers.warnings.push(Warning::NoInstructions { why: error.message().to_owned() }),
        }
    }
    let open: Vec<Question> = questions.iter().filter(|question| !answers.settle(question)).cloned().collect();
    if !open.is_empty() && !interrupt::is_requested() {
        // An error in timing does not lose the counts.
        match explain_by_time(builder, inquiry, &open) {
            Ok(timed) => answers.take_timed(&open, timed),
            Err(error) => answers.warnings.push(Warning::NothingMoreExplained { why: error.message().to_owned() }),
        }
    }
    answers
}

/// Explains tests by time, as far as they are short enough.
fn explain_by_time(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    let (long, short): (Vec<Question>, Vec<Question>) = questions.iter().cloned().partition(Question::is_too_long);
    let mut answers = Answers::default();
    if !short.is_empty() {
        answers = match inquiry.over() {
            Some(why) => Answers::none(&short, why),
            None => by_probes::explain(builder, inquiry, &short)?,
        };
    }
    answers.tests.extend(long.into_iter().map(|question| (question.test.clone(), Err(question.too_long()))));
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{self, measured, outcome};
    use perfunit_model::{
        ChangeKind, ChangedFunction, MetricVerdict, Metrics, Responsibility, ResponsibleFunction, SelectedBecause,
        Sides,
    };

    #[test]
    fn one_test_of_each_cause_is_explained_first_and_long_ones_last() {
        let slower = |name: &str, ns: f64, change: f64, changed: &str| {
            let changed = vec![ChangedFunction { name: changed.to_owned(), data: None }];
            let why = Some(Why { path: Vec::new(), changed, others: Vec::new() });
            Outcome { why, ..outcome(name, Verdict::Slower, Some(measured(ns, change))) }
        };
        let outcomes = [
            slower("long", 1e9, 3.0, "f"),
            slower("worst", 1e3, 2.0, "g"),
            slower("alike", 1e3, 1.5, "g"),
            slower("short", 1e3, 0.1, "f"),
            slower("least", 1e3, 0.05, "g"),
        ];
        let names = |outcomes: &[Outcome]| {
            questions(outcomes, Explain::Auto, Duration::MAX)
                .questions
                .into_iter()
                .map(|question| question.test.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&outcomes), ["worst", "short", "alike"]);
        assert_eq!(names(&outcomes[..3]), ["worst", "long", "alike"]);
    }

    #[test]
    fn of_tests_that_start_programs_the_quickest_of_each_cause_is_explained() {
        let slower = |name: &str, ns: f64, change: f64| {
            let changed = vec![ChangedFunction { name: "f".to_owned(), data: None }];
            let why = Some(Why { path: Vec::new(), changed, others: Vec::new() });
            let selected_because = Some(SelectedBecause::Unwatched { why: String::new() });
            Outcome { why, selected_because, ..outcome(name, Verdict::Slower, Some(measured(ns, change))) }
        };
        let outcomes =
            [slower("of_seconds", 1e9, 0.4), slower("quick", 5e6, 0.2), slower("as_quick_and_slower", 6e6, 0.3)];
        let asked = questions(&outcomes, Explain::Auto, Duration::MAX).questions;
        assert_eq!(asked.iter().map(|question| &*question.test.name).collect::<Vec<_>>(), ["as_quick_and_slower"]);
    }

    #[test]
    fn a_test_with_more_calls_that_no_time_is_left_for_is_named() {
        let calls = samples::metered(MetricVerdict::More, 100.0, 110.0);
        let outcome = Outcome {
            selected_because: Some(SelectedBecause::Unwatched { why: String::new() }),
            metrics: Metrics::from([(Metric::SystemCalls, Ok(calls))]),
            ..outcome("a", Verdict::Same, Some(measured(5e6, 0.0)))
        };
        let left_out = |left: Duration| questions_of_run(std::slice::from_ref(&outcome), left).left_out.is_some();
        let can_be_explained = find_valgrind().is_some();
        assert_eq!(left_out(Duration::ZERO), can_be_explained);
        assert!(!left_out(Duration::MAX));
    }

    /// Returns the answer by counts to a question about a test that takes 7 % longer: a function has this share of +2.6 % of
    /// instructions.
    fn counted(share: f64, changed: Option<ChangeKind>) -> (Question, Answers) {
        let outcome = outcome("a", Verdict::Slower, Some(measured(1e6, 0.07)));
        let question = Question::about(&outcome).unwrap();
        let mut counted = samples::explanation();
        (counted.engine, counted.instructions) = (Engine::Callgrind, Some(0.026));
        counted.responsible = vec![ResponsibleFunction {
            function: 0,
            how: Responsibility::ItsOwn,
            change: counted.change,
            share,
            calls: Sides { base: 1.0, head: 1.0 },
            calls_each: None,
            changed,
            not_apart: Vec::new(),
        }];
        let mut answers = Answers::default();
        answers.tests.insert(question.test.clone(), Ok(counted));
        (question, answers)
    }

    #[test]
    fn counts_settle_a_part_of_the_time_if_one_changed_function_has_them() {
        let settles = |share, changed| {
            let (question, answers) = counted(share, changed);
            answers.settle(&question)
        };
        assert!(settles(0.95, Some(ChangeKind::Changed)));
        assert!(!settles(0.95, None) && !settles(0.6, Some(ChangeKind::Changed)));
    }

    #[test]
    fn counts_that_name_a_changed_function_stay_where_no_time_is_left_for_probes() {
        let kept = |changed: Option<ChangeKind>| {
            let (question, mut answers) = counted(0.6, changed);
            let why = Unexplained::BudgetUsed { by_measuring: false };
            let questions = [question];
            answers.take_timed(&questions, Answers::none(&questions, why));
            (answers.tests[&questions[0].test].is_ok(), answers.warnings.len())
        };
        assert_eq!(kept(Some(ChangeKind::Changed)), (true, 0));
        assert_eq!(kept(None), (false, 1));
    }
}
