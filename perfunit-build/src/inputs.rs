//! Files and variables that tests load in addition to their executable: shared libraries and build script output.
//! Stored per side, because in cargo's folder one version replaces the other.

use super::capture_role::Invocation;
use super::cargo_layout;
use super::compiled_files::{Compilation, Compilations, CompiledFiles, has_debug_assertions, lists, parse_file_names};
use super::dispatcher;
use super::link::{self, LIBRARIES};
use super::out_dir_files::OutDirFiles;
use cargo_metadata::{Artifact, BuildScript, TargetKind};
use object::Object as _;
use object::read::NameOrOrdinal;
use perfunit_model::error::Result;
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Folder with the test executables of a side. Tests look for the package's binaries in its parent folder, as in
/// cargo's own folder.
pub const EXECUTABLES: &str = "deps";

/// A file that was built.
#[derive(Debug, Clone)]
struct Built {
    /// Path that cargo reports.
    path: PathBuf,
    /// Path that rustc wrote.
    written: PathBuf,
    /// Root file of its target; `None` if cargo does not know the target.
    root: Option<PathBuf>,
}

/// Facts from cargo's messages about a build.
#[derive(Debug, Default, Clone)]
pub(super) struct Reported {
    /// Folder in which rustc ran.
    pub workspace: PathBuf,
    built: Vec<Built>,
    /// Shared libraries of the project.
    libraries: Vec<PathBuf>,
    /// Compilations of each target, by root file.
    compilations: Compilations<PathBuf>,
    /// Variables that build scripts set.
    variables: BTreeSet<String>,
    /// `OUT_DIR` of each build script that ran.
    out_dirs: BTreeSet<PathBuf>,
    /// `OUT_DIR` of the project's own packages. Those of other packages are as constant as their code.
    own_out_dirs: BTreeSet<PathBuf>,
}

impl Reported {
    pub fn add_artifact(&mut self, artifact: &Artifact) -> Result<()> {
        let root = fs::normal(artifact.target.src_path.as_std_path());
        let package = cargo_layout::package_name(&artifact.package_id.repr);
        let features = artifact.features.iter().cloned().collect();
        let mut compilation = Compilation { features, debug_assertions: None };
        for path in &artifact.filenames {
            let path = path.as_std_path();
            let written = cargo_layout::written_by_rustc(path, package)?;
            compilation.debug_assertions = compilation.debug_assertions.or_else(|| has_debug_assertions(&written));
            self.built.push(Built { path: path.to_owned(), written, root: Some(root.clone()) });
        }
        self.compilations.entry(root).or_default().insert(compilation);
        let is_loaded = |kind: &TargetKind| matches!(kind, TargetKind::DyLib | TargetKind::CDyLib);
        if artifact.target.kind.iter().any(is_loaded) {
            let files = artifact.filenames.iter().filter(|path| is_library(path.as_std_path()));
            self.libraries.extend(files.map(|path| path.clone().into()));
        }
        Ok(())
    }

    /// Adds a file that cargo does not know.
    pub fn add_file(&mut self, built: &Path) {
        self.built.push(Built { path: built.to_owned(), written: built.to_owned(), root: None });
    }

    /// Returns the path of rustc's output for this file.
    pub fn output_path<'a>(&'a self, path: &'a Path) -> &'a Path {
        self.built.iter().find(|built| built.path == path).map_or(path, |built| &built.written)
    }

    /// Removes and returns everything that was built from these root files.
    pub fn forget(&mut self, roots: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        self.compilations.retain(|root, _| !roots.contains(root));
        let is_of = |built: &mut Built| built.root.as_ref().is_some_and(|root| roots.contains(root));
        self.built.extract_if(.., is_of).map(|built| built.path).collect()
    }

    /// Returns one of these files that a compilation read, if there is one.
    pub fn one_read(&self, files: &BTreeSet<PathBuf>) -> Result<Option<PathBuf>> {
        let read = self.list_compiled_files()?;
        Ok(read.iter().map(|name| fs::normal(&self.workspace.join(name))).find(|path| files.contains(path)))
    }

    pub fn add_script(&mut self, script: &BuildScript) {
        self.variables.extend(script.env.iter().map(|(name, _)| name.clone()));
        self.out_dirs.insert(script.out_dir.clone().into());
        if script.package_id.repr.starts_with("path+") {
            self.own_out_dirs.insert(script.out_dir.clone().into());
        }
    }

