//! Executables of a side, stored so that the same version is not built twice.

use super::bytes::contains;
use super::capture_role::{Invocation, users_environment};
use super::compiled_files::NOTE as COMPILED;
use super::dispatcher::{self, Dispatcher, SIDE_VARIABLE};
use super::doctests::{self, Doctests, Extracted};
use super::fingerprint::Traces;
use super::inputs::{EXECUTABLES, Inputs, Reported, places};
use super::link;
use super::wrapper::HARNESS_SUFFIX;
use cargo_metadata::Artifact;
use perfunit_model::error::Result;
use perfunit_model::{Harness, NotExtracted, Side, Sides, TargetId, TargetKind};
use perfunit_project::cargo::Workspace;
use perfunit_runtime::page::{BENCH_MARKER, INSIDE_VARIABLE};
use perfunit_system::cache;
use perfunit_system::fs;
use perfunit_system::json;
use perfunit_system::os::unix::fs::MetadataExt as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of sides to keep.
const KEPT: usize = 8;
/// Name of the record in a side's folder. It is written last, so its existence means that the folder is complete.
const NOTE: &str = "build.json";
/// Folder for the texts of doc tests.
const DOCTESTS: &str = "doctests";
/// Folder for the link records of the executables.
const LINKS: &str = "link";

/// A test executable of one side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestExecutable {
    /// Target of the executable.
    pub target: TargetId,
    pub path: PathBuf,
    /// Working folder of its tests.
    pub cwd: PathBuf,
    /// Environment variables that cargo sets for its tests.
    pub env: BTreeMap<String, String>,
    pub harness: Harness,
    /// Folder of its [`LinkRecord`](super::LinkRecord); `None` if its inputs are unknown.
    pub link: Option<PathBuf>,
    /// Our copies of the project's shared libraries that it may load, by file name.
    pub libraries: BTreeMap<String, PathBuf>,
    /// Names of its doc tests, if it has any.
    pub doctests: Option<Doctests>,
}

impl TestExecutable {
    /// Returns the complete environment of its tests: the user's variables, cargo's, `PERFUNIT=1` and the folder with
    /// the package's binaries.
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let cargos = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        let folder = side_of(&self.path);
        let ours = folder.map(|folder| (SIDE_VARIABLE.into(), folder.into()));
        users_environment().chain(cargos).chain([(INSIDE_VARIABLE.into(), "1".into())]).chain(ours).collect()
    }

    /// Returns the name that the executable uses for a test.
    pub fn known_as<'a>(&'a self, test: &'a str) -> &'a str {
        self.doctests.as_ref().and_then(|doctests| doctests.known_as.get(test)).map_or(test, String::as_str)
    }
}

/// The builds of one side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SideBuild {
    /// Folder of the side. Test executables are in `deps`, the package's binaries above it, as in cargo's own folder.
    pub folder: PathBuf,
    pub executables: Vec<TestExecutable>,
    /// Files and variables that the executables load.
    pub inputs: Inputs,
    /// Libraries with unknown doc tests.
    pub not_extracted: Vec<(TargetId, NotExtracted)>,
}

impl SideBuild {
    /// Creates the build of a version that has none of the targets.
    pub fn empty(ours: &Path) -> Self {
        Self::of(ours.join("sides/none"), Inputs::default())
    }

    /// Creates a build without executables.
    pub fn of(folder: PathBuf, inputs: Inputs) -> Self {
        Self { folder, executables: Vec::new(), inputs, not_extracted: Vec::new() }
    }

    /// Renames base's targets to head's names. `workspace` is head's.
    #[must_use]
    pub fn named_by_head(mut self, workspace: &Workspace, side: Side) -> Self {
        let Some(base) = workspace.counterpart.as_ref().filter(|_| side == Side::Base) else { return self };
        let targets: BTreeMap<&TargetId, &TargetId> = base.targets.iter().map(|(head, base)| (base, head)).collect();
        let packages: BTreeMap<&String, &String> = base.packages.iter().map(|(head, base)| (base, head)).collect();
        let rename = |id: &mut TargetId| match (targets.get(id), packages.get(&id.package)) {
            (Some(head), _) => (*head).clone_into(id),
            // The target comes from head's test code.
            (None, Some(package)) => (*package).clone_into(&mut id.package),
            (None, None) => {}
        };
        self.executables.iter_mut().for_each(|executable| rename(&mut executable.target));
        self.not_extracted.iter_mut().for_each(|(target, _)| rename(target));
        self
    }

