//! `#[perfunit::skip]` and `#[perfunit::threshold(..)]` in user code, which depends on the published runtime.

use crate::support::{Project, QUICK_DEPENDENCIES, repository_root};

fn source(rounds: u32) -> String {
    format!(
        "#[inline(never)]\npub fn work(seed: u64) -> u64 {{\n    (0..{rounds}).fold(seed | 1, |state, round| \
         (state ^ state << 13 ^ state >> 7).wrapping_add(round))\n}}\n{TESTS}"
    )
}

const TESTS: &str = r#"#[cfg(test)]
mod tests {
    #[test]
    #[perfunit::skip("it is about the error")]
    fn skipped() { assert_ne!(super::work(1), super::work(2)); }
    #[perfunit::threshold("60%")]
    #[test]
    fn coarse() { assert_ne!(super::work(3), super::work(4)); }
    #[test]
    fn plain() { assert_ne!(super::work(5), super::work(6)); }
}
"#;

/// Creates a project that depends on the runtime under this name.
pub fn project(name: &str) -> Project {
    let project = Project::empty();
    project.write(".cargo/config.toml", QUICK_DEPENDENCIES);
    commit_versions(&project, name);
    project
}

/// Commits two versions that depend on the runtime under this name.
fn commit_versions(project: &Project, name: &str) {
    let runtime = repository_root().join("perfunit-runtime");
    project.write(
        "Cargo.toml",
        format!(
            "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dev-dependencies]\n\
             {name} = {{ package = \"perfunit-runtime\", path = {:?}, features = [\"attributes\"] }}\n",
            runtime.to_str().unwrap()
        ),
    );
    for rounds in [2000, 3000] {
        project.write("src/lib.rs", source(rounds).replace("perfunit::", &format!("{}::", name.replace('-', "_"))));
        project.commit("version");
    }
}

#[test]
fn attributes_skip_tests_and_set_their_thresholds_whatever_the_name_of_the_dependency() {
    let project = project("perfunit");
    let document = project.diff(&[]).expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    let test = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap();
    let reason = &test("tests::skipped")["reason"];
    assert_eq!((&reason["kind"], &reason["detail"]), (&"skipped".into(), &"it is about the error".into()));
    assert_eq!(reason["path"], "src/lib.rs:8");
    // Half as much additional work is more than 2 % and less than 60 %.
    assert_eq!(test("tests::plain")["verdict"], "slower");
    assert_eq!(test("tests::coarse")["verdict"], "changed-below-threshold");
    assert_eq!(test("tests::coarse")["threshold"], 0.6);
    assert!(test("tests::coarse")["notes"].to_string().contains("by src/lib.rs:10"));

    // In the same project, because the dependencies of the runtime take longest to build.
    commit_versions(&project, "perfunit-runtime");
    let run = project.perfunit(["list", "HEAD~1", "--all"]).expect(0);
    let line =
        |name: &str| run.stdout.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{}", run.stdout));
    assert!(line("tests::plain").contains("macro"), "{}", run.stdout);
    assert!(run.stdout.contains("it is about the error"), "{}", run.stdout);
}
