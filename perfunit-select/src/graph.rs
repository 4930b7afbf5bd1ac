//! The packages of both versions, and how they depend on each other.

use super::reach::{External, Graph, PackageNode, Refeatured, TargetNode};
use super::source::{InputKind, SourceDiff};
use super::target_files::{TargetFiles, modules};
use super::test_inputs;
use super::test_inputs::TakenIn;
use perfunit_build::shadow::Injections;
use perfunit_build::{Builder, Place, names_file, vendored_folders};
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_project::cargo::{self, Cargo, Workspace};
use perfunit_project::git::{FileSet, Mode, Versions};
use std::collections::BTreeSet;
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
    let (external, refeatured) = resolved(builder, versions, workspace, diff)?;
    let (root, taken_in, decisive) = (workspace.root.clone(), taken_in.clone(), decisive(versions, diff));
    let mut graph = Graph { root, packages, external, refeatured, decisive, outside, taken_in, ..Graph::default() };
    (graph.named_by, graph.started_by) = test_inputs::named_in_code(versions, &graph, diff);

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
    let (mut found, mut configurations) = (Vec::new(), Vec::new());
    for files in [&versions.files.base, &versions.files.head] {
        found.extend(vendored_folders(files));
        let is_configuration = |path: &&PathBuf| CONFIGURATIONS.iter().any(|name| path.ends_with(name));
        let texts = files.entries.keys().filter(is_configuration);
        configurations.extend(texts.filter_map(|path| versions.read_file(files, &path.to_string_lossy())));
    }
    let data = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).map(|input| &input.path);
    found.extend(data.filter(|path| configurations.iter().any(|text| names_file(text, path))).cloned());
    found
}

/// Where cargo looks for its configuration.
const CONFIGURATIONS: [&str; 2] = [".cargo/config", ".cargo/config.toml"];

/// Which external packages each package depends on, and the packages that have other features than in base, with the file
/// that can be behind that. Asked only if a manifest or lock file changed in what can matter.
fn resolved(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    diff: &SourceDiff,
) -> Result<(External, Refeatured)> {
    let decides = |kind: &InputKind| match kind {
        InputKind::LockFile { packages } => !packages.is_empty(),
        InputKind::Manifest | InputKind::WorkspaceManifest => true,
        _ => false,
    };
    let Some(by) = diff.inputs.iter().find(|input| decides(&input.kind)) else { return Ok(Default::default()) };
    // Not in the tree that is measured, where cargo would build again what was written twice.
    let place = Place::Probed { apart: false };
    let mut manifest = |side: Side| -> Result<(&Cargo, PathBuf)> {
        builder.checkout(place, versions.files.get(side), &Injections::none())?;
        let manifest = builder.root(place)?.join(&workspace.root).join("Cargo.toml");
        Ok((builder.context().cargo_of(side), manifest))
    };
    // Without the graph (no network, say) every package counts as depending on everything.
    let (cargo, path) = manifest(Side::Base)?;
    let before = cargo::features(cargo, &path).unwrap_or_default();
    let (cargo, path) = manifest(Side::Head)?;
    let now = cargo::features(cargo, &path).unwrap_or_default();
    let external = cargo::external_dependencies(cargo, &path).unwrap_or_default();
    let is_other = |name: &&String| before.get(*name).is_some_and(|before| Some(before) != now.get(*name));
    Ok((external, now.keys().filter(is_other).map(|name| (name.clone(), by.path.clone())).collect()))
}
