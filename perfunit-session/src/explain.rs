//! `cargo perfunit explain`: the tests of the last run, explained as recorded or anew; and where their time goes.

use super::generated;
use super::open::{Opened, home, open};
use super::options::Options;
use super::pairings;
use super::runs::{self, Record};
use super::shared::{Session, select_to_build};
use perfunit_explain::{Answers, Explaining, Goal, Question, check};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use perfunit_model::{
    Engine, Explain, Explanation, Explanations, GeneratedCalls, GeneratedWorkload, Outcome, Run, Side, Sides,
    TestExplained, TestId, Unexplained, VersionName, Warning,
};
use perfunit_project::git::Request;
use perfunit_system::term::Terminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A comparison of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Against {
    #[default]
    Base,
    /// The ratchet's version.
    Ratchet,
    /// Base, by generated calls.
    Generated,
}

/// What to explain of the last run.
#[derive(Debug, Clone, Default)]
pub struct ExplainRequest {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    /// Which comparison of the last run.
    pub against: Against,
    /// Names of tests or parts of them; all that are slower or faster if there are none.
    pub tests: Vec<String>,
    /// The names are whole.
    pub exact: bool,
    /// How; what is recorded is enough unless something is asked for.
    pub explaining: Explaining,
    /// Explain anew what is recorded.
    pub again: bool,
    /// Longest run, builds included.
    pub budget: Option<Duration>,
}

impl ExplainRequest {
    /// By what to find out where costs are: time, unless something else is asked for.
    fn profiled_by(&self) -> Engine {
        self.explaining.engine.unwrap_or(Engine::Probes)
    }
}

/// Where the time of tests goes.
#[derive(Debug)]
pub struct Profiles {
    /// What all were profiled by.
    pub engine: Engine,
    /// By test, both versions.
    pub tests: Vec<Explanation>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Explains tests and generated calls of the last run.
pub fn explain(request: &ExplainRequest, terminal: Terminal) -> Result<Explanations> {
    let [of_tests, of_calls] = apart(request)?;
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
    // One of the two there is always.
    explained.map_or_else(|| explain_part(request, terminal), Ok)
}

/// What is asked of the tests and what of the generated calls of the last run.
fn apart(request: &ExplainRequest) -> Result<[Option<ExplainRequest>; 2]> {
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
    test.name == name || test.to_string() == name || !exact && test.name.contains(name)
}

fn explain_part(request: &ExplainRequest, terminal: Terminal) -> Result<Explanations> {
    let (record, chosen, answers) = ask(request, Goal::Responsible, terminal)?;
    let tests = chosen.into_iter().map(|index| explained(&record.run, &record.run.outcomes[index], &answers)).collect();
    Ok(Explanations { versions: versions(record), tests, warnings: answers.warnings })
}

/// Where the time of tests of the last run goes: of those that are named, or of all that were measured.
pub fn profiles(request: &ExplainRequest, terminal: Terminal) -> Result<Profiles> {
    let engine = request.profiled_by();
    let (record, chosen, answers) = ask(request, Goal::Profile, terminal)?;
    let mut tests = Vec::new();
    let mut warnings = answers.warnings;
    for outcome in chosen.into_iter().map(|index| &record.run.outcomes[index]) {
        let test = &outcome.test;
        match (record.profile(test, engine), answers.tests.get(test)) {
            _ if Question::about(outcome).is_none() => {}
            (Some(found), _) => tests.push(found.clone()),
            (None, Some(Err(why))) => {
                warnings.push(Warning::NotExplained { test: test.clone(), why: why.clone() });
            }
            (None, _) => {
                let why = Unexplained::NotReached;
                warnings.push(Warning::NotExplained { test: test.clone(), why });
            }
        }
    }
    Ok(Profiles { engine, tests, warnings })
}

fn versions(record: Record) -> Sides<VersionName> {
    Sides { base: record.run.base, head: record.run.head }
}

/// The last run, the places in it of the tests that are meant, and what was found out anew about them.
fn ask(request: &ExplainRequest, goal: Goal, terminal: Terminal) -> Result<(Record, Vec<usize>, Answers)> {
    let started = Instant::now();
    check(request.explaining)?;
    let ours = home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref())?;
    let (path, mut saved) = runs::last(&ours)?;
    let mut record = compared_as(&saved, request.against)?;
    let chosen = choose(&record, request, goal)?;
    let engine = request.profiled_by();
    let is_known = |outcome: &&Outcome| match goal {
        Goal::Responsible => !request.again && outcome.explanation.is_some(),
        Goal::Profile => record.profile(&outcome.test, engine).is_some(),
    };
    let open = chosen.iter().map(|index| &record.run.outcomes[*index]).filter(|outcome| !is_known(outcome));
    let open: Vec<Question> = open.filter_map(Question::about).collect();
    if open.is_empty() {
        return Ok((record, chosen, Answers::default()));
    }
    let deadline = request.budget.map(|budget| started + budget);
    let mut options = record.options.clone();
    options.request = same_commits(&record);
    options.explaining = Explaining { explain: Explain::Always, goal, ..request.explaining };
    options.measuring.budget = request.budget;
    let compared = Compared { contents: &record.contents, calls: calls_of(&saved, request.against) };
    let mut answers = answer(&options, &compared, &open, deadline, terminal)?;
    if !answers.tests.is_empty() {
        // Another `explain` may have kept something meanwhile.
        saved = runs::read(&path).unwrap_or(saved);
        record = compared_as(&saved, request.against)?;
        remember(&mut record, goal, &answers);
        match (request.against, &mut saved.run) {
            (Against::Ratchet, Run { ratchet: Some(ratchet), .. }) => {
                ratchet.comparison = Ok(Box::new(record.run.clone()));
            }
            (Against::Generated, Run { generated: Some(generated), .. }) => {
                generated.comparison = Some(Ok(Box::new(record.run.clone())));
            }
            _ => saved = record.clone(),
        }
        if let Err(error) = runs::save(&path, &saved) {
            answers.warnings.push(Warning::NotKept { merged: false, why: error.message().to_owned() });
        }
    }
    Ok((record, chosen, answers))
}

