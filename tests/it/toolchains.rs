//! Versions that require different toolchains, and differences between toolchains.

use crate::source;
use crate::support::{Project, Run, skipped};
use perfunit_build::LinkRecord;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates two functions, of which `slow` changes; base requires a toolchain, head none.
fn project(asked: &str) -> Project {
    let other = "#[cfg(test)] mod others { #[test] fn stands() { assert_eq!(std::hint::black_box(1) + 1, 2); } }\n";
    let project = Project::library(&(source(500) + other), &(source(500) + other));
    project.write("rust-toolchain.toml", format!("[toolchain]\n{asked}\n"));
    project.commit("asks");
    project.remove("rust-toolchain.toml");
    project.write("src/lib.rs", source(1500) + other);
    project.commit("head");
    project
}

/// Runs `list` without rustup's variables, as if started by hand.
fn list(project: &Project) -> Run {
    let mut command = Project::tool(project.path());
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "CARGO"] {
        command.env_remove(name);
    }
    Run::of({
        command.args(["list", "HEAD~1", "--message-format", "json"]);
        command
    })
}

fn selected(run: &Run) -> Vec<String> {
    let document = run.json();
    let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["selected"] == true);
    let mut names: Vec<String> = tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn has_rustup() -> bool {
    Command::new("rustup").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_missing_toolchain_is_reported_and_both_are_built_with_heads() {
    let run = list(&project("channel = \"nightly-2015-05-15\"")).expect(0);
    assert_eq!(selected(&run), ["tests::mixes"]);
    let why = if has_rustup() { "that of base is not installed" } else { "rustup is not installed" };
    for words in ["different toolchains (base for nightly-2015-05-15, head for none)", "both are built with rustc", why]
    {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn each_version_is_built_with_its_own_toolchain() {
    if !has_rustup() {
        skipped("rustup is not installed");
        return;
    }
    // A toolchain under another name that records what it compiles.
    let folder = tempfile::tempdir().unwrap();
    let (compiler, notes) = (folder.path().join("other/bin/rustc"), folder.path().join("notes"));
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = -vV ]; then rustc -vV | sed '1s/(.*)/(another)/'; exit; fi\n\
         echo \"$@\" >> {}\nexec rustc \"$@\"\n",
        notes.display()
    );
    std::fs::create_dir_all(compiler.parent().unwrap()).unwrap();
    std::fs::write(&compiler, script).unwrap();
    std::fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).unwrap();
    let project = project(&format!("path = \"{}\"", folder.path().join("other").display()));
    let run = list(&project).expect(0);
    // The standard library differs, but only the workspace's code is compared.
    assert_eq!(selected(&run), ["others::stands", "tests::mixes"]);
    assert!(run.stderr.contains("(another), head with rustc"), "{}", run.stderr);
    let notes = std::fs::read_to_string(&notes).unwrap();
    assert_eq!(notes.lines().filter(|line| line.contains("--crate-name sample") && line.contains("--test")).count(), 1);
}

/// Enables cargo's new layout of the build folder, in which each unit has its own folder.
const NEW_LAYOUT: [(&str, &str); 2] = [("RUSTC_BOOTSTRAP", "1"), ("CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT", "true")];

