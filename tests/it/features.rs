//! The enabled features are those that cargo enables for the requested packages, no matter which of them a change
//! reaches.

use crate::support::{Project, Run};
use std::collections::BTreeSet;
use std::process::Command;

/// Creates a workspace: `engine` has a test behind a feature; `user`, without tests, enables the feature; `other` needs
/// `engine` without features; `apart`, also without tests, does not need `engine`.
fn workspace(resolver: &str) -> Project {
    let project = Project::empty().with_natural_layout();
    let members = "members = [\"engine\", \"user\", \"other\", \"apart\"]";
    project.write("Cargo.toml", format!("[workspace]\n{members}\nresolver = \"{resolver}\"\n"));
    let package = |name: &str, more: &str| {
        let text = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}");
        project.write(format!("{name}/Cargo.toml"), text);
    };
    package("engine", "[features]\nturbo = []\n");
    package("user", "[lib]\ntest = false\n[dependencies]\nengine = { path = \"../engine\", features = [\"turbo\"] }\n");
    package("apart", "[features]\nbare = []\n");
    package("other", "[dependencies]\nengine = { path = \"../engine\" }\n");
    project.write("user/src/lib.rs", "pub fn go() -> u64 { engine::run(1) }\n");
    project.write("apart/src/lib.rs", "");
    project.write("other/src/lib.rs", "#[test] fn stands() {}\n");
    project.write("engine/src/lib.rs", engine(500));
    project.commit("base");
    project.write("engine/src/lib.rs", engine(1500));
    project
}

fn engine(rounds: u32) -> String {
    crate::source(rounds)
        + "pub fn run(seed: u64) -> u64 { slow(seed) }
#[cfg(all(test, feature = \"turbo\"))]
mod turbo {
    #[test] fn runs() { assert_ne!(super::run(1), super::run(2)); }
}
"
}

/// Returns the names of all tests that the tool finds.
fn found(project: &Project, arguments: &[&str]) -> BTreeSet<String> {
    let list = ["list", "HEAD", "--message-format", "json"];
    let document = project.perfunit(list.iter().chain(arguments)).expect(0).json();
    let tests = document["tests"].as_array().unwrap().iter();
    tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the names of all tests that cargo finds.
fn listed(project: &Project, arguments: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--lib"]).args(arguments).args(["--", "--list", "--format", "terse"]);
    command.current_dir(project.path());
    Project::isolate(&mut command);
    let run = Run::of(command).expect(0);
    run.stdout.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[test]
fn packages_without_tests_enable_features_of_others() {
    for resolver in ["1", "2"] {
        let project = workspace(resolver);
        let all = found(&project, &["--workspace"]);
        assert_eq!(all, listed(&project, &["--workspace"]), "resolver {resolver}");
        assert!(all.contains("turbo::runs"), "{all:?}");
        let few = found(&project, &["--package", "engine"]);
        assert_eq!(few, listed(&project, &["--package", "engine"]), "resolver {resolver}");
        assert!(!few.contains("turbo::runs"), "{few:?}");
    }
}

#[test]
fn a_feature_may_be_one_of_another_package_than_the_changed_one() {
    let project = workspace("2");
    let arguments = ["--package", "engine", "--package", "apart", "--features", "bare"];
    assert_eq!(found(&project, &arguments), listed(&project, &arguments));
}

#[test]
fn packages_without_influence_on_features_are_not_built() {
    let project = workspace("2");
    project.write("apart/src/lib.rs", "#[test] fn breaks() { let number: u64 = \"\"; }\n");
    project.write("engine/src/lib.rs", engine(500));
    project.commit("apart does not build");
    project.write("engine/src/lib.rs", engine(1500));
    assert!(found(&project, &["--workspace"]).contains("turbo::runs"));
}

#[test]
fn a_package_that_is_named_for_its_features_alone_is_not_compiled() {
    let project = workspace("2");
    let broken = "pub fn go() -> u64 { engine::run(1) }\n#[test] fn breaks() { let number: u64 = \"\"; }\n";
    project.write("user/src/lib.rs", broken);
    project.write("engine/src/lib.rs", engine(500));
    project.commit("tests of user, which are none of cargo's, do not build");
    project.write("engine/src/lib.rs", engine(1500));
    assert!(found(&project, &["--workspace"]).contains("turbo::runs"));
    let shadow = project.path().join("target/perfunit/shadow/target/package/tree/user/src/lib.rs");
    assert!(std::fs::read_to_string(shadow).unwrap().starts_with(broken), "tests find the files as they are");
}

#[test]
fn the_source_of_such_a_package_can_be_included_by_others() {
    let project = workspace("2");
    let reader = "#[test] fn reads() {
        let text = include_str!(\"../../user/src/lib.rs\");
        assert!(text.contains(\"pub fn go\") && slow(text.len() as u64) != 0);
    }\n";
    project.write("engine/src/lib.rs", engine(500) + reader);
    project.commit("a test of engine takes in user");
    project.write("engine/src/lib.rs", engine(1500) + reader);
    let run = project.perfunit(["diff", "HEAD", "--message-format", "json", "--threshold", "0.2", "reads"]);
    let document = run.expect(100).json();
    let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "reads").unwrap();
    assert_eq!(test["verdict"], "slower", "{test}");
}

#[test]
fn features_that_another_package_enables_affect_shared_dependencies() {
    let project = workspace("2");
    project.write("engine/src/lib.rs", engine(500));
    project.write("other/src/lib.rs", "#[test] fn stands() { assert_ne!(engine::run(1), engine::run(2)); }\n");
    let run = "pub fn run(seed: u64) -> u64 { if cfg!(feature = \"turbo\") { slow(seed) } else { seed } }\n";
    project.write("engine/src/lib.rs", crate::source(500) + run);
    project.commit("turbo is slower");
    let manifest = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ntest = false\n";
    project.write("user/Cargo.toml", format!("{manifest}[dependencies]\nengine = {{ path = \"../engine\" }}\n"));
    assert!(found(&project, &["--workspace"]).contains("stands"));
}
