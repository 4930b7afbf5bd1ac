//! Decides whether the code that a test executes really differs between the kept executables of two versions.

use super::callgrind::{Callgrind, Extent, Profile};
use super::disassembly::{self, Functions, stable};
use super::sides::Kept;
use super::{Result, TestKey};
use perfunit_build::TestExecutable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Number of runs on each side at first, and in total if the first ones differ, because a test's work may vary between
/// runs.
const RUNS: [usize; 2] = [2, 6];

/// Parts of the names of std's functions that format floating-point numbers.
const WRITING_NUMBERS: [&str; 4] = ["3num7flt2dec", "3num6bignum", "3fmt5float", "formatted_parts"];

/// Result of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Other instructions or functions, or another number of calls.
    Changed(String),
    /// The same functions with the same instructions, executed the same number of times.
    Same,
    /// The same executable, byte for byte.
    Identical,
    /// The test did not end in time, or is missing in one executable.
    Unsettled(String),
}

/// Counts of several runs by function (of the test's executable or of another one that it started).
type Counts = BTreeMap<String, BTreeSet<u64>>;

/// Compares tests, and remembers profiles of base.
pub struct Judge {
    callgrind: Callgrind,
    profiles: BTreeMap<(PathBuf, String, usize), Option<Counts>>,
    code: BTreeMap<PathBuf, Functions>,
}

impl Judge {
    /// Creates a judge without profiles.
    pub fn new(callgrind: Callgrind) -> Self {
        Self { callgrind, profiles: BTreeMap::new(), code: BTreeMap::new() }
    }

    /// Forgets everything except one side. The executables of that side stay the same.
    pub fn keep_only(&mut self, side: &Kept) {
        self.profiles.retain(|(path, ..), _| path.starts_with(&side.folder));
        self.code.retain(|path, _| path.starts_with(&side.folder));
    }

    /// Runs a test on both sides and compares.
    pub fn settle(&mut self, test: &TestKey, base: &Kept, head: &Kept) -> Result<Outcome> {
        let (Some(old), Some(new)) = (base.executable(&test.target), head.executable(&test.target)) else {
            return Ok(Outcome::Unsettled("its executable is not on both sides".to_owned()));
        };
        if same_program(base, head, old, new)? {
            return Ok(Outcome::Identical);
        }
        let mut difference = None;
        for runs in RUNS {
            let (Some(before), Some(after)) =
                (self.counts(test, base, old, runs)?, self.counts(test, head, new, runs)?)
            else {
                return Ok(Outcome::Unsettled("it does not end in time under callgrind".to_owned()));
            };
            difference = other_counts(&before, &after);
            if difference.is_none() {
                let names: BTreeSet<String> = before.into_keys().chain(after.into_keys()).collect();
                difference = self.other_code(&names, old, new)?;
                break;
            }
        }
        Ok(difference.map_or(Outcome::Same, Outcome::Changed))
    }

    fn counts(
        &mut self,
        test: &TestKey,
        side: &Kept,
        executable: &TestExecutable,
        runs: usize,
    ) -> Result<Option<Counts>> {
        let key = (executable.path.clone(), test.name.clone(), runs);
        if let Some(known) = self.profiles.get(&key) {
            return Ok(known.clone());
        }
        let mut extent = Extent::Test;
        let mut profiles = Vec::new();
        while profiles.len() < runs {
            let Some(profile) = side.profile(&self.callgrind, &test.name, executable, extent)? else {
                profiles.clear();
                break;
            };
            if extent == Extent::Test && profile.has_company() {
                extent = Extent::Process;
                continue;
            }
            profiles.push(profile);
        }
        let counts = (!profiles.is_empty()).then(|| merge(&profiles, side, extent));
        self.profiles.insert(key, counts.clone());
        Ok(counts)
    }

    /// Returns an executed function with different instructions.
    fn other_code(
        &mut self,
        names: &BTreeSet<String>,
        old: &TestExecutable,
        new: &TestExecutable,
    ) -> Result<Option<String>> {
        for executable in [old, new] {
            if !self.code.contains_key(&executable.path) {
                self.code.insert(executable.path.clone(), disassembly::functions(&executable.path)?);
            }
        }
        let (before, after) = (&self.code[&old.path], &self.code[&new.path]);
        let differs = |name: &&String| before.contains_key(*name) && before.get(*name) != after.get(*name);
        Ok(names.iter().find(differs).map(|name| format!("the code of {name} differs")))
    }
}

/// Returns whether the executables are equal, including the programs that a test can start.
fn same_program(base: &Kept, head: &Kept, old: &TestExecutable, new: &TestExecutable) -> Result<bool> {
    let binaries = (base.build.binaries()?, head.build.binaries()?);
    let pairs = binaries.0.iter().zip(&binaries.1).chain([(&old.path, &new.path)]);
    for (old, new) in pairs {
        if old.file_name() != new.file_name() || std::fs::read(old)? != std::fs::read(new)? {
            return Ok(false);
        }
    }
    Ok(binaries.0.len() == binaries.1.len())
}

/// Merges the counts of all runs, for functions in executables of the side. Counts in system libraries follow from
/// them, except those of the dynamic linker, which do not count. At the end of the whole process libtest prints its
/// time, and the work of formatting depends on the number.
fn merge(profiles: &[Profile], side: &Kept, extent: Extent) -> Counts {
    let own: BTreeSet<_> = std::fs::read_dir(side.folder.join("deps"))
        .into_iter()
        .chain(std::fs::read_dir(&side.folder))
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let mut counts = Counts::new();
    for profile in profiles {
        let mut run: BTreeMap<&str, u64> = BTreeMap::new();
        for ((_, name), cost) in profile.functions.iter().filter(|((object, _), _)| own.contains(object)) {
            if extent == Extent::Process && WRITING_NUMBERS.iter().any(|part| name.contains(part)) {
                continue;
            }
            *run.entry(stable(name)).or_default() += cost;
        }
        for (name, cost) in run {
            counts.entry(name.to_owned()).or_default().insert(cost);
        }
    }
    counts
}

/// Returns a function that has no common count on the two sides.
fn other_counts(before: &Counts, after: &Counts) -> Option<String> {
    let none = BTreeSet::from([0]);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().find_map(|name| {
        let (old, new) = (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
        let (Some(low), Some(high)) = (old.first().max(new.first()), old.last().min(new.last())) else { return None };
        (low > high).then(|| format!("{name}: {old:?} instructions became {new:?}"))
    })
}