    /// Returns the folder of its doc tests, which the other side may use.
    pub fn doctests(&self) -> PathBuf {
        self.folder.join(DOCTESTS)
    }

    /// Reads the build stored in this folder.
    pub fn open(folder: &Path) -> Result<Self> {
        json::read(&folder.join(NOTE))
    }

    /// Returns the packages' binaries, sorted by name.
    pub fn binaries(&self) -> Result<Vec<PathBuf>> {
        let is_other = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            [NOTE, COMPILED].contains(&&*name) || self.inputs.libraries.contains_key(&*name)
        };
        let entries = fs::list_dir(&self.folder)?;
        Ok(entries.into_iter().filter(|path| path.is_file() && !is_other(path)).collect())
    }

    /// Returns the folder of a binary's [`LinkRecord`](super::LinkRecord); `None` if its inputs are unknown.
    pub fn binary_link(&self, binary: &Path) -> Option<PathBuf> {
        Some(self.folder.join(LINKS).join(binary.file_name()?)).filter(|folder| folder.is_dir())
    }
}

/// Results of cargo's build.
#[derive(Debug, Default, Clone)]
pub(super) struct Artifacts {
    /// Test executables: path, target kind and target name.
    pub tests: Vec<(PathBuf, TargetKind, String)>,
    /// Binaries of the workspace.
    pub binaries: Vec<PathBuf>,
    /// Other facts about the build.
    pub reported: Reported,
    /// Locations in which the build recorded its inputs.
    pub traces: Traces,
}

impl Artifacts {
    /// Adds the files that cargo built for a target.
    pub fn add_artifact(&mut self, artifact: &Artifact) -> Result<()> {
        self.reported.add_artifact(artifact)?;
        let written = artifact.filenames.iter().map(|path| self.reported.output_path(path.as_std_path()));
        self.traces.add_compiled(written);
        Ok(())
    }

    /// Removes everything built from these empty root files. Returns one of them if another compilation read it.
    pub fn leave_out(&mut self, empty: &BTreeSet<PathBuf>) -> Result<Option<PathBuf>> {
        if empty.is_empty() {
            return Ok(None);
        }
        let forgotten = self.reported.forget(empty);
        self.tests.retain(|(path, ..)| !forgotten.contains(path));
        self.binaries.retain(|path| !forgotten.contains(path));
        self.reported.one_read(empty)
    }

    /// Adds the executables of doc tests, which cargo does not know.
    pub fn add_doctests(&mut self, extracted: &BTreeMap<TargetId, Extracted>) {
        for (target, extracted) in extracted {
            let Ok(bundled) = &extracted.bundled else { continue };
            self.tests.push((bundled.executable.clone(), target.kind, target.name.clone()));
            self.reported.add_file(&bundled.executable);
            self.traces.add_compiled(std::iter::once(bundled.executable.as_path()));
        }
    }
}

/// Returns the folder of the side that a test executable belongs to.
pub fn side_of(executable: &Path) -> Option<&Path> {
    executable.parent().filter(|folder| folder.ends_with(EXECUTABLES)).and_then(Path::parent)
}

/// Loads the side stored under this key, if it is complete.
pub(super) fn load(sides: &Path, key: &str) -> Option<SideBuild> {
    let folder = sides.join(key);
    let build: SideBuild = json::read_if_exists(&folder.join(NOTE)).ok()??;
    if !build.executables.iter().all(|executable| executable.path.exists()) {
        return None;
    }
    // Pruning removes the least recently used sides.
    cache::touch(&folder);
    Some(build)
}

