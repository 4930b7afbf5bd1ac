//! Runs `cargo metadata` and reduces its output to what the stages need.

use super::manifest::Benched;
use super::workspace::{Dependency, OwnPackage, Package, Target, Workspace, relative};
use super::{Cargo, manifest, user_folder};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};
use perfunit_model::error::{Error, Result};
use perfunit_model::guesses::NO_MANIFEST;
use perfunit_model::{TargetId, TargetKind};
use perfunit_system::{fs, process};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The workspace that the user is in.
#[derive(Debug, Clone)]
pub struct Location {
    /// The manifest found from the current folder or given by `--manifest-path`.
    pub manifest: PathBuf,
    /// Root folder of the workspace.
    pub workspace_root: PathBuf,
    /// Cargo's target folder.
    pub target_directory: PathBuf,
    /// The member that the user is in, which cargo selects by default; `None` in the workspace's root.
    pub own: Option<OwnPackage>,
}

/// Finds the workspace from the current folder or an explicit manifest.
pub fn locate(cargo: &Cargo, folder: &Path, manifest: Option<&Path>) -> Result<Location> {
    if let Some(manifest) = manifest.filter(|manifest| !manifest.exists()) {
        return Err(Error::usage(format!("manifest not found: {}", manifest.display())));
    }
    let metadata = metadata(cargo, folder, manifest, Resolution::None)?;
    let workspace_root = metadata.workspace_root.clone().into_std_path_buf();
    let manifest = match manifest {
        Some(manifest) => std::path::absolute(manifest).unwrap_or_else(|_| manifest.to_owned()),
        None => nearest_manifest(folder).unwrap_or_else(|| workspace_root.join("Cargo.toml")),
    };
    let own = metadata.packages.iter().find(|package| package.manifest_path.as_std_path() == manifest);
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(&workspace_root).ok());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let own = own
        .zip(folder)
        .map(|(package, folder)| OwnPackage { name: package.name.to_string(), folder: folder.to_owned() });
    Ok(Location { manifest, workspace_root, target_directory: metadata.target_directory.clone().into(), own })
}

/// Loads the workspace of a manifest. Paths become relative to `git_root`.
pub fn load(cargo: &Cargo, git_root: &Path, manifest: &Path) -> Result<Workspace> {
    let folder = manifest.parent().unwrap_or(git_root);
    let metadata = metadata(cargo, folder, Some(manifest), Resolution::None)?;
    let mut workspace = Workspace {
        root: relative(git_root, metadata.workspace_root.as_std_path()).unwrap_or_default(),
        default_packages: metadata
            .workspace_default_packages()
            .iter()
            .map(|package| package.name.to_string())
            .collect(),
        ..Workspace::default()
    };
    add_packages(cargo, git_root, &metadata, true, &mut workspace)?;
    let read = |path: &str| fs::read_if_exists(&git_root.join(path)).ok().flatten();
    add_patched(cargo, git_root, &read, &mut workspace)?;
    Ok(workspace)
}

/// Adds the packages that the version patches or replaces by path. `read` returns the version's files.
pub fn add_patched(
    cargo: &Cargo,
    git_root: &Path,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    workspace: &mut Workspace,
) -> Result<()> {
    let folders = manifest::of_version(git_root, &workspace.root, read);
    let dirs = folders.iter().filter_map(|folder| relative(git_root, folder)).collect();
    add_beyond(cargo, git_root, folders, workspace)?;
    manifest::connect(workspace, &dirs);
    Ok(())
}

/// Result of a dependency resolution.
#[derive(Debug)]
pub struct Resolved<T> {
    pub value: T,
    /// True if only the version's files, cargo's settings and the toolchain decide the result. Otherwise a registry
    /// chose package versions, or cargo read manifests outside of the version and of cargo's own folder.
    pub is_reproducible: bool,
}

/// Returns the names of all registry and git packages below each workspace package. Resolves the whole graph, so the
/// version must be in the shadow tree, whose root is `tree`.
pub fn external_dependencies(
    cargo: &Cargo,
    tree: &Path,
    manifest: &Path,
) -> Result<Resolved<BTreeMap<String, BTreeSet<String>>>> {
    let Resolved { value: metadata, is_reproducible } = resolve(cargo, tree, manifest, Resolution::Full)?;
    let names: BTreeMap<_, _> = metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let below: BTreeMap<_, Vec<_>> = nodes.map(|node| (&node.id, node.dependencies.iter().collect())).collect();
    let mut result = BTreeMap::new();
    for member in metadata.packages.iter().filter(|package| package.source.is_none()) {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![&member.id]);
        while let Some(id) = queue.pop() {
            if seen.insert(id) {
                queue.extend(below.get(id).into_iter().flatten().copied());
            }
        }
        let external = seen.into_iter().filter_map(|id| names.get(id)).filter(|package| package.source.is_some());
        result.insert(member.name.to_string(), external.map(|package| package.name.to_string()).collect());
    }
    Ok(Resolved { value: result, is_reproducible })
}