    /// Returns the files that were compiled, as rustc and cargo name them.
    fn list_compiled_files(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        let lists: BTreeSet<PathBuf> = self.built.iter().flat_map(|built| lists(&built.written)).collect();
        for list in lists {
            let text = fs::read_if_exists(&list)?.unwrap_or_default();
            names.extend(parse_file_names(&String::from_utf8_lossy(&text)));
        }
        Ok(names)
    }
}

/// Files and variables that the tests of a side load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inputs {
    /// Shared libraries by file name.
    pub libraries: BTreeMap<String, Library>,
    /// Variables that build scripts set. Code that uses them has their values compiled in.
    pub variables: BTreeSet<String>,
    /// Build script output, by `OUT_DIR`.
    pub made: BTreeMap<PathBuf, OutDirFiles>,
}

/// A shared library of a side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Library {
    pub path: PathBuf,
    /// Folder of its [`LinkRecord`](super::LinkRecord); `None` if its inputs are unknown.
    pub link: Option<PathBuf>,
}

/// Libraries of a side that a program may load, by file name.
#[derive(Debug, Default)]
pub struct Loaded<'a> {
    /// Libraries that it was linked with, directly or indirectly.
    pub needed: BTreeMap<&'a str, &'a Library>,
    /// The other libraries, if it can open libraries at run time.
    pub opened: BTreeMap<&'a str, &'a Library>,
}

impl Loaded<'_> {
    pub(super) fn paths(&self) -> BTreeMap<String, PathBuf> {
        let all = self.needed.iter().chain(&self.opened);
        all.map(|(name, library)| ((*name).to_owned(), library.path.clone())).collect()
    }
}

impl Inputs {
    /// Variable with the folders that the dynamic linker searches first.
    pub const SEARCH: &str = "LD_LIBRARY_PATH";

    /// Copies the inputs of a build into a side's folder, where its link records already are.
    pub(super) fn keep(reported: &Reported, invocations: &[Invocation], folder: &Path, links: &Path) -> Result<Self> {
        let compiled = reported.list_compiled_files()?;
        let files = CompiledFiles::of(&compiled, &reported.workspace);
        let is_generated = |name: &&String| is_below(Path::new(name), &reported.out_dirs);
        let files = files.with_generated(compiled.iter().filter(is_generated));
        files.with_compilations(&reported.compilations, &reported.workspace).save(folder)?;
        let mut inputs = Self { variables: reported.variables.clone(), ..Self::default() };
        for path in candidates(reported, invocations, links)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The dynamic linker uses the first match.
            if inputs.libraries.contains_key(&name) || !is_shared(&path) {
                continue;
            }
            let kept = folder.join(LIBRARIES).join(&name);
            // Output of packages from elsewhere does not change, and may be large.
            if is_below(&path, &reported.out_dirs) && !is_below(&path, &reported.own_out_dirs) {
                fs::link_or_copy(&path, &kept)?;
            } else {
                fs::copy(&path, &kept)?;
            }
            let link = link::carry(reported.output_path(&path), links.join(&name))?;
            inputs.libraries.insert(name, Library { path: kept, link });
        }
        for out_dir in &reported.own_out_dirs {
            inputs.made.insert(out_dir.clone(), OutDirFiles::keep(out_dir, folder, &compiled)?);
        }
        let names = reported.libraries.iter().filter_map(|path| path.file_name()?.to_str());
        for library in names.filter(|name| inputs.libraries.contains_key(*name)) {
            let [kept, others @ ..] = places(folder, Path::new(library));
            others.iter().try_for_each(|place| fs::link_or_copy(&kept, place))?;
        }
        Ok(inputs)
    }

    /// Returns the libraries that a program may load.
    pub fn loaded_by(&self, program: &Path) -> Result<Loaded<'_>> {
        let mut loaded = Loaded::default();
        let mut opens = false;
        let mut queue = VecDeque::from([program]);
        while let Some(path) = queue.pop_front().filter(|_| !self.libraries.is_empty()) {
            let Links { needed, opens_more } = links(&fs::read(path)?);
            opens |= opens_more;
            for (name, library) in self.libraries.iter().filter(|(name, _)| needed.contains(*name)) {
                if loaded.needed.insert(name, library).is_none() {
                    queue.push_back(&library.path);
                }
            }
        }
        let others = self.libraries.iter().filter(|(name, _)| opens && !loaded.needed.contains_key(name.as_str()));
        loaded.opened = others.map(|(name, library)| (name.as_str(), library)).collect();
        Ok(loaded)
    }

    /// Returns the variables that cargo sets for a test, with libraries and binaries redirected to the side's folder.
    pub(super) fn variables(&self, invocation: &Invocation, folder: &Path) -> BTreeMap<String, String> {
        let mut env = invocation.env.clone();
        for (name, value) in &mut env {
            // Since cargo 1.94 a test can also read these variables at run time.
            if name.starts_with("CARGO_BIN_EXE_") {
                *value = dispatcher::dispatcher_path(Path::new(value.as_str())).to_string_lossy().into_owned();
            }
        }
        if !self.libraries.is_empty() {
            let before = env.get(Self::SEARCH).cloned().unwrap_or_default();
            env.insert(Self::SEARCH.to_owned(), replace_search_folder(&before, folder));
        }
        env
    }
}

