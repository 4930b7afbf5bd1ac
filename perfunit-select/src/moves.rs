//! Finds moved and renamed items between the versions, so that a test is compared with itself.
//!
//! Packages and targets are matched with base's own metadata. The files of a package follow its folder; the files of a
//! target whose root moved are matched by module.

use super::scope::Wanted;
use super::source::{InputKind, SourceDiff};
use super::target_files::modules;
use perfunit_build::shadow::Injections;
use perfunit_build::{Builder, Place};
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_project::cargo::{self, Counterpart, Workspace};
use perfunit_project::git::path::{is_below, is_rust, within};
use perfunit_project::git::{FileSet, Moves, Versions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Matches base's packages and targets with head's, and finds the moved files. Returns `None` if nothing moved or was
/// renamed.
pub fn find(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    diff: &SourceDiff,
    wanted: &Wanted<'_>,
) -> Result<Option<(Counterpart, Moves)>> {
    if !may_differ(versions, workspace, diff) {
        return Ok(None);
    }
    // In the measured tree, writing files twice would make cargo rebuild them.
    let place = Place::Probed { apart: false };
    builder.checkout(place, &versions.files.base, &Injections::none())?;
    let root = builder.root(place)?;
    let manifest = root.join(&workspace.root).join("Cargo.toml");
    if !manifest.exists() {
        return Ok(None);
    }
    // If cargo cannot read it, the build fails too and reports the error.
    let Ok(mut base) = cargo::load(builder.context().cargo_of(Side::Base), &root, &manifest) else { return Ok(None) };
    wanted.complete(&mut base, &|_, _| true);
    let content = |files: &FileSet, path: &str| files.entries.get(Path::new(path)).map(|entry| entry.id);
    let same = |ours: &str, theirs: &str| {
        let id = content(&versions.files.head, ours);
        id.is_some() && id == content(&versions.files.base, theirs)
    };
    let counterpart = Counterpart::find(workspace, base, &same);
    let moves = moves(versions, workspace, &counterpart);
    let is_same = moves.is_empty() && counterpart.is_same_names() && counterpart.gone.is_empty();
    let found = !is_same || has_impostors(versions, workspace, &counterpart);
    Ok(found.then_some((counterpart, moves)))
}

/// Checks whether base may have other targets than head's paths suggest.
fn may_differ(versions: &Versions, workspace: &Workspace, diff: &SourceDiff) -> bool {
    let (base, head) = (&versions.files.base, &versions.files.head);
    let is_manifest = |kind: &InputKind| matches!(kind, InputKind::Manifest | InputKind::WorkspaceManifest);
    // A new or removed manifest has no counterpart to compare with.
    if diff.inputs.iter().any(|input| is_manifest(&input.kind)) {
        return true;
    }
    let targets = || workspace.packages.iter().flat_map(|package| &package.targets);
    let is_new = targets().any(|target| !base.may_have(Path::new(&target.root)));
    let mut gone = base.entries.keys().filter(|path| is_rust(path) && !head.entries.contains_key(*path));
    let is_root = |path: &PathBuf| {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        matches!(folder, Some("tests" | "benches" | "examples")) || path.ends_with("main.rs")
    };
    gone.any(|path| is_new || is_root(path))
}

/// Checks whether base has another package or target at the path of one that base lacks.
fn has_impostors(versions: &Versions, workspace: &Workspace, counterpart: &Counterpart) -> bool {
    let targets = workspace.packages.iter().flat_map(|package| &package.targets);
    let mut unmatched = targets.filter(|target| !counterpart.targets.contains_key(&target.id));
    unmatched.any(|target| versions.files.base.may_have(Path::new(&target.root)))
}

/// Finds the files that moved with their packages and targets.
fn moves(versions: &Versions, workspace: &Workspace, counterpart: &Counterpart) -> Moves {
    let (base, head) = (&versions.files.base, &versions.files.head);
    let pairs = workspace.packages.iter().filter_map(|package| Some((package, counterpart.package(&package.name)?)));
    let folders: Vec<(&str, &str)> = pairs.map(|(ours, theirs)| (ours.dir.as_str(), theirs.dir.as_str())).collect();
    let dirs: BTreeSet<&str> = counterpart.workspace.packages.iter().map(|package| package.dir.as_str()).collect();
    let mut places = BTreeMap::new();
    for (ours, theirs) in folders.iter().filter(|(ours, theirs)| ours != theirs) {
        let is_nested =
            |path: &str| dirs.iter().any(|dir| is_below(dir, theirs) && dir != theirs && is_below(path, dir));
        for path in base.entries.keys().filter_map(|path| path.to_str()) {
            let Some(inside) = within(path, theirs).filter(|_| !is_nested(path)) else { continue };
            let moved = if ours.is_empty() { inside.to_owned() } else { format!("{ours}/{inside}") };
            // A file that head still has at the old path, and not in the new folder, belongs to others (for example the
            // lock file).
            if head.entries.contains_key(Path::new(&moved)) || !head.entries.contains_key(Path::new(path)) {
                places.insert(PathBuf::from(moved), PathBuf::from(path));
            }
        }
    }
    let of_targets = of_targets(versions, workspace, counterpart, &places);
    let known: BTreeSet<&PathBuf> = of_targets.values().collect();
    places.retain(|_, place| !known.contains(place));
    places.extend(of_targets);
    let folders = folders.into_iter().map(|(ours, theirs)| (PathBuf::from(ours), PathBuf::from(theirs)));
    let folders = folders.chain(folders_of_targets(workspace, counterpart));
    Moves::new(&base.entries, places, folders.collect())
}

/// Returns the folders of targets with a moved root, in head and in base, unless other targets are there.
fn folders_of_targets(workspace: &Workspace, counterpart: &Counterpart) -> Vec<(PathBuf, PathBuf)> {
    let all = || workspace.packages.iter().flat_map(|package| &package.targets);
    let folder = |root: &str| Path::new(root).parent().unwrap_or(Path::new("")).to_owned();
    let mut found = Vec::new();
    for ours in all() {
        let Some(theirs) = counterpart.target(&ours.id).filter(|theirs| theirs.root != ours.root) else { continue };
        let own = folder(&ours.root);
        if all().all(|other| other.root == ours.root || !Path::new(&other.root).starts_with(&own)) {
            found.push((own, folder(&theirs.root)));
        }
    }
    found
}

/// Finds the files of targets with a root that moved other than with its package (`by_package`), by their modules.
fn of_targets(
    versions: &Versions,
    workspace: &Workspace,
    counterpart: &Counterpart,
    by_package: &BTreeMap<PathBuf, PathBuf>,
) -> BTreeMap<PathBuf, PathBuf> {
    let by_place: BTreeMap<&PathBuf, &PathBuf> = by_package.iter().map(|(path, place)| (place, path)).collect();
    let moved =
        |place: &str| by_place.get(&PathBuf::from(place)).map_or_else(|| PathBuf::from(place), |path| (*path).clone());
    let (mut found, mut stay) = (BTreeMap::new(), BTreeSet::new());
    for ours in workspace.packages.iter().flat_map(|package| &package.targets) {
        let Some(theirs) = counterpart.target(&ours.id) else { continue };
        if moved(&theirs.root) == Path::new(&ours.root) {
            stay.insert(PathBuf::from(&theirs.root));
            continue;
        }
        let by_module: BTreeMap<String, String> = modules(versions, &versions.files.base, &theirs.root)
            .into_iter()
            .map(|(path, file)| (file.module, path))
            .collect();
        for (path, file) in modules(versions, &versions.files.head, &ours.root) {
            let Some(place) = by_module.get(&file.module) else { continue };
            if moved(place) == Path::new(&path) {
                stay.insert(PathBuf::from(place));
            } else {
                found.insert(PathBuf::from(path), PathBuf::from(place));
            }
        }
    }
    found.retain(|_, place| !stay.contains(place));
    found
}
