//! Cache of results about two built sides. The keys of the sides identify their content, so results about code stay
//! valid; results of runs are valid for the environment in which the tests ran.

use super::functions;
use super::source::ChangedItem;
use super::target_code::{ProgramCode, TargetCode};
use perfunit_build::SideBuild;
use perfunit_model::error::Result;
use perfunit_model::{Sides, TargetId, TestId};
use perfunit_system::cache::{self, KeyBuilder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Version of the format; others are ignored.
const VERSION: &str = "5";

/// Number of comparisons to keep.
const KEPT: usize = 64;

/// Cached results about a pair of sides.
#[derive(Debug, Default)]
pub struct SelectionCache {
    path: Option<PathBuf>,
    answers: Answers,
    is_new: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    targets: BTreeMap<String, TargetCode>,
    /// Binaries that differ, once they were compared.
    programs: Option<Vec<ProgramCode>>,
    /// Result of the last tracing of each test.
    executed: BTreeMap<String, Traced>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Traced {
    /// Key of everything except code that the test could see. A result for another environment does not count.
    surroundings: String,
    answer: RunAnswer,
}

/// Result of tracing a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunAnswer {
    /// No changed place was executed.
    Nothing,
    /// This changed function was executed; `symbol` is its linker symbol. It is in the test executable unless a program
    /// is named.
    Executed { program: Option<String>, function: String, symbol: String },
    /// The result is unknown, for this reason.
    Unknown { why: String },
}

/// Returns the path of the cache for these sides.
pub fn file(ours: &Path, sides: &Sides<SideBuild>) -> PathBuf {
    let name = |side: &SideBuild| side.folder.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let key = KeyBuilder::default().with(VERSION).with(name(&sides.base)).with(name(&sides.head)).finish();
    ours.join("selection").join(format!("{key}.json"))
}

impl SelectionCache {
    /// Loads the cache. A damaged file counts as empty.
    pub fn load(ours: &Path, sides: &Sides<SideBuild>) -> Result<Self> {
        let path = file(ours, sides);
        let known = cache::load(&path)?;
        Ok(Self { path: Some(path), answers: known.unwrap_or_default(), is_new: false })
    }

    /// Returns the result for a target, if it covers these tests and changed functions.
    pub fn target(
        &self,
        target: &TargetId,
        tests: &BTreeSet<String>,
        functions: &[&ChangedItem],
    ) -> Option<TargetCode> {
        let known = self.answers.targets.get(&target.to_string())?;
        let covers = tests.iter().all(|test| known.tests.contains_key(test))
            && functions.iter().all(|item| known.functions.contains_key(&functions::key(item)));
        (known.unknown.is_some() || covers).then(|| known.clone())
    }

    /// Stores the result for a target.
    pub fn insert(&mut self, target: &TargetId, code: &TargetCode) {
        self.answers.targets.insert(target.to_string(), code.clone());
        self.is_new = true;
    }

    /// Returns the binaries that differ, if they were compared.
    pub fn programs(&self) -> Option<&Vec<ProgramCode>> {
        self.answers.programs.as_ref()
    }

    /// Stores the binaries that differ.
    pub fn insert_programs(&mut self, programs: Vec<ProgramCode>) {
        self.answers.programs = Some(programs);
        self.is_new = true;
    }

    /// Returns the result of tracing this test in this environment.
    pub fn run_answer(&self, test: &TestId, surroundings: &str) -> Option<&RunAnswer> {
        let traced = self.answers.executed.get(&test.to_string())?;
        (traced.surroundings == surroundings).then_some(&traced.answer)
    }

    /// Stores the result of tracing a test.
    pub fn insert_executed(&mut self, test: &TestId, surroundings: String, answer: RunAnswer) {
        let traced = Traced { surroundings, answer };
        let before = self.answers.executed.insert(test.to_string(), traced.clone());
        self.is_new |= before != Some(traced);
    }

    /// Writes new results to disk.
    pub fn save(&mut self) -> Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.is_new) else { return Ok(()) };
        cache::store(path, &self.answers, KEPT)?;
        self.is_new = false;
        Ok(())
    }
}
