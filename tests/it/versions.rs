//! Versions as git checks them out.

use crate::source;
use crate::support::Project;

/// Tests of the document with their verdicts and kinds of reason.
fn verdicts(document: &serde_json::Value) -> Vec<(String, String)> {
    let tests = document["tests"].as_array().into_iter().flatten();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    tests
        .map(|test| {
            let target = format!("{} {}", text(&test["target"]), text(&test["name"]));
            (target, format!("{}{}", text(&test["verdict"]), text(&test["reason"]["kind"])))
        })
        .collect()
}

#[test]
fn tests_see_the_line_endings_and_filtered_files_that_git_checks_out() {
    let project = Project::empty();
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git").args(arguments).current_dir(project.path()).status();
        assert!(status.unwrap().success(), "git {arguments:?}");
    };
    git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
    git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(".gitattributes", "*.crlf eol=crlf\n*.secret filter=rot\n");
    project.write("data/lines.crlf", "one\r\ntwo\r\n");
    // As the repository stores it: libgit2, which commits, knows no filter drivers.
    project.write("data/word.secret", "nopq\n");
    let test = r#"
#[test]
fn sees_what_git_checks_out() {
    assert_eq!(include_str!("../data/lines.crlf"), "one\r\ntwo\r\n");
    assert_eq!(std::fs::read_to_string("data/word.secret").unwrap(), "abcd\n");
    assert_ne!(slow(7), 0);
}
"#;
    project.write("src/lib.rs", source(500) + test);
    project.commit("base");
    project.write("src/lib.rs", source(1500) + test);
    project.commit("head");
    project.write("data/word.secret", "abcd\n");
    let run = project.perfunit(["diff", "HEAD~1", "--explain", "never", "--message-format", "json"]);
    let document = run.json();
    let found = verdicts(&document);
    let of_test = found.iter().find(|(test, _)| test == "sample sees_what_git_checks_out");
    assert_eq!(of_test.map(|(_, verdict)| verdict.as_str()), Some("slower"), "{found:?}\n{}", run.stderr);
    assert_eq!(document["head"]["dirty"], false, "a checkout is no edit: {}", document["head"]);
    let warnings = document["warnings"].to_string();
    assert!(!warnings.contains("stored in the repository"), "{warnings}");
}

/// A function that is `rounds` long.
fn slow(rounds: u32) -> String {
    format!(
        r"
#[inline(never)]
pub fn slow(seed: u64) -> u64 {{
    (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}}
"
    )
}

#[test]
fn a_migration_to_an_edition_with_more_keywords_is_measured_with_the_new_test_code() {
    let project = Project::empty();
    let manifest =
        |edition: &str| format!("[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n");
    let library = |rounds: u32, name: &str| {
        let call = format!("pub fn {name}(seed: u64) -> u64 {{ slow(seed) }}\n");
        let test = format!("#[cfg(test)] mod tests {{ #[test] fn is_slow() {{ assert_ne!(::{name}(7), 0); }} }}\n");
        slow(rounds) + &call + &test.replace("::async", "super::async").replace("::r#async", "super::r#async")
    };
    project.write("Cargo.toml", manifest("2015"));
    project.write("src/lib.rs", library(500, "async"));
    project.commit("base");
    project.write("Cargo.toml", manifest("2021"));
    project.write("src/lib.rs", library(1500, "r#async"));
    project.commit("head");
    let run = project.perfunit(["diff", "HEAD~1", "--explain", "never", "--message-format", "json"]);
    let found = verdicts(&run.json());
    assert_eq!(found, [("sample tests::is_slow".to_owned(), "slower".to_owned())], "{}", run.stderr);
}
