//! `cargo perfunit explain`: explains tests of the last run, from saved explanations or by measuring again, and
//! profiles them.

use super::generated_calls;
use super::open::{Opened, home, open};
use super::options::Options;
use super::pairings;
use super::runs::{self, Record};
use super::session::{Session, select_to_build};
use perfunit_explain::{Answers, Explaining, Goal, Question, check};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use perfunit_model::{
    Engine, Explain, Explanation, Explanations, GeneratedCalls, Generation, Metric, Outcome, Ratchet, Run, Side, Sides,
    Strategy, TestExplained, TestId, Unexplained, Verdict, Warning,
};
use perfunit_project::git::Request;
use perfunit_system::term::Terminal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The comparison of a run to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Against {
    #[default]
    Base,
    /// The comparison with the ratchet's version.
    Ratchet,
    /// The comparison of generated calls with base.
    Generated,
}

/// Tests of the last run to explain.
#[derive(Debug, Clone, Default)]
pub struct ExplainRequest {
    /// The user's current folder.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    /// The comparison to explain.
    pub against: Against,
    /// Names of tests or parts of them; empty for all slower and faster tests, and others with more work.
    pub tests: Vec<String>,
    /// True to match whole names only.
    pub exact: bool,
    /// Options for explaining. Without options, saved explanations are used.
    pub explaining: Explaining,
    /// True to ignore saved explanations.
    pub again: bool,
    /// Time budget for the whole command, builds included.
    pub budget: Option<Duration>,
}

impl ExplainRequest {
    /// Returns the engine for profiles: probes, unless another one is requested.
    fn profiled_by(&self) -> Engine {
        self.explaining.engine.unwrap_or(Engine::Probes)
    }
}

/// Profiles of tests.
#[derive(Debug)]
pub struct Profiles {
    /// The engine of all profiles.
    pub engine: Engine,
    /// The profiles of both versions, by test.
    pub tests: Vec<Explanation>,
    /// Warnings of the profiling.
    pub warnings: Vec<Warning>,
}

/// Explains tests and generated calls of the last run.
pub fn explain(request: &ExplainRequest, terminal: Terminal) -> Result<Explanations> {
    let [of_tests, of_calls] = split(request)?;
    let mut explained = of_tests.map(|request| explain_part(&request, terminal)).transpose()?;
    if let Some(request) = of_calls {
        let calls = explain_part(&request, terminal)?;
        match &mut explained {
            Some(tests) => {
                tests.tests.extend(calls.tests);
                tests.warnings.extend(calls.warnings);
            }
            None => explained = Some(calls),
        }
    }
    // At least one of the two exists.
    explained.map_or_else(|| explain_part(request, terminal), Ok)
}

/// Splits a request into the parts for tests and for generated calls of the last run.
fn split(request: &ExplainRequest) -> Result<[Option<ExplainRequest>; 2]> {
    let whole = || [Some(request.clone()), None];
    if request.against != Against::Base {
        return Ok(whole());
    }
    let ours = home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref())?;
    let (_, saved) = runs::last(&ours)?;
    let Some(calls) = saved.run.generated.as_ref().and_then(GeneratedCalls::run) else { return Ok(whole()) };
    let has =
        |run: &Run, name: &String| run.outcomes.iter().any(|outcome| is_meant(&outcome.test, name, request.exact));
    let is_call = |name: &&String| has(calls, name) && !has(&saved.run, name);
    let (of_calls, of_tests): (Vec<&String>, Vec<&String>) = request.tests.iter().partition(is_call);
    let part = |against, names: Vec<&String>| {
        let tests: Vec<String> = names.into_iter().cloned().collect();
        (request.tests.is_empty() || !tests.is_empty()).then(|| ExplainRequest { against, tests, ..request.clone() })
    };
    Ok([part(Against::Base, of_tests), part(Against::Generated, of_calls)])
}

fn is_meant(test: &TestId, name: &str, exact: bool) -> bool {
    test.is_called(name) || !exact && test.name.contains(name)
}