/// What was compared, by the ids of commits: what was typed may mean another one by now.
fn same_commits(record: &Record) -> Request {
    let head = (!record.options.request.is_head_live()).then(|| record.run.head.commit.clone());
    Request::Range { base: record.run.base.commit.clone(), head }
}

/// The comparison that is meant, as a run of its own.
fn compared_as(saved: &Record, against: Against) -> Result<Record> {
    match against {
        Against::Base => Ok(saved.clone()),
        Against::Ratchet => of_ratchet(saved),
        Against::Generated => of_generated(saved),
    }
}

/// The comparison with the ratchet's version, as a run of its own. Profiles are those of the other comparison.
fn of_ratchet(saved: &Record) -> Result<Record> {
    let compared = saved.run.ratchet.as_ref().zip(saved.of_ratchet.as_ref());
    let compared = compared.and_then(|(ratchet, contents)| Some((ratchet.run()?, contents)));
    let Some((run, contents)) = compared else {
        return Err(Error::usage("the last run was not compared with a ratchet's version")
            .hint("`cargo perfunit diff --ratchet REV` does that; without --ratchet the run itself is explained"));
    };
    let mut record = saved.clone();
    (record.contents, record.run) = (contents.clone(), run.clone());
    record.options.ratchet = None;
    record.profiles.clear();
    Ok(record)
}

/// The comparison of generated calls, as a run of its own.
fn of_generated(saved: &Record) -> Result<Record> {
    let compared = saved.run.generated.as_ref().and_then(|generated| Some((generated, generated.run()?)));
    let Some((generated, run)) = compared else {
        return Err(
            Error::usage("the last run has no generated calls").hint("`cargo perfunit diff --generated` compares some")
        );
    };
    let mut record = saved.clone();
    record.options = generated::of_generation(&saved.options, &generated.generation);
    record.run = run.clone();
    record.profiles.clear();
    Ok(record)
}