/// Returns the features enabled by default in every package of the graph, by package name. The features of several
/// versions of a package are merged. The version must be in the shadow tree, whose root is `tree`.
pub fn features(cargo: &Cargo, tree: &Path, manifest: &Path) -> Result<Resolved<BTreeMap<String, BTreeSet<String>>>> {
    let Resolved { value: metadata, is_reproducible } = resolve(cargo, tree, manifest, Resolution::OfDefault)?;
    let packages: BTreeMap<_, _> = metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let mut features = BTreeMap::<String, BTreeSet<String>>::new();
    for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
        let Some(package) = packages.get(&node.id) else { continue };
        let enabled = node.features.iter().map(|feature| format!("{}/{feature}", package.version));
        features.entry(package.name.to_string()).or_default().extend(enabled);
    }
    Ok(Resolved { value: features, is_reproducible })
}

/// Resolves the dependencies of a workspace inside a tree.
fn resolve(cargo: &Cargo, tree: &Path, manifest: &Path, resolution: Resolution) -> Result<Resolved<Metadata>> {
    let folder = manifest.parent().unwrap_or(manifest);
    let lock_file = folder.join("Cargo.lock");
    let before = fs::read_if_exists(&lock_file)?;
    let metadata = metadata(cargo, folder, Some(manifest), resolution)?;
    let after = fs::read_if_exists(&lock_file)?;
    let is_locked = before == after || chosen_versions(after.as_deref()).is_subset(&chosen_versions(before.as_deref()));
    let folders = user_folder().into_iter().flat_map(|cargo| ["registry", "git"].map(|name| cargo.join(name)));
    let is_reproducible = is_locked && are_within(&metadata, folders.chain([tree.to_owned()]));
    Ok(Resolved { value: metadata, is_reproducible })
}

/// Returns the packages with versions chosen by a lock file, as text.
fn chosen_versions(lock_file: Option<&[u8]>) -> BTreeSet<String> {
    let table = lock_file.and_then(|text| std::str::from_utf8(text).ok()?.parse::<Table>().ok()).unwrap_or_default();
    let packages = table.get("package").and_then(Value::as_array).into_iter().flatten();
    let external = packages.filter(|package| package.get("source").is_some());
    external.map(|package| format!("{:?}", ["name", "version", "source"].map(|part| package.get(part)))).collect()
}

/// Checks that the manifests of all packages are inside these folders once symbolic links are resolved.
fn are_within(metadata: &Metadata, folders: impl Iterator<Item = PathBuf>) -> bool {
    let folders: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    metadata.packages.iter().all(|package| {
        let manifest = package.manifest_path.as_std_path().canonicalize();
        manifest.is_ok_and(|manifest| folders.iter().any(|folder| manifest.starts_with(folder)))
    })
}

/// Creates the lock file of a workspace that has none. Tries the downloaded packages first, which is faster and needs
/// no network.
pub fn generate_lock_file(cargo: &Cargo, manifest: &Path) -> Result<()> {
    let attempt = |offline: Option<&str>| {
        let mut command = cargo.command();
        command.args(["generate-lockfile", "--manifest-path"]).arg(manifest).args(offline);
        // Cargo reads the project's configuration from its current folder.
        command.current_dir(manifest.parent().unwrap_or(Path::new("/")));
        process::output(&mut command)
            .map_err(|error| Error::setup(format!("cannot run {}: {error}", cargo.cargo.display())))
    };
    let mut output = attempt(Some("--offline"))?;
    if !output.status.success() && !cargo.offline {
        output = attempt(None)?;
    }
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Error::setup(format!("cannot resolve the dependencies of the project:\n{}", stderr.trim_end())))
}

