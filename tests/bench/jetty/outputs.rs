//! What benchmarks of criterion and divan report of two versions.

use super::printed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Divan compares nothing. Here a median of head that is beyond base's by this fraction is a claim.
pub const DIVAN_THRESHOLD: f64 = 0.05;

/// What follows a benchmark's figures, once for each that criterion compares.
const JUDGED: [(&str, Option<Claim>); 4] = [
    ("Performance has regressed", Some(Claim::Slower)),
    ("Performance has improved", Some(Claim::Faster)),
    ("No change in performance detected", None),
    ("Change within noise threshold", None),
];
/// How lines begin that name no benchmark and are not indented.
const NO_NAMES: [&str; 5] = ["Benchmarking ", "Found ", "Gnuplot ", "Unable ", "Warning"];
/// Columns of divan are divided by this.
const BAR: char = '│';
/// The column of the medians, after the name with the fastest.
const MEDIAN: usize = 2;
/// What divan draws its tree with, so many characters for each level.
const BRANCHES: [char; 5] = [' ', BAR, '├', '╰', '─'];
const INDENT: usize = 3;

/// A library for benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Library {
    /// criterion.rs.
    Criterion,
    /// divan.
    Divan,
}

/// A change that is reported to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// Head takes longer.
    Slower,
    /// Head takes less time.
    Faster,
}

/// What is reported of one benchmark.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compared {
    /// The benchmark.
    pub name: String,
    /// Head against base, as a fraction of base.
    pub change: Option<f64>,
    /// Whether that is a change.
    pub claim: Option<Claim>,
}

impl Library {
    /// The one that a source file uses, as far as its text shows.
    pub fn of(text: &str) -> Option<Self> {
        [("divan", Self::Divan), ("criterion", Self::Criterion)]
            .into_iter()
            .find_map(|(name, library)| text.contains(name).then_some(library))
    }
}

/// The comparisons in the output of `--baseline`.
pub fn criterion(output: &str) -> Vec<Compared> {
    let (mut name, mut change) = ("", None);
    let mut compared = Vec::new();
    for line in output.lines() {
        let is_name = !line.starts_with(char::is_whitespace) && !line.is_empty();
        if is_name && !NO_NAMES.iter().any(|beginning| line.starts_with(beginning)) {
            name = line.split("time:").next().unwrap_or(line).trim();
        }
        // With a throughput the changes of both stand below `change:`.
        if line.contains('%') && (line.contains("change:") || line.trim_start().starts_with("time:")) {
            change = printed::changes(line).map(|[_, change, _]| change);
        }
        let judged = JUDGED.iter().find(|(text, _)| line.trim_start().starts_with(text));
        compared.extend(judged.map(|(_, claim)| Compared {
            name: name.to_owned(),
            change: change.take(),
            claim: *claim,
        }));
    }
    compared
}

/// The medians in the output of divan, in nanoseconds.
pub fn medians(output: &str) -> BTreeMap<String, f64> {
    let mut groups: Vec<&str> = Vec::new();
    let mut medians = BTreeMap::new();
    for line in output.lines() {
        let row = line.trim_start_matches(BRANCHES);
        let depth = (line.chars().count() - row.chars().count()) / INDENT;
        let mut columns = row.split(BAR);
        let name = columns.next().unwrap_or_default().split("  ").next().unwrap_or_default().trim();
        groups.truncate(depth);
        groups.push(name);
        if let Some(median) = columns.nth(MEDIAN - 1).and_then(printed::nanoseconds) {
            medians.insert(groups.join("::"), median);
        }
    }
    medians
}

/// The medians of both versions against each other, for benchmarks that both have.
pub fn divan(base: &BTreeMap<String, f64>, head: &BTreeMap<String, f64>) -> Vec<Compared> {
    let compare = |(name, head): (&String, &f64)| {
        let change = head / base.get(name)? - 1.0;
        let claim = match change {
            change if change > DIVAN_THRESHOLD => Some(Claim::Slower),
            change if change < -DIVAN_THRESHOLD => Some(Claim::Faster),
            _ => None,
        };
        Some(Compared { name: name.clone(), change: Some(change), claim })
    };
    head.iter().filter_map(compare).collect()
}
