//! One wait at the start of a function, and the tool's report on it.

use super::Result;
use super::comparison::Answer;
use super::draw::Pool;
use super::injection::{self, Injection, Kind};
use super::seen::Seen;
use super::subjects::{Of, Subject};
use perfunit_report::json::Document;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// A drawn wait.
pub struct Wait {
    /// Length in ns.
    pub ns: u64,
    /// Place of the wait.
    pub injection: Injection,
}

/// Result of one wait.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Key of the wait.
    pub key: String,
    /// Length in ns.
    pub ns: u64,
    /// The function, with file and line.
    pub place: String,
    /// Reason why nothing was compared.
    pub refused: Option<String>,
    /// Number of tests that the tool selected: they execute the function, or nothing shows that they do not.
    pub selected: usize,
    /// Selected tests with a verdict.
    pub tests: Vec<Seen>,
    /// Tests without figures by reason, including tests that were not selected.
    pub unmeasured: BTreeMap<String, usize>,
    /// Wall times of both builds, selection, measurement, and the whole call, s.
    pub build: f64,
    pub select: f64,
    pub measure: f64,
    pub seconds: f64,
}

/// Outcome of a wait: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No selected test executes the function.
    NotCovered,
    /// Some test is slower.
    Found,
    /// Some test is slower by less than the threshold.
    Below,
    /// Some test is inconclusive.
    Inconclusive,
    /// No test with figures has any of these results.
    Missed,
    /// No test has figures.
    NotMeasured,
}

/// Makes waits of all lengths in turn until this many compile, or there are no more. Also returns those that compile,
/// in order.
pub fn make(subject: &Subject<'_>, times: &[u64], wanted: usize) -> Result<(Vec<Of<Row>>, Vec<Wait>)> {
    let (mut rows, mut compiled): (Vec<Of<Row>>, Vec<Wait>) = (Vec::new(), Vec::new());
    let asked = subject.asked();
    for wait in draw(subject, times) {
        if compiled.len() >= wanted {
            break;
        }
        let key = wait.injection.key();
        let of = subject.row("waits.jsonl", &asked, |row: &Row| row.key == key, || wait.row(subject))?;
        if of.row.refused.is_none() {
            compiled.push(wait);
        }
        rows.push(of);
    }
    Ok((rows, compiled))
}

/// Draws each length at every function, in random order, alternating between lengths.
fn draw(subject: &Subject<'_>, times: &[u64]) -> Vec<Wait> {
    let mut turns: Vec<(usize, Wait)> = Vec::new();
    for ns in times {
        let mut pool = Pool::new(&subject.sources, vec![*ns], subject.experiment.ns_a_round);
        if let Some(only) = &subject.only {
            pool.functions.retain(|function| only.contains(&(function.path.clone(), function.line)));
        }
        // Each length has its own seed, so that the draw does not depend on the other lengths.
        let mut random = fastrand::Rng::with_seed(subject.experiment.seed ^ ns << 32);
        let injections = pool.draw(Kind::Busy, usize::MAX, &mut random);
        let waits = injections.into_iter().map(|injection| Wait { ns: *ns, injection });
        turns.extend(waits.enumerate());
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, wait)| wait).collect()
}

impl Wait {
    /// Inserts the wait into the files of a tree.
    pub fn put(&self, tree: &Path) -> Result<()> {
        for (path, changes) in &self.injection.changes {
            let path = tree.join(path);
            let text = fs::read_to_string(&path)?;
            fs::write(&path, injection::apply(&text, changes))?;
        }
        Ok(())
    }

    fn row(&self, subject: &Subject<'_>) -> Result<Row> {
        self.put(&subject.tree)?;
        let started = Instant::now();
        let answer = (subject.experiment.compare)(&subject.experiment.tool, &subject.tree, "HEAD", &[]);
        let seconds = started.elapsed().as_secs_f64();
        subject.set_back()?;
        let mut row = Row {
            key: self.injection.key(),
            ns: self.ns,
            place: self.injection.place.clone(),
            refused: None,
            selected: 0,
            tests: Vec::new(),
            unmeasured: BTreeMap::new(),
            build: 0.0,
            select: 0.0,
            measure: 0.0,
            seconds,
        };
        match answer? {
            Answer::Refused(why) => row.refused = Some(why),
            Answer::Compared(document) => row.fill(&document),
        }
        Ok(row)
    }
}

impl Row {
    fn fill(&mut self, document: &Document) {
        let times = document.summary.seconds;
        (self.build, self.select, self.measure) = (times.build, times.select, times.measure);
        self.selected = document.selection.executed;
        self.tests = document.tests.iter().filter_map(Seen::of).collect();
        for test in document.tests.iter().filter(|test| Seen::of(test).is_none() && !test.selected_because.is_empty()) {
            let why = test.reason.as_ref().map_or("no figures", |reason| reason.kind.as_str());
            *self.unmeasured.entry(why.to_owned()).or_default() += 1;
        }
    }

    /// Returns the number of tests with this verdict.
    pub fn count(&self, verdict: &str) -> usize {
        self.tests.iter().filter(|seen| seen.verdict == verdict).count()
    }

    /// Returns the outcome of the wait.
    pub fn outcome(&self) -> Outcome {
        let is = |verdict: &str| self.count(verdict) > 0;
        match () {
            () if self.selected == 0 => Outcome::NotCovered,
            () if is("slower") => Outcome::Found,
            () if self.tests.iter().any(is_longer) => Outcome::Below,
            () if is("inconclusive") => Outcome::Inconclusive,
            () if !self.tests.is_empty() => Outcome::Missed,
            () => Outcome::NotMeasured,
        }
    }
}

/// Returns whether a test is certainly slower, but by less than the threshold.
fn is_longer(seen: &Seen) -> bool {
    seen.verdict == "changed-below-threshold" && seen.estimate > 0.0
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>4} ns in {}: ", self.ns, self.place)?;
        if let Some(why) = &self.refused {
            return write!(f, "{why}");
        }
        let verdicts = ["slower", "faster", "changed-below-threshold", "inconclusive", "same"];
        let counts: Vec<String> = verdicts.iter().map(|verdict| format!("{} {verdict}", self.count(verdict))).collect();
        write!(f, "{} selected: {}", self.selected, counts.join(", "))?;
        self.unmeasured.iter().try_for_each(|(why, count)| write!(f, ", {count} {why}"))?;
        write!(f, "; {:.0} s", self.seconds)
    }
}
