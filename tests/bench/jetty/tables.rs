//! Tables of the results of waits, null edits and benchmarks.

use super::benches::{self, Version};
use super::bound::{self, percentage};
use super::outputs::Claim;
use super::rows;
use super::seen::Seen;
use super::sized;
use super::subjects::Of;
use super::waits::{self, Outcome};
use perfunit_decide as decide;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the results by length, for all lengths, and for each clone if there are several.
pub fn of_waits(rows: &[Of<waits::Row>], times: &[u64]) -> String {
    let heads = [
        "wait",
        "injections",
        "covered",
        "found",
        "of all",
        "of covered",
        "below",
        "inconclusive",
        "missed",
        "not measured",
        "with a faster test",
        "median s",
        "90 % s",
    ];
    let mut lines = heading(&heads);
    let compiled: Vec<&Of<waits::Row>> = rows.iter().filter(|of| of.row.refused.is_none()).collect();
    let some = |is: &dyn Fn(&Of<waits::Row>) -> bool| -> Vec<&waits::Row> {
        compiled.iter().filter(|of| is(of)).map(|of| &of.row).collect()
    };
    lines.extend(times.iter().map(|ns| waits_line(&format!("{ns} ns"), &some(&|of| of.row.ns == *ns))));
    let clones: BTreeSet<&str> = rows.iter().map(|of| of.clone.as_str()).collect();
    lines.extend(clones.iter().map(|clone| waits_line(clone, &some(&|of| of.clone == *clone))));
    lines.push(waits_line("all", &some(&|_| true)));
    lines.push(String::new());
    let seconds: Vec<[f64; 4]> =
        compiled.iter().map(|of| [of.row.build, of.row.select, of.row.measure, of.row.seconds]).collect();
    lines.extend(heading(&["stage", "median s", "90 % s"]));
    for (stage, name) in ["build", "select", "measure", "whole call"].into_iter().enumerate() {
        let [median, most] = quantiles(seconds.iter().map(|seconds| seconds[stage]).collect());
        lines.push(format!("| {name} | {median} | {most} |"));
    }
    lines.push(String::new());
    lines.push(refused("waits", rows.iter().filter_map(|of| of.row.refused.as_deref())));
    lines.push(commits(rows));
    lines.join("\n")
}

fn waits_line(name: &str, rows: &[&waits::Row]) -> String {
    let count = |outcome: Outcome| rows.iter().filter(|row| row.outcome() == outcome).count();
    let (found, covered) = (count(Outcome::Found), rows.len() - count(Outcome::NotCovered));
    let faster = rows.iter().filter(|row| row.count("faster") > 0).count();
    let [median, most] = quantiles(rows.iter().map(|row| row.seconds).collect());
    let counts = [Outcome::Below, Outcome::Inconclusive, Outcome::Missed, Outcome::NotMeasured].map(count);
    let figures =
        [rows.len().to_string(), covered.to_string(), found.to_string(), part(found, rows.len()), part(found, covered)];
    let figures = figures.into_iter().chain(counts.map(|count| count.to_string()));
    let figures: Vec<String> = figures.chain([faster.to_string(), median, most]).collect();
    format!("| {name} | {} |", figures.join(" | "))
}