/// Copies a build into the side's folder.
pub(super) fn keep(
    sides: &Path,
    key: &str,
    artifacts: &Artifacts,
    invocations: &[Invocation],
    extracted: &BTreeMap<TargetId, Extracted>,
) -> Result<SideBuild> {
    let folder = sides.join(key);
    fs::remove_dir_all(&folder)?;
    // The run's lock excludes other processes.
    cache::prune(sides, KEPT - 1, Duration::ZERO)?;
    let links = folder.join(LINKS);
    for binary in &artifacts.binaries {
        fs::copy(binary, &folder.join(file_name(binary)))?;
        link::carry(artifacts.reported.output_path(binary), links.join(file_name(binary)))?;
    }
    let (mut executables, mut commands) = (Vec::new(), Vec::new());
    for invocation in invocations {
        let Some((built, kind, name)) = artifacts.tests.iter().find(|(path, ..)| *path == invocation.executable) else {
            continue;
        };
        let path = folder.join(EXECUTABLES).join(file_name(built));
        fs::copy(built, &path)?;
        let package = invocation.env.get("CARGO_PKG_NAME").cloned().unwrap_or_default();
        let target = TargetId { package, kind: *kind, name: name.clone() };
        let bundled = extracted.get(&target).and_then(|extracted| extracted.bundled.as_ref().ok());
        let harness = harness(built)?;
        let test = TestExecutable {
            doctests: bundled.map(|bundled| bundled.doctests.clone()),
            target,
            path,
            cwd: invocation.cwd.clone(),
            env: BTreeMap::new(),
            harness: harness.of_tests,
            link: link::carry(built, links.join(file_name(built)))?,
            libraries: BTreeMap::new(),
        };
        let benches = kind.of_benches().zip(harness.of_benches).map(|(kind, harness)| TestExecutable {
            target: TargetId { kind, ..test.target.clone() },
            harness,
            ..test.clone()
        });
        for executable in std::iter::once(test).chain(benches) {
            executables.push(executable);
            commands.push(invocation);
        }
    }
    let inputs = Inputs::keep(&artifacts.reported, invocations, &folder, &links)?;
    for (executable, invocation) in executables.iter_mut().zip(commands) {
        executable.env = inputs.variables(invocation, &folder);
        executable.libraries = inputs.loaded_by(&executable.path)?.paths();
    }
    executables.sort_by(|a, b| a.target.cmp(&b.target));
    let mut build = SideBuild { executables, ..SideBuild::of(folder.clone(), inputs) };
    for (target, extracted) in extracted {
        match &extracted.bundled {
            Ok(bundled) => doctests::write_texts(&build.doctests(), &target.package, &bundled.own)?,
            Err(why) => build.not_extracted.push((target.clone(), why.clone())),
        }
    }
    json::write(&folder.join(NOTE), &build)?;
    Ok(build)
}

/// Installs stand-ins where the tests of a side look for the packages' binaries.
pub fn stand_in(ours: &Path, side: &SideBuild, dispatcher: &Dispatcher) -> Result<()> {
    side.binaries()?.iter().try_for_each(|binary| dispatcher::install(ours, file_name(binary), dispatcher))
}

/// Returns the folder with the stand-ins that belong to a side's folder (`<ours>/sides/<key>`).
pub fn stand_ins_beside(side: &Path) -> Option<PathBuf> {
    side.ancestors().nth(2).map(dispatcher::folder)
}

/// Returns the path at which tests find the stand-in of a binary.
pub fn stand_in_of(ours: &Path, binary: &Path) -> PathBuf {
    dispatcher::place(ours, file_name(binary))
}

/// Lets both sides load libraries that are equal from one file, because the memory in which the system caches a file
/// affects its speed.
pub fn share_libraries(sides: &Sides<SideBuild>) -> Result<()> {
    for (name, base) in &sides.base.inputs.libraries {
        let Some(head) = sides.head.inputs.libraries.get(name) else { continue };
        let inode = |path: &Path| fs::metadata(path).map(|data| (data.dev(), data.ino()));
        if inode(&base.path)? != inode(&head.path)? && fs::same_content(&base.path, &head.path)? {
            for place in places(&sides.head.folder, Path::new(name)).iter().filter(|place| place.exists()) {
                fs::remove_file(place)?;
                fs::link_or_copy(&base.path, place)?;
            }
        }
    }
    Ok(())
}

/// Harnesses of an executable.
struct Harnesses {
    of_tests: Harness,
    /// Harness of benchmarks among unit tests, if there can be any.
    of_benches: Option<Harness>,
}

/// Reads the note that the rustc wrapper left next to an executable with a harness.
fn harness(built: &Path) -> Result<Harnesses> {
    let note = PathBuf::from(format!("{}{HARNESS_SUFFIX}", built.display()));
    let note = fs::read_if_exists(&note)?;
    let of_tests = match note.as_deref() {
        Some(b"runner" | b"runner and bench") => Harness::Runner,
        Some(b"bench") if contains(&fs::read(built)?, BENCH_MARKER.as_bytes()) => Harness::Bench,
        // A bench target may depend on criterion without using it.
        Some(b"bench") | None => Harness::Own,
        Some(_) => Harness::Libtest,
    };
    let of_benches = (note.as_deref() == Some(b"runner and bench")).then_some(Harness::Bench);
    Ok(Harnesses { of_tests, of_benches })
}

fn file_name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or(path.as_os_str())
}
