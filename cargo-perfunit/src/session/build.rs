//! Builds both sides with the same doors open; closes a door that a crate cannot stand, on both sides.

use super::not_interrupted;
use super::options::Options;
use super::pairing::Pairing;
use super::select::Selected;
use super::setup::Setup;
use crate::build::shadow::Injections;
use crate::build::{self, BuildFailure, Built, Inlining, Probes, Request, SideBuild, Toolchain, Variant};
use crate::cargo::{Package, Target};
use crate::error::{Error, ExitCode, Result};
use crate::git::FileSet;
use crate::model::{Side, Sides, TargetId};
use crate::system::cache::{self, KeyBuilder};
use crate::system::progress::Progress;
use crate::system::term;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct BuiltSides {
    /// The executables of each side.
    pub sides: Sides<SideBuild>,
    /// What they were built from.
    pub pairing: Pairing,
    /// The targets that were to be built.
    pub targets: BTreeSet<TargetId>,
    /// The injections that both were built with; a checkout without them would make cargo build again.
    pub injections: Injections,
    /// The library that gives both processes of a pair the same random numbers.
    pub seeds: Option<PathBuf>,
    /// The library that counts what the allocator is asked for.
    pub meter: Option<PathBuf>,
    pub variant: Variant,
    /// Which doors had to be closed, and for whom.
    pub warnings: Vec<String>,
}

/// Which doors are open.
#[derive(Debug)]
struct Doors {
    /// Crate roots without our macro.
    without_macro: BTreeSet<String>,
    variant: Variant,
    warnings: Vec<String>,
}

/// What both sides are built with.
pub(super) struct Job<'a> {
    pub options: &'a Options,
    pub selected: &'a Selected,
    pub targets: &'a BTreeSet<TargetId>,
    pub toolchains: &'a Sides<Toolchain>,
    /// Crate roots that get our `#[test]`.
    pub injections: &'a BTreeSet<String>,
    /// Cargo's target folder, from ours.
    pub target_dir: &'static str,
}

/// Cargo's target folder for the builds in the first tree, from our folder.
pub const TARGET_DIR: &str = "build";

/// Builds both versions of a pairing. Where a test target does not compile with the other version's test code, its own
/// comes back; where it does not compile with our doors, both start over with fewer of them.
pub fn both_sides(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    mut pairing: Pairing,
    targets: BTreeSet<TargetId>,
) -> Result<BuiltSides> {
    // Of all selected targets, even if fewer are built: a root that changes between pairings is compiled again.
    let roots = roots(selected, &selected.targets.keys().cloned().collect());
    let variant = Variant { runner: true, probes: Probes::Without, inlining: Inlining::AsBuilt };
    if let Some(recipe) = setup.archive.recipe(pairing.tests_of, &targets)? {
        return recipe.follow(setup, pairing, &roots, variant);
    }
    let mut doors = Doors { without_macro: BTreeSet::new(), variant, warnings: Vec::new() };
    'doors: loop {
        let toolchains = prepare(setup, doors.variant)?;
        let injections: BTreeSet<String> = roots.difference(&doors.without_macro).cloned().collect();
        let job = Job {
            options,
            selected,
            targets: &targets,
            toolchains: &toolchains,
            injections: &injections,
            target_dir: TARGET_DIR,
        };
        let mut built: Sides<Option<SideBuild>> = Sides::default();
        for side in pairing.order() {
            while built.get(side).is_none() {
                not_interrupted()?;
                match job.one_side(setup, side, pairing.files.get(side))? {
                    Built::Done(side_build) => *built.get_mut(side) = Some(side_build),
                    Built::Failed(failure)
                        if side == pairing.overlaid() && pairing.give_up(setup, selected, &failure) => {}
                    Built::Failed(failure) => {
                        doors.narrow(setup, side, &failure, &injections)?;
                        continue 'doors;
                    }
                }
            }
        }
        let (Some(base), Some(head)) = (built.base, built.head) else {
            return Err(Error::setup("a side was not built"));
        };
        let built = BuiltSides {
            sides: Sides { base, head },
            pairing,
            targets,
            injections: injections.into_iter().collect(),
            seeds: toolchains.head.seeds,
            meter: toolchains.head.meter,
            variant: doors.variant,
            warnings: doors.warnings,
        };
        setup.archive.note(&built, &doors.without_macro);
        return Ok(built);
    }
}

/// What each side is built with.
pub(super) fn prepare(setup: &Setup, variant: Variant) -> Result<Sides<Toolchain>> {
    let cache = cache::folder(&setup.ours)?;
    let head = build::prepare(&setup.cargo, &cache, variant, setup.terminal)?;
    let base = setup.base_cargo.as_ref().map(|cargo| build::prepare(cargo, &cache, variant, setup.terminal));
    Ok(Sides { base: base.transpose()?.unwrap_or_else(|| head.clone()), head })
}

/// The root files of all targets of the packages that are built: cargo may build more than we name.
fn roots(selected: &Selected, targets: &BTreeSet<TargetId>) -> BTreeSet<String> {
    let packages: BTreeSet<&str> = targets.iter().map(|target| target.package.as_str()).collect();
    let built = selected.workspace.packages.iter().filter(|package| packages.contains(package.name.as_str()));
    built
        .flat_map(|package| &package.targets)
        .filter(|target| target.tested)
        .map(|target| target.root.clone())
        .collect()
}

