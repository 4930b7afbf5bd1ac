//! Splits the time of a comparison into stages. Compares real commits with their parents alternately by two executables of
//! the tool, and prints the median of each stage.
//!
//! `cargo bench --bench stages -- FOLDER@COMMIT... --before TOOL [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod copy;
mod invocation;
mod kept;
mod spans;
#[expect(dead_code, reason = "exclusions are not used")]
mod tool;
mod usage;

use clap::Parser;
use invocation::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spans::Spans;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tool::Tool;
use usage::median;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Compare the stages of comparisons before and after a change of the tool.
#[derive(Debug, Parser)]
#[command(name = "stages", max_term_width = 100)]
struct Arguments {
    /// Clones to take commits from (copied, never changed), each with one commit
    #[arg(required = true, value_name = "FOLDER@COMMIT")]
    commits: Vec<Subject>,
    /// Executable of the tool to compare with
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// Number of comparisons of each commit by each executable, with versions already built
    #[arg(long, default_value_t = 3, value_name = "N")]
    turns: u64,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone)]
struct Subject {
    clone: PathBuf,
    commit: String,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (clone, commit) = text.rsplit_once('@').ok_or("use FOLDER@COMMIT")?;
        Ok(Self { clone: PathBuf::from(clone), commit: commit.to_owned() })
    }
}

/// One comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    subject: String,
    tool: String,
    turn: u64,
    /// Number of tests with figures.
    measured: usize,
    /// Numbers of slower and faster tests, and of tests without a verdict although they were measured.
    changed: usize,
    inconclusive: usize,
    wall: f64,
    cpu: f64,
    spans: Spans,
}

fn main() -> Result<()> {
    invocation::arguments("stages -- FOLDER@COMMIT... --before TOOL [OPTIONS]")
        .map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let mut tools = Vec::new();
    if let Some(before) = &arguments.before {
        tools.push(("before", Tool::new(Some(copy::typed(before)), arguments.place.options.clone())?));
    }
    tools.push(("after", arguments.place.tool(&[])?));
    let path = work.as_ref().join("stages.jsonl");
    let known = kept::known(&path, |row: &Row| tools.iter().any(|(_, tool)| tool.key == row.tool))?;
    let mut rows = Vec::new();
    for subject in &arguments.commits {
        for turn in 0..arguments.turns {
            for (_, tool) in &tools {
                let name = subject.name();
                let is_it = |row: &&Row| row.tool == tool.key && row.subject == name && row.turn == turn;
                let row = match known.iter().find(is_it) {
                    Some(row) => row.clone(),
                    None => subject.compare(tool, work.as_ref(), turn)?,
                };
                if !known.iter().any(|known| is_it(&known)) {
                    kept::keep(&path, &row)?;
                }
                println!("{row}");
                rows.push(row);
            }
        }
    }
    let groups = tools.iter().map(|(name, tool)| (*name, rows.iter().filter(|row| row.tool == tool.key).collect()));
    println!("{}", table(&groups.collect::<Vec<_>>()));
    Ok(())
}

impl Subject {
    fn name(&self) -> String {
        format!("{}@{}", self.clone.file_name().unwrap_or_default().to_string_lossy(), self.commit)
    }

    /// Compares the commit with its parent, by a tool that has built both but has no other stored results.
    fn compare(&self, tool: &Tool, work: &Path, turn: u64) -> Result<Row> {
        let folder = work.join(self.name());
        let tree = folder.join("tree");
        let versions = format!("{0}~1..{0}", self.commit);
        if turn == 0 {
            copy::of(&copy::typed(&self.clone), &folder)?;
            // The tool reads the commit's manifest.
            copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &self.commit])?;
            tool.list(&tree, &versions, &[])?;
        }
        let remembered = tree.join("target/perfunit/selection");
        if remembered.exists() {
            std::fs::remove_dir_all(remembered)?;
        }
        let mut command = tool.command(&tree, "diff", &versions);
        command.args(["--seed", &turn.to_string()]).env("PERFUNIT_LOG", "debug");
        let ended = usage::run(&mut command)?;
        let log = String::from_utf8_lossy(&ended.output.stderr);
        let document: Value = serde_json::from_slice(&ended.output.stdout)
            .map_err(|error| format!("{}: {error}\n{}", self.name(), log.lines().last().unwrap_or_default()))?;
        let verdicts = document["tests"].as_array().into_iter().flatten();
        let verdicts: Vec<&str> = verdicts.filter_map(|test| test["verdict"].as_str()).collect();
        let count = |of: &[&str]| verdicts.iter().filter(|verdict| of.contains(verdict)).count();
        Ok(Row {
            subject: self.name(),
            tool: tool.key.clone(),
            turn,
            measured: verdicts.len() - count(&["not-measured"]),
            changed: count(&["slower", "faster"]),
            inconclusive: count(&["inconclusive"]),
            wall: ended.wall,
            cpu: ended.cpu,
            spans: Spans::read(&log),
        })
    }
}

impl Row {
    /// Returns the wall time without cargo's builds.
    fn outside_of_builds(&self) -> f64 {
        let builds = self.spans.stages.iter().filter(|(name, _)| name.split(':').next_back() == Some("build"));
        self.wall - builds.map(|(_, stage)| stage.seconds).sum::<f64>()
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { subject, tool, turn, measured, changed, inconclusive, wall, cpu, spans } = self;
        let (tool, processes) = (&tool[..8], spans.stages.values().map(|stage| stage.processes).sum::<usize>());
        write!(
            f,
            "{subject} {turn} {tool}: {measured} measured, {changed} slower or faster, {inconclusive} inconclusive; {wall:.1} s, \
             {:.1} s without builds, CPU {cpu:.1} s, {processes} processes",
            self.outside_of_builds()
        )
    }
}

/// Returns medians over all comparisons, by stage.
fn table(groups: &[(&str, Vec<&Row>)]) -> String {
    let stages: BTreeSet<&String> =
        groups.iter().flat_map(|(_, rows)| rows).flat_map(|row| row.spans.stages.keys()).collect();
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |name: &str, of: &dyn Fn(&Row) -> f64| {
        let medians = groups.iter().map(|(_, rows)| median(&rows.iter().map(|row| of(row)).collect::<Vec<_>>()));
        lines.insert(name.to_owned(), medians.map(|median| format!("{median:.2}")).collect());
    };
    for stage in stages {
        let known = |row: &Row| row.spans.stages.get(stage).copied().unwrap_or_default();
        let name = if stage.is_empty() { "other" } else { stage };
        add(&format!("{name}, s"), &|row| known(row).seconds);
        add(&format!("{name}, processes"), &|row| known(row).processes as f64);
    }
    add(" all, s", &|row| row.wall);
    add(" all, CPU s", &|row| row.cpu);
    add(" outside of builds, s", &Row::outside_of_builds);
    add(" outside of builds, s per test", &|row| row.outside_of_builds() / row.measured.max(1) as f64);
    let names = groups.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | ");
    let rows = lines.iter().filter(|(_, cells)| cells.iter().any(|cell| cell != "0.00"));
    let rows = rows.map(|(name, cells)| format!("| {} | {} |", name.trim(), cells.join(" | ")));
    let head = [format!("\n| median | {names} |"), format!("|-|{}", "-|".repeat(groups.len()))];
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}
