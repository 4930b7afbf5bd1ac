//! Builds the graph of both versions' packages and their dependencies.

use super::reach::{External, Graph, PackageNode, Refeatured, TargetNode};
use super::source::{InputKind, SourceDiff};
use super::target_files::{TargetFiles, modules};
use super::test_inputs;
use super::test_inputs::TakenIn;
use perfunit_build::shadow::Injections;
use perfunit_build::{Builder, Place, contains, names_file, vendored_folders, with_resolution_settings};
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_project::cargo::{self, Cargo, Context, Resolved, Workspace};
use perfunit_project::git::path::is_rust;
use perfunit_project::git::{FileSet, Mode, Versions};
use perfunit_system::cache::{self, KeyBuilder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Paths of cargo's configuration.
const CONFIGURATIONS: [&str; 2] = [".cargo/config", ".cargo/config.toml"];
/// Tree in which dependencies are resolved. In the measured tree, writing files twice would make cargo rebuild them.
const APART: Place = Place::Probed { apart: false };
/// Version of stored resolutions; others are ignored.
const VERSION: &str = "1";
/// Number of resolutions to keep.
const KEPT: usize = 64;

/// Builds the graph for `reach` with the files of both sides, because a removed file belongs to the target that had it.
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
            // Modules are found from the root, so without a changed file among them both sides have the same.
            let same = !links_differ && !head.is_empty() && !head.keys().any(|path| changed.contains(path));
            let base = if same { head.clone() } else { modules(versions, &versions.files.base, &target.root) };
            let sides = Sides { base, head };
            let mut union = sides.head.clone();
            for (path, info) in &sides.base {
                union.entry(path.clone()).or_insert_with(|| info.clone());
            }
            // Members come first, because a patched package can have the same name.
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
            is_macro: package.is_macro,
        });
    }
    let outside = outside_packages(&versions.files.head, workspace);
    let (external, refeatured) = resolve_external(builder, versions, workspace, diff)?;
    let (root, taken_in, decisive) = (workspace.root.clone(), taken_in.clone(), decisive(versions, diff));
    let mut graph = Graph { root, packages, external, refeatured, decisive, outside, taken_in, ..Graph::default() };
    (graph.named_by, graph.started_by) = test_inputs::named_in_code(versions, &graph, diff);

    Ok((graph, files))
}

/// Returns the folders with a manifest that is not part of the workspace.
fn outside_packages(files: &FileSet, workspace: &Workspace) -> Vec<String> {
    let known: BTreeSet<&str> =
        workspace.packages.iter().map(|package| package.dir.as_str()).chain([workspace.root.as_str()]).collect();
    let manifests = files.entries.keys().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|path| path.parent()).map(|dir| dir.to_string_lossy().into_owned());
    folders.filter(|dir| !known.contains(dir.as_str())).collect()
}

/// Returns the folders of vendored packages, and the changed files that cargo's configuration names.
fn decisive(versions: &Versions, diff: &SourceDiff) -> Vec<String> {
    let (mut found, mut configurations) = (Vec::new(), Vec::new());
    for files in [&versions.files.base, &versions.files.head] {
        found.extend(vendored_folders(files));
        configurations.extend(configuration_texts(versions, files));
    }
    let data = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).map(|input| &input.path);
    found.extend(data.filter(|path| configurations.iter().any(|text| names_file(text, path))).cloned());
    found
}

/// Returns the content of a version's cargo configuration files.
fn configuration_texts(versions: &Versions, files: &FileSet) -> impl Iterator<Item = Vec<u8>> {
    let is_configuration = |path: &&PathBuf| CONFIGURATIONS.iter().any(|name| path.ends_with(name));
    let paths = files.entries.keys().filter(is_configuration);
    paths.filter_map(|path| versions.read_file(files, &path.to_string_lossy()))
}

/// Result of cargo's dependency resolution of both versions.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Resolution {
    /// External packages that each package of head depends on.
    external: External,
    /// Packages with other features in head than in base.
    refeatured: BTreeSet<String>,
}

/// Returns the external packages that each package depends on, and the packages with other features than in base, with
/// the file that may be the cause. Runs cargo only if a manifest or lock file has a relevant change, and once per
/// content.
fn resolve_external(
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
    // With the lock files of the builds, cargo does not ask the registry for versions again.
    let mut versions = versions.clone();
    if let Err(error) = builder.settle_lock_file(&mut versions, &workspace.root) {
        tracing::debug!(%error, "dependencies cannot be resolved here");
        return Ok(Default::default());
    }
    let root = builder.root(APART)?;
    let key = resolution_key(builder.context(), &versions, &workspace.root, &root)?;
    let kept = key.map(|key| builder.context().ours.join("resolved").join(format!("{key}.json")));
    let Resolution { external, refeatured } = resolve_once(builder, &versions, workspace, kept.as_deref())?;
    Ok((external, refeatured.into_iter().map(|name| (name, by.path.clone())).collect()))
}

/// Returns the stored result, or resolves the dependencies and stores the result.
fn resolve_once(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    kept: Option<&Path>,
) -> Result<Resolution> {
    if let Some(kept) = kept
        && let Some(known) = cache::load(kept)?
    {
        return Ok(known);
    }
    let (resolution, is_reproducible) = resolve(builder, versions, workspace)?;
    if let Some(kept) = kept.filter(|_| is_reproducible) {
        cache::store(kept, &resolution, KEPT)?;
    }
    Ok(resolution)
}

