//! What machine code says about the tests of a target: which can reach code that differs, and by what places.

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

/// Most functions named in the report of one test.
const NAMED: usize = 20;

/// What machine code says about the tests of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCode {
    /// The places where some test can first come upon a difference.
    pub places: Vec<Place>,
    pub tests: BTreeMap<String, TestCode>,
    /// What head's code has of the changed functions, by [`key`](super::functions::key).
    pub functions: BTreeMap<String, FunctionCode>,
    /// What else the tests can start, load or read and that differs.
    pub others: Vec<OtherInput>,
    /// Part of the code is in shared libraries, where no run is watched.
    pub in_libraries: bool,
    /// Why nothing could be compared; then every test counts as changed.
    pub unknown: Option<Uncompared>,
}

/// A program of the workspace that differs between the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCode {
    /// The name of the binary.
    pub name: String,
    /// The functions where it can begin to differ, nearest to `main` first; or why only all of it counts.
    pub places: Result<Vec<Place>, Unlocated>,
}

/// Why it is not known where a program differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unlocated {
    #[error("which only one version has")]
    OneVersionOnly,
    #[error("which loads libraries that differ")]
    Libraries,
    #[error("in which something differs that no function uses")]
    NoFunction,
    /// The reason as text.
    #[error("whose machine code was not compared: {0}")]
    Uncompared(String),
}

/// What runs of a test have to come to for it to have changed, in the test executable.
#[derive(Debug, Clone)]
pub struct Watched<'a> {
    pub by_test: Vec<&'a Place>,
    /// The places of all tests, where these are known: a test may start its own executable.
    pub by_all_tests: Option<&'a [Place]>,
}

/// A function where two versions can begin to differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub function: ChangedFunction,
    /// Linker symbols on base.
    pub base: BTreeSet<String>,
    /// Linker symbols on head.
    pub head: BTreeSet<String>,
}

/// What machine code says about one test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestCode {
    /// It cannot have changed.
    Same,
    /// It can come upon a difference.
    Changed {
        /// Functions from the test to the nearest difference.
        path: Vec<String>,
        /// Positions in `places`, nearest first.
        places: Vec<usize>,
    },
    /// It can start programs, and this binary differs.
    Starts { binary: String },
    /// It can start its own program, of that name, in which something differs.
    StartsItself { name: String },
    /// It was not found in the objects.
    Unknown,
}

impl TargetCode {
    pub fn unknown(why: Uncompared) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Where something differs for one test, it does so for those that can start their own program.
    pub fn note_restarting(&mut self, programs: &Sides<code::Program>, tests: &BTreeSet<String>, own: &str) {
        if self.tests.values().all(|code| *code == TestCode::Same) {
            return;
        }
        let restarting = programs.as_ref().map(|program| code::restarting(program, tests));
        self.note(&restarting, &TestCode::StartsItself { name: own.to_owned() });
    }

    /// Cargo names the package's binaries to integration tests only; others may find one by its place.
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

    /// Whether tests may execute more than is in their own executable.
    pub fn may_start_binaries(&self) -> bool {
        !self.others.is_empty() || self.tests.values().any(|test| matches!(test, TestCode::Starts { .. }))
    }

    /// Calls tests by these names, of which each is known by another one to its executable.
    pub fn rename(&mut self, tests: &BTreeSet<String>, known_as: &dyn Fn(&String) -> String) {
        let renamed = tests.iter().filter_map(|test| Some((test.clone(), self.tests.get(&known_as(test))?.clone())));
        self.tests = renamed.collect();
    }

    /// True if a test cannot have changed.
    pub fn is_same(&self, test: &str) -> bool {
        self.others.is_empty() && self.unknown.is_none() && self.tests.get(test) == Some(&TestCode::Same)
    }

    /// What differs for a test, for people.
    pub fn why(&self, test: &str) -> Option<Why> {
        if let Some(TestCode::Changed { path, places }) = self.tests.get(test) {
            let named = places.iter().take(NAMED).filter_map(|place| self.places.get(*place));
            let changed = named.map(|place| place.function.clone()).collect();
            return Some(Why { path: path.clone(), changed, others: Vec::new() });
        }
        let others = match self.tests.get(test) {
            Some(TestCode::Starts { binary: name } | TestCode::StartsItself { name }) => {
                vec![OtherInput::Binary { name: name.clone() }]
            }
            _ => self.others.clone(),
        };
        (!others.is_empty()).then(|| Why { path: vec![test.to_owned()], changed: Vec::new(), others })
    }

    /// Returns what a test must come to in its executable to have changed, unless it comes to something in a program; `None`
    /// if there are other ways.
    pub fn watched(&self, test: &str) -> Option<Watched<'_>> {
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

/// The files read so far.
#[derive(Default)]
pub struct Units {
    /// By device and inode: kept files are links to one another where they are the same.
    known: HashMap<(u64, u64), Result<Arc<Unit>, Unreadable>>,
}

impl Units {
    /// The program of a link and of those of the libraries that it loads, or why it cannot be read. `files` are those that
    /// were compiled into it.
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
