//! The packages of both versions, and how they depend on each other.

use super::data;
use super::included::TakenIn;
use super::reach::{Graph, PackageNode, TargetNode};
use super::source::{InputKind, SourceDiff};
use super::target_files::{TargetFiles, modules};
use crate::build::shadow::Injections;
use crate::build::{Builder, Place, contains};
use crate::cargo::{self, Workspace};
use crate::error::Result;
use crate::git::{FileSet, Mode, Versions};
use crate::model::{Side, Sides};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The graph for `reach`, with the files of both sides: a removed file belongs to the target that had it.
pub fn graph(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    diff: &SourceDiff,
    taken_in: &TakenIn,
) -> Result<(Graph, TargetFiles)> {
    let changed = versions.changed_paths();
    let links_differ = [&versions.files.base, &versions.files.head].into_iter().any(|files| {
        let mut entries = changed.iter().filter_map(|path| files.entries.get(Path::new(path)));
        entries.any(|entry| entry.mode == Mode::Symlink)
    });
    let mut files = TargetFiles::new();
    let mut packages = Vec::new();
    for package in &workspace.packages {
        let mut targets = Vec::new();
        for target in &package.targets {
            let head = modules(versions, &versions.files.head, &target.root);
            // Modules are followed from the root: without a changed file among them both sides have the same.
            let same = !links_differ && !head.is_empty() && !head.keys().any(|path| changed.contains(path));
            let base = if same { head.clone() } else { modules(versions, &versions.files.base, &target.root) };
            let sides = Sides { base, head };
            let mut union = sides.head.clone();
            for (path, info) in &sides.base {
                union.entry(path.clone()).or_insert_with(|| info.clone());
            }
            // Members come first: a patched package can have the name of one.
            files.entry(target.id.clone()).or_insert(sides);
            targets.push(TargetNode {
                id: target.id.clone(),
                root: target.root.clone(),
                files: union,
                has_tests: target.tested,
            });
        }
        packages.push(PackageNode {
            name: package.name.clone(),
            dir: package.dir.clone(),
            dependencies: package.dependencies.clone(),
            targets,
            build_script: package.build_script.clone(),
            member: package.member,
        });
    }
    let outside = outside_packages(&versions.files.head, workspace);
    let Resolved { external, refeatured, by: refeatured_by } = resolved(builder, versions, workspace, diff)?;
    let (root, taken_in) = (workspace.root.clone(), taken_in.clone());
    let mut graph =
        Graph { root, packages, external, refeatured, refeatured_by, outside, taken_in, ..Graph::default() };
    graph.decisive = decisive(versions, diff);
    (graph.named_by, graph.started_by) = data::named_in_code(versions, &graph, diff);

    Ok((graph, files))
}

/// Folders with a manifest of their own that is no part of the workspace.
fn outside_packages(files: &FileSet, workspace: &Workspace) -> Vec<String> {
    let known: BTreeSet<&str> =
        workspace.packages.iter().map(|package| package.dir.as_str()).chain([workspace.root.as_str()]).collect();
    let manifests = files.entries.keys().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|path| path.parent()).map(|dir| dir.to_string_lossy().into_owned());
    folders.filter(|dir| !known.contains(dir.as_str())).collect()
}

/// The folders of vendored packages, and the changed files that cargo's configuration names.
fn decisive(versions: &Versions, diff: &SourceDiff) -> Vec<String> {
    let sides = [&versions.files.base, &versions.files.head];
    let paths = || sides.into_iter().flat_map(|files| files.entries.keys());
    let sums = paths().filter(|path| path.ends_with(".cargo-checksum.json"));
    let vendored = sums.filter_map(|path| path.parent()).map(|folder| folder.to_string_lossy().into_owned());
    let is_configuration = |path: &&PathBuf| path.ends_with(".cargo/config.toml") || path.ends_with(".cargo/config");
    let configurations: BTreeSet<&PathBuf> = paths().filter(is_configuration).collect();
    let read = |path: &&PathBuf| {
        let path = path.to_string_lossy();
        sides.into_iter().filter_map(|files| versions.read_file(files, &path)).collect::<Vec<_>>()
    };
    let texts: Vec<Vec<u8>> = configurations.iter().flat_map(read).collect();
    let is_named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        texts.iter().any(|text| contains(text, name.as_bytes()))
    };
    let data = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).map(|input| &input.path);
    vendored.chain(data.filter(|path| is_named(path)).cloned()).collect()
}

/// What cargo's resolver says of the change.
#[derive(Default)]
struct Resolved {
    /// Which external packages each package depends on.
    external: BTreeMap<String, BTreeSet<String>>,
    refeatured: BTreeSet<String>,
    by: Option<String>,
}

/// Asked only if a manifest or lock file changed in what can matter.
fn resolved(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    diff: &SourceDiff,
) -> Result<Resolved> {
    let decides = |kind: &InputKind| match kind {
        InputKind::LockFile { packages } => !packages.is_empty(),
        InputKind::Manifest | InputKind::WorkspaceManifest => true,
        _ => false,
    };
    let Some(by) = diff.inputs.iter().find(|input| decides(&input.kind)) else { return Ok(Resolved::default()) };
    let mut of_side = |side: Side| -> Result<Option<cargo::Resolved>> {
        // Not in the tree that is measured, where cargo would build again what was written twice.
        let place = Place::Probed { apart: false };
        builder.checkout(place, versions.files.get(side), &Injections::none())?;
        let manifest = builder.root(place)?.join(&workspace.root).join("Cargo.toml");
        // Without the graph (no network, say) every package counts as depending on everything.
        Ok(cargo::resolved(builder.context().cargo_of(side), &manifest).ok())
    };
    let (base, head) = (of_side(Side::Base)?, of_side(Side::Head)?);
    let Some(head) = head else { return Ok(Resolved::default()) };
    let before = base.map(|base| base.features);
    let is_other = |(package, features): &(&String, &BTreeSet<String>)| {
        before.as_ref().is_some_and(|before| before.get(*package).is_some_and(|before| before != *features))
    };
    let refeatured: BTreeSet<String> = head.features.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
    let by = (!refeatured.is_empty()).then(|| by.path.clone());
    Ok(Resolved { external: head.external, refeatured, by })
}
