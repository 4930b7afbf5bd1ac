//! A pairing built once more, with a probe in each function.
//!
//! In a tree of its own, so that the next `diff` finds its files as they were. What is not compiled with probes is left
//! without: a file at a time, on both sides.

use super::build::{BuiltSides, Job, TARGET_DIR, prepare};
use super::not_interrupted;
use super::options::Options;
use super::select::Selected;
use super::setup::{self, Setup};
use crate::build::shadow::{self, Tree};
use crate::build::{BuildFailure, Built, Probes, SideBuild, Variant};
use crate::error::{Error, Result};
use crate::explain::renamed;
use crate::git::{Entry, FileSet, Mode};
use crate::model::{Function, Side, Sides, TargetId};
use crate::select::source::{FileInTarget, LeftOut, Place, Site, instrument, packages_with_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Both sides with probes.
#[derive(Debug)]
pub struct Probed {
    pub sides: Sides<SideBuild>,
    /// The functions with probes, by the keys of their sites.
    pub functions: Sides<BTreeMap<u64, Function>>,
    /// Head's keys of functions that base knows by another key, with that; all else knows them by base's.
    pub renamed: BTreeMap<u64, u64>,
    /// How many functions of head have none, by reason.
    pub without_probe: BTreeMap<String, usize>,
}

/// Cargo's target folder where the trees cannot share one, from our folder.
const APART: &str = "build/probed";

/// Whether all packages of the project's own are members of the workspace. To cargo other ones with a path are the same
/// package in both trees, fresh by the times of their files: what was built of one tree would be taken for the other's.
/// Members are apart, because the wrapper is.
fn has_only_members(setup: &Setup, selected: &Selected) -> bool {
    let members = selected.workspace.packages.iter().filter(|package| package.member);
    let members: BTreeSet<&str> = members.map(|package| package.name.as_str()).collect();
    let lock = Path::new(&selected.workspace.root).join("Cargo.lock").to_string_lossy().into_owned();
    Side::BOTH.iter().all(|side| {
        let known = setup.read_file(setup.files.get(*side), &lock).and_then(|lock| packages_with_path(&lock));
        known.is_some_and(|names| {
            let distinct: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            distinct.len() == names.len() && distinct.is_subset(&members)
        })
    })
}

/// A file of the project's own code.
pub(super) struct SourceFile {
    pub package: String,
    /// From the package's folder.
    pub place: String,
    /// Of the first target that holds it.
    pub module: String,
    is_root: bool,
}

/// Builds the targets of both sides with probes, or says in words why that cannot be done.
pub fn build(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    plain: &BuiltSides,
    targets: &BTreeSet<TargetId>,
) -> Result<std::result::Result<Probed, String>> {
    let outside = setup.live.outside.iter().map(PathBuf::as_path);
    let tree = setup::open_tree(&setup.ours.join("probed"), setup.repository.root(), outside)?;
    in_tree(setup, tree, |setup| build_here(setup, options, selected, plain, targets))
}

/// Does something with another tree in the place of the one without probes.
fn in_tree<T>(setup: &mut Setup, tree: Tree, work: impl FnOnce(&mut Setup) -> Result<T>) -> Result<T> {
    let plain = std::mem::replace(&mut setup.tree, tree);
    let done = work(setup);
    setup.tree = plain;
    done
}

fn build_here(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    plain: &BuiltSides,
    targets: &BTreeSet<TargetId>,
) -> Result<std::result::Result<Probed, String>> {
    let variant = Variant { probes: Probes::With, ..plain.variant };
    let toolchains = prepare(setup, variant)?;
    let injections: BTreeSet<String> =
        plain.injections.paths().map(|path| path.to_string_lossy().into_owned()).collect();
    let target_dir = if has_only_members(setup, selected) { TARGET_DIR } else { APART };
    let job = Job { options, selected, targets, toolchains: &toolchains, injections: &injections, target_dir };
    let mut without = BTreeSet::new();
    'again: loop {
        let Instrumentation { files, functions, without_probe } = instrumented(setup, selected, plain, &without)?;
        let mut built: Sides<Option<SideBuild>> = Sides::default();
        for side in plain.pairing.order() {
            not_interrupted()?;
            match job.one_side(setup, side, files.get(side))? {
                Built::Done(side_build) => *built.get_mut(side) = Some(side_build),
                Built::Failed(failure) => {
                    let blamed = blamed(setup, &failure, files.get(side), &without);
                    if blamed.is_empty() {
                        return Ok(Err(first_error(&failure)));
                    }
                    without.extend(blamed);
                    continue 'again;
                }
            }
        }
        let (Some(base), Some(head)) = (built.base, built.head) else {
            return Err(Error::setup("a side was not built"));
        };
        // Tests find the data files of the version that they are from, as when they were measured.
        let data = files.get(plain.pairing.tests_of);
        setup.tree.checkout(&setup.repository, data, &injections.iter().collect())?;
        let renamed = renamed(&functions);
        let mut functions = functions;
        for (new, old) in &renamed {
            functions.head.remove(new).into_iter().for_each(|function| drop(functions.head.insert(*old, function)));
        }
        return Ok(Ok(Probed { sides: Sides { base, head }, functions, renamed, without_probe }));
    }
}

