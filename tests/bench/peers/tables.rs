//! The tables of all pairs, in Markdown.

use super::pairs::{Code, Pair};
use super::program::{Claim, Said};
use super::project::{OPERATIONS, WORKLOADS};
use super::rows::Row;
use super::rules::Line;
use perfunit_decide as decide;
use std::fmt;

/// Returns a table for each effect, the same for single workloads, and build times.
pub fn all(rows: &[Row], pairs: &[Pair], workloads: &[&str]) -> String {
    let mut parts = vec![String::new()];
    let mut effects: Vec<Pair> = Vec::new();
    for pair in pairs.iter().copied() {
        if effects.iter().all(|known| known.operations != pair.operations) {
            effects.push(pair);
        }
    }
    let scopes = [WORKLOADS.to_vec()].into_iter().chain(workloads.iter().map(|workload| vec![*workload]));
    for scope in scopes {
        parts.extend(effects.iter().map(|effect| of_effect(rows, *effect, pairs, &scope)));
    }
    parts.push(built(rows));
    parts.join("\n")
}

fn of_effect(rows: &[Row], effect: Pair, pairs: &[Pair], workloads: &[&str]) -> String {
    let is_equal = effect.operations == OPERATIONS;
    let mut columns = vec!["", "found, in place", "found, moved", "wrong direction"];
    // On equal versions every claim is false, whatever its direction.
    columns.truncate(if is_equal { 1 } else { columns.len() });
    columns.extend(["false alarms, same executable", "false alarms, moved", "error, in place", "error, moved", "s"]);
    let what = if is_equal { "Equal".to_owned() } else { format!("{:+.2} %", 100.0 * effect.effect()) };
    let mut lines = vec![
        format!("**{what}** ({} operations for {OPERATIONS}; {}):\n", effect.operations, workloads.join(", ")),
        format!("| {} |", columns.join(" | ")),
        format!("|{}", "-|".repeat(columns.len())),
    ];
    for line in Line::all(effect, pairs) {
        let of = |operations: u32, code: Code| Part::of(rows, &line, workloads, Pair { operations, code });
        let (still, moved) = (of(effect.operations, Code::InPlace), of(effect.operations, Code::Moved));
        let mut cells = vec![line.to_string()];
        if !is_equal {
            let wrong = Share { some: still.faster + moved.faster, all: still.all + moved.all };
            cells.extend([still.share(still.slower), moved.share(moved.slower), wrong.to_string()]);
        }
        let equal = [Code::InPlace, Code::Moved].map(|code| of(OPERATIONS, code));
        cells.extend(equal.map(|part| part.share(part.slower + part.faster)));
        let seconds = still.seconds.iter().chain(&moved.seconds).copied().collect();
        cells.extend([percent_of(median(still.errors)), percent_of(median(moved.errors))]);
        cells.push(median(seconds).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2}")));
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// The results for one pair by one rule.
#[derive(Default)]
struct Part {
    all: usize,
    slower: usize,
    faster: usize,
    /// Differences of the estimates from the truth, as fractions of base.
    errors: Vec<f64>,
    /// Share of each result in the time of the run of all workloads.
    seconds: Vec<f64>,
}

/// A share: `some` of `all`.
struct Share {
    some: usize,
    all: usize,
}

impl Part {
    fn of(rows: &[Row], line: &Line, workloads: &[&str], pair: Pair) -> Self {
        let mut part = Self::default();
        for row in rows.iter().filter(|row| row.key.contender == line.contender && row.key.pair == pair) {
            part.seconds.push(row.seconds / row.said.len().max(1) as f64);
            for said in row.said.iter().filter(|said| workloads.contains(&said.workload.as_str())) {
                part.add(said, line, pair.effect());
            }
        }
        part
    }

    fn add(&mut self, said: &Said, line: &Line, effect: f64) {
        self.all += 1;
        match line.rule.claim(said) {
            Some(Claim::Slower) => self.slower += 1,
            Some(Claim::Faster) => self.faster += 1,
            None => {}
        }
        self.errors.extend(said.change.map(|change| (change - effect).abs()));
    }

    fn share(&self, some: usize) -> String {
        Share { some, all: self.all }.to_string()
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all == 0 { f.write_str("-") } else { write!(f, "{} of {}", self.some, self.all) }
    }
}

fn built(rows: &[Row]) -> String {
    let of = |is_ours: bool| {
        let meant = |row: &&Row| matches!(row.key.contender, super::contenders::Contender::Ours(_)) == is_ours;
        // Builds of an earlier run take no time and are ignored.
        let seconds = rows.iter().filter(meant).map(|row| row.build_seconds).filter(|seconds| *seconds > 1.0);
        median(seconds.collect()).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1} s"))
    };
    format!("building head, not counted above: peers {}, cargo perfunit {} (medians)", of(false), of(true))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| decide::median(&mut values))
}

fn percent_of(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| "-".to_owned(), |fraction| format!("{:.2} %", 100.0 * fraction))
}
