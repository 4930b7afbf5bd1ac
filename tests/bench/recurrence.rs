//! Does a verdict repeat? Compares real commits with their parents, and measures slower and faster tests again with
//! other layouts and random numbers. Does the change keep its sign, and is its size in the printed interval?
//!
//! `cargo bench --bench recurrence -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[expect(dead_code, reason = "only shares are printed")]
mod bound;
mod commits;
mod comparison;
mod copy;
mod invocation;
mod kept;
#[expect(dead_code, reason = "the first verdict decides which tests count")]
mod seen;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
mod tool;

use clap::Parser;
use commits::Commit;
use comparison::Answer;
use invocation::Place;
use perfunit_report::json::Document;
use seen::Seen;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Seeds of the first and the second measurement.
const SEEDS: [&str; 2] = ["1", "2"];

/// Measure verdicts on real commits twice.
#[derive(Debug, Parser)]
#[command(name = "recurrence", max_term_width = 100)]
struct Arguments {
    /// Clone to take the commits from; it is copied, never changed
    clone: PathBuf,
    /// Number of commits with a verdict to find
    #[arg(long, short = 'n', default_value_t = 5, value_name = "N")]
    commits: usize,
    /// Number of commits to examine
    #[arg(long, default_value_t = 40, value_name = "N")]
    look_at: usize,
    /// Newest of these commits
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    from: String,
    /// Only commits that change a matching file (pathspec of git)
    #[arg(long, default_values_t = ["**/src/**/*.rs".to_owned()], value_name = "GLOB")]
    touching: Vec<String>,
    #[command(flatten)]
    place: Place,
}

/// Result of one commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    commit: String,
    tool: String,
    /// Number of tests with figures.
    measured: usize,
    /// Reason why there are none.
    refused: Option<String>,
    /// Each slower or faster test, with its second result.
    verdicts: Vec<(Seen, Option<Seen>)>,
}

fn main() -> Result<()> {
    invocation::arguments("recurrence -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tree = copy::of(&copy::typed(&arguments.clone), work.as_ref())?;
    let tool = arguments.place.tool(&[])?;
    let path = work.as_ref().join("recurrence.jsonl");
    let known = kept::known(&path, |row: &Row| row.tool == tool.key)?;
    let mut rows: Vec<Row> = Vec::new();
    for commit in commits::touching(&tree, &arguments.from, arguments.look_at, &arguments.touching)? {
        if rows.iter().filter(|row| !row.verdicts.is_empty()).count() >= arguments.commits {
            break;
        }
        let row = match known.iter().find(|row| row.commit == commit.id) {
            Some(row) => row.clone(),
            None => judge_twice(&commit, &tool, &tree, &path)?,
        };
        print_row(&commit, &row);
        rows.push(row);
    }
    println!("{}", summary(&rows));
    println!("rows: {}", path.display());
    Ok(())
}

fn judge_twice(commit: &Commit, tool: &Tool, tree: &Path, path: &Path) -> Result<Row> {
    // The tool reads the commit's manifest.
    copy::git(tree, &["checkout", "--quiet", "--force", "--detach", &commit.id])?;
    let versions = format!("{0}~1..{0}", commit.id);
    let (measured, refused, first) =
        match comparison::compare::<Document>(tool, tree, &versions, &["--seed", SEEDS[0]])? {
            Answer::Compared(document) => {
                let seen: Vec<Seen> = document.tests.iter().filter_map(Seen::of).collect();
                (seen.len(), None, seen.into_iter().filter(Seen::is_flagged).collect())
            }
            Answer::Refused(why) => (0, Some(why), Vec::new()),
        };
    let again = if first.is_empty() { Vec::new() } else { again(tool, tree, &versions, &first)? };
    let second = |seen: &Seen| again.iter().find(|other| other.test() == seen.test()).cloned();
    let verdicts = first.into_iter().map(|seen| (seen.clone(), second(&seen))).collect();
    let row = Row { commit: commit.id.clone(), tool: tool.key.clone(), measured, refused, verdicts };
    kept::keep(path, &row)?;
    Ok(row)
}

/// Measures the same tests again (and tests that contain their names).
fn again(tool: &Tool, tree: &Path, versions: &str, first: &[Seen]) -> Result<Vec<Seen>> {
    let names = first.iter().map(|seen| seen.name.as_str());
    let more: Vec<&str> = ["--seed", SEEDS[1]].into_iter().chain(names).collect();
    match comparison::compare::<Document>(tool, tree, versions, &more)? {
        Answer::Compared(document) => Ok(document.tests.iter().filter_map(Seen::of).collect()),
        Answer::Refused(why) => Err(format!("{versions} was measured once and not again: {why}").into()),
    }
}

fn print_row(commit: &Commit, row: &Row) {
    let said =
        row.refused.clone().unwrap_or_else(|| format!("{} measured, {} judged", row.measured, row.verdicts.len()));
    println!("{} {:.50}: {said}", &commit.id[..8], commit.subject);
    for (first, second) in &row.verdicts {
        let figures = |seen: &Seen| {
            let [low, high] = seen.interval.map(|end| end.map_or("-".to_owned(), |end| format!("{:+.2}", 100.0 * end)));
            format!("{} {:+.2} % [{low}, {high}]", seen.verdict, 100.0 * seen.estimate)
        };
        let second = second.as_ref().map_or_else(|| "no figures".to_owned(), figures);
        println!("    {}, {:.0} ns: {}; again: {second}", first.test(), first.base_ns, figures(first));
    }
}

fn summary(rows: &[Row]) -> String {
    let verdicts: Vec<_> = rows.iter().flat_map(|row| &row.verdicts).collect();
    let commits = rows.iter().filter(|row| !row.verdicts.is_empty()).count();
    let share = |is: &dyn Fn(&Seen, &Seen) -> bool| {
        let found = verdicts.iter().filter(|(first, second)| second.as_ref().is_some_and(|second| is(first, second)));
        let (found, all) = (found.count(), verdicts.len());
        format!("{found} of {all} (fails for at most {:.2} %)", 100.0 * bound::at_most(all - found, all.max(1)))
    };
    let inside = |first: &Seen, second: &Seen| {
        let [low, high] = first.interval;
        low.is_none_or(|low| low <= second.estimate) && high.is_none_or(|high| second.estimate <= high)
    };
    [
        String::new(),
        format!("{} verdicts on {commits} of {} commits, measured again:", verdicts.len(), rows.len()),
        format!("same sign: {}", share(&|first, second| first.estimate * second.estimate > 0.0)),
        format!("inside the first interval: {}", share(&inside)),
        format!("the same verdict: {}", share(&|first, second| first.verdict == second.verdict)),
    ]
    .join("\n")
}
