//! Changes of a benchmark's time by given percentages: does the tool find them, and does criterion?
//!
//! Base and head have the same loop at the start of a function and differ only in its number of rounds. The effect of a
//! round is determined with many rounds first, and then with as many as change the benchmark by a tenth.

use super::benches::{One, Place};
use super::comparison::{self, Answer};
use super::draw::Pool;
use super::injection::{self, Injection, Kind};
use super::outputs::Claim;
use super::seen::Seen;
use super::subjects::{Of, Subject};
use super::{Result, benches, calls, copy, repository, spin};
use perfunit_report::json::Document;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

/// Rounds of the loop on base (with two rounds, the effect of further rounds was not proportional), and additional
/// rounds to find a benchmark that they change.
const BASE: u64 = 50;
const MORE: u64 = 2000;
/// Least change of a suitable benchmark, and greatest width of its interval as a fraction of the change.
const LEAST: f64 = 0.03;
const WIDTH: f64 = 0.5;
/// Change by which a round is calibrated, in percent.
const TENTH: u32 = 10;
/// Least number of rounds of a change; with fewer, rounding would change it too much.
const FEWEST: f64 = 2.0;
/// Text instead of a verdict.
pub const NO_FIGURES: &str = "no figures";

/// Effect of this many additional rounds at the start of a function on the benchmarks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scale {
    /// Key of the function.
    pub key: String,
    pub more: u64,
    /// Reason why nothing was compared.
    pub refused: Option<String>,
    /// Benchmarks with figures that execute the function.
    pub seen: Vec<Seen>,
}

/// One change of one benchmark.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Key of the function.
    pub key: String,
    /// Requested change in percent.
    pub asked: u32,
    /// Change by the nearest whole number of rounds, in percent, as extrapolated from more rounds.
    pub planted: f64,
    /// Name of the benchmark, and its time on base.
    pub benchmark: String,
    pub base_ns: f64,
    /// The tool's result; `None` without figures.
    pub seen: Option<Seen>,
    /// Time that the tool measured, s.
    pub seconds: f64,
    /// Claim of criterion and its wall time for both versions in seconds, if it was run.
    pub criterion: Option<(Option<Claim>, f64)>,
}

/// Changes to be planted into a clone.
pub struct Plan<'a> {
    /// Changes in percent.
    pub changes: &'a [u32],
    /// Number of benchmarks to change.
    pub benchmarks: usize,
    /// Number of these that criterion measures too.
    pub criterion: usize,
}

/// Changes benchmarks until there are enough, or no more functions.
pub fn make(subject: &Subject<'_>, clone: &Path, plan: &Plan<'_>) -> Result<Vec<Of<Row>>> {
    let place = benches::place(subject, clone)?;
    let uncovered = calls::uncovered(subject)?;
    let mut pool = Pool::new(&subject.sources, vec![1], subject.experiment.ns_a_round);
    pool.functions.retain(|function| !uncovered.contains(&(function.path.clone(), function.line)));
    let drawn = pool.draw(Kind::Busy, usize::MAX, &mut fastrand::Rng::with_seed(subject.experiment.seed));
    let (mut rows, mut used) = (Vec::new(), BTreeSet::new());
    for injection in &drawn {
        if used.len() >= plan.benchmarks {
            break;
        }
        let planted = Planted::new(subject, &place, injection)?;
        let is_it = |scale: &Scale| scale.key == planted.key && scale.more == MORE;
        let all = subject.row("scales.jsonl", &subject.asked(), is_it, || planted.scale(MORE, None))?;
        let Some(found) = all.row.chosen(plan.changes, &used) else { continue };
        used.insert(found.test());
        let more = all.row.rounds(TENTH, found).round().max(1.0) as u64;
        let is_it = |scale: &Scale| scale.key == planted.key && scale.more == more;
        let tenth = subject.row("scales.jsonl", &subject.asked(), is_it, || planted.scale(more, Some(found)))?;
        let Some(chosen) = tenth.row.chosen(plan.changes, &BTreeSet::new()) else { continue };
        for asked in plan.changes {
            let is_it = |row: &Row| row.key == planted.key && row.asked == *asked;
            let make = || planted.row(&tenth.row, chosen, *asked, used.len() <= plan.criterion);
            rows.push(subject.row("sized.jsonl", &subject.asked(), is_it, make)?);
        }
    }
    subject.set_back()?;
    Ok(rows)
}

impl Scale {
    /// Returns an unused benchmark that the rounds certainly change, and that whole rounds can change by as little as
    /// requested.
    fn chosen(&self, changes: &[u32], used: &BTreeSet<String>) -> Option<&Seen> {
        let least = changes.iter().copied().filter(|change| *change > 0).min().unwrap_or(u32::MAX);
        self.seen.iter().find(|seen| {
            let [Some(low), Some(high)] = seen.interval else { return false };
            let is_sure = seen.estimate >= LEAST && high - low <= WIDTH * seen.estimate;
            is_sure && self.rounds(least, seen) >= FEWEST && !used.contains(&seen.test())
        })
    }

    /// Returns the number of rounds that change a benchmark by a percentage.
    fn rounds(&self, change: u32, seen: &Seen) -> f64 {
        f64::from(change) / 100.0 / seen.estimate * self.more as f64
    }
}

/// A function with its loop committed as base.
struct Planted<'a> {
    subject: &'a Subject<'a>,
    place: &'a Place,
    injection: &'a Injection,
    key: String,
    commit: String,
}

