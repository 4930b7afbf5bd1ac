//! Effect of one null edit on the verdicts; stored in a file.

use super::nulls::Kind;
use super::seen::Seen;
use perfunit_report::json::Document;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Key of the edit, unique in a draw.
    pub key: String,
    /// Seed of the draw.
    pub seed: u64,
    /// Version and options of the tool.
    pub tool: String,
    /// Difference between the versions.
    pub kind: Kind,
    /// File and line.
    pub place: String,
    /// Reason why nothing was measured.
    pub refused: Option<String>,
    /// Tests with figures.
    pub tests: Vec<Seen>,
    /// Functions of equal size in both versions: those at equal addresses, and all.
    pub functions: Part,
    /// Loops of changed functions: those at equal addresses, and all.
    pub loops: Part,
    /// Reason why the layout of a target was not controlled.
    pub uncontrolled: Option<String>,
    /// Wall time of the tool, s.
    pub seconds: f64,
}

/// A share: `some` of `all`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Part {
    /// Number that meets the condition.
    pub some: usize,
    /// Total number.
    pub all: usize,
}

impl Row {
    /// Copies the relevant results from a document; `is_meant` selects the tests.
    pub fn fill(&mut self, document: &Document, is_meant: impl Fn(&str) -> bool) {
        let meant = document.tests.iter().filter(|result| is_meant(&result.test.name));
        self.tests = meant.filter_map(Seen::of).collect();
        for layout in &document.environment.layouts {
            self.functions.add(layout.matched.equal, layout.matched.common);
            self.loops.add(layout.matched.held, layout.matched.loops);
            self.uncontrolled = self.uncontrolled.take().or_else(|| layout.uncontrolled_because.clone());
        }
        if self.tests.is_empty() {
            self.refused = Some("no test with figures".to_owned());
        }
    }

    /// Returns the number of tests that meet a condition.
    pub fn count(&self, is: impl Fn(&Seen) -> bool) -> usize {
        self.tests.iter().filter(|seen| is(seen)).count()
    }
}

impl Part {
    fn add(&mut self, some: usize, all: usize) {
        self.some += some;
        self.all += all;
    }
}

/// Heading above the rows.
pub const HEADING: &str = "kind           tests  before   after   below inconcl  largest %   functions       loops \
                           seconds  place: test with the largest, its time";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, place, seconds, .. } = self;
        write!(f, "{kind:<13}")?;
        if let Some(why) = &self.refused {
            return write!(f, "  {place}: {why}");
        }
        let verdict = |word: &'static str| self.count(|seen| seen.verdict == word);
        let (before, after) = (self.count(|seen| seen.flagged_first), self.count(Seen::is_flagged));
        let (below, inconclusive) = (verdict("changed-below-threshold"), verdict("inconclusive"));
        write!(f, "{:>7}{before:>8}{after:>8}{below:>8}{inconclusive:>8}", self.tests.len())?;
        let largest = self.tests.iter().max_by(|one, two| one.estimate.abs().total_cmp(&two.estimate.abs()));
        let (estimate, ns, test) =
            largest.map_or((0.0, 0.0, String::new()), |seen| (seen.estimate, seen.base_ns, seen.test()));
        let (functions, loops) = (self.functions.to_string(), self.loops.to_string());
        write!(f, "{:>+11.2}{functions:>12}{loops:>12}{seconds:>8.0}  {place}: {test}, {ns:.0} ns", 100.0 * estimate)?;
        self.uncontrolled.as_ref().map_or(Ok(()), |why| write!(f, " [{why}]"))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.some, self.all)
    }
}