/// Returns the results by kind of edit, and for each clone if there are several.
pub fn of_nulls(rows: &[Of<rows::Row>]) -> String {
    let mut lines = heading(&["null edits", "made", "tests measured", "false verdicts", "below", "inconclusive"]);
    let measured = || rows.iter().filter(|of| of.row.refused.is_none());
    let mut groups: BTreeMap<String, Vec<&rows::Row>> = BTreeMap::new();
    for of in measured() {
        groups.entry(of.row.kind.to_string()).or_default().push(&of.row);
        groups.entry(of.clone.clone()).or_default().push(&of.row);
    }
    let all: Vec<&rows::Row> = measured().map(|of| &of.row).collect();
    let tests = |rows: &[&rows::Row], is: &dyn Fn(&Seen) -> bool| rows.iter().map(|row| row.count(is)).sum::<usize>();
    for (name, rows) in groups.iter().map(|(name, rows)| (name.as_str(), rows)).chain([("all", &all)]) {
        let verdict = |word: &'static str| tests(rows, &|seen: &Seen| seen.verdict == word);
        let figures = [
            rows.len(),
            tests(rows, &|_| true),
            tests(rows, &Seen::is_flagged),
            verdict("changed-below-threshold"),
            verdict("inconclusive"),
        ];
        lines.push(format!("| {name} | {} |", figures.map(|figure| figure.to_string()).join(" | ")));
    }
    let edits = all.iter().filter(|row| row.count(Seen::is_flagged) > 0).count();
    lines.push(String::new());
    lines.push(format!(
        "false verdicts: tests {}, edits {}",
        bound::share(tests(&all, &Seen::is_flagged), tests(&all, &|_| true)),
        bound::share(edits, all.len())
    ));
    for of in measured() {
        let flagged = of.row.tests.iter().filter(|seen| seen.is_flagged());
        lines.extend(flagged.map(|seen| {
            let change = 100.0 * seen.estimate;
            format!("{}: {} {}: {} {} {change:+.2} %", of.clone, of.row.kind, of.row.place, seen.test(), seen.verdict)
        }));
    }
    lines.push(refused("null edits", rows.iter().filter_map(|of| of.row.refused.as_deref())));
    lines.push(commits(rows));
    lines.join("\n")
}

/// Returns the waits that benchmarks find, in comparison with tests, and the benchmarks' claims on unchanged code.
pub fn of_benches(rows: &[Of<benches::Row>], waits: &[Of<waits::Row>], times: &[u64]) -> String {
    let heads = ["wait", "injections", "found by tests", "found by benchmarks", "with a faster benchmark", "median s"];
    let mut lines = heading(&heads);
    let wait = |of: &Of<benches::Row>| {
        let Version::Wait(key) = &of.row.version else { return None };
        waits.iter().find(|wait| wait.clone == of.clone && wait.row.key == *key).map(|wait| &wait.row)
    };
    let compared: Vec<&Of<benches::Row>> = rows.iter().filter(|of| of.row.refused.is_none()).collect();
    let pairs: Vec<(&benches::Row, &waits::Row)> =
        compared.iter().filter_map(|of| Some((&of.row, wait(of)?))).collect();
    for ns in times.iter().map(Some).chain([None]) {
        let pairs: Vec<_> = pairs.iter().filter(|(_, wait)| ns.is_none_or(|ns| wait.ns == *ns)).collect();
        let claimed = |claim: Claim| pairs.iter().filter(|(row, _)| row.count(claim) > 0).count().to_string();
        let [median, _] = quantiles(pairs.iter().map(|(row, _)| row.build + row.seconds).collect());
        let figures = [
            ns.map_or("all".to_owned(), |ns| format!("{ns} ns")),
            pairs.len().to_string(),
            pairs.iter().filter(|(_, wait)| wait.outcome() == Outcome::Found).count().to_string(),
            claimed(Claim::Slower),
            claimed(Claim::Faster),
            median,
        ];
        lines.push(format!("| {} |", figures.join(" | ")));
    }
    lines.push(String::new());
    let controls: Vec<&benches::Row> = compared.iter().map(|of| &of.row).filter(|row| row.is_control()).collect();
    let claims = |claim: Claim| controls.iter().map(|row| row.count(claim)).sum::<usize>();
    let (slower, faster) = (claims(Claim::Slower), claims(Claim::Faster));
    lines.push(format!(
        "of unchanged code, {} runs, {} comparisons: {slower} slower, {faster} faster; runs with any of these: {}",
        controls.len(),
        controls.iter().map(|row| row.compared.len()).sum::<usize>(),
        controls.iter().filter(|row| row.count(Claim::Slower) + row.count(Claim::Faster) > 0).count()
    ));
    let unread = rows.iter().filter(|of| of.row.version == Version::Base);
    lines.extend(unread.flat_map(|of| of.row.unread.iter().map(|name| format!("not read: {} {name}", of.clone))));
    lines.push(refused("runs of benchmarks", rows.iter().filter_map(|of| of.row.refused.as_deref())));
    lines.join("\n")
}

