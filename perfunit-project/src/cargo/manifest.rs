//! Facts of manifests and cargo's configuration that `cargo metadata` lacks: targets of `cargo bench`, and patched or
//! replaced packages.

use super::workspace::{Dependency, Package, Target, Workspace, relative};
use cargo_metadata::DependencyKind;
use perfunit_model::{TargetId, TargetKind};
use perfunit_system::fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The manifest of a package.
pub(super) struct Benched(Table);

impl Benched {
    /// Reads the manifest in a folder. If it cannot be read, cargo's defaults apply.
    pub fn of(folder: &Path) -> Self {
        Self(manifest(folder).unwrap_or_default())
    }

    /// Checks whether `cargo bench --benches` builds a target.
    pub fn takes(&self, kind: TargetKind, name: &str) -> bool {
        let named = |key: &str| {
            let mut targets = self.0.get(key).and_then(Value::as_array).into_iter().flatten();
            targets.find(|target| target.get("name").and_then(Value::as_str) == Some(name))
        };
        let target = match kind {
            // A package has one library, whatever its name.
            TargetKind::Lib | TargetKind::LibBench => self.0.get("lib"),
            TargetKind::Bin | TargetKind::BinBench => named("bin"),
            TargetKind::Bench => named("bench"),
            // Benchmarks in these targets are never measured.
            TargetKind::Test | TargetKind::Example | TargetKind::Doctest => return false,
        };
        target.and_then(|target| target.get("bench")?.as_bool()).unwrap_or(true)
    }
}

/// Finds the folders that the version substitutes for packages, in its root manifest and in cargo's configuration files
/// from the workspace's `root` up to the repository at `git_root`. `read` returns the version's files.
pub(super) fn of_version(git_root: &Path, root: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<PathBuf> {
    let text = |path: &Path| Some(String::from_utf8_lossy(&read(&path.to_string_lossy())?).into_owned());
    let root = Path::new(root);
    let manifest = text(&root.join("Cargo.toml")).map(|text| folders(&git_root.join(root), &text));
    let configured = root.ancestors().filter_map(|folder| {
        // The name without extension is older and wins if both exist.
        let text = ["config", "config.toml"].into_iter().find_map(|name| text(&folder.join(".cargo").join(name)))?;
        Some(folders(&git_root.join(folder), &text))
    });
    configured.chain(manifest).flatten().collect()
}

/// Parses the folders that a manifest or configuration file in `root` substitutes for packages. Returns none if the
/// text is not TOML.
fn folders(root: &Path, manifest: &str) -> BTreeSet<PathBuf> {
    let manifest = manifest.parse::<Table>().unwrap_or_default();
    let table = |key: &str| manifest.get(key).and_then(Value::as_table).into_iter().flatten();
    let by_source = table("patch").filter_map(|(_, packages)| packages.as_table()).flatten();
    let listed = manifest.get("paths").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(|path| Some(fs::normal(&root.join(path.as_str()?))));
    let replaced = by_source.chain(table("replace")).filter_map(|(_, package)| folder_of(root, package));
    replaced.chain(listed).collect()
}

/// Adds a dependency on each patched package to every package with dependencies from elsewhere. Without resolving, any
/// of those dependencies may lead to the patched package.
pub(super) fn connect(workspace: &mut Workspace, dirs: &BTreeSet<String>) {
    let patched: Vec<(String, String)> = workspace
        .packages
        .iter()
        .filter(|package| dirs.contains(&package.dir))
        .map(|package| (package.dir.clone(), package.name.clone()))
        .collect();
    for package in &mut workspace.packages {
        if package.elsewhere.is_empty() {
            continue;
        }
        let is_dev = package.elsewhere.iter().all(Dependency::is_dev);
        let kind = if is_dev { DependencyKind::Development } else { DependencyKind::Normal };
        for (_, name) in patched.iter().filter(|(dir, _)| *dir != package.dir) {
            let dependency = Dependency { package: name.clone(), kind };
            if !package.dependencies.contains(&dependency) {
                package.dependencies.push(dependency);
            }
        }
    }
}

/// Reads a package and its path dependencies from its manifest, for a package that `cargo metadata` rejects: it is
/// below the workspace's root, named by a patch, and neither a member nor excluded. Returns `None` if that fails.
pub(super) fn read(git_root: &Path, root: &Path, folder: &Path) -> Option<(Package, BTreeSet<PathBuf>)> {
    let manifest = manifest(folder)?;
    let package = manifest.get("package")?.as_table()?;
    let name = package.get("name")?.as_str()?.to_owned();
    let mut found = Package {
        name: name.clone(),
        // Only the versions of members are needed.
        version: String::new(),
        dir: relative(git_root, folder)?,
        member: false,
        dependencies: Vec::new(),
        elsewhere: Vec::new(),
        targets: Vec::new(),
        build_script: None,
        doctests: false,
        is_macro: false,
    };
    let mut beyond = BTreeSet::new();
    let shared = self::manifest(root).unwrap_or_default();
    for (key, dependency) in dependencies(&manifest) {
        let is_shared = dependency.get("workspace").is_some();
        let common = || shared.get("workspace")?.get("dependencies")?.get(key);
        let (at, dependency) = if is_shared { (root, common().unwrap_or(dependency)) } else { (folder, dependency) };
        let package = dependency.get("package").and_then(Value::as_str).unwrap_or(key).to_owned();
        let path = folder_of(at, dependency);
        let to = Dependency { package, kind: DependencyKind::Normal };
        match &path {
            Some(path) if relative(git_root, path).is_some() => found.dependencies.push(to),
            _ => found.elsewhere.push(to),
        }
        beyond.extend(path);
    }
    let file = |path: &str| folder.join(path).exists().then(|| relative(git_root, &folder.join(path))).flatten();
    let library = manifest.get("lib").and_then(|library| library.get("path")?.as_str()).unwrap_or("src/lib.rs");
    found.targets.extend(file(library).map(|root| Target {
        id: TargetId { package: name.clone(), kind: TargetKind::Lib, name: name.replace('-', "_") },
        root,
        tested: false,
        benched: false,
        requires_features: false,
    }));
    found.build_script = match package.get("build") {
        Some(Value::Boolean(false)) => None,
        build => file(build.and_then(Value::as_str).unwrap_or("build.rs")),
    };
    Some((found, beyond))
}

/// Returns the dependencies of the package's library and build script, for all platforms.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = platforms.filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let keys = ["dependencies", "build-dependencies", "build_dependencies"];
    let tables = tables.flat_map(|table| keys.into_iter().filter_map(|key| table.get(key)?.as_table()));
    tables.flatten().map(|(key, dependency)| (key.as_str(), dependency)).collect()
}

