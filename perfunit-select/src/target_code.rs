//! Result of comparing the machine code of a target's tests: which tests can reach a difference, and at which
//! functions.

use super::code::{self, FunctionCode, Program, Unit, Unreadable};
use perfunit_build::{CompiledFiles, LinkRecord};
use perfunit_model::error::{Error, Stop, Tried};
use perfunit_model::{ChangedFunction, OtherInput, Sides, Uncompared, Why};
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of functions in the report of one test.
const NAMED: usize = 20;

/// Result of comparing the machine code of a target's tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCode {
    /// Places at which some test can first reach a difference.
    pub places: Vec<Place>,
    pub tests: BTreeMap<String, TestCode>,
    /// Code of the changed functions in head, by [`key`](super::functions::key).
    pub functions: BTreeMap<String, FunctionCode>,
    /// Other differing files and variables that the tests can start, load or read.
    pub others: Vec<OtherInput>,
    /// True if part of the code is in shared libraries, which tracing does not watch.
    pub in_libraries: bool,
    /// Reason why nothing could be compared; every test then counts as changed.
    pub unknown: Option<Uncompared>,
}

/// A program of the workspace that differs between the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCode {
    /// Name of the binary.
    pub name: String,
    /// Functions at which it can start to differ, nearest to `main` first; or the reason why they are unknown.
    pub places: Result<Vec<Place>, Unlocated>,
}

/// Reason why the difference in a program cannot be located.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unlocated {
    #[error("which only one version has")]
    OneVersionOnly,
    #[error("which loads libraries that differ")]
    Libraries,
    #[error("which differs outside of its functions")]
    NoFunction,
    /// The reason as text.
    #[error("whose machine code was not compared: {0}")]
    Uncompared(String),
}

/// Places in the test executable that a test must execute to count as changed.
#[derive(Debug, Clone)]
pub struct Watched<'a> {
    pub by_test: Vec<&'a Place>,
    /// Places of all tests, if known: a test may start its own executable.
    pub by_all_tests: Option<&'a [Place]>,
}

/// A function at which two versions can start to differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub function: ChangedFunction,
    /// Symbols in base.
    pub base: BTreeSet<String>,
    /// Symbols in head.
    pub head: BTreeSet<String>,
}

/// Result of comparing the machine code of one test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestCode {
    /// It cannot have changed.
    Same,
    /// It can reach a difference.
    Changed {
        /// Functions from the test to the nearest difference.
        path: Vec<String>,
        /// Indices into `places`, nearest first.
        places: Vec<usize>,
    },
    /// It can start programs, and this binary differs.
    Starts { binary: String },
    /// It can start its own program, which has this name and differs.
    StartsItself { name: String },
    /// It was not found in the objects.
    Unknown,
}

impl TargetCode {
    pub fn unknown(why: Uncompared) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Marks tests that can start their own program as changed, if any test of it has changed.
    pub fn note_restarting(&mut self, programs: &Sides<code::Program>, tests: &BTreeSet<String>, own: &str) {
        if self.tests.values().all(|code| *code == TestCode::Same) {
            return;
        }
        let restarting = programs.as_ref().map(|program| code::restarting(program, tests));
        self.note(&restarting, &TestCode::StartsItself { name: own.to_owned() });
    }

    /// Marks tests that can start programs. Cargo passes the package's binaries only to integration tests, but others
    /// may find them by path.
    pub fn note_starting(&mut self, programs: &Sides<code::Program>, tests: &BTreeSet<String>, binary: &str) {
        let starting = programs.as_ref().map(|program| code::starting(program, tests));
        self.note(&starting, &TestCode::Starts { binary: binary.to_owned() });
    }

    fn note(&mut self, starting: &Sides<BTreeSet<String>>, noted: &TestCode) {
        for test in starting.base.union(&starting.head) {
            if let Some(code) = self.tests.get_mut(test).filter(|code| **code == TestCode::Same) {
                *code = noted.clone();
            }
        }
    }