/// Resolves the dependencies of both versions. Also returns whether files and settings alone decide the result.
fn resolve(builder: &mut Builder<'_>, versions: &Versions, workspace: &Workspace) -> Result<(Resolution, bool)> {
    let mut place = |side: Side| -> Result<(&Cargo, PathBuf, PathBuf)> {
        builder.checkout(APART, versions.files.get(side), &Injections::none())?;
        let root = builder.root(APART)?;
        let manifest = root.join(&workspace.root).join("Cargo.toml");
        Ok((builder.context().cargo_of(side), root, manifest))
    };
    // Without the graph, for example without network, every package counts as depending on everything.
    let unknown = || Resolved { value: BTreeMap::new(), is_reproducible: false };
    let (cargo, root, manifest) = place(Side::Base)?;
    let before = cargo::features(cargo, &root, &manifest).unwrap_or_else(|_| unknown());
    let (cargo, root, manifest) = place(Side::Head)?;
    let now = cargo::features(cargo, &root, &manifest).unwrap_or_else(|_| unknown());
    let external = cargo::external_dependencies(cargo, &root, &manifest).unwrap_or_else(|_| unknown());
    let is_reproducible = before.is_reproducible && now.is_reproducible && external.is_reproducible;
    let (before, now, external) = (before.value, now.value, external.value);
    let is_other = |name: &&String| before.get(*name).is_some_and(|before| Some(before) != now.get(*name));
    Ok((Resolution { external, refeatured: now.keys().filter(is_other).cloned().collect() }, is_reproducible))
}

/// Returns a key of everything that decides how cargo resolves the dependencies of both versions in a tree; `None` if a
/// version's configuration may include files from elsewhere.
fn resolution_key(context: &Context, versions: &Versions, workspace: &str, tree: &Path) -> Result<Option<String>> {
    let mut key = KeyBuilder::default().with(VERSION).with(workspace);
    for side in Side::BOTH {
        let files = versions.files.get(side).place_all();
        if may_include(versions, &files) {
            return Ok(None);
        }
        key = with_resolution_settings(with_manifests(key, &files), context.cargo_of(side), tree)?;
    }
    Ok(Some(key.finish()))
}

/// Checks whether a version's configuration may include other files or is a symbolic link.
fn may_include(versions: &Versions, files: &FileSet) -> bool {
    let is_linked = |path: &Path| path.ends_with(".cargo") || CONFIGURATIONS.iter().any(|name| path.ends_with(name));
    files.entries.iter().any(|(path, entry)| entry.mode == Mode::Symlink && is_linked(path))
        || configuration_texts(versions, files).any(|text| contains(&text, b"include"))
}

/// Adds all files of a version to the key. For Rust files only the path counts, by which cargo finds targets.
fn with_manifests(key: KeyBuilder, files: &FileSet) -> KeyBuilder {
    let key = key.with(files.entries.len().to_le_bytes());
    files.entries.iter().fold(key, |key, (path, entry)| {
        let counts = entry.mode == Mode::Symlink || !is_rust(path);
        let content = if counts { format!("{} {}", entry.mode, entry.id) } else { String::new() };
        key.with(path.as_os_str().as_encoded_bytes()).with(content)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_project::git::fixture::Fixture;

    #[test]
    fn all_paths_and_all_but_rust_code_decide_resolution() {
        let files = [
            ("Cargo.toml", "[package]"),
            ("Cargo.lock", "version = 4"),
            (".cargo/config.toml", "[net]"),
            ("rust-toolchain.toml", "[toolchain]"),
            ("vendor/a/Cargo.toml", "[package]"),
            ("src/lib.rs", "pub fn a() {}"),
        ];
        let fixture = Fixture::new(&files);
        let key = || with_manifests(KeyBuilder::default(), &fixture.head_files()).finish();
        let plain = key();
        fixture.write("src/lib.rs", "pub fn b() {}");
        assert_eq!(key(), plain);
        for (path, text) in &files[..5] {
            fixture.write(path, &format!("{text} # other"));
            assert_ne!(key(), plain, "{path}");
            fixture.write(path, text);
        }
        assert_eq!(key(), plain);
        for path in ["src/main.rs", "tests/a.rs", "build.rs", "b/Cargo.toml"] {
            fixture.write(path, "");
            assert_ne!(key(), plain, "{path}");
            fixture.remove(path);
        }
        fixture.remove("src/lib.rs");
        fixture.symlink("src/lib.rs", "main.rs");
        let linked = key();
        fixture.remove("src/lib.rs");
        fixture.symlink("src/lib.rs", "other.rs");
        assert!(linked != plain && linked != key());
    }

    #[test]
    fn configuration_that_may_include_files_is_recognized() {
        let check = |expected: bool, write: &dyn Fn(&Fixture)| {
            let fixture = Fixture::new(&[("Cargo.toml", "[package]"), ("a/include.toml", "include = 'x.toml'")]);
            write(&fixture);
            let repository = fixture.open();
            let found = fixture.resolve(Some("HEAD"), None).unwrap();
            let versions = Versions::read(repository, found.versions).unwrap();
            assert_eq!(may_include(&versions, &versions.files.head), expected);
            assert!(!may_include(&versions, &versions.files.base));
        };
        check(false, &|_| ());
        check(false, &|fixture| fixture.write(".cargo/config.toml", "[net]\noffline = true\n"));
        check(true, &|fixture| fixture.write(".cargo/config.toml", "include = 'x.toml'\n"));
        check(true, &|fixture| fixture.write("a/.cargo/config", "include = ['x.toml']\n"));
        check(true, &|fixture| fixture.symlink(".cargo", "a"));
        check(true, &|fixture| {
            fixture.write(".cargo/x", "");
            fixture.symlink(".cargo/config.toml", "../a/include.toml");
        });
    }
}