/// Reads the manifest in a folder, if it exists and is TOML.
pub(super) fn manifest(folder: &Path) -> Option<Table> {
    let text = fs::read(&folder.join("Cargo.toml")).ok()?;
    std::str::from_utf8(&text).ok()?.parse().ok()
}

/// Returns the folder of a path dependency, without `.` and `..`, as cargo prints it.
fn folder_of(at: &Path, dependency: &Value) -> Option<PathBuf> {
    Some(fs::normal(&at.join(dependency.get("path")?.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(manifest: &str, kind: TargetKind, name: &str, expected: bool) {
        assert_eq!(Benched(manifest.parse().unwrap()).takes(kind, name), expected);
    }

    #[test]
    fn libraries_binaries_and_bench_targets_are_taken_unless_the_manifest_says_no() {
        let text = "[lib]\nname = \"other\"\nbench = false\n[[bin]]\nname = \"a\"\ntest = false\n\
            [[bin]]\nname = \"b\"\nbench = false\n[[bench]]\nname = \"a\"\nbench = false\n\
            [[bench]]\nname = \"b\"\nbench = true\n[[test]]\nname = \"it\"\nbench = true\n";
        check(text, TargetKind::Lib, "demo", false);
        check(text, TargetKind::Bin, "a", true);
        check(text, TargetKind::Bin, "b", false);
        check(text, TargetKind::Bench, "a", false);
        check(text, TargetKind::Bench, "b", true);
        check(text, TargetKind::Bench, "found-by-cargo", true);
        check(text, TargetKind::Test, "it", false);
        for kind in [TargetKind::Lib, TargetKind::Bin, TargetKind::Bench] {
            check("[package]\nname = \"demo\"\n", kind, "demo", true);
        }
    }

    #[test]
    fn without_a_manifest_cargos_defaults_hold() {
        assert!(Benched::of(Path::new("/nowhere")).takes(TargetKind::Lib, "demo"));
    }

    #[test]
    fn patches_and_replacements_by_path_count_whatever_they_stand_for() {
        let manifest = r#"
            [patch.crates-io]
            a = { path = "vendor/a" }
            old-b = { package = "b", path = "../b/./" }
            c = { git = "https://example.org/c" }
            [patch."https://example.org/d"]
            d.path = "/elsewhere/d"
            [replace]
            "e:0.1.0" = { path = "e" }
            [dependencies]
            f = { path = "f" }
        "#;
        let found = folders(Path::new("/repository/workspace"), manifest);
        let expected = ["/elsewhere/d", "/repository/b", "/repository/workspace/e", "/repository/workspace/vendor/a"];
        assert_eq!(found, expected.map(PathBuf::from).into());
        assert!(folders(Path::new("/"), "not TOML").is_empty());
    }

    #[test]
    fn configuration_counts_from_the_workspace_up_to_the_repository() {
        let read = |path: &str| {
            let text = match path {
                "w/Cargo.toml" => "[patch.crates-io]\na.path = \"a\"\n",
                "w/.cargo/config" => "[patch.crates-io]\nb.path = \"b\"\n",
                "w/.cargo/config.toml" => "paths = [\"unread\"]\n",
                ".cargo/config.toml" => "paths = [\"c\", \"../d\"]\n",
                _ => return None,
            };
            Some(text.as_bytes().to_vec())
        };
        let expected = ["/d", "/r/c", "/r/w/a", "/r/w/b"];
        assert_eq!(of_version(Path::new("/r"), "w", &read), expected.map(PathBuf::from).into());
    }

    fn package(name: &str, elsewhere: &[DependencyKind]) -> Package {
        let dependency = |kind: &DependencyKind| Dependency { package: "serde".into(), kind: *kind };
        Package {
            name: name.into(),
            version: String::new(),
            dir: name.into(),
            member: true,
            dependencies: Vec::new(),
            elsewhere: elsewhere.iter().map(dependency).collect(),
            targets: Vec::new(),
            build_script: None,
            doctests: false,
            is_macro: false,
        }
    }

    #[test]
    fn who_needs_packages_from_elsewhere_can_use_a_patched_one() {
        use DependencyKind::{Development, Normal};
        let packages = vec![
            package("tests-only", &[Development]),
            package("both", &[Development, Normal]),
            package("alone", &[]),
            package("patched", &[Normal]),
        ];
        let mut workspace = Workspace { packages, ..Workspace::default() };
        connect(&mut workspace, &BTreeSet::from(["patched".to_owned()]));
        connect(&mut workspace, &BTreeSet::from(["patched".to_owned()]));
        let on_patched = |kind| vec![Dependency { package: "patched".into(), kind }];
        let found: Vec<_> = workspace.packages.into_iter().map(|package| package.dependencies).collect();
        assert_eq!(found, [on_patched(Development), on_patched(Normal), vec![], vec![]]);
    }

    #[test]
    fn a_manifest_that_cargo_does_not_read_by_itself_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(&root.join(path), text).unwrap();
        };
        write("Cargo.toml", "[workspace.dependencies]\nshared = { path = \"shared\" }\n");
        let dependencies = "[dependencies]\nshared.workspace = true\nserde = \"1\"\n\
            [target.'cfg(unix)'.build-dependencies]\nrenamed = { package = \"near\", path = \"../near\" }\n\
            far = { path = \"../../../far\" }\n";
        write("vendor/a/Cargo.toml", &format!("[package]\nname = \"a-b\"\n{dependencies}"));
        write("vendor/a/src/lib.rs", "");
        write("vendor/a/build.rs", "");
        let (found, beyond) = read(root, root, &root.join("vendor/a")).unwrap();
        let names = |list: &[Dependency]| list.iter().map(|one| one.package.clone()).collect::<BTreeSet<_>>();
        assert_eq!(names(&found.dependencies), BTreeSet::from(["near".into(), "shared".into()]));
        assert_eq!(names(&found.elsewhere), BTreeSet::from(["far".into(), "serde".into()]));
        assert_eq!((&*found.name, &*found.dir, &*found.targets[0].root), ("a-b", "vendor/a", "vendor/a/src/lib.rs"));
        assert_eq!(
            (found.targets[0].id.name.as_str(), found.build_script.as_deref()),
            ("a_b", Some("vendor/a/build.rs"))
        );
        let far = root.parent().unwrap().join("far");
        assert_eq!(beyond, BTreeSet::from([root.join("shared"), root.join("vendor/near"), far]));
        assert!(read(root, root, &root.join("vendor")).is_none());
    }
}
