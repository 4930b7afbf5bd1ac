//! How a pairing was built, so that the same executables are found again without building.

use perfunit_build::shadow::{CalledWhole, Injections};
use perfunit_build::{BuiltSides, Pairing, SideBuild, Variant};
use perfunit_model::error::Result;
use perfunit_model::{NoBench, Side, Sides, TargetId, Warning};
use perfunit_project::cargo::Workspace;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The libraries that measured processes load, below our folder and in archives.
pub const PARTS: &str = "parts";
pub const SEEDS: &str = "libperfunit_seeds.so";
pub const METER: &str = "libperfunit_meter.so";

/// One pairing as it was built in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    tests_of: Side,
    targets: BTreeSet<TargetId>,
    /// Crate roots that could not stand our `#[test]`.
    without_macro: BTreeSet<String>,
    /// Tests that do not compile with our `#[test]`.
    #[serde(default)]
    called_whole: CalledWhole,
    /// Targets with benchmarks that were left out.
    left_out: BTreeMap<TargetId, NoBench>,
    runner: bool,
    /// Files of the overlaid version that got their own content back.
    given_up: BTreeSet<String>,
    /// Folders below `sides`; none where a version has none of the targets.
    sides: Sides<Option<String>>,
    warnings: Vec<Warning>,
}

impl Recipe {
    /// How these were built.
    pub fn of(built: &BuiltSides) -> Self {
        let folder = |side: &SideBuild| {
            let name = side.folder.file_name().filter(|_| !side.executables.is_empty());
            name.map(|name| name.to_string_lossy().into_owned())
        };
        Self {
            tests_of: built.pairing.tests_of,
            targets: built.targets.clone(),
            without_macro: built.without_macro.clone(),
            called_whole: built.called_whole.clone(),
            left_out: built.left_out.clone(),
            runner: built.variant.runner,
            given_up: built.pairing.given_up().clone(),
            sides: built.sides.as_ref().map(folder),
            warnings: built.warnings.clone(),
        }
    }

    /// Finds what was built of head's `workspace`; `roots` and `variant` are as they were before anything had to be given up.
    pub fn follow(
        &self,
        ours: &Path,
        workspace: &Workspace,
        mut pairing: Pairing,
        roots: &Injections,
        variant: Variant,
    ) -> Result<BuiltSides> {
        pairing.take_back(&self.given_up);
        let open = |side: Side, name: Option<&String>| match name {
            Some(name) => Ok(SideBuild::open(&ours.join("sides").join(name))?.named_by_head(workspace, side)),
            None => Ok(SideBuild::empty(ours)),
        };
        let library = |name: &str| Some(ours.join(PARTS).join(name)).filter(|path| path.exists());
        Ok(BuiltSides {
            sides: self.sides.as_ref().map(Option::as_ref).try_map(open)?,
            pairing,
            targets: self.targets.clone(),
            left_out: self.left_out.clone(),
            injections: roots.without(&self.without_macro).calling_whole(&self.called_whole),
            without_macro: self.without_macro.clone(),
            called_whole: self.called_whole.clone(),
            seeds: library(SEEDS),
            meter: library(METER),
            variant: Variant { runner: self.runner, ..variant },
            warnings: self.warnings.clone(),
        })
    }

    /// The recipe for these targets of a pairing, if it has them: a filter may need fewer than there are.
    pub fn narrowed(&self, tests_of: Side, targets: &BTreeSet<TargetId>) -> Option<Self> {
        let has_them = self.tests_of == tests_of && self.targets.is_superset(targets);
        has_them.then(|| Self { targets: targets.clone(), ..self.clone() })
    }

    /// The folders below `sides` that it needs.
    pub fn sides(&self) -> impl Iterator<Item = &str> {
        Side::BOTH.into_iter().filter_map(|side| self.sides.get(side).as_deref())
    }
}
