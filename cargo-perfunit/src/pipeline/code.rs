//! Which tests can reach machine code that differs, target by target.

use super::build::BuiltSides;
use super::remembered::Remembered;
use super::setup::Setup;
use super::units::Units;
use crate::binary::{self, ChangedCode, Code, What};
use crate::build::{Harness, LinkRecord, SideBuild, TestExecutable};
use crate::error::Result;
use crate::fs;
use crate::model::{ChangedFunction, Sides, TargetId, TargetKind, Why};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most functions named in the report of one test.
const NAMED: usize = 20;

/// What machine code says about the tests of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCode {
    /// The places where some test can first come upon a difference.
    pub places: Vec<Place>,
    /// By name.
    pub tests: BTreeMap<String, TestCode>,
    /// A binary that the tests can start and that differs.
    pub binary: Option<String>,
    /// Why nothing could be compared; then every test counts as changed.
    pub unknown: Option<String>,
}

/// A function where two versions can begin to differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// For people.
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
    /// It was not found in the objects.
    Unknown,
}

impl TargetCode {
    fn unknown(why: String) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// True if a test cannot have changed.
    pub fn is_same(&self, test: &str) -> bool {
        self.binary.is_none() && self.unknown.is_none() && self.tests.get(test) == Some(&TestCode::Same)
    }

    /// What differs for a test, for people.
    pub fn why(&self, test: &str) -> Option<Why> {
        if let Some(TestCode::Changed { path, places }) = self.tests.get(test) {
            let named = places.iter().take(NAMED).filter_map(|place| self.places.get(*place));
            return Some(Why { path: path.clone(), changed: named.map(|place| place.function.clone()).collect() });
        }
        let name = format!("main of the binary {}", self.binary.as_ref()?);
        let changed = vec![ChangedFunction { name: name.clone(), data: None }];
        Some(Why { path: vec![test.to_owned(), name], changed })
    }

    /// The places that a test must pass to have changed; `None` if passing them is not the only way.
    pub fn places_of(&self, test: &str) -> Option<Vec<&Place>> {
        match self.tests.get(test) {
            Some(TestCode::Changed { places, .. }) if self.binary.is_none() => {
                Some(places.iter().filter_map(|place| self.places.get(*place)).collect())
            }
            _ => None,
        }
    }
}

/// Compares the executables of two sides.
pub struct Comparer<'a> {
    sides: &'a Sides<SideBuild>,
    units: Units,
    /// The answers of earlier runs, and of this one.
    pub remembered: Remembered,
}

impl<'a> Comparer<'a> {
    /// For the sides as built.
    pub fn new(setup: &Setup, built: &'a BuiltSides) -> Result<Self> {
        let remembered = Remembered::load(&setup.ours, &built.sides)?;
        Ok(Self { sides: &built.sides, units: Units::default(), remembered })
    }

    /// What machine code says about these tests of a target.
    pub fn target(
        &mut self,
        target: &TargetId,
        executables: Sides<&TestExecutable>,
        tests: &BTreeSet<String>,
    ) -> Result<TargetCode> {
        if let Some(known) = self.remembered.target(target, tests) {
            return Ok(known);
        }
        let mut code = match self.programs(executables.map(|executable| executable.link.as_deref()))? {
            Ok(programs) if executables.head.harness == Harness::Own => target_code(compare_mains(&programs, tests)),
            Ok(programs) => target_code(binary::compare(&programs, tests)),
            Err(why) => TargetCode::unknown(why),
        };
        if matches!(target.kind, TargetKind::Test | TargetKind::Bench) {
            code.binary = self.changed_binary()?;
        }
        self.remembered.insert(target, &code);
        Ok(code)
    }

    /// Both programs, read from what they were linked from; or why they cannot be compared.
    fn programs(&mut self, links: Sides<Option<&Path>>) -> Result<std::result::Result<Sides<binary::Program>, String>> {
        let (Some(base), Some(head)) = (links.base, links.head) else {
            return Ok(Err("it is not known what it was linked from".to_owned()));
        };
        let links = Sides { base: LinkRecord::load(base)?, head: LinkRecord::load(head)? };
        if let Some(why) = links.base.incomparable(&links.head)? {
            return Ok(Err(why));
        }
        Ok(match (self.units.program(&links.base)?, self.units.program(&links.head)?) {
            (Ok(base), Ok(head)) => Ok(Sides { base, head }),
            (Err(why), _) | (_, Err(why)) => Err(why),
        })
    }

    /// A binary of the workspace that runs other machine code than before, by name.
    fn changed_binary(&mut self) -> Result<Option<String>> {
        let binaries = self.sides.as_ref().try_map(|_, side| side.binaries())?;
        let by_name = |paths: Vec<PathBuf>| -> BTreeMap<String, PathBuf> {
            let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
            paths.into_iter().filter_map(|path| Some((name(&path)?, path))).collect()
        };
        let binaries = binaries.map(by_name);
        let names: BTreeSet<&String> = binaries.base.keys().chain(binaries.head.keys()).collect();
        for name in names {
            let (Some(base), Some(head)) = (binaries.base.get(name), binaries.head.get(name)) else {
                return Ok(Some(name.clone()));
            };
            if fs::same_content(base, head)? {
                continue;
            }
            let links = Sides { base: self.sides.base.binary_link(base), head: self.sides.head.binary_link(head) };
            let same = match self.programs(links.as_ref().map(Option::as_deref))? {
                Ok(programs) => binary::compare_symbol(&programs, "main") == Code::Same,
                Err(_) => false,
            };
            if !same {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }
}

/// What tests of a harness of their own can reach, each of them all that its main can.
fn compare_mains(programs: &Sides<binary::Program>, tests: &BTreeSet<String>) -> binary::Comparison {
    let code = binary::compare_symbol(programs, "main");
    binary::Comparison { tests: tests.iter().map(|test| (test.clone(), code.clone())).collect() }
}

/// Gives every place a number: many tests share them.
fn target_code(comparison: binary::Comparison) -> TargetCode {
    let mut numbers = BTreeMap::new();
    let mut code = TargetCode::default();
    for (name, answer) in comparison.tests {
        let test = match answer {
            Code::Same => TestCode::Same,
            Code::Unknown { .. } => TestCode::Unknown,
            Code::Changed(changed) => {
                let places = changed.frontier.iter().map(|place| {
                    *numbers.entry(std::sync::Arc::as_ptr(place)).or_insert_with(|| {
                        code.places.push(describe(place));
                        code.places.len() - 1
                    })
                });
                TestCode::Changed { places: places.collect(), path: changed.path }
            }
        };
        code.tests.insert(name, test);
    }
    code
}

fn describe(place: &ChangedCode) -> Place {
    let data = match &place.what {
        What::Code => None,
        What::Data(name) => Some(name.clone()),
        What::Added => Some("it is new".to_owned()),
        What::Removed => Some("it is gone".to_owned()),
    };
    Place {
        function: ChangedFunction { name: place.name.clone(), data },
        base: place.symbols.base.clone(),
        head: place.symbols.head.clone(),
    }
}
