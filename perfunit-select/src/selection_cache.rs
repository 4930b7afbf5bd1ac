//! Answers about two built sides that were found before. The sides' keys are of content, so the answers about code stay
//! true; those about runs hold in the surroundings in which the tests ran.

use super::functions;
use super::source::ChangedItem;
use super::target_code::{ProgramCode, TargetCode};
use perfunit_build::SideBuild;
use perfunit_model::error::Result;
use perfunit_model::{Sides, TargetId, TestId};
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What answers mean; another one does not understand them.
const VERSION: &str = "4";

/// Comparisons kept for later runs.
const KEPT: usize = 64;

/// What is known about a pair of sides.
#[derive(Debug, Default)]
pub struct Remembered {
    path: Option<PathBuf>,
    answers: Answers,
    is_new: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    targets: BTreeMap<String, TargetCode>,
    /// The binaries that differ, once they were compared.
    programs: Option<Vec<ProgramCode>>,
    /// By test: what its runs came to, the last time that it was traced.
    executed: BTreeMap<String, Traced>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Traced {
    /// Key of what the test could see besides its code. Of another environment nothing is known.
    surroundings: String,
    answer: RunAnswer,
}

/// What the runs of a test came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunAnswer {
    /// No changed place.
    Nothing,
    /// A changed place of the test executable.
    OwnCode,
    /// This function of a program, with its linker symbol.
    Program { name: String, function: String, symbol: String },
    /// It cannot be told, for this reason.
    Unknown { why: String },
}

/// Where the answers about these sides are.
pub fn file(ours: &Path, sides: &Sides<SideBuild>) -> PathBuf {
    let name = |side: &SideBuild| side.folder.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let key = KeyBuilder::default().with(VERSION).with(name(&sides.base)).with(name(&sides.head)).finish();
    ours.join("selection").join(format!("{key}.json"))
}

impl Remembered {
    /// Reads what is known; a damaged file is as good as none.
    pub fn load(ours: &Path, sides: &Sides<SideBuild>) -> Result<Self> {
        let path = file(ours, sides);
        let known = json::read_if_understood(&path)?;
        Ok(Self { path: Some(path), answers: known.unwrap_or_default(), is_new: false })
    }

    /// The answer about a target, if it covers these tests and changed functions.
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

    /// Notes the answer about a target.
    pub fn insert(&mut self, target: &TargetId, code: &TargetCode) {
        self.answers.targets.insert(target.to_string(), code.clone());
        self.is_new = true;
    }

    /// Returns the binaries that differ, if they were compared.
    pub fn programs(&self) -> Option<&Vec<ProgramCode>> {
        self.answers.programs.as_ref()
    }

    /// Notes the binaries that differ.
    pub fn insert_programs(&mut self, programs: Vec<ProgramCode>) {
        self.answers.programs = Some(programs);
        self.is_new = true;
    }

    /// Returns what runs of this test came to in these surroundings.
    pub fn executed(&self, test: &TestId, surroundings: &str) -> Option<&RunAnswer> {
        let traced = self.answers.executed.get(&test.to_string())?;
        (traced.surroundings == surroundings).then_some(&traced.answer)
    }

    /// Notes what they came to.
    pub fn insert_executed(&mut self, test: &TestId, surroundings: String, answer: RunAnswer) {
        let traced = Traced { surroundings, answer };
        let before = self.answers.executed.insert(test.to_string(), traced.clone());
        self.is_new |= before != Some(traced);
    }

    /// Writes down what is new.
    pub fn save(&mut self) -> Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.is_new) else { return Ok(()) };
        json::write(path, &self.answers)?;
        self.is_new = false;
        path.parent().map_or(Ok(()), |folder| cache::prune(folder, KEPT, Duration::ZERO))
    }
}
