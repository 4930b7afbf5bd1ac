//! `cargo perfunit explain`: the tests of the last run, explained as recorded or anew; and where their time goes.

use super::explain::{Answers, Question};
use super::names::Names;
use super::options::{Explain, Explaining, Goal};
use super::runs::{self, Record, RecordedTest};
use super::{instructions, rounds, select, setup};
use crate::error::{Error, Result};
use crate::model::{Explanation, Sides, Verdict, VersionName};
use crate::near;
use crate::report::format::count;
use crate::report::{Explanations, TestExplained};
use crate::term::Terminal;
use crate::workspace::{self, Cargo};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to explain of the last run.
#[derive(Debug, Clone, Default)]
pub struct ExplainRequest {
    /// Where the user stands.
    pub folder: PathBuf,
    /// `--manifest-path`.
    pub manifest: Option<PathBuf>,
    /// `--target-dir`.
    pub target_dir: Option<PathBuf>,
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

/// Where the time of tests goes.
#[derive(Debug)]
pub struct Profiles {
    /// What was compared.
    pub versions: Sides<VersionName>,
    /// By test, both versions.
    pub tests: Vec<Explanation>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Explains tests of the last run.
pub fn explain(request: &ExplainRequest, terminal: Terminal) -> Result<Explanations> {
    let (record, chosen, answers) = ask(request, Goal::Blame, terminal)?;
    let tests = chosen.into_iter().map(|index| explained(&record.tests[index], &answers)).collect();
    Ok(Explanations { versions: record.versions, tests, warnings: answers.warnings })
}

/// Where the time of tests of the last run goes: of those that are named, or of all that were measured.
pub fn profiles(request: &ExplainRequest, terminal: Terminal) -> Result<Profiles> {
    let (record, chosen, answers) = ask(request, Goal::Profile, terminal)?;
    let mut profiles = Profiles { versions: record.versions, tests: Vec::new(), warnings: answers.warnings };
    for test in chosen.into_iter().map(|index| &record.tests[index]).filter(|test| test.question.is_some()) {
        match (test.profile(), answers.tests.get(&test.test)) {
            (Some(found), _) => profiles.tests.push(found),
            (None, Some(Err(why))) => profiles.warnings.push(format!("{}: {why}", test.test)),
            (None, _) => profiles.warnings.push(format!("{}: it was not reached", test.test)),
        }
    }
    Ok(profiles)
}

/// The last run, the places in it of the tests that are meant, and what was found out anew about them.
fn ask(request: &ExplainRequest, goal: Goal, terminal: Terminal) -> Result<(Record, Vec<usize>, Answers)> {
    let started = Instant::now();
    instructions::check(request.explaining)?;
    let cargo = Cargo::find(&request.folder)?;
    let location = workspace::locate(&cargo, &request.folder, request.manifest.as_deref())?;
    let ours = setup::our_folder(&location, request.target_dir.as_deref())?;
    let (path, mut record) = runs::last(&ours)?;
    let chosen = choose(&record, request, goal)?;
    let is_known = |test: &RecordedTest| match goal {
        Goal::Blame => !request.again && test.explanation().is_some(),
        Goal::Profile => test.profile().is_some(),
    };
    let open = chosen.iter().map(|index| &record.tests[*index]).filter(|test| !is_known(test));
    let open: Vec<Question> = open.filter_map(|test| test.question.clone()).collect();
    if open.is_empty() {
        return Ok((record, chosen, Answers::default()));
    }
    let deadline = request.budget.map(|budget| started + budget);
    let answers = answer(request, goal, &record, &open, deadline, terminal)?;
    for test in &mut record.tests {
        if let Some(Ok(found)) = answers.tests.get(&test.test) {
            test.keep(goal, found);
        }
    }
    if !answers.tests.is_empty() {
        runs::save(&path, &record)?;
    }
    Ok((record, chosen, answers))
}

fn explained(recorded: &RecordedTest, answers: &Answers) -> TestExplained {
    let answer = match answers.tests.get(&recorded.test) {
        Some(answer) => answer.clone(),
        None => recorded.explanation().ok_or_else(|| match (&recorded.question, &recorded.reason) {
            (None, Some(reason)) => format!("it was not measured: {reason}"),
            (None, None) => "it has no figures in steady state".to_owned(),
            (Some(_), _) => "it was not reached".to_owned(),
        }),
    };
    let figures = recorded.question.as_ref().map(|question| (question.base_ns, question.change));
    TestExplained { test: recorded.test.clone(), verdict: recorded.verdict, figures, answer }
}

/// Places in the record of the tests that are meant.
fn choose(record: &Record, request: &ExplainRequest, goal: Goal) -> Result<Vec<usize>> {
    let places = |takes: &dyn Fn(&RecordedTest) -> bool| {
        let tests = record.tests.iter().enumerate();
        tests.filter(|(_, test)| takes(test)).map(|(index, _)| index).collect::<Vec<_>>()
    };
    if request.tests.is_empty() {
        return Ok(match goal {
            Goal::Blame => places(&|test| matches!(test.verdict, Verdict::Slower | Verdict::Faster)),
            Goal::Profile => places(&|test| test.question.is_some()),
        });
    }
    let mut chosen = Vec::new();
    for name in &request.tests {
        let mut meant = places(&|test| test.test.name == *name || test.test.to_string() == *name);
        if meant.is_empty() && !request.exact {
            let has_it = |test: &RecordedTest| test.test.name.contains(name.as_str());
            // Whoever types a part of a name does not mean tests that the change does not reach.
            meant = places(&|test| has_it(test) && test.question.is_some());
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
    let Sides { base, head } = record.versions.as_ref().map(|version| version.label.as_str());
    let error = Error::usage(format!(
        "no test of the last run ({base} against {head}, {}) has `{name}` in its name",
        count(record.tests.len(), "test")
    ));
    let known = record.tests.iter().map(|test| test.test.name.as_str());
    let hint = near::hint(&near::near(name, known, "::"));
    error.hint(hint.unwrap_or_else(|| "`explain` knows the tests that the last `cargo perfunit diff` found".to_owned()))
}

/// Builds what the run compared once more, where it is not built any longer, and measures with probes.
fn answer(
    request: &ExplainRequest,
    goal: Goal,
    record: &Record,
    questions: &[Question],
    deadline: Option<Instant>,
    terminal: Terminal,
) -> Result<Answers> {
    let mut options = record.options.clone();
    options.explaining = Explaining { explain: Explain::Always, goal, ..request.explaining };
    options.measuring.budget = request.budget;
    let mut setup = setup::open(&options, terminal)?;
    let contents = runs::contents(&setup);
    for (side, now, then) in
        [("base", &contents.base, &record.contents.base), ("head", &contents.head, &record.contents.head)]
    {
        if now != then {
            return Err(Error::usage(format!("{side} is not what the last run compared any longer"))
                .hint("run `cargo perfunit diff` again"));
        }
    }
    let selected = select::select(&mut setup, &options)?;
    setup::settle_lock_file(&mut setup, &selected.workspace.root)?;
    let names = Names::of_versions(&setup, &selected);
    let rounds = rounds::prepare(&mut setup, &options, &selected, &names, deadline)?;
    rounds.explain(&mut setup, &options, &selected, questions, deadline)
}

#[cfg(test)]
mod tests;
