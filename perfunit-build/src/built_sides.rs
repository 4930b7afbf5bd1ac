//! Both versions of a pairing, built for measurement with the same capture methods.
//!
//! If a crate does not compile with a capture method, both sides do without it.

use super::blame::Blamed;
use super::builder::{Attempt, Both, Builder, Job, Next, Place};
use super::doctests;
use super::invoke::BuildFailure;
use super::pairing::Pairing;
use super::shadow::{CalledWhole, Injected, Injections};
use super::side_build::SideBuild;
use super::toolchain::Variant;
use perfunit_model::error::{Error, ExitCode, Result, apart};
use perfunit_model::{LtoKind, NoBench, Side, Sides, TargetId, TestCodeDifference, Warning};
use perfunit_project::cargo::Target;
use perfunit_project::git::FileSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct BuiltSides {
    /// Executables of each side.
    pub sides: Sides<SideBuild>,
    /// Source of the builds.
    pub pairing: Pairing,
    /// Targets that were requested.
    pub targets: BTreeSet<TargetId>,
    /// Targets with benchmarks that were left out.
    pub left_out: BTreeMap<TargetId, NoBench>,
    /// Injections of both builds. A checkout without them would make cargo rebuild.
    pub injections: Injections,
    /// Crate roots that do not compile with our `#[test]`.
    pub without_macro: BTreeSet<String>,
    /// Tests that do not compile with our `#[test]`.
    pub called_whole: CalledWhole,
    /// Library that gives both processes of a pair the same random numbers.
    pub seeds: Option<PathBuf>,
    /// Library that counts allocations.
    pub meter: Option<PathBuf>,
    /// Program that stands in for the packages' binaries.
    pub dispatcher: Option<PathBuf>,
    pub variant: Variant,
    /// Link-time optimization of the profile that both builds disabled.
    pub lto_off: Option<LtoKind>,
    /// Capture methods that were left out, and the affected tests.
    pub warnings: Vec<Warning>,
    /// Variables that steps before tests set, by target.
    pub exported: BTreeMap<TargetId, BTreeMap<String, String>>,
}

impl BuiltSides {
    /// Gives the tests of a target variables that a step exported.
    pub fn export(&mut self, target: &TargetId, variables: &BTreeMap<String, String>) {
        let known = self.exported.entry(target.clone()).or_default();
        known.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        let exported = std::mem::take(&mut self.exported);
        export_to(&exported, &mut self.sides);
        self.exported = exported;
    }

    /// Gives the tests of another build of both versions the exported variables.
    pub fn export_to(&self, sides: &mut Sides<SideBuild>) {
        export_to(&self.exported, sides);
    }

    /// Returns the differences between the versions' doc tests of a package, by name.
    pub fn doctest_differences(&self, package: &str) -> Result<BTreeMap<String, TestCodeDifference>> {
        let folders = self.sides.as_ref().map(SideBuild::doctests);
        doctests::differences(folders.as_ref().map(PathBuf::as_path), package)
    }
}