impl Job<'_> {
    /// Builds a side in the tree of `setup`.
    pub fn one_side(&self, setup: &mut Setup, side: Side, files: &FileSet) -> Result<Built> {
        let Self { options, selected, targets, toolchains, injections, target_dir } = self;
        let target_dir = setup.ours.join(target_dir);
        let progress = Progress::spinner(setup.terminal, "Building");
        progress.message(format!("{side} ({})", Setup::name(setup.comparison.versions.get(side))));
        let there = there(files, selected, targets);
        if there.is_empty() {
            return Ok(Built::Done(SideBuild::empty(&setup.ours)));
        }
        setup.tree.checkout(&setup.repository, files, &injections.iter().collect())?;
        let content_key = injections.iter().fold(KeyBuilder::default().with(files.key()), KeyBuilder::with).finish()?;
        let package_folders = selected
            .workspace
            .packages
            .iter()
            .map(|package| (package.name.clone(), setup.tree.path(&package.dir).components().collect()))
            .collect();
        let built: BTreeSet<&str> = targets.iter().map(|target| target.package.as_str()).collect();
        let built = selected.workspace.packages.iter().filter(|package| built.contains(package.name.as_str()));
        let built: Vec<&Target> = built.flat_map(tested).collect();
        let request = Request {
            content_key: &content_key,
            manifest: setup.tree.path(Path::new(&selected.workspace.root).join("Cargo.toml")),
            config_files: config_files(setup, files),
            targets: &there,
            package_folders: &package_folders,
            packages: &packages(files, selected),
            whole_packages: built.iter().all(|target| targets.contains(&target.id)),
            requires_features: built.iter().any(|target| target.requires_features && targets.contains(&target.id)),
            ours: &setup.ours,
            target_dir: &target_dir,
        };
        build::build(setup.cargo_of(side), toolchains.get(side), &options.build, &request, &progress)
    }
}

/// The targets that a side can have: those of head's packages whose manifest and root file it holds. Cargo refuses to
/// build others, and new tests and packages are no reason to give up the old ones.
fn there(files: &FileSet, selected: &Selected, targets: &BTreeSet<TargetId>) -> BTreeSet<TargetId> {
    let has = |path: &Path| files.entries.contains_key(path);
    let packages =
        selected.workspace.packages.iter().filter(|package| has(&Path::new(&package.dir).join("Cargo.toml")));
    let found: BTreeSet<TargetId> = packages
        .flat_map(|package| &package.targets)
        .filter(|target| has(Path::new(&target.root)))
        .map(|target| target.id.clone())
        .collect();
    targets.intersection(&found).cloned().collect()
}

/// The packages that the user asked for, as far as a version has them.
fn packages(files: &FileSet, selected: &Selected) -> BTreeMap<String, BTreeSet<TargetId>> {
    let has = |package: &&Package| files.entries.contains_key(&Path::new(&package.dir).join("Cargo.toml"));
    let asked = selected.workspace.packages.iter().filter(|package| selected.packages.contains(&package.name));
    asked
        .filter(has)
        .map(|package| (package.name.clone(), tested(package).map(|target| target.id.clone()).collect()))
        .collect()
}

fn tested(package: &Package) -> impl Iterator<Item = &Target> {
    package.targets.iter().filter(|target| target.tested)
}

/// Cargo's configuration files as it would find them from the user's folder, outermost first; those of the repository
/// in the version being built. Those of `/` and of `CARGO_HOME` cargo finds by itself.
fn config_files(setup: &Setup, files: &FileSet) -> Vec<PathBuf> {
    let home = build::cargo_home();
    let root = setup.repository.root();
    let start = setup.location.manifest.parent().unwrap_or(root);
    let mut found = Vec::new();
    for folder in start.ancestors().filter(|folder| folder.parent().is_some()) {
        let folder = folder.join(".cargo");
        if Some(&folder) == home.as_ref() {
            continue;
        }
        // The name without extension is the older one and wins if both exist.
        for name in ["config", "config.toml"] {
            let live = folder.join(name);
            let tracked = live.strip_prefix(root).ok().filter(|relative| files.entries.contains_key(*relative));
            let path = match tracked {
                Some(relative) => setup.tree.path(relative),
                // Ignored by git, or outside of the repository: the same for both sides.
                None if live.is_file() => live,
                None => continue,
            };
            found.push(path);
            break;
        }
    }
    found.reverse();
    found
}

impl Doors {
    /// Decides what to leave out after a failure, or that the failure is the code's own.
    fn narrow(
        &mut self,
        setup: &Setup,
        side: Side,
        failure: &BuildFailure,
        injections: &BTreeSet<String>,
    ) -> Result<()> {
        let root = setup.tree.root();
        let failed: BTreeSet<String> = failure
            .roots
            .iter()
            .filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_string_lossy().into_owned()))
            .filter(|path| injections.contains(path))
            .collect();
        if failure.only_tests && !failed.is_empty() {
            let names = failed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            self.warnings.push(format!(
                "the tests of {names} do not compile with our #[test]; they are measured as whole functions"
            ));
            self.without_macro.extend(failed);
            return Ok(());
        }
        if failure.only_tests && self.variant.runner {
            self.variant.runner = false;
            self.warnings.push(
                "the tests do not compile with our test runner; tests made by other macros are not measured".to_owned(),
            );
            return Ok(());
        }
        let name = Setup::name(setup.comparison.versions.get(side));
        term::eprint(&failure.output);
        Err(Error::new(ExitCode::BuildFailed, format!("{side} ({name}) does not build")).hint(match side {
            Side::Base => "cargo's errors are above; if that version itself is broken, compare with another: `cargo perfunit diff REV`",
            Side::Head => "cargo's errors are above; `cargo test --no-run --profile bench` should show the same",
        }))
    }
}
