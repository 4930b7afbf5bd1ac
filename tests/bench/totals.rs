//! Results of all null edits: false verdicts, or detections of a true effect.

use super::bound::{self, percentage};
use super::rows::Row;
use super::seen::Seen;
use perfunit_decide as decide;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the summary for edits without an effect.
pub fn of_nulls(rows: &[Row]) -> String {
    let counted: Vec<&Row> = counted(rows).collect();
    let heading = ["edits", "tests", "before", "after", "below", "inconcl", "median", "95 %", "99 %", "largest"];
    let mut lines = vec![String::new(), format!("{:<16}{}", "", columns(heading.map(str::to_owned)))];
    let mut kinds: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &counted {
        kinds.entry(row.kind.to_string()).or_default().push(row);
    }
    lines.extend(kinds.iter().map(|(kind, rows)| line(kind, rows)));
    lines.push(line("all", &counted));
    lines.push("(the last four: |change| in % of tests repeated in one process, of 50 ns and more)".to_owned());
    lines.push(String::new());
    lines.push(share("flagged before confirmation", &counted, |seen| seen.flagged_first));
    lines.push(share("flagged after", &counted, Seen::is_flagged));
    lines.push(thrown(rows));
    lines.join("\n")
}

/// Returns the summary for edits with a true effect: the result of each test.
pub fn of_effect(rows: &[Row], percent: f64) -> String {
    let mut tests: BTreeMap<String, Vec<&Seen>> = BTreeMap::new();
    for seen in counted(rows).flat_map(|row| &row.tests) {
        tests.entry(seen.test()).or_default().push(seen);
    }
    let mut lines = vec![format!("\n{percent} % more work:")];
    for (test, seen) in &tests {
        let count = |verdict: &str| seen.iter().filter(|seen| seen.verdict == verdict).count();
        let (slower, faster, inconclusive) = (count("slower"), count("faster"), count("inconclusive"));
        // Below the threshold, but certainly a change.
        let is_below = |seen: &&&Seen| seen.verdict == "changed-below-threshold" && seen.estimate > 0.0;
        let below = seen.iter().filter(is_below).count();
        let changes = || seen.iter().map(|seen| 100.0 * seen.estimate);
        let mean = changes().sum::<f64>() / seen.len().max(1) as f64;
        let (lowest, highest) = (changes().fold(f64::INFINITY, f64::min), changes().fold(f64::NEG_INFINITY, f64::max));
        lines.push(format!(
            "{test}: slower {slower} of {} ({:.0} %), slower by less than the threshold {below}, faster {faster}, \
             inconclusive {inconclusive}; change {mean:+.2} % in the mean, {lowest:+.2} to {highest:+.2} %",
            seen.len(),
            percentage(slower, seen.len()),
        ));
    }
    lines.push(thrown(rows));
    lines.join("\n")
}

fn counted(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.refused.is_none())
}

fn columns<const N: usize>(figures: [String; N]) -> String {
    figures.map(|figure| format!("{figure:>9}")).concat()
}

fn line(label: &str, rows: &[&Row]) -> String {
    let count = |is: &dyn Fn(&Seen) -> bool| rows.iter().map(|row| row.count(is)).sum::<usize>().to_string();
    let sizable = rows.iter().flat_map(|row| &row.tests).filter(|seen| seen.is_sizable());
    let mut changes: Vec<f64> = sizable.map(|seen| seen.estimate.abs()).collect();
    let mut change = |part: f64| match decide::quantile(&mut changes, part) {
        none if none.is_nan() => "-".to_owned(),
        change => format!("{:.2}", 100.0 * change),
    };
    let figures = [
        rows.len().to_string(),
        count(&|_| true),
        count(&|seen| seen.flagged_first),
        count(&Seen::is_flagged),
        count(&|seen| seen.verdict == "changed-below-threshold"),
        count(&|seen| seen.verdict == "inconclusive"),
        change(0.5),
        change(0.95),
        change(0.99),
        change(1.0),
    ];
    format!("{label:<16}{}", columns(figures))
}

/// Returns shares with their bounds. Tests of one edit are not independent, so the bound over edits is the reliable
/// one.
fn share(label: &str, rows: &[&Row], is: impl Fn(&Seen) -> bool) -> String {
    let tests: usize = rows.iter().map(|row| row.tests.len()).sum();
    let found: usize = rows.iter().map(|row| row.count(&is)).sum();
    let edits = rows.iter().filter(|row| row.count(&is) > 0).count();
    format!("{label}: tests {}, edits {}", bound::share(found, tests), bound::share(edits, rows.len()))
}

fn thrown(rows: &[Row]) -> String {
    let whys: Vec<&str> = rows.iter().filter_map(|row| row.refused.as_deref()).collect();
    let kinds: BTreeSet<&str> = whys.iter().copied().collect();
    let count = |why: &str| whys.iter().filter(|other| **other == why).count();
    let kinds: Vec<String> = kinds.into_iter().map(|why| format!("{} {why}", count(why))).collect();
    format!("{} edits that do not count{}{}", whys.len(), if kinds.is_empty() { "" } else { ": " }, kinds.join(", "))
}