    /// Checks whether tests may execute other code than their own executable's.
    pub fn may_start_binaries(&self) -> bool {
        !self.others.is_empty() || self.tests.values().any(|test| matches!(test, TestCode::Starts { .. }))
    }

    /// Renames the results to these test names. The executable knows each test by another name.
    pub fn rename(&mut self, tests: &BTreeSet<String>, known_as: &dyn Fn(&String) -> String) {
        let renamed = tests.iter().filter_map(|test| Some((test.clone(), self.tests.get(&known_as(test))?.clone())));
        self.tests = renamed.collect();
    }

    /// Checks whether a test cannot have changed.
    pub fn is_same(&self, test: &str) -> bool {
        self.others.is_empty() && self.unknown.is_none() && self.tests.get(test) == Some(&TestCode::Same)
    }

    /// Returns the differences that a test can reach, for reports.
    pub fn why(&self, test: &str) -> Option<Why> {
        if let Some(TestCode::Changed { path, places }) = self.tests.get(test) {
            let named = places.iter().take(NAMED).filter_map(|place| self.places.get(*place));
            let changed = named.map(|place| place.function.clone()).collect();
            return Some(Why { path: path.clone(), changed, others: Vec::new() });
        }
        let mut others = self.others.clone();
        if let Some(TestCode::Starts { binary: name } | TestCode::StartsItself { name }) = self.tests.get(test) {
            let started = OtherInput::Binary { name: name.clone() };
            others.retain(|other| *other != started);
            others.insert(0, started);
        }
        (!others.is_empty()).then(|| Why { path: vec![test.to_owned()], changed: Vec::new(), others })
    }

    /// Checks whether a test has the same code and is not seen to start programs, so that at most it reads files that
    /// differ.
    pub fn is_passive(&self, test: &str) -> bool {
        self.tests.get(test) == Some(&TestCode::Same)
    }

    /// Returns the places in the executable that a test must execute to count as changed, apart from changes in
    /// programs; `None` if it can reach a change in another way.
    pub fn watched_places(&self, test: &str) -> Option<Watched<'_>> {
        let is_binary = |input: &OtherInput| matches!(input, OtherInput::Binary { .. });
        if self.in_libraries || !self.others.iter().all(is_binary) {
            return None;
        }
        let by_test = match self.tests.get(test)? {
            TestCode::Changed { places, .. } => places.iter().filter_map(|place| self.places.get(*place)).collect(),
            TestCode::Same | TestCode::Starts { .. } | TestCode::StartsItself { .. } => Vec::new(),
            TestCode::Unknown => return None,
        };
        let are_all_known = self.tests.values().all(|test| *test != TestCode::Unknown);
        Some(Watched { by_test, by_all_tests: are_all_known.then_some(&self.places) })
    }
}

/// Cache of the files read so far.
#[derive(Default)]
pub struct Units {
    /// Units by device and inode. Equal stored files are hard links to each other.
    known: HashMap<(u64, u64), Result<Arc<Unit>, Unreadable>>,
}

impl Units {
    /// Reads the program of a link and of the libraries that it loads, or returns a reason. `files` are the compiled
    /// files.
    pub fn program<'a>(
        &mut self,
        links: impl Iterator<Item = &'a LinkRecord>,
        files: &CompiledFiles,
    ) -> Tried<Program, Unreadable> {
        let mut units = Vec::new();
        for path in links.flat_map(LinkRecord::inputs) {
            units.push(self.unit(&path, files)?);
        }
        Ok(code::link(&units))
    }

    fn unit(&mut self, path: &Path, files: &CompiledFiles) -> Tried<Arc<Unit>, Unreadable> {
        let data = path.metadata().map_err(|error| {
            Error::setup(format!("cannot read {}: {error}", path.display())).hint("run `cargo perfunit clean`")
        })?;
        let key = (data.dev(), data.ino());
        if let Some(known) = self.known.get(&key) {
            return known.clone().map_err(Stop::Because);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unit = code::read(&name, &fs::read(path)?, files).map(Arc::new);
        self.known.insert(key, unit.clone());
        unit.map_err(Stop::Because)
    }
}
