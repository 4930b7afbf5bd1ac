//! The table of the `busy` benchmark: one row per comparison, and the cost of the load.

use super::Comparison;
use super::bound::share;
use super::seen::Seen;
use perfunit_decide as decide;
use perfunit_report::json::Document;
use std::fmt;

/// Results of one comparison.
#[derive(Debug, Clone)]
pub struct Round {
    comparison: Comparison,
    loaded: bool,
    /// Number of tests with figures.
    tests: usize,
    /// Measuring time per test, including the choice of the core and linking, s.
    seconds: f64,
    /// Number of tests that were slower or faster at first.
    flagged_first: usize,
    /// Number of slower and of faster tests in the end.
    slower: usize,
    faster: usize,
    /// Number of tests that certainly changed by less than the threshold.
    below: usize,
    inconclusive: usize,
    /// Smallest detectable changes in percent, ascending.
    detectable: Vec<f64>,
    core: usize,
}

impl Round {
    /// Counts the verdicts in a document.
    pub fn of(document: &Document, comparison: Comparison, loaded: bool) -> Self {
        let measured: Vec<Seen> = document.tests.iter().filter_map(Seen::of).collect();
        let count = |verdict: &str| measured.iter().filter(|seen| seen.verdict == verdict).count();
        let mut detectable: Vec<f64> =
            document.tests.iter().filter_map(|test| test.detectable).map(|change| 100.0 * change).collect();
        detectable.sort_by(f64::total_cmp);
        Self {
            comparison,
            loaded,
            tests: measured.len(),
            seconds: document.summary.seconds.measure / measured.len().max(1) as f64,
            flagged_first: measured.iter().filter(|seen| seen.flagged_first).count(),
            slower: count("slower"),
            faster: count("faster"),
            below: count("changed-below-threshold"),
            inconclusive: count("inconclusive"),
            detectable,
            core: document.environment.core,
        }
    }
}

/// Heading above the rows.
pub const HEADING: &str =
    "versions  load  core  tests  s/test  flagged  slower  faster   below  inconcl  detectable: median, 90 %";

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tests, seconds, flagged_first, slower, faster, below, inconclusive, detectable, core, .. } = self;
        write!(f, "{:<9} {:<4}", versions(self.comparison), load(self.loaded))?;
        write!(
            f,
            "{core:>6}{tests:>7}{seconds:>8.3}{flagged_first:>9}{slower:>8}{faster:>8}{below:>8}{inconclusive:>9}"
        )?;
        write!(f, "  {:.2} %, {:.2} %", quantile(detectable, 0.5), quantile(detectable, 0.9))
    }
}

fn versions(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Null => "the same",
        Comparison::Effect => "more",
    }
}

fn load(loaded: bool) -> &'static str {
    if loaded { "busy" } else { "none" }
}

/// Compares both loads over all rounds.
pub fn summary(rounds: &[Round]) -> String {
    let mut lines = vec![String::new()];
    for comparison in [Comparison::Null, Comparison::Effect] {
        let of = |loaded: bool| -> Vec<&Round> {
            rounds.iter().filter(|round| round.comparison == comparison && round.loaded == loaded).collect()
        };
        let sides = [of(false), of(true)];
        if sides.iter().any(Vec::is_empty) {
            continue;
        }
        for rounds in &sides {
            lines.push(line(comparison, rounds));
        }
        let ratio = |of: fn(&[f64]) -> f64| of(&seconds(&sides[1])) / of(&seconds(&sides[0]));
        let (median, mean) = (ratio(|seconds| quantile(seconds, 0.5)), ratio(mean));
        lines
            .push(format!("{}: busy takes {median:.2} times as long (median), {mean:.2} (mean)", versions(comparison)));
    }
    lines.join("\n")
}

fn line(comparison: Comparison, rounds: &[&Round]) -> String {
    let sum = |of: fn(&Round) -> usize| rounds.iter().map(|round| of(round)).sum::<usize>();
    let tests = sum(|round| round.tests);
    let seconds = seconds(rounds);
    let share = |of: fn(&Round) -> usize| share(sum(of), tests);
    let (median, mean) = (quantile(&seconds, 0.5), mean(&seconds));
    let is = match comparison {
        Comparison::Null => {
            let (first, after) = (share(|round| round.flagged_first), share(|round| round.slower + round.faster));
            format!("flagged before confirmation {first}, after {after}")
        }
        Comparison::Effect => {
            let (missed, below) = (share(|round| round.tests - round.slower), sum(|round| round.below));
            format!(
                "not slower {missed}, of these changed below the threshold {below}, faster {}",
                sum(|round| round.faster)
            )
        }
    };
    let (versions, load) = (versions(comparison), load(rounds[0].loaded));
    format!("{versions}, {load}: {median:.3} s a test (median of rounds), {mean:.3} s (mean); {is}")
}

/// Returns the time per test of each round.
fn seconds(rounds: &[&Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.seconds).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn quantile(values: &[f64], part: f64) -> f64 {
    decide::quantile(&mut values.to_vec(), part)
}