fn add_packages(
    cargo: &Cargo,
    git_root: &Path,
    metadata: &Metadata,
    members: bool,
    workspace: &mut Workspace,
) -> Result<()> {
    let mut beyond = BTreeSet::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().map(|parent| parent.as_std_path().to_owned()).unwrap_or_default();
        let Some(dir) = relative(git_root, &folder) else {
            workspace.outside.insert(folder);
            continue;
        };
        let (mut dependencies, mut elsewhere) = (Vec::new(), Vec::new());
        for dependency in &package.dependencies {
            let path = dependency.path.as_ref().map(|path| path.as_std_path().to_owned());
            let is_here = path.as_ref().is_some_and(|path| relative(git_root, path).is_some());
            let list = if is_here { &mut dependencies } else { &mut elsewhere };
            list.push(Dependency { package: dependency.name.clone(), kind: dependency.kind });
            beyond.extend(path);
        }
        let benched = Benched::of(&folder);
        let target = |target| to_target(git_root, &package.name, target, &benched);
        let script = package.targets.iter().find(|target| target.is_custom_build());
        workspace.packages.push(Package {
            name: package.name.to_string(),
            version: package.version.to_string(),
            dir,
            member: members,
            dependencies,
            elsewhere,
            targets: package.targets.iter().filter_map(target).collect(),
            build_script: script.and_then(|target| relative(git_root, target.src_path.as_std_path())),
            doctests: package.targets.iter().any(|target| target.doctest),
            is_macro: package.targets.iter().any(cargo_metadata::Target::is_proc_macro),
        });
    }
    add_beyond(cargo, git_root, beyond, workspace)
}

/// Adds packages that are not workspace members, and their path dependencies.
fn add_beyond(cargo: &Cargo, git_root: &Path, folders: BTreeSet<PathBuf>, workspace: &mut Workspace) -> Result<()> {
    for folder in folders {
        let Some(dir) = relative(git_root, &folder) else {
            add_outside(cargo, git_root, folder, workspace)?;
            continue;
        };
        let manifest = folder.join("Cargo.toml");
        if workspace.packages.iter().any(|package| package.dir == dir) || !manifest.exists() {
            continue;
        }
        let mut other = match metadata(cargo, &folder, Some(&manifest), Resolution::None) {
            Ok(other) => other,
            Err(error) => {
                let root = git_root.join(&workspace.root);
                let (package, beyond) = manifest::read(git_root, &root, &folder).ok_or(error)?;
                workspace.packages.push(package);
                add_beyond(cargo, git_root, beyond, workspace)?;
                continue;
            }
        };
        other.packages.retain(|package| {
            let dir = package.manifest_path.as_std_path().parent().and_then(|dir| relative(git_root, dir));
            !workspace.packages.iter().any(|known| Some(&known.dir) == dir.as_ref())
        });
        add_packages(cargo, git_root, &other, false, workspace)?;
    }
    Ok(())
}

/// Adds a package outside of the repository, and its path dependencies. Adds the folder of the package, or of the
/// workspace from which it may inherit.
fn add_outside(cargo: &Cargo, git_root: &Path, folder: PathBuf, workspace: &mut Workspace) -> Result<()> {
    if workspace.outside.iter().any(|known| folder.starts_with(known)) {
        return Ok(());
    }
    let manifest = folder.join("Cargo.toml");
    let said =
        manifest.exists().then(|| metadata(cargo, &folder, Some(&manifest), Resolution::None)).and_then(Result::ok);
    let root = said.as_ref().map(|said| said.workspace_root.clone().into_std_path_buf());
    // A workspace that contains the repository cannot be linked into a copy of the repository.
    let root = root.filter(|root| folder.starts_with(root) && !git_root.starts_with(root)).unwrap_or(folder);
    workspace.outside.retain(|known| !known.starts_with(&root));
    workspace.outside.insert(root);
    let own = said.iter().flat_map(|said| &said.packages).find(|package| package.manifest_path == manifest);
    let beyond = own.iter().flat_map(|package| &package.dependencies);
    let beyond = beyond.filter_map(|dependency| dependency.path.as_ref());
    add_beyond(cargo, git_root, beyond.map(|path| path.as_std_path().to_owned()).collect(), workspace)
}

/// Returns the kind of a target that can hold tests. Every sort of library is a `Lib`.
pub fn target_kind(target: &cargo_metadata::Target) -> TargetKind {
    if target.is_bin() {
        TargetKind::Bin
    } else if target.is_test() {
        TargetKind::Test
    } else if target.is_example() {
        TargetKind::Example
    } else if target.is_bench() {
        TargetKind::Bench
    } else {
        TargetKind::Lib
    }
}