fn export_to(exported: &BTreeMap<TargetId, BTreeMap<String, String>>, sides: &mut Sides<SideBuild>) {
    for side in [&mut sides.base, &mut sides.head] {
        for executable in &mut side.executables {
            let variables = exported.get(&executable.target).into_iter().flatten();
            executable.env.extend(variables.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
}

/// Build attempt for a pairing.
struct AsMeasured {
    pairing: Pairing,
    /// Code to append to crate roots.
    roots: Injections,
    /// Targets that can be left out, by root file.
    benches: BTreeMap<PathBuf, TargetId>,
    left_out: BTreeMap<TargetId, NoBench>,
    without_macro: BTreeSet<String>,
    /// First error of these crates.
    macro_error: Option<String>,
    called_whole: CalledWhole,
    /// First error of these tests.
    whole_error: Option<String>,
    injections: Injections,
    variant: Variant,
    warnings: Vec<Warning>,
    names: Sides<String>,
}

impl Builder<'_> {
    /// Builds both versions of a pairing. A test target that does not compile with the other version's test code gets
    /// its own back. If a target does not compile with our capture methods, both sides start over with fewer of them.
    pub fn pairing(
        &mut self,
        job: &Job<'_>,
        pairing: Pairing,
        roots: Injections,
        variant: Variant,
    ) -> Result<BuiltSides> {
        let targets = job.workspace.packages.iter().flat_map(|package| &package.targets);
        let can_be_left_out = |target: &&Target| match roots.get(Path::new(&target.root)) {
            Some(Injected::Bench) => true,
            Some(Injected::MacroAndBench) => target.id.kind.beside().is_some(),
            Some(Injected::Macro | Injected::Empty) | None => false,
        };
        let benches = targets.filter(can_be_left_out);
        let mut attempt = AsMeasured {
            pairing,
            injections: roots.clone(),
            benches: benches.map(|target| (PathBuf::from(&target.root), target.id.clone())).collect(),
            left_out: BTreeMap::new(),
            roots,
            without_macro: BTreeSet::new(),
            macro_error: None,
            called_whole: CalledWhole::new(),
            whole_error: None,
            variant,
            warnings: Vec::new(),
            names: self.names().clone(),
        };
        let both = apart(self.both_sides(job, &mut attempt))?;
        let Both { sides, toolchains, lto_off } =
            both.map_err(|failure| Error::new(ExitCode::BuildFailed, failure.output))?;
        let roots = attempt.without_macro.iter().cloned().collect();
        attempt.warnings.extend(attempt.macro_error.map(|error| Warning::WithoutMacro { roots, error }));
        let tests = attempt.called_whole.iter().map(|(root, names)| (root.clone(), names.iter().cloned().collect()));
        let tests: BTreeMap<_, _> = tests.collect();
        attempt.warnings.extend(attempt.whole_error.map(|error| Warning::CalledWhole { tests, error }));
        Ok(BuiltSides {
            sides,
            pairing: attempt.pairing,
            targets: job.targets.clone(),
            left_out: attempt.left_out,
            injections: attempt.injections,
            without_macro: attempt.without_macro,
            called_whole: attempt.called_whole,
            seeds: toolchains.head.seeds,
            meter: toolchains.head.meter,
            dispatcher: toolchains.head.dispatcher.ok(),
            variant: attempt.variant,
            lto_off,
            warnings: attempt.warnings,
            exported: BTreeMap::new(),
        })
    }
}

impl Attempt for AsMeasured {
    fn place(&self) -> Place {
        Place::Measured
    }

    fn variant(&self) -> Variant {
        self.variant
    }

    fn order(&self) -> [Side; 2] {
        self.pairing.order()
    }

    fn files(&self, side: Side) -> &FileSet {
        self.pairing.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.injections
    }

    fn is_left_out(&self, target: &TargetId) -> bool {
        self.left_out.contains_key(target)
    }

    fn after(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> Result<Next> {
        if side == self.pairing.overlaid() && self.pairing.give_up(failure, tree) {
            return Ok(Next::SameSide);
        }
        if failure.only_tests && self.leave_out(side, failure, tree) {
            return Ok(Next::BothSides);
        }
        if failure.only_tests && self.leave_tests(failure, tree) {
            return Ok(Next::BothSides);
        }
        if failure.only_tests && self.variant.runner && !self.runner_works(failure, tree) {
            self.variant.runner = false;
            self.warnings.push(Warning::WithoutRunner);
            return Ok(Next::BothSides);
        }
        let name = self.names.get(side);
        let error = Error::new(ExitCode::BuildFailed, format!("{side} ({name}) does not build"));
        Err(error.with_broken(side, &failure.output).hint(match side {
            Side::Base => {
                "see cargo's errors above; if tests need features, pass `--features` or `--all-features`; \
                if builds need another command first, write it as `[[prepare]]` into .config/perfunit.toml (docs/prepare.md); \
                if that version is broken, compare with another one: `cargo perfunit diff REV`"
            }
            Side::Head => "see cargo's errors above; `cargo test --no-run --profile bench` should reproduce them",
        }))
    }
}

impl AsMeasured {
    /// Leaves out the targets with errors and a replaced harness. Returns false if there are none.
    fn leave_out(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> bool {
        let failed = failure.roots.iter().filter_map(|(path, error)| {
            let target = self.benches.get(path.strip_prefix(tree).ok()?)?;
            let why = NoBench::DoesNotCompile { side, error: error.clone() };
            (!self.left_out.contains_key(target)).then(|| (target.clone(), why))
        });
        let failed: Vec<_> = failed.collect();
        let found = !failed.is_empty();
        for (root, target) in &self.benches {
            if failed.iter().any(|(failed, _)| failed == target) {
                // Keep the unit tests of the same target. A separate bench target gets nothing injected, because cargo
                // may still build it for other targets with features.
                self.roots.set(root, target.kind.beside().map(|_| Injected::Macro));
            }
        }
        self.inject();
        self.left_out.extend(failed);
        found
    }

    /// Excludes the tests with errors from our `#[test]`; if they are unknown, excludes all tests of the crates with
    /// errors. Returns false if that was tried before.
    fn leave_tests(&mut self, failure: &BuildFailure, tree: &Path) -> bool {
        let failed = self.injected_roots(failure, tree);
        let Some(first) = failed.first() else { return false };
        let error = failure.roots.get(&tree.join(first)).cloned().unwrap_or_default();
        let blamed = Blamed::of(&failure.places);
        let tried = failed.iter().filter_map(|root| self.called_whole.get(root)).flatten().cloned().collect();
        if let Some(names) = blamed.next(&tried) {
            for root in failed {
                self.called_whole.entry(root).or_default().extend(names.iter().cloned());
            }
            self.whole_error.get_or_insert(error);
        } else if blamed.is_exact() {
            // These tests do not compile without our `#[test]` either.
            return false;
        } else {
            self.called_whole.retain(|root, _| !failed.contains(root));
            self.without_macro.extend(failed);
            self.macro_error.get_or_insert(error);
        }
        self.inject();
        true
    }

    fn inject(&mut self) {
        self.injections = self.roots.without(&self.without_macro).calling_whole(&self.called_whole);
    }

    /// Checks whether the runner works: other crates compiled with it. A crate may define a runner of its own.
    fn runner_works(&self, failure: &BuildFailure, tree: &Path) -> bool {
        let has_runner = |path: &Path| matches!(self.roots.get(path), Some(Injected::Macro | Injected::MacroAndBench));
        let mut built = failure.built.iter().filter_map(|path| path.strip_prefix(tree).ok());
        built.any(has_runner) && !failure.output.contains("test_runner")
    }

    /// Returns the crate roots with errors that have our `#[test]`.
    fn injected_roots(&self, failure: &BuildFailure, tree: &Path) -> BTreeSet<String> {
        let failed = failure.roots.keys().filter_map(|path| path.strip_prefix(tree).ok());
        let failed = failed.filter(|path| self.injections.get(path) == Some(Injected::Macro));
        failed.map(|path| path.to_string_lossy().into_owned()).collect()
    }
}
