//! Checks that `log` shows each step at its commit, and no others.

use super::project::{Commit, SIZES};
use super::tool::Tool;
use super::{Result, bound, document};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// Size of steps that must be found, in percent: twice the threshold.
const CERTAIN: f64 = 4.0;

/// Results of `log` on the steps.
#[derive(Default)]
struct Found {
    /// Number of found steps and of all steps, by size.
    steps: [(usize, usize); SIZES.len()],
    false_steps: Vec<String>,
    skipped: usize,
}

pub fn judge(tool: &Tool, tree: &Path, commits: &[Commit]) -> Result<()> {
    let started = Instant::now();
    let mut command = tool.command(tree, "log", &format!("HEAD~{}..HEAD", commits.len()));
    command.args(["--explain", "never"]);
    let log = document(command)?;
    let seconds = started.elapsed().as_secs_f64();
    if log["interrupted"] == true {
        return Err("the log is not finished; the same call goes on with it".into());
    }
    let compared = log["commits"].as_array().ok_or("no commits")?;
    let mut found = Found::default();
    for (entry, commit) in compared.iter().zip(commits) {
        note(entry, *commit, &mut found);
    }
    println!("log: {} commits in {seconds:.0} s, {} do not build", compared.len(), found.skipped);
    let mut certain = (0, 0);
    for (size, (right, all)) in SIZES.iter().zip(found.steps) {
        println!("  steps of {size} %: {right} of {all} at their commit");
        if *size >= CERTAIN {
            certain = (certain.0 + right, certain.1 + all);
        }
    }
    let others = compared.len() - found.steps.iter().map(|(_, all)| all).sum::<usize>();
    println!("  steps of {CERTAIN} % and more: {}", bound::share(certain.0, certain.1));
    println!("  false steps: {} ({others} commits without a step)", found.false_steps.len());
    found.false_steps.iter().for_each(|one| println!("    {one}"));
    Ok(())
}

fn note(entry: &Value, commit: Commit, found: &mut Found) {
    found.skipped += usize::from(entry["outcome"] == "does-not-build");
    let tests = entry["tests"].as_array().map_or(&[][..], Vec::as_slice);
    let moved = tests.iter().filter(|test| test["verdict"] == "slower" || test["verdict"] == "faster");
    let moved: Vec<(&str, &str)> =
        moved.filter_map(|test| Some((test["name"].as_str()?, test["verdict"].as_str()?))).collect();
    let expected = commit.step().map(|(function, percent)| {
        let verdict = if percent > 0.0 { "slower" } else { "faster" };
        (format!("tests::test_{function}"), verdict, percent)
    });
    let is_expected =
        |one: &&(&str, &str)| expected.as_ref().is_some_and(|(name, verdict, _)| (name.as_str(), *verdict) == **one);
    if let Some((_, _, percent)) = &expected {
        let size = SIZES.iter().position(|size| (size - percent.abs()).abs() < 1e-9).unwrap_or_default();
        found.steps[size].1 += 1;
        found.steps[size].0 += usize::from(moved.iter().any(|one| is_expected(&one)));
    }
    let others = moved.iter().filter(|one| !is_expected(one));
    found.false_steps.extend(others.map(|one| format!("{} {one:?}", entry["subject"])));
}
