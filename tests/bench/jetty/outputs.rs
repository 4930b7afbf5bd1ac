//! Reports of criterion's and divan's benchmarks about two versions.

use super::printed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Change of the median that counts as a claim of divan, which does not compare versions itself.
pub const DIVAN_THRESHOLD: f64 = 0.05;

/// Line after a benchmark's figures, once for each benchmark that criterion compares.
const JUDGED: [(&str, Option<Claim>); 4] = [
    ("Performance has regressed", Some(Claim::Slower)),
    ("Performance has improved", Some(Claim::Faster)),
    ("No change in performance detected", None),
    ("Change within noise threshold", None),
];
/// Beginnings of unindented lines that do not name a benchmark.
const NO_NAMES: [&str; 5] = ["Benchmarking ", "Found ", "Gnuplot ", "Unable ", "Warning"];
/// Separator of divan's columns.
const BAR: char = '│';
/// Column of the medians; the first column has the name and the fastest time.
const MEDIAN: usize = 2;
/// Characters of divan's tree, and their number per level.
const BRANCHES: [char; 5] = [' ', BAR, '├', '╰', '─'];
const INDENT: usize = 3;

/// A benchmark library.
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

/// The report on one benchmark.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compared {
    /// Name of the benchmark.
    pub name: String,
    /// Change of head as a fraction of base.
    pub change: Option<f64>,
    /// The reported change, if any.
    pub claim: Option<Claim>,
}

impl Library {
    /// Returns the library that a source file seems to use.
    pub fn of(text: &str) -> Option<Self> {
        [("divan", Self::Divan), ("criterion", Self::Criterion)]
            .into_iter()
            .find_map(|(name, library)| text.contains(name).then_some(library))
    }
}

/// Parses the comparisons in the output of `--baseline`.
pub fn criterion(output: &str) -> Vec<Compared> {
    let (mut name, mut change) = ("", None);
    let mut compared = Vec::new();
    for line in output.lines() {
        let is_name = !line.starts_with(char::is_whitespace) && !line.is_empty();
        if is_name && !NO_NAMES.iter().any(|beginning| line.starts_with(beginning)) {
            name = line.split("time:").next().unwrap_or(line).trim();
        }
        // With a throughput, the changes of both are below `change:`.
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

/// Parses the medians in divan's output, in ns.
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

/// Compares the medians of benchmarks that both versions have.
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