fn to_target(git_root: &Path, package: &str, target: &cargo_metadata::Target, benched: &Benched) -> Option<Target> {
    if target.is_custom_build() {
        return None;
    }
    let kind = target_kind(target);
    Some(Target {
        id: TargetId { package: package.to_owned(), kind, name: target.name.clone() },
        root: relative(git_root, target.src_path.as_std_path())?,
        tested: target.test,
        benched: benched.takes(kind, &target.name),
        requires_features: !target.required_features.is_empty(),
    })
}

/// Depth of a dependency resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Only the workspace's own packages. Writes nothing.
    None,
    /// Every dependency for this platform, with all features. May write a lock file, so the manifest must be in the
    /// shadow tree.
    Full,
    /// Every dependency, with the features that are enabled by default.
    OfDefault,
}

/// Runs `cargo metadata` and returns its output unchanged. Resolves from downloaded packages if they suffice.
pub fn package_graph(cargo: &Cargo, manifest: &Path, resolution: Resolution) -> Result<String> {
    let folder = manifest.parent().unwrap_or(manifest);
    let ask = |options: &[&str]| {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        metadata_text(cargo, folder, Some(manifest), resolution, options)
    };
    match resolution {
        Resolution::None => ask(&[]),
        Resolution::Full | Resolution::OfDefault => {
            let here = ["--filter-platform", &cargo.host];
            let without = ask(&[here[0], here[1], "--offline"]);
            if cargo.offline { without } else { without.or_else(|_| ask(&here)) }
        }
    }
}

fn metadata(cargo: &Cargo, folder: &Path, manifest: Option<&Path>, resolution: Resolution) -> Result<Metadata> {
    MetadataCommand::parse(metadata_text(cargo, folder, manifest, resolution, Vec::new())?)
        .map_err(|error| Error::setup(format!("cannot parse the output of cargo metadata: {error}")))
}

fn metadata_text(
    cargo: &Cargo,
    folder: &Path,
    manifest: Option<&Path>,
    resolution: Resolution,
    mut options: Vec<String>,
) -> Result<String> {
    let mut query = MetadataCommand::new();
    query.cargo_path(&cargo.cargo).current_dir(folder);
    if let Some(manifest) = manifest {
        query.manifest_path(manifest);
    }
    if cargo.offline && resolution != Resolution::None && !options.iter().any(|option| option == "--offline") {
        options.push("--offline".to_owned());
    }
    query.other_options(options);
    match resolution {
        Resolution::None => query.no_deps(),
        Resolution::Full => query.features(CargoOpt::AllFeatures),
        Resolution::OfDefault => &mut query,
    };
    let mut command = query.cargo_command();
    if let Some(name) = &cargo.rustup_toolchain {
        command.env("RUSTUP_TOOLCHAIN", name);
    }
    let output = process::output(&mut command)
        .map_err(|error| Error::setup(format!("cannot run {}: {error}", cargo.cargo.display())))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let error = Error::setup(format!("cargo metadata failed in {}:\n{}", folder.display(), stderr.trim_end()));
        return Err(if stderr.contains(NO_MANIFEST) {
            error.hint("run inside a cargo project, or pass --manifest-path")
        } else {
            error.hint(
                "run `cargo metadata` in that folder to reproduce the error; cargo must be able to read the project",
            )
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().find(|line| line.starts_with('{')).unwrap_or_default().to_owned())
}

fn nearest_manifest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|dir| dir.join("Cargo.toml")).find(|manifest| manifest.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_chooses_external_packages_by_name_version_and_source() {
        let lock = |packages: &[(&str, &str, &str)]| {
            let package = |(name, version, source): &(&str, &str, &str)| {
                let source = if source.is_empty() { String::new() } else { format!("source = \"{source}\"\n") };
                format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}")
            };
            packages.iter().map(package).collect::<String>()
        };
        let before = lock(&[("own", "0.1.0", ""), ("a", "1.0.0", "registry"), ("b", "1.0.0", "registry")]);
        let is_within = |packages: &[(&str, &str, &str)]| {
            chosen_versions(Some(lock(packages).as_bytes())).is_subset(&chosen_versions(Some(before.as_bytes())))
        };
        assert!(is_within(&[("own", "0.2.0", ""), ("a", "1.0.0", "registry")]));
        for other in [("a", "1.0.1", "registry"), ("a", "1.0.0", "git"), ("c", "1.0.0", "registry")] {
            assert!(!is_within(&[("own", "0.1.0", ""), other]), "{other:?}");
        }
        assert!(chosen_versions(None).is_empty() && chosen_versions(Some(b"not TOML")).is_empty());
    }
}
