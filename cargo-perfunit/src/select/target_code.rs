//! What machine code says about the tests of a target: which can reach code that differs, and by what places.

use super::code;
use crate::model::{ChangedFunction, Sides, Uncompared, Why};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most functions named in the report of one test.
const NAMED: usize = 20;

/// What machine code says about the tests of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCode {
    /// The places where some test can first come upon a difference.
    pub places: Vec<Place>,
    pub tests: BTreeMap<String, TestCode>,
    /// What else the tests can start, load or read and that differs, in words.
    pub besides: Vec<String>,
    /// Part of the code is in shared libraries, where no run is watched.
    pub in_libraries: bool,
    /// Why nothing could be compared; then every test counts as changed.
    pub unknown: Option<Uncompared>,
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
    /// It can start programs, and this binary, in words, differs.
    Starts { binary: String },
    /// It was not found in the objects.
    Unknown,
}

impl TargetCode {
    pub fn unknown(why: Uncompared) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Cargo names the package's binaries to integration tests only; others may find one by its place.
    pub fn note_starting(&mut self, programs: &Sides<code::Program>, tests: &BTreeSet<String>, binary: &str) {
        let starting = programs.as_ref().map(|program| code::starting(program, tests));
        for test in starting.base.union(&starting.head) {
            if let Some(code) = self.tests.get_mut(test).filter(|code| **code == TestCode::Same) {
                *code = TestCode::Starts { binary: binary.to_owned() };
            }
        }
    }

    /// True if a test cannot have changed.
    pub fn is_same(&self, test: &str) -> bool {
        self.besides.is_empty() && self.unknown.is_none() && self.tests.get(test) == Some(&TestCode::Same)
    }

    /// What differs for a test, for people.
    pub fn why(&self, test: &str) -> Option<Why> {
        if let Some(TestCode::Changed { path, places }) = self.tests.get(test) {
            let named = places.iter().take(NAMED).filter_map(|place| self.places.get(*place));
            return Some(Why { path: path.clone(), changed: named.map(|place| place.function.clone()).collect() });
        }
        let others: Vec<&String> = match self.tests.get(test) {
            Some(TestCode::Starts { binary }) => vec![binary],
            _ => self.besides.iter().collect(),
        };
        let name = others.first()?;
        let changed = others.iter().map(|name| ChangedFunction { name: (*name).clone(), data: None }).collect();
        Some(Why { path: vec![test.to_owned(), (*name).clone()], changed })
    }

    /// The places that a test must pass to have changed; `None` if passing them is not the only way.
    pub fn places_of(&self, test: &str) -> Option<Vec<&Place>> {
        match self.tests.get(test) {
            Some(TestCode::Changed { places, .. }) if self.besides.is_empty() && !self.in_libraries => {
                Some(places.iter().filter_map(|place| self.places.get(*place)).collect())
            }
            _ => None,
        }
    }
}