/// The calls that a comparison is made with.
fn calls_of(saved: &Record, against: Against) -> &[GeneratedWorkload] {
    let calls = saved.run.generated.iter().filter(|_| against == Against::Generated);
    calls.map(|generated| generated.generation.workloads.as_slice()).next().unwrap_or_default()
}

/// What a run compared.
struct Compared<'a> {
    /// Keys of the versions' contents.
    contents: &'a Sides<String>,
    /// The generated calls that were in both.
    calls: &'a [GeneratedWorkload],
}

/// Adds what was found out to a run.
fn remember(record: &mut Record, goal: Goal, answers: &Answers) {
    let found = |outcome: &Outcome| answers.tests.get(&outcome.test).and_then(|answer| answer.as_ref().ok().cloned());
    for outcome in &mut record.run.outcomes {
        match (goal, found(outcome)) {
            (_, None) => {}
            (Goal::Responsible, Some(explanation)) => {
                outcome.unexplained = explanation.why_nobody();
                outcome.explanation = Some(explanation);
            }
            (Goal::Profile, Some(profile)) => drop(record.profiles.insert(outcome.test.clone(), profile)),
        }
    }
    record.run.drop_executed();
}

fn explained(run: &Run, outcome: &Outcome, answers: &Answers) -> TestExplained {
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

/// Places in the record of the tests that are meant.
fn choose(record: &Record, request: &ExplainRequest, goal: Goal) -> Result<Vec<usize>> {
    let places = |takes: &dyn Fn(&Outcome) -> bool| {
        let tests = record.run.outcomes.iter().enumerate();
        tests.filter(|(_, test)| takes(test)).map(|(index, _)| index).collect::<Vec<_>>()
    };
    if request.tests.is_empty() {
        return Ok(match goal {
            Goal::Responsible => places(&|test| test.verdict.is_change()),
            Goal::Profile => places(&|test| Question::about(test).is_some()),
        });
    }
    let mut chosen = Vec::new();
    for name in &request.tests {
        let mut meant = places(&|test| is_meant(&test.test, name, true));
        if meant.is_empty() && !request.exact {
            let has_it = |test: &Outcome| test.test.name.contains(name.as_str());
            // Whoever types a part of a name does not mean tests that the change does not reach.
            meant = places(&|test| has_it(test) && Question::about(test).is_some());
            if meant.is_empty() {
                meant = places(&has_it);
            }
        }
        if meant.is_empty() {
            return Err(no_such_test(record, name));
        }
        chosen.extend(meant);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

fn no_such_test(record: &Record, name: &str) -> Error {
    let Run { base, head, outcomes, .. } = &record.run;
    let (base, head) = (&base.label, &head.label);
    let error = Error::usage(format!(
        "no test of the last run ({base} against {head}, {} {}) has `{name}` in its name",
        outcomes.len(),
        if outcomes.len() == 1 { "test" } else { "tests" }
    ));
    let known = outcomes.iter().map(|test| test.test.name.as_str());
    let hint = suggest::hint(&suggest::near(name, known, "::"));
    error.hint(hint.unwrap_or_else(|| "`explain` knows the tests that the last `cargo perfunit diff` found".to_owned()))
}

/// Builds what the run compared once more, where it is not built any longer, and measures with probes.
fn answer(
    options: &Options,
    compared: &Compared<'_>,
    questions: &[Question],
    deadline: Option<Instant>,
    terminal: Terminal,
) -> Result<Answers> {
    let Opened { context, mut versions, lock: _lock, .. } = open(options, terminal, None)?;
    let contents = versions.contents();
    for side in Side::BOTH {
        if contents.get(side) != compared.contents.get(side) {
            return Err(Error::usage(format!("{side} is not what the last run compared any longer"))
                .hint("run `cargo perfunit diff` again"));
        }
    }
    generated::lay_over(&mut versions, compared.calls);
    let (mut builder, selected) = select_to_build(&context, &mut versions, &options.wanted())?;
    let session = Session::new(&context, &versions, &selected, options).until(deadline);
    pairings::prepare(&session, &mut builder)?.explain(&session, &mut builder, questions)
}

#[cfg(test)]
mod tests;
