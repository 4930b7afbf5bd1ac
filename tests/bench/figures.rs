//! The table of the history benchmark: one row per commit, and averages.

use super::commits::Commit;
use super::tool::{Answer, Tool};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Selection of one commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Full ID of the commit.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// Version and options of the tool.
    pub tool: String,
    /// The counts, or the tool's error.
    pub counts: std::result::Result<Counts, String>,
}

/// Numbers of tests by rule, and times in seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Counts {
    /// Tests in all targets, reached or not.
    pub tests: usize,
    /// Tests of the reached targets.
    pub by_target: usize,
    /// Tests that lead to a changed item by names.
    pub by_name: usize,
    /// Tests that can reach changed machine code.
    pub reachable: usize,
    /// Tests that also execute it, which are measured.
    pub executed: usize,
    /// Excluded tests by kind of reason.
    pub left_out: BTreeMap<String, usize>,
    /// Reason why nothing was selected.
    pub nothing_because: Option<String>,
    /// Time of the two builds.
    pub build: f64,
    /// Time from the executables to the selected tests.
    pub select: f64,
    /// Time of the whole call.
    pub all: f64,
}

impl Row {
    /// Runs the tool. `known_tests` is the number of tests of a neighboring commit.
    pub fn of(commit: &Commit, tool: &Tool, tree: &Path, known_tests: Option<usize>) -> Self {
        let versions = format!("{id}~1..{id}", id = commit.id);
        let answer = tool.list(tree, &versions, &[]);
        let counts = answer.map(|answer| Counts::of(&answer, || known_tests.or_else(|| count(commit, tool, tree))));
        let counts = counts.map_err(|error| error.to_string());
        let (commit, subject) = (commit.id.clone(), commit.subject.clone());
        Self { commit, subject, tool: tool.key.clone(), counts }
    }
}

/// Counts all tests of a commit, which builds everything.
fn count(commit: &Commit, tool: &Tool, tree: &Path) -> Option<usize> {
    let same = format!("{id}..{id}", id = commit.id);
    Some(tool.list(tree, &same, &["--all-tests"]).ok()?.document.selection.found)
}

impl Counts {
    fn of(answer: &Answer, all_tests: impl FnOnce() -> Option<usize>) -> Self {
        let document = &answer.document;
        let selection = &document.selection;
        let is_all = selection.targets_reached == selection.targets && selection.found > 0;
        let tests = if is_all { selection.found } else { all_tests().unwrap_or(0).max(selection.found) };
        Self {
            tests,
            by_target: selection.found,
            by_name: document.tests.iter().filter(|test| test.by_name).count(),
            reachable: selection.reachable,
            executed: selection.executed,
            left_out: selection.left_out.clone(),
            nothing_because: selection.nothing_because.clone(),
            build: document.seconds.build,
            select: document.seconds.select,
            all: answer.seconds,
        }
    }

    /// Returns the reason why the commit selects nothing.
    fn nothing(&self) -> Option<String> {
        if self.executed > 0 {
            return None;
        }
        let most = || self.left_out.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| kind.clone());
        // Numbers of files follow in parentheses; the reason is the part before.
        let because = self.nothing_because.as_ref().map(|text| text.split(" (").next().unwrap_or(text).to_owned());
        Some(because.or_else(most).unwrap_or_else(|| "no tests".to_owned()))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.get(..9).unwrap_or(&self.commit);
        let subject: String = self.subject.chars().take(40).collect();
        match &self.counts {
            Ok(counts) => {
                let Counts { tests, by_target, by_name, reachable, executed, build, select, .. } = counts;
                write!(f, "{commit:<10}{tests:>7}{by_target:>9}{by_name:>9}{reachable:>11}{executed:>10}")?;
                write!(f, "{build:>9.1}{select:>9.2}  {subject}")?;
                counts.nothing().map_or(Ok(()), |why| write!(f, "  [{why}]"))
            }
            Err(error) => write!(f, "{commit:<10}  {subject}: {}", error.lines().next().unwrap_or_default()),
        }
    }
}

/// The rows of the table.
#[derive(Debug, Default)]
pub struct Figures {
    /// Rows, newest first.
    pub rows: Vec<Row>,
}

impl Figures {
    /// Heading above the rows.
    pub const HEADING: &str =
        "commit      tests  targets    names  reachable  executed  build s select s  what selects nothing: why";

    /// Returns the number of tests in the last row.
    pub fn known_tests(&self) -> Option<usize> {
        self.counts().last().map(|counts| counts.tests).filter(|tests| *tests > 0)
    }

    fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.rows.iter().filter_map(|row| row.counts.as_ref().ok())
    }

    /// Formats averages of shares, and reasons why commits select nothing.
    pub fn summary(&self) -> String {
        let rows: Vec<&Counts> = self.counts().collect();
        let commits = rows.len().max(1) as f64;
        let share = |of: fn(&Counts) -> usize| {
            let shares = rows.iter().map(|counts| of(counts) as f64 / counts.tests.max(1) as f64);
            format!("{:.2}%", 100.0 * shares.sum::<f64>() / commits)
        };
        let seconds = |of: fn(&Counts) -> f64| rows.iter().map(|counts| of(counts)).sum::<f64>() / commits;
        let mut nothing: BTreeMap<String, usize> = BTreeMap::new();
        for why in rows.iter().filter_map(|counts| counts.nothing()) {
            *nothing.entry(why).or_default() += 1;
        }
        let (by_target, by_name) = (share(|counts| counts.by_target), share(|counts| counts.by_name));
        let (reachable, executed) = (share(|counts| counts.reachable), share(|counts| counts.executed));
        let (build, select) = (seconds(|counts| counts.build), seconds(|counts| counts.select));
        let none: usize = nothing.values().sum();
        let mut lines = vec![format!("{none} of {} commits select nothing", rows.len())];
        lines.extend(nothing.into_iter().map(|(why, count)| format!("{count:>6}  {why}")));
        let failed = self.rows.len() - rows.len();
        if failed > 0 {
            lines.push(format!("{failed} commits could not be compared"));
        }
        lines.push(format!(
            "{:<10}{:>7}{by_target:>9}{by_name:>9}{reachable:>11}{executed:>10}{build:>9.1}{select:>9.2}  share of all tests",
            "average", ""
        ));
        lines.join("\n")
    }
}