fn explain_part(request: &ExplainRequest, terminal: Terminal) -> Result<Explanations> {
    let (saved, chosen, answers) = ask(request, Goal::Responsible, terminal)?;
    let run = Comparison::of(&saved, request.against)?.run;
    let tests = chosen.into_iter().map(|index| explain_test(run, &run.outcomes[index], &answers)).collect();
    let versions = Sides { base: run.base.clone(), head: run.head.clone() };
    Ok(Explanations { versions, tests, warnings: answers.warnings })
}

/// Profiles the named tests of the last run, or all measured tests.
pub fn profiles(request: &ExplainRequest, terminal: Terminal) -> Result<Profiles> {
    let engine = request.profiled_by();
    let (saved, chosen, answers) = ask(request, Goal::Profile, terminal)?;
    let comparison = Comparison::of(&saved, request.against)?;
    let mut tests = Vec::new();
    let mut warnings = answers.warnings;
    let chosen = chosen.into_iter().map(|index| &comparison.run.outcomes[index]);
    for outcome in chosen.filter(|outcome| Question::about(outcome).is_some()) {
        let answer = answers.tests.get(&outcome.test);
        let answered = answer.and_then(|answer| answer.as_ref().ok()).filter(|profile| profile.engine == engine);
        match (answered.or_else(|| comparison.profile(outcome, engine)), answer) {
            (Some(profile), _) => tests.push(profile.clone()),
            (None, answer) => {
                let why = answer.and_then(|answer| answer.clone().err()).unwrap_or(Unexplained::NotReached);
                warnings.push(Warning::NotExplained { test: outcome.test.clone(), why });
            }
        }
    }
    Ok(Profiles { engine, tests, warnings })
}

/// Returns the last run, the indices of the matching tests, and new answers about them.
fn ask(request: &ExplainRequest, goal: Goal, terminal: Terminal) -> Result<(Record, Vec<usize>, Answers)> {
    let started = Instant::now();
    check(request.explaining)?;
    let ours = home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref())?;
    let (path, mut saved) = runs::last(&ours)?;
    let comparison = Comparison::of(&saved, request.against)?;
    let chosen = choose(comparison.run, request, goal)?;
    let engine = request.profiled_by();
    let is_known = |outcome: &&Outcome| match goal {
        Goal::Responsible => !request.again && outcome.explanation.is_some(),
        Goal::Profile => comparison.profile(outcome, engine).is_some(),
    };
    let open = chosen.iter().map(|index| &comparison.run.outcomes[*index]).filter(|outcome| !is_known(outcome));
    let open: Vec<Question> = open.filter_map(Question::about).collect();
    if open.is_empty() {
        return Ok((saved, chosen, Answers::default()));
    }
    let deadline = request.budget.map(|budget| started + budget);
    let mut options = comparison.options(&saved.options);
    options.explaining = Explaining { explain: Explain::Always, goal, ..request.explaining };
    options.measuring.budget = request.budget;
    let mut answers = answer(&options, &comparison, &open, deadline, terminal)?;
    if !answers.tests.is_empty() {
        // Another `explain` may have saved results in the meantime.
        saved = runs::read(&path).unwrap_or(saved);
        remember(&mut saved, request.against, goal, &answers);
        if let Err(error) = runs::save(&path, &saved) {
            answers.warnings.push(Warning::NotKept { merged: false, why: error.message().to_owned() });
        }
    }
    Ok((saved, chosen, answers))
}

/// A comparison in a saved run.
struct Comparison<'a> {
    run: &'a Run,
    /// Keys of the versions' content.
    contents: &'a Sides<String>,
    /// The compared generated calls, if there are any.
    calls: Option<&'a Generation>,
    /// The saved profiles, which belong to the run's own comparison.
    profiles: Option<&'a BTreeMap<TestId, Explanation>>,
}

