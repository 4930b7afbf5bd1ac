//! The packages of both versions, and how they depend on each other.

use super::data;
use super::included::TakenIn;
use super::reach::{Graph, PackageNode, TargetNode};
use super::source::{InputKind, SourceDiff};
use super::target_files::{TargetFiles, modules};
use crate::build::shadow::Injections;
use crate::build::{Builder, Place};
use crate::cargo::{self, Workspace};
use crate::error::Result;
use crate::git::{FileSet, Mode, Versions};
use crate::model::Sides;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
    let external = external(builder, versions, workspace, diff)?;
    let (root, taken_in) = (workspace.root.clone(), taken_in.clone());
    let mut graph = Graph { root, packages, external, outside, taken_in, ..Graph::default() };
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

/// Which external packages each package depends on; only needed, and only asked for, if the lock file changed.
fn external(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    diff: &SourceDiff,
) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let locked = |kind: &InputKind| matches!(kind, InputKind::LockFile { packages } if !packages.is_empty());
    if !diff.inputs.iter().any(|input| locked(&input.kind)) {
        return Ok(BTreeMap::new());
    }
    builder.checkout(Place::Measured, &versions.files.head, &Injections::none())?;
    let manifest = builder.root(Place::Measured)?.join(&workspace.root).join("Cargo.toml");
    // Without the graph (no network, say) every package counts as depending on everything.
    Ok(cargo::external_dependencies(&builder.context().cargo, &manifest).unwrap_or_default())
}
