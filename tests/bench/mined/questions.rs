//! Checks that `bisect` finds the step in a range, and names none in a range without one.

use super::project::{Commit, Deed, FUNCTIONS};
use super::tool::Tool;
use super::{Arguments, Result, bound, document, kept};
use fastrand::Rng;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Size of steps to search for, in percent.
const CLEAR: f64 = 2.5;
/// Commits of 0.5 % that a range without a step may contain for a function; two together reach the threshold.
const MOST_SMALL: usize = 1;
/// Comparisons that a search may need beyond the logarithm of the range: both ends.
const ENDS: usize = 2;

/// A range, by the number of commits up to each end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Question {
    function: usize,
    from: usize,
    to: usize,
    /// The commit to be found, and whether it is faster.
    step: Option<(usize, bool)>,
}

/// Result of the tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answer {
    tool: String,
    question: Question,
    /// Commits that contain the largest step.
    named: Vec<usize>,
    /// Message instead of a result.
    instead: Option<String>,
    /// Number of commits that were built and compared, and of those that could not be built.
    built: usize,
    broken: usize,
}

pub fn judge(arguments: &Arguments, tool: &Tool, tree: &Path, commits: &[Commit]) -> Result<()> {
    let rows = tree.join("target/questions.jsonl");
    let known = kept::known(&rows, |answer: &Answer| answer.tool == tool.key)?;
    let mut answers = Vec::new();
    for question in draw(arguments, commits) {
        let known = known.iter().find(|answer| answer.question == question);
        answers.push(if let Some(answer) = known {
            answer.clone()
        } else {
            let answer = ask(question, tool, tree, commits.len())?;
            kept::keep(&rows, &answer)?;
            answer
        });
    }
    print(&answers);
    Ok(())
}

/// Draws ranges with a step, and then ranges without one. No range contains two steps of its function.
fn draw(arguments: &Arguments, commits: &[Commit]) -> Vec<Question> {
    let mut random = Rng::with_seed(arguments.seed ^ 1);
    let steps: Vec<(usize, (usize, f64))> =
        commits.iter().enumerate().filter_map(|(at, commit)| Some((at, commit.step()?))).collect();
    let clear: Vec<_> = steps.iter().filter(|(_, (_, percent))| percent.abs() > CLEAR).collect();
    let is_of = |place: usize, function: usize| commits[place].step().is_some_and(|(other, _)| other == function);
    let builds = |end: usize| end == 0 || commits[end - 1].deed != Deed::Breaks;
    let mut questions = Vec::new();
    while questions.len() < arguments.questions && !clear.is_empty() {
        let (at, (function, percent)) = *clear[random.usize(0..clear.len())];
        // `from` commits are at or before the good end, so the step is after it.
        let first = (0..at).rev().find(|place| is_of(*place, function)).map_or(0, |place| place + 1);
        let last = (at + 1..commits.len()).find(|place| is_of(*place, function)).unwrap_or(commits.len());
        let (from, to) = (random.usize(first..=at), random.usize(at + 1..=last));
        if builds(from) && builds(to) {
            questions.push(Question { function, from, to, step: Some((at, percent < 0.0)) });
        }
    }
    let all = questions.len() + arguments.nulls;
    while questions.len() < all {
        let (function, from) = (random.usize(0..FUNCTIONS), random.usize(0..commits.len()));
        let to = random.usize(from + 1..=commits.len());
        let small = (from..to).filter(|place| commits[*place].deed == Deed::Small { function }).count();
        if builds(from) && builds(to) && small <= MOST_SMALL && (from..to).all(|place| !is_of(place, function)) {
            questions.push(Question { function, from, to, step: None });
        }
    }
    questions
}

fn ask(question: Question, tool: &Tool, tree: &Path, commits: usize) -> Result<Answer> {
    let revision = |place: usize| format!("HEAD~{}", commits - place);
    let store = tree.join("target/question.sqlite");
    for ending in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(tree.join(format!("target/question.sqlite{ending}"))));
    }
    let mut command = tool.command(tree, "bisect", &format!("tests::test_{}", question.function));
    command.args(["--good", &revision(question.from), "--bad", &revision(question.to), "--explain", "never"]);
    command.arg("--store").arg(&store);
    if matches!(question.step, Some((_, true))) {
        command.arg("--faster");
    }
    let said = document(command);
    let number = |commit: &Value| commit["subject"].as_str()?.split_once(':')?.0.parse().ok();
    let candidates = said.as_ref().ok().and_then(|said| said["steps"][0]["candidates"].as_array());
    let named = candidates.map(|all| all.iter().filter_map(number).collect()).unwrap_or_default();
    let connection = Connection::open(&store)?;
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).map(|count| count as usize);
    let built = count("SELECT count(*) FROM (SELECT base FROM step UNION SELECT head FROM step)")?;
    let broken = count("SELECT count(*) FROM skipped")?;
    let instead = said.err().map(|error| error.to_string());
    Ok(Answer { tool: tool.key.clone(), question, named, instead, built, broken })
}

fn print(answers: &[Answer]) {
    let (steps, nulls): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.question.step.is_some());
    let is_right = |answer: &Answer| answer.question.step.is_some_and(|(at, _)| answer.named.contains(&at));
    let exact = steps.iter().filter(|answer| is_right(answer) && answer.named.len() == 1).count();
    let in_set = steps.iter().filter(|answer| is_right(answer)).count() - exact;
    println!("bisect: {} steps of 3 % and more", steps.len());
    println!("  exact: {}", bound::share(exact, steps.len()));
    println!("  in a set with commits that do not build: {in_set}");
    let most = |answer: &Answer| {
        let commits = answer.question.to - answer.question.from;
        commits.next_power_of_two().ilog2() as usize + ENDS
    };
    let more = steps.iter().filter(|answer| answer.built > most(answer));
    println!("  more than log2 n + {ENDS} commits that were built: {}", more.clone().count());
    for answer in more {
        println!("    {} and {} broken, most {}: {:?}", answer.built, answer.broken, most(answer), answer.question);
    }
    println!("  not found:");
    steps.iter().filter(|answer| !is_right(answer)).for_each(|answer| println!("    {answer:?}"));
    let named: Vec<_> = nulls.iter().filter(|answer| !answer.named.is_empty()).collect();
    println!("  {} ranges without a step: {} named", nulls.len(), named.len());
    for answer in &named {
        println!("    {answer:?}");
    }
    let mut refusals: Vec<&str> = nulls.iter().filter_map(|answer| answer.instead.as_deref()).map(kind).collect();
    refusals.sort_unstable();
    refusals.chunk_by(|one, two| one == two).for_each(|same| println!("    {} times: {}", same.len(), same[0]));
}

/// Returns the kind of a refusal, without its figures.
fn kind(refusal: &str) -> &str {
    let known = [
        "can have changed between the ends",
        "is not slower at the bad end",
        "is faster at the bad end",
        "does not confirm",
    ];
    known.into_iter().find(|known| refusal.contains(known)).unwrap_or(refusal)
}