/// Returns the paths of a workspace library in a side's folder: one for the dynamic linker, and those next to the test
/// executables where cargo puts libraries, for tests that open them by path.
pub(super) fn places(side: &Path, name: &Path) -> [PathBuf; 3] {
    [side.join(LIBRARIES).join(name), side.join(EXECUTABLES).join(name), side.join(name)]
}

/// Returns the search path with the side's libraries instead of those in cargo's folder.
fn replace_search_folder(before: &str, folder: &Path) -> String {
    let build = build_folder(folder);
    let others = before.split(':').filter(|entry| !entry.is_empty() && !Path::new(entry).starts_with(&build));
    let own = folder.join(LIBRARIES).to_string_lossy().into_owned();
    std::iter::once(own.as_str()).chain(others).collect::<Vec<_>>().join(":")
}

/// Lists the files that tests of a side may load, in search order.
fn candidates(reported: &Reported, invocations: &[Invocation], links: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for link in fs::list_dir(links)? {
        for library in link::LinkRecord::load(&link)?.dynamic_libraries() {
            // A library linked as `libz.so` may be loaded as `libz.so.1`.
            let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_version =
                |path: &PathBuf| path.file_name().is_some_and(|own| own.to_string_lossy().starts_with(&name));
            found.extend(fs::list_dir(library.parent().unwrap_or(&library))?.into_iter().filter(is_version));
        }
    }
    found.extend(reported.libraries.iter().cloned());
    let searched = invocations.iter().filter_map(|invocation| invocation.env.get(Inputs::SEARCH));
    let entries: BTreeSet<&str> = searched.flat_map(|list| list.split(':')).collect();
    // Other entries are next to the test executables. They belong to other builds, or only the compiler loads them.
    for entry in entries.into_iter().map(Path::new).filter(|entry| is_below(entry, &reported.out_dirs)) {
        found.extend(fs::list_dir(entry)?.into_iter().filter(|path| is_library(path)));
    }
    Ok(found)
}

fn is_below(path: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns cargo's build folder for a side.
fn build_folder(side: &Path) -> PathBuf {
    side.ancestors().nth(2).unwrap_or(side).join("build")
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

/// Checks the header only, because some files are very large.
fn is_shared(path: &Path) -> bool {
    let mut header = [0; 18];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.starts_with(b"\x7fELF") && matches!(header[16..], [3, 0] | [0, 3])
}

/// Requests of a program or library to the dynamic linker.
#[derive(Default)]
struct Links {
    needed: BTreeSet<String>,
    /// True if it can load libraries that it does not name.
    opens_more: bool,
}

fn links(bytes: &[u8]) -> Links {
    let Ok(file) = object::File::parse(bytes) else { return Links::default() };
    let mut imports = file.imports().into_iter().flatten().flatten();
    let opens_more = imports.any(|import| matches!(import.name(), NameOrOrdinal::Name(b"dlopen" | b"dlmopen")));
    let libraries = file.import_libraries().into_iter().flatten().flatten();
    let name =
        |path: &[u8]| String::from_utf8_lossy(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).into_owned();
    Links { needed: libraries.map(|library| name(library.name())).collect(), opens_more }
}