/// Returns the results of the tool, and partly of criterion, for benchmarks with planted changes; by change and for
/// each clone.
pub fn of_sized(rows: &[Of<sized::Row>], changes: &[u32]) -> String {
    let heads = [
        "planted",
        "benchmarks",
        "slower",
        "faster",
        "inconclusive",
        "same or below",
        "no figures",
        "median s",
        "90 % s",
        "asked criterion",
        "slower",
        "faster",
        "median s",
    ];
    let mut lines = heading(&heads);
    let clones: BTreeSet<&str> = rows.iter().map(|of| of.clone.as_str()).collect();
    for change in changes {
        let all: Vec<&Of<sized::Row>> = rows.iter().filter(|of| of.row.asked == *change).collect();
        lines.push(sized_line(&format!("+{change} %"), &all));
        for clone in &clones {
            let some: Vec<&Of<sized::Row>> = all.iter().copied().filter(|of| of.clone == *clone).collect();
            lines.push(sized_line(&format!("of {clone}"), &some));
        }
    }
    lines.push(String::new());
    lines.push(commits(rows));
    lines.join("\n")
}

fn sized_line(name: &str, rows: &[&Of<sized::Row>]) -> String {
    let count = |words: &[&str]| rows.iter().filter(|of| words.contains(&of.row.verdict())).count().to_string();
    let [median, most] = quantiles(rows.iter().map(|of| of.row.seconds).collect());
    let criterion: Vec<_> = rows.iter().filter_map(|of| of.row.criterion).collect();
    let claims = |wanted: Claim| criterion.iter().filter(|(claim, _)| *claim == Some(wanted)).count().to_string();
    let [of_criterion, _] = quantiles(criterion.iter().map(|(_, seconds)| *seconds).collect());
    let figures = [
        rows.len().to_string(),
        count(&["slower"]),
        count(&["faster"]),
        count(&["inconclusive"]),
        count(&["same", "changed-below-threshold"]),
        count(&[sized::NO_FIGURES]),
        median,
        most,
        criterion.len().to_string(),
        claims(Claim::Slower),
        claims(Claim::Faster),
        of_criterion,
    ];
    format!("| {name} | {} |", figures.join(" | "))
}

fn heading(heads: &[&str]) -> Vec<String> {
    vec![format!("| {} |", heads.join(" | ")), format!("|{}", "-|".repeat(heads.len()))]
}

/// Formats a share: `58.7 %`, or `-` without a total.
fn part(some: usize, all: usize) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1} %", percentage(some, all)) }
}

/// Returns the median and the 90th percentile.
fn quantiles(mut seconds: Vec<f64>) -> [String; 2] {
    [0.5, 0.9].map(|part| match decide::quantile(&mut seconds, part) {
        none if none.is_nan() => "-".to_owned(),
        seconds => format!("{seconds:.1}"),
    })
}

fn refused<'a>(what: &str, whys: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for why in whys {
        *counts.entry(why).or_default() += 1;
    }
    let reasons: Vec<String> = counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
    if reasons.is_empty() {
        format!("{what} that do not count: none")
    } else {
        format!("{what} that do not count: {}", reasons.join(", "))
    }
}

fn commits<R>(rows: &[Of<R>]) -> String {
    let commits: BTreeSet<&str> = rows.iter().map(|of| of.tool_commit.as_str()).collect();
    format!("commit of the tool: {}", commits.into_iter().collect::<Vec<_>>().join(", "))
}
