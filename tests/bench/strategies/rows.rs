//! Results of each strategy for each tree.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// One test with one strategy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Seed of the draw.
    pub seed: u64,
    /// Version and options of the tool.
    pub tool: String,
    /// Number of the draw.
    pub attempt: usize,
    /// Requested strategy.
    pub strategy: String,
    /// Levels of functions below the test.
    pub depth: usize,
    /// Additional work in percent.
    pub percent: f64,
    /// Number of functions in the tree.
    pub functions: usize,
    /// Rounds of a loop in one run of the test.
    pub rounds: usize,
    /// Change measured without probes, as a fraction of base.
    pub change: Option<f64>,
    /// True if the tool reports the test as slower.
    pub flagged: bool,
    /// True if there is an explanation.
    pub explained: bool,
    /// Rank of the responsible function among the named ones, from 1.
    pub rank: Option<usize>,
    /// Number of named functions.
    pub named: usize,
    /// First named function.
    pub first: Option<String>,
    /// Number of pairs of processes.
    pub pairs: usize,
    /// Wall time of the explanation, s.
    pub seconds: Option<f64>,
    /// Distortion of base by probes.
    pub distortion: Option<f64>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, depth, percent, functions, pairs, .. } = self;
        let change = 100.0 * self.change.unwrap_or(f64::NAN);
        let how = match (self.flagged, self.rank, self.named) {
            (false, _, _) => "not flagged".to_owned(),
            (_, Some(1), _) => "right".to_owned(),
            (_, _, 0) => "nobody".to_owned(),
            (_, rank, _) => format!("wrong (the guilty one is {rank:?})"),
        };
        let seconds = self.seconds.map_or(String::new(), |seconds| format!(", {seconds:.1} s"));
        let (first, notes) = (self.first.as_deref().unwrap_or("-"), self.notes.join("; "));
        write!(
            f,
            "{strategy}, depth {depth}, {functions} functions, {percent} % (measured {change:+.2} %): {how}: {first} [{pairs} pairs{seconds}; {notes}]"
        )
    }
}

/// Returns the table: a row for each strategy, effect and depth, and sums over depths, effects and both.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| strategy | effect | depth | functions | trees | flagged | right first | none named | wrong first | pairs | s |"
            .to_owned(),
        "|-|-|-|-|-|-|-|-|-|-|-|".to_owned(),
    ];
    let percents: BTreeSet<u64> = rows.iter().map(|row| row.percent.to_bits()).collect();
    let depths: BTreeSet<usize> = rows.iter().map(|row| row.depth).collect();
    let mut strategies: Vec<&str> = rows.iter().map(|row| row.strategy.as_str()).collect();
    strategies.sort_unstable();
    strategies.dedup();
    let all_percents = || percents.iter().map(|bits| Some(f64::from_bits(*bits)));
    let all_depths = || depths.iter().map(|depth| Some(*depth));
    for strategy in strategies {
        for percent in all_percents().chain([None]) {
            for depth in all_depths().chain([None]) {
                let is_meant = |row: &&Row| {
                    row.strategy == strategy
                        && percent.is_none_or(|percent| percent.to_bits() == row.percent.to_bits())
                        && depth.is_none_or(|depth| depth == row.depth)
                };
                let percent = percent.map_or("all".to_owned(), |percent| format!("{percent} %"));
                lines.push(line(strategy, &percent, depth, &rows.iter().filter(is_meant).collect::<Vec<_>>()));
            }
        }
    }
    lines.join("\n")
}

fn line(strategy: &str, percent: &str, depth: Option<usize>, rows: &[&Row]) -> String {
    let explained: Vec<&&Row> = rows.iter().filter(|row| row.explained).collect();
    let count = |is: fn(&Row) -> bool| explained.iter().filter(|row| is(row)).count();
    let median = |mut values: Vec<f64>, digits: usize| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let functions = depth.and_then(|_| rows.first()).map_or("-".to_owned(), |row| row.functions.to_string());
    let figures = [
        percent.to_owned(),
        depth.map_or("all".to_owned(), |depth| depth.to_string()),
        functions,
        rows.len().to_string(),
        rows.iter().filter(|row| row.flagged).count().to_string(),
        count(|row| row.rank == Some(1)).to_string(),
        count(|row| row.named == 0).to_string(),
        count(|row| row.named > 0 && row.rank != Some(1)).to_string(),
        median(explained.iter().map(|row| row.pairs as f64).collect(), 0),
        median(explained.iter().filter_map(|row| row.seconds).collect(), 1),
    ];
    format!("| {strategy} | {} |", figures.join(" | "))
}
