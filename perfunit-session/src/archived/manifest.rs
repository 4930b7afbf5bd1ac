//! The manifest of an archive.

use crate::options::Options;
use perfunit_build as build;
use perfunit_build::shadow::{CalledWhole, Injections};
use perfunit_build::{BuiltSides, Pairing, SideBuild, Variant};
use perfunit_model::error::{Error, Result};
use perfunit_model::{LtoKind, NoBench, Side, Sides, TargetId, VersionName, Warning};
use perfunit_project::cargo::{Context, Workspace};
use perfunit_project::git::{Request, Versions};
use perfunit_select::Scope;
use perfunit_system::archive as packed;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Version of the manifest's format.
const FORMAT: u32 = 2;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// Version of the tool that created the archive.
    tool: String,
    /// Key of the code that the tool links into test executables.
    parts: String,
    /// Output of `rustc -vV`, of both sides if it differs.
    pub compiler: String,
    /// The toolchain's folder. Repeated links take the standard library from it.
    pub sysroot: PathBuf,
    /// Our folder. Executables contain the path where they were built.
    pub ours: PathBuf,
    pub versions: Sides<VersionName>,
    /// Keys of the versions' content.
    pub contents: Sides<String>,
    pub asked: Asked,
    pub recipes: Vec<Recipe>,
}

/// The options that determine the builds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub request: Request,
    pub scope: Scope,
    pub all_tests: bool,
    pub build: build::Options,
}

/// Returns the version output of both sides' compilers.
pub fn compilers(context: &Context) -> String {
    let base = context.base_cargo.as_ref();
    let base = base.map(|base| format!("base: {}{}\n", base.version, base.sysroot.display()));
    context.cargo.version.clone() + &base.unwrap_or_default()
}

/// Builds the manifest from the recipes of the builds, the options and this machine.
pub fn note(
    options: &Options,
    context: &Context,
    versions: &Versions,
    contents: Sides<String>,
    recipes: Vec<Recipe>,
) -> Result<Vec<u8>> {
    let manifest = Manifest {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        parts: build::parts_key(),
        compiler: compilers(context),
        sysroot: context.cargo.sysroot.clone(),
        ours: context.ours.clone(),
        versions: versions.names(),
        contents,
        asked: Asked::of(options),
        recipes,
    };
    serde_json::to_vec(&manifest).map_err(|error| Error::setup(error.to_string()))
}

/// The part that manifests of every format contain.
#[derive(Deserialize)]
struct Header {
    format: u32,
    tool: String,
}

impl Asked {
    pub fn of(options: &Options) -> Self {
        Self {
            request: options.request.clone(),
            scope: options.scope.clone(),
            all_tests: options.all_tests,
            build: options.build.clone(),
        }
    }
}

impl Manifest {
    pub fn read(archive: &Path) -> Result<Self> {
        let note = packed::note(archive)?;
        let damaged = |error: serde_json::Error| {
            Error::usage(format!("{} is damaged: {error}", archive.display()))
                .hint("create it again with `cargo perfunit archive`")
        };
        let header: Header = serde_json::from_slice(&note).map_err(damaged)?;
        let (own, theirs) = (env!("CARGO_PKG_VERSION"), &header.tool);
        let other = |what: &str| {
            Error::usage(format!(
                "{} was created by {what} of cargo-perfunit ({theirs}); this is {own}",
                archive.display()
            ))
            .hint("install the same version on all machines, or create the archive again")
        };
        if header.format != FORMAT || *theirs != own {
            return Err(other("another version"));
        }
        let manifest: Self = serde_json::from_slice(&note).map_err(damaged)?;
        if manifest.parts == build::parts_key() { Ok(manifest) } else { Err(other("another build")) }
    }
}

#[derive(Debug)]
pub enum Archive {
    None,
    Making,
    /// The builds come from this archive.
    Using {
        file: PathBuf,
        /// The recipes of its builds.
        recipes: Vec<Recipe>,
    },
}

impl Archive {
    /// Returns the recipe for a pairing, or `None` if builds are made here. An archive without the recipe is an error.
    pub fn recipe(&self, tests_of: Side, targets: &BTreeSet<TargetId>) -> Result<Option<Recipe>> {
        let Self::Using { file, recipes } = self else { return Ok(None) };
        let found = recipes.iter().find_map(|recipe| recipe.narrow(tests_of, targets));
        found.map(Some).ok_or_else(|| missing(file, targets))
    }

    /// Returns true if both pairings must be ready before anything is measured.
    pub fn is_in_use(&self) -> bool {
        !matches!(self, Self::None)
    }
}

fn missing(file: &Path, targets: &BTreeSet<TargetId>) -> Error {
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    Error::setup(format!("{} contains no build of {}", file.display(), names.join(", ")))
        .hint("remove --use-archive to build here, or create the archive again with the same options")
}

/// Folder of the libraries that measured processes load and of the program that stands in for binaries, below our
/// folder and in archives.
pub const PARTS: &str = "parts";
pub const SEEDS: &str = "libperfunit_seeds.so";
pub const METER: &str = "libperfunit_meter.so";
pub const DISPATCHER: &str = "perfunit_dispatcher";

/// The final build of one pairing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    tests_of: Side,
    targets: BTreeSet<TargetId>,
    /// Crate roots that do not compile with our `#[test]`.
    without_macro: BTreeSet<String>,
    /// Tests that do not compile with our `#[test]`.
    #[serde(default)]
    called_whole: CalledWhole,
    /// Bench targets that were left out.
    left_out: BTreeMap<TargetId, NoBench>,
    runner: bool,
    /// The profile's link-time optimization if it was left out.
    #[serde(default)]
    lto_off: Option<LtoKind>,
    /// Files of the overlaid version with their original content.
    given_up: BTreeSet<String>,
    /// Folders below `sides`; `None` if a version has none of the targets.
    sides: Sides<Option<String>>,
    warnings: Vec<Warning>,
}

impl Recipe {
    /// Returns the recipe of finished builds.
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
            lto_off: built.lto_off,
            given_up: built.pairing.given_up().clone(),
            sides: built.sides.as_ref().map(folder),
            warnings: built.warnings.clone(),
        }
    }

    /// Locates the builds of head's `workspace`. `roots` and `variant` are those before anything was left out.
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
            exported: BTreeMap::new(),
            sides: self.sides.as_ref().map(Option::as_ref).try_map(open)?,
            pairing,
            targets: self.targets.clone(),
            left_out: self.left_out.clone(),
            injections: roots.without(&self.without_macro).calling_whole(&self.called_whole),
            without_macro: self.without_macro.clone(),
            called_whole: self.called_whole.clone(),
            seeds: library(SEEDS),
            meter: library(METER),
            dispatcher: library(DISPATCHER),
            variant: Variant { runner: self.runner, ..variant },
            lto_off: self.lto_off,
            warnings: self.warnings.clone(),
        })
    }

    /// Returns the recipe for these targets of a pairing, if it contains them. A filter may need only some of the
    /// targets.
    pub fn narrow(&self, tests_of: Side, targets: &BTreeSet<TargetId>) -> Option<Self> {
        let has_them = self.tests_of == tests_of && self.targets.is_superset(targets);
        has_them.then(|| Self { targets: targets.clone(), ..self.clone() })
    }

    /// Returns the folders below `sides` that the recipe needs.
    pub fn sides(&self) -> impl Iterator<Item = &str> {
        Side::BOTH.into_iter().filter_map(|side| self.sides.get(side).as_deref())
    }
}