impl<'a> Planted<'a> {
    fn new(subject: &'a Subject<'_>, place: &'a Place, injection: &'a Injection) -> Result<Self> {
        subject.set_back()?;
        put(injection, &subject.tree, &subject.tree, BASE)?;
        repository::commit(&subject.tree, "base")?;
        let commit = copy::git(&subject.tree, &["rev-parse", "HEAD"])?;
        Ok(Self { subject, place, injection, key: injection.place.clone(), commit })
    }

    /// Compares base with this many additional rounds.
    fn compare(&self, more: u64, options: &[&str]) -> Result<Answer> {
        put(self.injection, &self.place.tree, &self.subject.tree, BASE + more)?;
        // Only two constants of the same function differ. Equal versions get an additional function instead.
        if more == 0 {
            let path = self.subject.tree.join(&self.injection.changes[0].0);
            let text = fs::read_to_string(&path)?;
            fs::write(path, format!("{text}\npub fn perfunit_unrelated(n: u64) -> u64 {{ n.rotate_left(3) ^ 5 }}\n"))?;
        }
        let answer = comparison::compare(&self.subject.experiment.tool, &self.subject.tree, "HEAD", options);
        copy::git(&self.subject.tree, &["checkout", "--quiet", "--force", "--detach", &self.commit])?;
        answer
    }

    /// Measures the effect on all benchmarks that execute the function, or on one.
    fn scale(&self, more: u64, one: Option<&Seen>) -> Result<Scale> {
        let filter = one.map(filter);
        let options: Vec<&str> = filter.iter().flat_map(|filter| ["--filterset", filter.as_str()]).collect();
        let (refused, seen) = match self.compare(more, &options)? {
            Answer::Refused(why) => (Some(why), Vec::new()),
            Answer::Compared(document) => (None, document.tests.iter().filter_map(Seen::of).collect()),
        };
        Ok(Scale { key: self.key.clone(), more, refused, seen })
    }

    fn row(&self, scale: &Scale, chosen: &Seen, asked: u32, with_criterion: bool) -> Result<Row> {
        let more = scale.rounds(asked, chosen).round() as u64;
        let threshold = format!("{}%", f64::from(asked.max(1)) / 2.0);
        let options = ["--filterset", &filter(chosen), "--threshold", &threshold, "--all-tests"];
        let document: Box<Document> = match self.compare(more, &options)? {
            Answer::Compared(document) => document,
            Answer::Refused(why) => return Err(why.into()),
        };
        let target = chosen.target.rsplit('/').next().unwrap_or_default();
        let one = One { target, name: &chosen.name };
        Ok(Row {
            key: self.key.clone(),
            asked,
            planted: 100.0 * more as f64 / scale.more as f64 * chosen.estimate,
            benchmark: chosen.test(),
            base_ns: chosen.base_ns,
            seen: document.tests.iter().find_map(Seen::of),
            seconds: document.summary.seconds.measure,
            criterion: if with_criterion { self.criterion(one, more)? } else { None },
        })
    }

    /// Measures the same with criterion; `None` for benchmarks of other libraries.
    fn criterion(&self, one: One<'_>, more: u64) -> Result<Option<(Option<Claim>, f64)>> {
        let tree = &self.place.tree;
        let run = |rounds, base| -> Result<benches::Row> {
            copy::git(tree, &["checkout", "--quiet", "--force", "--detach", &self.subject.commit])?;
            put(self.injection, tree, tree, rounds)?;
            Ok(self.place.row(benches::Version::Base, base, Some(one)))
        };
        let base = run(BASE, None)?;
        let head = if base.refused.is_none() { run(BASE + more, Some(&base))? } else { base.clone() };
        copy::git(tree, &["checkout", "--quiet", "--force", "--detach", &self.subject.commit])?;
        if let Some(why) = &head.refused {
            println!("criterion: {why}");
        }
        let [compared] = head.compared.as_slice() else { return Ok(None) };
        Ok(Some((compared.claim, base.seconds + head.seconds)))
    }
}

fn filter(seen: &Seen) -> String {
    format!("kind(bench) & binary_id(={}) & test(={})", seen.target, seen.name)
}

/// Writes the file with a loop of this many rounds, based on a tree without the loop.
fn put(injection: &Injection, from: &Path, to: &Path, rounds: u64) -> Result<()> {
    for (path, changes) in &injection.changes {
        let text = fs::read_to_string(from.join(path))?;
        let changes = changes.iter().map(|(range, _)| (range.clone(), spin::statement(rounds))).collect();
        fs::write(to.join(path), injection::apply(&text, &changes))?;
    }
    Ok(())
}

impl Row {
    /// Returns the tool's verdict.
    pub fn verdict(&self) -> &str {
        self.seen.as_ref().map_or(NO_FIGURES, |seen| &seen.verdict)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key)?;
        if let Some(why) = &self.refused {
            return write!(f, "{why}");
        }
        let changed = self.seen.iter().filter(|seen| seen.estimate >= LEAST).count();
        write!(f, "{} rounds change {changed} of {} benchmarks", self.more, self.seen.len())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planted, benchmark, base_ns, seconds, .. } = self;
        write!(f, "{benchmark} ({base_ns:.0} ns), +{planted:.2} %: {}", self.verdict())?;
        if let Some(seen) = &self.seen {
            write!(f, " {:+.2} %", 100.0 * seen.estimate)?;
        }
        write!(f, "; {seconds:.1} s")?;
        if let Some((claim, seconds)) = self.criterion {
            write!(f, "; criterion: {claim:?}, {seconds:.1} s")?;
        }
        Ok(())
    }
}
