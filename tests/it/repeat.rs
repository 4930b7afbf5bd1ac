//! The command in reports that repeats a comparison.

use crate::source;
use crate::support::{Project, Run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Creates two packages with the same change in a folder of the repository.
fn project() -> Project {
    let project = Project::empty().with_natural_layout();
    project.write("rust/Cargo.toml", "[workspace]\nmembers = [\"first one\", \"second\"]\nresolver = \"2\"\n");
    let write = |rounds: u32| {
        for (folder, name) in [("first one", "first"), ("second", "second")] {
            let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
            project.write(format!("rust/{folder}/Cargo.toml"), manifest);
            project.write(format!("rust/{folder}/src/lib.rs"), source(rounds));
        }
    };
    write(500);
    project.commit("base");
    write(1500);
    project.commit("head");
    project
}

/// Returns the measured tests of a document.
fn measured(document: &Value) -> Vec<String> {
    let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["verdict"] != "not-measured");
    tests.map(|test| format!("{} {}", test["target"], test["name"])).collect()
}

/// Runs a line in a shell that finds the tool as cargo does.
fn shell(project: &Project, line: &str) -> Run {
    let tool = Path::new(env!("CARGO_BIN_EXE_cargo-perfunit")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(tool.to_owned()).chain(std::env::split_paths(&path));
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(project.path()).env("PATH", std::env::join_paths(paths).unwrap());
    project.prepare(&mut command);
    Run::of(command)
}

#[track_caller]
fn check(folder: &str, arguments: &[&str], expected: &[&str]) {
    let project = project();
    let diff = ["diff", "HEAD~1..HEAD", "--explain", "never", "--message-format", "json", "--all-tests"];
    let first = project.perfunit_in(folder, diff.iter().chain(arguments)).expect(100).json();
    assert_eq!(measured(&first), expected);
    let markdown = project.perfunit_in(folder, ["report", "--format", "markdown"]).expect(0).stdout;
    let line = markdown.lines().skip_while(|line| *line != "```sh").nth(1).unwrap_or_else(|| panic!("{markdown}"));
    let more = "--explain never --message-format json";
    assert_eq!(measured(&shell(&project, &format!("{line} {more}")).expect(100).json()), expected);
    let repeat = &first["repeat"];
    let words = repeat["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let words = words.skip(1).chain(more.split(' '));
    let again = project.perfunit_in(repeat["folder"].as_str().unwrap(), words).expect(100);
    assert_eq!(measured(&again.json()), expected);
}

#[test]
fn the_command_has_filter_and_package() {
    check("rust", &["mixes", "-p", "second", "-E", "test(/^tests::/) & all()"], &["\"second\" \"tests::mixes\""]);
}

#[test]
fn the_command_fits_the_folder_of_the_run() {
    check("rust/first one", &["--lib"], &["\"first\" \"tests::mixes\""]);
}
