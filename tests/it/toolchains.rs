//! Versions that ask for different toolchains.

use crate::source;
use crate::support::{Project, Run};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Two functions, of which `slow` changes; base asks for a toolchain, head for none.
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

/// The tool as it is started by hand: no rustup in between says what it has chosen.
fn list(project: &Project, cache: Option<&Path>) -> Run {
    let mut command = Project::tool(project.path());
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "CARGO"] {
        command.env_remove(name);
    }
    command.envs(cache.map(|cache| ("PERFUNIT_CACHE_DIR", cache)));
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
fn a_toolchain_that_is_not_there_is_named_and_both_are_built_with_heads() {
    let run = list(&project("channel = \"nightly-2015-05-15\""), None).expect(0);
    assert_eq!(selected(&run), ["tests::mixes"]);
    let why = if has_rustup() { "that of base is not installed" } else { "rustup is not there" };
    for words in ["different toolchains (base for nightly-2015-05-15, head for none)", "both are built with rustc", why]
    {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn each_version_is_built_with_its_own_toolchain() {
    if !has_rustup() {
        eprintln!("not tested: there is no rustup");
        return;
    }
    // A toolchain that calls itself another one, and notes what it compiles.
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
    let run = list(&project, Some(&folder.path().join("cache"))).expect(0);
    // The standard library differs, which nobody compares.
    assert_eq!(selected(&run), ["others::stands", "tests::mixes"]);
    assert!(run.stderr.contains("(another), head with rustc"), "{}", run.stderr);
    let notes = std::fs::read_to_string(&notes).unwrap();
    assert_eq!(notes.lines().filter(|line| line.contains("--crate-name sample") && line.contains("--test")).count(), 1);
}
