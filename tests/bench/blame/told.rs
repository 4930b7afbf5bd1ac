//! The tool's result for an injection, and whether it is right.

use super::explained::{self, Responsible, Test};
use super::injection::{Guilty, Injection, Kind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Result of one injection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Key of the injection.
    pub key: String,
    /// Seed of the draw.
    pub seed: u64,
    /// Version and options of the tool.
    pub tool: String,
    /// Kind of the injection.
    pub kind: Kind,
    /// Size of the effect.
    pub effect: String,
    /// The function that became slower.
    pub place: String,
    /// Reason why nothing was compared or the result does not count.
    pub refused: Option<String>,
    /// Wall time of the tool, s.
    pub seconds: f64,
    /// Slower tests.
    pub tests: Vec<Told>,
}

/// The tool's result for one slower test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Told {
    /// Name of the test.
    pub test: String,
    /// Change as a fraction of base.
    pub change: Option<f64>,
    /// Rank of the responsible function among the named ones, from 1; `None` if it is not named.
    pub rank: Option<usize>,
    /// Number of named functions.
    pub named: usize,
    /// First named function.
    pub first: Option<String>,
    /// Share of the responsible function as a fraction of the difference.
    pub share: Option<f64>,
    /// Distortion of base by probes.
    pub distortion: Option<f64>,
    /// True if there is an explanation.
    pub explained: bool,
    /// Wall time of the explanation, s.
    pub seconds: Option<f64>,
    /// Pairs of processes for the explanation.
    pub pairs: usize,
    /// Engine and strategy.
    pub strategy: String,
    /// Remarks of the explanation, or of the test if there is none.
    pub notes: Vec<String>,
}

impl Row {
    /// Returns the number of tests with the responsible function in the first ranks.
    pub fn within(&self, rank: usize) -> usize {
        self.tests.iter().filter(|test| test.rank.is_some_and(|is| is <= rank)).count()
    }
}

impl Told {
    /// Returns whether another function is named first.
    pub fn is_wrong(&self) -> bool {
        self.named > 0 && self.rank != Some(1)
    }
}

/// Function that returns whether the function named in this line of a file calls the dependency, as far as names tell.
pub type Calls<'a> = dyn Fn(&str, usize) -> bool + 'a;

/// Returns a test that fails or hangs only with the injection. Such an injection changes behavior and does not count.
pub fn broken(tests: &[Test]) -> Option<String> {
    let is_broken = |test: &&Test| {
        let reason = test.reason.as_ref();
        reason.is_some_and(|reason| {
            let on_head = reason.side.as_deref() == Some("head") && !reason.intermittent;
            on_head && ["fails", "crashes", "timed-out"].contains(&reason.kind.as_str())
        })
    };
    let count = tests.iter().filter(is_broken).count();
    tests.iter().find(is_broken).map(|first| format!("{count} tests break: {}", first.name))
}

/// Returns the results for all slower tests.
pub fn told(tests: &[Test], injection: &Injection, calls: &Calls<'_>) -> Vec<Told> {
    let slower = tests.iter().filter(|test| test.verdict == "slower");
    slower.map(|test| told_of(test, injection, calls)).collect()
}

fn told_of(test: &Test, injection: &Injection, calls: &Calls<'_>) -> Told {
    let unexplained = Told {
        test: test.name.clone(),
        change: test.change.as_ref().and_then(|change| change.estimate),
        rank: None,
        named: 0,
        first: None,
        share: None,
        distortion: None,
        explained: false,
        seconds: None,
        pairs: 0,
        strategy: String::new(),
        notes: test.notes.iter().chain(&test.unexplained_because).cloned().collect(),
    };
    let Some(found) = &test.explanation else { return unexplained };
    let is_it = |responsible: &Responsible| {
        let function = &found.functions[responsible.function];
        match &injection.guilty {
            Guilty::Function { path, line } => function.file == *path && function.line == *line,
            Guilty::Dependency { .. } => responsible.kind == "own" && calls(&function.file, function.line),
        }
    };
    let place = found.responsible.iter().position(is_it);
    let is_cause = match &injection.guilty {
        Guilty::Dependency { name } => found.causes.iter().any(|cause| cause.is_dependency(name)),
        Guilty::Function { .. } => false,
    };
    Told {
        rank: if is_cause { Some(1) } else { place.map(|place| place + 1) },
        named: found.responsible.len() + usize::from(is_cause),
        first: explained::first(found),
        share: place.and_then(|place| found.responsible[place].share),
        distortion: found.distortion,
        explained: true,
        seconds: found.seconds,
        pairs: found.pairs,
        strategy: format!("{}, {}", found.engine, found.strategy),
        notes: found.notes.clone(),
        ..unexplained
    }
}

/// Headings of the columns of [`Row`]s.
pub const HEADING: &str = "slower  explained  first  in three    none  wrong  seconds  injection";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let explained = self.tests.iter().filter(|test| test.explained).count();
        let nobody = self.tests.iter().filter(|test| test.explained && test.named == 0).count();
        let wrong = self.tests.iter().filter(|test| test.is_wrong()).count();
        let [first, three] = [self.within(1), self.within(3)];
        let Self { kind, effect, place, seconds, .. } = self;
        write!(
            f,
            "{:>6} {explained:>10} {first:>6} {three:>9} {nobody:>7} {wrong:>6} {seconds:>8.0}  {}: {effect}, {place}",
            self.tests.len(),
            kind.word()
        )?;
        self.refused.iter().try_for_each(|why| write!(f, " ({why})"))
    }
}