/// Creates a library with a build script that reads a variable and an undeclared file, a binary, and all kinds of tests.
fn of_all_kinds() -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"all-kinds\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(
        "build.rs",
        r#"fn main() {
    println!("cargo:rerun-if-env-changed=WEIGHT");
    let (rounds, weight) = (std::fs::read_to_string("rounds.bin").unwrap(), std::env::var("WEIGHT").unwrap());
    let code = format!("pub const ROUNDS: u64 = {}; pub const WEIGHT: u64 = {weight};", rounds.trim());
    std::fs::write(std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("rounds.rs"), code).unwrap();
}"#,
    );
    project.write(
        "src/lib.rs",
        r#"include!(concat!(env!("OUT_DIR"), "/rounds.rs"));
/// ```
/// assert_ne!(all_kinds::work(3), 0);
/// ```
#[inline(never)]
pub fn work(seed: u64) -> u64 { (1..ROUNDS).fold(seed, |sum, round| std::hint::black_box(sum ^ round) + 1) }
#[inline(never)]
pub fn weight(seed: u64) -> u64 { (1..WEIGHT).fold(seed, |sum, round| std::hint::black_box(sum ^ round) + 1) }
#[test] fn works() { assert_ne!(work(1), work(2)); }
#[test] fn weighs() { assert_ne!(weight(std::hint::black_box(1)), 0); }
"#,
    );
    project.write("src/main.rs", "fn main() { println!(\"{}\", all_kinds::work(4)); }\n");
    project.write(
        "tests/it.rs",
        "#[test] fn runs() {
            let run = std::process::Command::new(env!(\"CARGO_BIN_EXE_all-kinds\")).output().unwrap();
            assert!(run.status.success() && !run.stdout.is_empty());
        }
        #[test] fn stands() { assert_ne!(all_kinds::weight(std::hint::black_box(1)), 0); }\n",
    );
    for rounds in ["501\n", "1502\n"] {
        project.write("rounds.bin", rounds);
        project.commit("a version");
    }
    project
}

/// Returns the executables of kept sides without a complete link record.
fn without_link(project: &Project) -> Vec<PathBuf> {
    let list = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut executables = Vec::new();
    for side in list(project.path().join("target/perfunit/sides")) {
        let files = list(side.join("deps")).chain(list(side.clone()));
        let of_side = files.filter(|path| path.is_file() && path.extension().is_none());
        executables
            .extend(of_side.map(|executable| (side.join("link").join(executable.file_name().unwrap()), executable)));
    }
    // The library, the test, the doc tests and the binary of each side.
    assert_eq!(executables.len(), 8, "{executables:?}");
    let has_link = |link: &Path| LinkRecord::load(link).is_ok_and(|record| record.incomplete().is_none());
    executables.retain(|(link, _)| !has_link(link));
    executables.into_iter().map(|(_, executable)| executable).collect()
}

#[test]
fn the_new_layout_of_cargos_build_folder_is_understood() {
    let help = Command::new("cargo").args(["-Z", "help"]).env("RUSTC_BOOTSTRAP", "1").output().unwrap();
    if !String::from_utf8_lossy(&help.stdout).contains("build-dir-new-layout") {
        skipped("this cargo has only one layout of its build folder");
        return;
    }
    let project = of_all_kinds();
    let run = |subcommand: &[&str], weight: &str| {
        let mut command = Project::tool(project.path());
        command.args(subcommand).args(["HEAD~1", "--doc", "--lib", "--bins", "--tests", "--message-format", "json"]);
        Run::of({
            command.envs(NEW_LAYOUT).env("WEIGHT", weight);
            command
        })
    };
    run(&["list"], "500").expect(0);
    let profile = project.path().join("target/perfunit/build/release");
    assert!(
        profile.join("build/all-kinds").is_dir() && !profile.join("deps").exists(),
        "the layout is not the new one"
    );
    assert_eq!(without_link(&project), Vec::<PathBuf>::new());
    // The previous head is now base, and its kept build contains another value of the variable.
    project.write("rounds.bin", "4503\n");
    project.commit("a version");
    let run = run(&["diff", "--explain", "never"], "2500").expect(100);
    let document = run.json();
    let verdict = |name: &str| {
        let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name);
        test.unwrap_or_else(|| panic!("no {name}: {document}"))["verdict"].as_str().unwrap().to_owned()
    };
    // Both versions have the same code, and neither has the other value. One test cannot have changed; the other
    // executes no change, and only a file that it might read differs.
    let expected = [("works", "slower"), ("work #1", "slower"), ("stands", "not-measured"), ("weighs", "not-measured")];
    assert_eq!(expected.map(|(name, _)| verdict(name)), expected.map(|(_, verdict)| verdict), "{}", run.stderr);
    let reason = |name: &str| {
        let tests = document["tests"].as_array().unwrap();
        tests.iter().find(|test| test["name"] == name).unwrap()["reason"]["kind"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("stands"), "data-changed");
    // It starts the binary, which takes much longer than the change in it.
    assert_ne!(verdict("runs"), "not-measured", "{}", run.stderr);
}
