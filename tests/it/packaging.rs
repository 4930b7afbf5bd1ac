//! Published packages build on their own: each contains every file that its sources include.

use crate::support::{Run, repository_root};
use saphyr::{LoadableYamlNode, Yaml};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Returns the files of a package, as `cargo package` lists them.
fn packaged(name: &str) -> BTreeSet<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--package", name, "--allow-dirty", "--offline", "--quiet"]);
    cargo.current_dir(repository_root());
    Run::of(cargo).expect(0).stdout.lines().map(PathBuf::from).collect()
}

/// Returns a path without `..`, unless it leaves the package.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        if component != Component::ParentDir || !normal.pop() {
            normal.push(component);
        }
    }
    normal
}

/// Returns the string literals in a piece of source.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').skip(1).step_by(2)
}

/// Returns the folders of published packages that the workspace lists with a version.
fn published() -> Vec<String> {
    let manifest: toml::Table = fs::read_to_string(repository_root().join("Cargo.toml")).unwrap().parse().unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let ours = dependencies.iter().filter(|(_, source)| source.get("path").is_some());
    ours.map(|(name, _)| name.clone()).chain(["cargo-perfunit".to_owned()]).collect()
}

#[test]
fn packages_have_every_file_that_they_include() {
    let mut missing = Vec::new();
    let mut included = 0;
    for package in published() {
        let packaged = packaged(&package);
        for path in packaged.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
            let text = fs::read_to_string(repository_root().join(&package).join(path)).unwrap();
            let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for argument in code.split("include_str!(").skip(1).filter(|argument| argument.starts_with('"')) {
                let file = normal(&path.parent().unwrap().join(quoted(argument).next().unwrap()));
                included += 1;
                if !packaged.contains(&file) {
                    missing.push(format!("{package}/{}: {}", path.display(), file.display()));
                }
            }
        }
    }
    assert!(included > 5, "only {included} files are included");
    assert!(missing.is_empty(), "not in the package:\n{}", missing.join("\n"));
}

#[test]
fn the_package_has_the_crates_that_it_embeds() {
    let packaged = packaged("perfunit-build");
    let lists = fs::read_to_string(repository_root().join("perfunit-build/src/embedded.rs")).unwrap();
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
fn documents_and_manifests_require_the_same_toolchains() {
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
    let packaged = packaged("cargo-perfunit");
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "Cargo.lock", "build.rs"] {
        assert!(packaged.contains(Path::new(file)), "{file} is not in the package");
    }
}

#[test]
fn archives_of_a_release_are_where_binstall_looks_for_them() {
    let manifest = fs::read_to_string(repository_root().join("cargo-perfunit/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let filled = |key: &str| {
        let values = [
            ("{ name }", "cargo-perfunit"),
            ("{ version }", "1.2.3"),
            ("{ target }", "some-target"),
            ("{ bin }", "cargo-perfunit"),
            ("{ binary-ext }", ""),
        ];
        values.iter().fold(binstall[key].as_str().unwrap().to_owned(), |text, (name, value)| text.replace(name, value))
    };
    assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    let folder = tempfile::tempdir().unwrap();
    let mut pack = Command::new(repository_root().join(".ci/archive"));
    pack.args([env!("CARGO_BIN_EXE_cargo-perfunit"), "1.2.3", "some-target"]).arg(folder.path());
    Run::of(pack).expect(0);
    let url = filled("pkg-url");
    let (address, archive) = url.rsplit_once('/').unwrap();
    assert_eq!(address, "{ repo }/releases/download/v1.2.3");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder.path());
        Run::of(command).expect(0)
    };
    run("sha256sum", &["--check", &format!("{archive}.sha256")]);
    run("tar", &["-xzf", archive]);
    let version = run(folder.path().join(filled("bin-dir")).to_str().unwrap(), &["perfunit", "--version"]).stdout;
    assert_eq!(version.trim(), format!("cargo perfunit {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_release_uses_actions_by_hash_and_steps_that_a_shell_can_read() {
    let text = fs::read_to_string(repository_root().join(".github/workflows/release.yml")).unwrap();
    let workflow = Yaml::load_from_str(&text).unwrap().remove(0);
    for job in ["archive", "release"] {
        for step in workflow["jobs"][job]["steps"].as_sequence().unwrap() {
            let text = |key: &str| step.as_mapping_get(key).and_then(Yaml::as_str);
            if let Some(run) = text("run") {
                assert!(!run.contains("${{"), "{run}");
                let mut shell = Command::new("sh");
                Run::of({
                    shell.args(["-n", "-c", run]);
                    shell
                })
                .expect(0);
            }
            if let Some((_, hash)) = text("uses").and_then(|uses| uses.split_once('@')) {
                assert!(hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{hash}");
            }
        }
    }
    let uses = text.lines().filter(|line| line.contains("uses: "));
    assert!(uses.clone().count() == 4 && uses.clone().all(|line| line.contains(" # v")), "{text}");
}

#[test]
fn a_release_has_notes_that_the_job_finds() {
    let read = |path: &str| fs::read_to_string(repository_root().join(path)).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let notes = read(&format!("docs/releases/{version}.md"));
    assert!(notes.starts_with(&format!("# cargo-perfunit {version}\n")), "{notes}");
    assert!(read(".github/workflows/release.yml").contains("--notes-file \"docs/releases/${GITHUB_REF_NAME#v}.md\""));
    // `cargo publish` refuses a dependency without a version, and publishes crates in the order of their dependencies.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]).current_dir(repository_root());
    let document = Run::of(cargo).expect(0).json();
    for package in document["packages"].as_array().unwrap().iter().filter(|package| package["publish"].is_null()) {
        for key in ["description", "license", "repository"] {
            assert!(package[key].is_string(), "{} has no {key}", package["name"]);
        }
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        for dependency in
            dependencies.filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
        {
            assert_eq!(dependency["req"], format!("^{version}"), "{} needs {}", package["name"], dependency["name"]);
        }
    }
}

#[test]
fn the_tool_runs_from_a_clone() {
    let read = |path: &str| fs::read_to_string(repository_root().join(path)).unwrap();
    let manifest = |path: &str| -> toml::Table { read(path).parse().unwrap() };
    let default = &manifest("Cargo.toml")["workspace"]["default-members"];
    assert_eq!(default.as_array().unwrap(), &["cargo-perfunit".into()]);
    assert_eq!(manifest("cargo-perfunit/Cargo.toml")["package"]["default-run"].as_str(), Some("cargo-perfunit"));
    assert!(read("README.md").contains("cargo run --release -- perfunit demo"));
    // Cargo sets these variables for what it runs.
    let folder = tempfile::tempdir().unwrap();
    let mut run = crate::support::Project::tool(folder.path());
    run.args(["perfunit", "demo", "--help"]);
    run.env("CARGO_MANIFEST_DIR", repository_root()).env("CARGO_PKG_NAME", "cargo-perfunit");
    assert!(Run::of(run).expect(0).stdout.contains("demo"));
}