/// Files with errors that still carry probes.
fn blamed(setup: &Setup, failure: &BuildFailure, files: &FileSet, without: &BTreeSet<String>) -> BTreeSet<String> {
    let root = setup.tree.root();
    let named = failure.files.iter().filter_map(|path| path.strip_prefix(&root).ok());
    let named = named.filter(|path| files.entries.contains_key(*path)).map(|path| path.to_string_lossy().into_owned());
    named.filter(|path| !without.contains(path)).collect()
}

fn first_error(failure: &BuildFailure) -> String {
    let error = failure.output.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
    format!("it does not build with probes: {error}")
}

struct Instrumentation {
    files: Sides<FileSet>,
    functions: Sides<BTreeMap<u64, Function>>,
    without_probe: BTreeMap<String, usize>,
}

/// Both versions with probes in all files but `without`.
fn instrumented(
    setup: &Setup,
    selected: &Selected,
    plain: &BuiltSides,
    without: &BTreeSet<String>,
) -> Result<Instrumentation> {
    let sources = Sides { base: sources(selected, Side::Base), head: sources(selected, Side::Head) };
    let trivial = sources.try_map(|side, sources| {
        let files = plain.pairing.files.get(side);
        let mut found = BTreeMap::new();
        for (path, source) in &sources {
            let Some(text) = text(setup, files, path) else { continue };
            let place = Place { package: &source.package, path: &source.place };
            found.extend(instrument(&text, &place, &|_| true).sites.into_iter().map(|site| (site.key, site.trivial)));
        }
        Ok::<_, Error>((sources, found))
    })?;
    // A function has a probe on both sides or on none.
    let is_trivial = |key: u64| Side::BOTH.iter().all(|side| trivial.get(*side).1.get(&key).is_none_or(|is| *is));
    let mut without_probe: BTreeMap<String, usize> = BTreeMap::new();
    let mut functions: Sides<BTreeMap<u64, Function>> = Sides::default();
    let files = Sides { base: Side::Base, head: Side::Head }.try_map(|_, side| {
        let mut files = plain.pairing.files.get(side).clone();
        for (path, source) in &trivial.get(side).0 {
            if without.contains(path) && !source.is_root {
                continue;
            }
            let Some(text) = text(setup, &files, path) else { continue };
            let place = Place { package: &source.package, path: &source.place };
            let wanted = |site: &Site| !is_trivial(site.key) && !without.contains(path);
            let found = instrument(&text, &place, &wanted);
            functions.get_mut(side).extend(found.sites.iter().map(|site| (site.key, function(path, source, site))));
            if side == Side::Head {
                for LeftOut { why, .. } in &found.left_out {
                    *without_probe.entry(why.to_string()).or_default() += 1;
                }
            }
            let mut text = found.text;
            if source.is_root {
                let place = setup.tree.path(path);
                text.push_str(&shadow::probes_text(shadow::place_in_tree(&place).unwrap_or(Path::new(path)))?);
            }
            let path = PathBuf::from(path);
            let mode = files.entries.get(&path).map_or(Mode::File, |entry| entry.mode);
            files.entries.insert(path, Entry { mode, ..Entry::snapshot(text.into_bytes()) });
        }
        Ok::<_, Error>(files)
    })?;
    Ok(Instrumentation { files, functions, without_probe })
}

fn function(path: &str, source: &SourceFile, site: &Site) -> Function {
    source.function(path, &site.name, site.line)
}

impl SourceFile {
    /// A function of it, as people know it.
    pub fn function(&self, path: &str, name: &str, line: usize) -> Function {
        let name = if self.module.is_empty() { name.to_owned() } else { format!("{}::{name}", self.module) };
        Function { package: self.package.clone(), file: path.to_owned(), line, name }
    }
}

pub(super) fn text(setup: &Setup, files: &FileSet, path: &str) -> Option<String> {
    let is_file = files.entries.get(Path::new(path)).is_some_and(|entry| entry.mode != Mode::Symlink);
    is_file.then(|| setup.read_file(files, path)).flatten().and_then(|content| String::from_utf8(content).ok())
}

/// The files of all targets of the workspace, by path.
pub(super) fn sources(selected: &Selected, side: Side) -> BTreeMap<String, SourceFile> {
    let mut found = BTreeMap::new();
    let folders: BTreeMap<&str, &str> =
        selected.workspace.packages.iter().map(|package| (package.name.as_str(), package.dir.as_str())).collect();
    let roots = selected.roots();
    for (target, files) in &selected.target_files {
        let folder = folders.get(target.package.as_str()).copied().unwrap_or_default();
        for (path, FileInTarget { module, .. }) in files.get(side) {
            found.entry(path.clone()).or_insert_with(|| SourceFile {
                package: target.package.clone(),
                place: Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path)).to_string_lossy().into_owned(),
                module: module.clone(),
                is_root: roots.contains(path),
            });
        }
    }
    found
}
