//! What is published builds by itself: the package holds every file that its sources include.

use crate::support::{Run, repository_root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The files of the package, as `cargo package` would take them.
fn packaged() -> BTreeSet<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--package", "cargo-perfunit", "--allow-dirty", "--offline", "--quiet"]);
    cargo.current_dir(repository_root());
    Run::of(cargo).expect(0).stdout.lines().map(PathBuf::from).collect()
}

/// A path without `..`, unless it leads out of the package.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        if component != Component::ParentDir || !normal.pop() {
            normal.push(component);
        }
    }
    normal
}

/// The texts in double quotes of a piece of source.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').skip(1).step_by(2)
}

#[test]
fn the_package_has_every_file_that_it_includes() {
    let packaged = packaged();
    let mut missing = Vec::new();
    let mut included = 0;
    for path in packaged.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(repository_root().join("cargo-perfunit").join(path)).unwrap();
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for argument in code.split("include_str!(").skip(1).filter(|argument| argument.starts_with('"')) {
            let file = normal(&path.parent().unwrap().join(quoted(argument).next().unwrap()));
            included += 1;
            if !packaged.contains(&file) {
                missing.push(format!("{}: {}", path.display(), file.display()));
            }
        }
    }
    assert!(included > 5, "only {included} files are included");
    assert!(missing.is_empty(), "not in the package:\n{}", missing.join("\n"));
}

#[test]
fn the_package_has_the_crates_that_it_embeds() {
    let packaged = packaged();
    let lists = fs::read_to_string(repository_root().join("cargo-perfunit/src/build/embedded.rs")).unwrap();
    let mut embedded = 0;
    for list in lists.split("= embed!(").skip(1) {
        let mut names = quoted(list.split(");").next().unwrap());
        let folder = Path::new("embedded").join(names.next().unwrap());
        for name in names {
            embedded += 1;
            assert!(packaged.contains(&folder.join(name)), "{}/{name} is not in the package", folder.display());
        }
    }
    assert!(embedded > 20, "only {embedded} files are embedded");
}

#[test]
fn documents_ask_for_the_toolchains_that_the_manifests_ask_for() {
    let read = |path: &str| fs::read_to_string(repository_root().join(path)).unwrap();
    let tool = env!("CARGO_PKG_RUST_VERSION");
    for path in ["README.md", "docs/getting-started.md"] {
        assert!(read(path).contains(tool), "{path} does not name Rust {tool}");
    }
    let manifest: toml::Table = read("perfunit-runtime/Cargo.toml").parse().unwrap();
    let users = manifest["package"]["rust-version"].as_str().unwrap();
    assert!(read("docs/limits.md").contains(users), "docs/limits.md does not name Rust {users}");
}

#[test]
fn the_package_has_its_licences_and_readme() {
    let packaged = packaged();
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "Cargo.lock"] {
        assert!(packaged.contains(Path::new(file)), "{file} is not in the package");
    }
}