impl<'a> Comparison<'a> {
    /// Returns a comparison of a saved run.
    fn of(saved: &'a Record, against: Against) -> Result<Self> {
        let Record { run, contents, .. } = saved;
        let of_run = Self { run, contents, calls: None, profiles: None };
        match against {
            Against::Base => Ok(Self { profiles: Some(&saved.profiles), ..of_run }),
            Against::Ratchet => {
                let compared = run.against_ratchet().zip(saved.of_ratchet.as_ref());
                compared.map(|(run, contents)| Self { run, contents, ..of_run }).ok_or_else(|| {
                    Error::usage("the last run has no comparison with a ratchet's version").hint(
                        "run `cargo perfunit diff --ratchet REV`, or remove --ratchet to explain the comparison with base",
                    )
                })
            }
            Against::Generated => {
                let compared = run.generated.as_ref().and_then(|calls| Some((calls.run()?, &calls.generation)));
                compared.map(|(run, calls)| Self { run, calls: Some(calls), ..of_run }).ok_or_else(|| {
                    Error::usage("the last run has no generated calls")
                        .hint("run `cargo perfunit diff --generated` to compare some")
                })
            }
        }
    }

    /// Returns the saved profile of a test by this engine with all functions timed.
    fn profile(&self, outcome: &'a Outcome, engine: Engine) -> Option<&'a Explanation> {
        let saved = self.profiles.and_then(|profiles| profiles.get(&outcome.test));
        let explained = outcome.explanation.as_ref().filter(|found| found.strategy == Strategy::Complete);
        saved.into_iter().chain(explained).find(|found| found.engine == engine)
    }

    /// Returns the options that repeat the comparison, based on those of the run. Versions are named by commit ids,
    /// because names may point to other commits by now.
    fn options(&self, of_run: &Options) -> Options {
        let mut options = match self.calls {
            Some(calls) => generated_calls::of_generation(of_run, calls),
            None => of_run.clone(),
        };
        let head = (!options.request.is_head_live()).then(|| self.run.head.commit.clone());
        options.request = Request::Range { base: self.run.base.commit.clone(), head };
        options
    }
}

/// Adds new answers to a saved run.
fn remember(saved: &mut Record, against: Against, goal: Goal, answers: &Answers) {
    let found = answers.tests.iter().filter_map(|(test, answer)| Some((test, answer.as_ref().ok()?)));
    let run = match (against, goal) {
        (Against::Base, Goal::Profile) => {
            saved.profiles.extend(found.map(|(test, profile)| (test.clone(), profile.clone())));
            return;
        }
        (_, Goal::Profile) => return,
        (Against::Base, Goal::Responsible) => Some(&mut saved.run),
        (Against::Ratchet, Goal::Responsible) => saved.run.ratchet.as_mut().and_then(Ratchet::run_mut),
        (Against::Generated, Goal::Responsible) => saved.run.generated.as_mut().and_then(GeneratedCalls::run_mut),
    };
    let Some(run) = run else { return };
    for (test, explanation) in found {
        for outcome in run.outcomes.iter_mut().filter(|outcome| outcome.test == *test) {
            outcome.unexplained = explanation.why_nobody();
            outcome.explanation = Some(explanation.clone());
        }
    }
    run.drop_executed();
}

fn explain_test(run: &Run, outcome: &Outcome, answers: &Answers) -> TestExplained {
    let question = Question::about(outcome);
    let answer = match answers.tests.get(&outcome.test) {
        Some(answer) => answer.clone(),
        None => outcome.explanation.clone().ok_or_else(|| match (&question, &outcome.reason) {
            (None, Some(reason)) => Unexplained::NotMeasured(reason.clone()),
            (None, None) => outcome.unexplained.clone().unwrap_or(Unexplained::NoSteadyState),
            (Some(_), _) => Unexplained::NotReached,
        }),
    };
    TestExplained {
        test: outcome.test.clone(),
        verdict: outcome.verdict,
        gates: run.gates_of(outcome).to_vec(),
        measured: outcome.measured.clone(),
        answer,
    }
}

/// Returns the indices of the matching tests.
fn choose(run: &Run, request: &ExplainRequest, goal: Goal) -> Result<Vec<usize>> {
    let places = |takes: &dyn Fn(&Outcome) -> bool| {
        let tests = run.outcomes.iter().enumerate();
        tests.filter(|(_, test)| takes(test)).map(|(index, _)| index).collect::<Vec<_>>()
    };
    if request.tests.is_empty() {
        return Ok(match goal {
            Goal::Responsible => {
                let changed = places(&Outcome::is_worth_explaining);
                if changed.is_empty() { likeliest_slower(run).into_iter().collect() } else { changed }
            }
            Goal::Profile => places(&|test| Question::about(test).is_some()),
        });
    }
    let mut chosen = Vec::new();
    for name in &request.tests {
        let mut meant = places(&|test| is_meant(&test.test, name, true));
        if meant.is_empty() && !request.exact {
            let has_it = |test: &Outcome| test.test.name.contains(name.as_str());
            // Parts of names only match tests that the change reaches.
            meant = places(&|test| has_it(test) && Question::about(test).is_some());
            if meant.is_empty() {
                meant = places(&has_it);
            }
        }
        if meant.is_empty() {
            return Err(no_such_test(run, name));
        }
        chosen.extend(meant);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Returns the index of the test that is most probably slower, of those that seem to be and those that start a slower program. A
/// program can be slower over tests of which none is for certain.
fn likeliest_slower(run: &Run) -> Option<usize> {
    let is_slower =
        |name: &str| run.programs.iter().any(|program| program.name == name && program.verdict == Verdict::Slower);
    let starts_slower = |test: &Outcome| match test.metrics.get(&Metric::ProgramTime) {
        Some(Ok(metered)) => metered.programs.iter().any(|program| is_slower(&program.name)),
        _ => false,
    };
    let is_probable = |test: &Outcome| test.is_probably_slower() || starts_slower(test);
    let probable = run.outcomes.iter().enumerate().filter(|(_, test)| is_probable(test));
    let least = probable.filter_map(|(index, test)| Some((index, test.measured.as_ref()?.change.low)));
    least.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(index, _)| index)
}

fn no_such_test(run: &Run, name: &str) -> Error {
    let Run { base, head, outcomes, .. } = run;
    let (base, head) = (&base.label, &head.label);
    let error = Error::usage(format!(
        "no test of the last run ({base} against {head}, {} {}) matches `{name}`",
        outcomes.len(),
        if outcomes.len() == 1 { "test" } else { "tests" }
    ));
    let known = outcomes.iter().map(|test| test.test.name.as_str());
    let hint = suggest::hint(&suggest::near(name, known, "::"));
    error.hint(hint.unwrap_or_else(|| "`explain` uses the tests of the last `cargo perfunit diff`".to_owned()))
}

/// Builds the compared versions again if their builds are gone, and answers the questions.
fn answer(
    options: &Options,
    comparison: &Comparison<'_>,
    questions: &[Question],
    deadline: Option<Instant>,
    terminal: Terminal,
) -> Result<Answers> {
    let Opened { context, mut versions, lock: _lock, .. } = open(options, terminal, None)?;
    let contents = versions.contents();
    for side in Side::BOTH {
        if contents.get(side) != comparison.contents.get(side) {
            return Err(
                Error::usage(format!("{side} has changed since the last run")).hint("run `cargo perfunit diff` again")
            );
        }
    }
    if let Some(calls) = comparison.calls {
        generated_calls::lay_over(&mut versions, &calls.workloads);
    }
    let (mut builder, selected) = select_to_build(&context, &mut versions, &options.test_filter())?;
    let session = Session::new(&context, &versions, &selected, options).until(deadline);
    pairings::prepare(&session, &mut builder)?.explain(&session, &mut builder, questions)
}

#[cfg(test)]
mod tests;
