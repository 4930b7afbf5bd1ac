//! Versions as checked out by git.

use crate::source;
use crate::support::Project;

/// Returns the tests of a document with their verdicts and kinds of reason.
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
    // As stored in the repository, because libgit2, which commits, does not run filter drivers.
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
    assert_eq!(document["head"]["dirty"], false, "a checkout is not an edit: {}", document["head"]);
    let warnings = document["warnings"].to_string();
    assert!(!warnings.contains("stored in the repository"), "{warnings}");
}

/// Returns a function with this many rounds.
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

const TEST: &str = "#[cfg(test)] mod tests { #[test] fn is_slow() { assert_ne!(super::slow(7), 0); } }\n";

fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
}

#[test]
fn moved_and_renamed_packages_are_compared_with_their_old_versions() {
    let project = Project::empty();
    let workspace = |members: &str| format!("[workspace]\nresolver = \"2\"\nmembers = [{members}]\n");
    project.write("Cargo.toml", workspace(r#""renamed", "moved", "rooted", "library""#));
    // A renamed package in the same folder.
    project.write("renamed/Cargo.toml", manifest("old-name", ""));
    project.write("renamed/src/lib.rs", slow(500) + TEST);
    // A moved package with data.
    let reads = r#"
#[test] fn reads() {
    assert_eq!(std::fs::read_to_string("data/word.txt").unwrap(), "word");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(std::fs::read_to_string(folder.join("data/word.txt")).unwrap(), "word");
    assert_ne!(slow(7), 0);
}
"#;
    project.write("moved/Cargo.toml", manifest("moved", ""));
    project.write("moved/data/word.txt", "word");
    project.write("moved/src/lib.rs", slow(500) + reads);
    // A test target with a module, and one that is removed.
    let of_module = "mod helper;\n#[test] fn is_slow() { assert_ne!(helper::call(), 0); }\n";
    project.write("rooted/Cargo.toml", manifest("rooted", ""));
    project.write("rooted/src/lib.rs", slow(500));
    project.write("rooted/tests/it.rs", of_module);
    project.write("rooted/tests/helper.rs", "pub fn call() -> u64 { rooted::slow(7) }\n");
    project.write("rooted/tests/gone.rs", "#[test] fn gone() {}\n");
    // A library with another name and root file.
    project.write("library/Cargo.toml", manifest("library", ""));
    project.write("library/src/lib.rs", "mod inner;\npub use inner::slow;\n".to_owned() + TEST);
    project.write("library/src/inner.rs", slow(500));
    project.commit("base");

    project.write("Cargo.toml", workspace(r#""renamed", "crates/moved", "rooted", "library""#));
    project.write("renamed/Cargo.toml", manifest("new-name", ""));
    project.write("renamed/src/lib.rs", slow(1500) + TEST);
    for file in ["Cargo.toml", "data/word.txt", "src/lib.rs"] {
        project.remove(format!("moved/{file}"));
    }
    project.write("crates/moved/Cargo.toml", manifest("moved", ""));
    project.write("crates/moved/data/word.txt", "word");
    project.write("crates/moved/src/lib.rs", slow(1500) + reads);
    for file in ["it.rs", "helper.rs", "gone.rs"] {
        project.remove(format!("rooted/tests/{file}"));
    }
    project.write("rooted/src/lib.rs", slow(1500));
    project.write("rooted/tests/it/main.rs", of_module);
    project.write("rooted/tests/it/helper.rs", "pub fn call() -> u64 { rooted::slow(7) }\n");
    project.write("library/Cargo.toml", manifest("library", "[lib]\nname = \"bookshelf\"\npath = \"lib/root.rs\"\n"));
    project.remove("library/src/lib.rs");
    project.remove("library/src/inner.rs");
    project.write("library/lib/root.rs", "mod inner;\npub use inner::slow;\n".to_owned() + TEST);
    project.write("library/lib/inner.rs", slow(1500));
    project.commit("head");

    let run = project.perfunit(["diff", "HEAD~1", "--explain", "never", "--message-format", "json"]);
    let document = run.json();
    let found = verdicts(&document);
    let expected =
        ["library tests::is_slow", "moved reads", "new-name tests::is_slow", "rooted::it is_slow"].map(str::to_owned);
    let tests: Vec<&String> = found.iter().map(|(test, _)| test).collect();
    assert!(expected.iter().all(|test| tests.contains(&test)), "{found:?}\n{}", run.stderr);
    assert!(found.iter().all(|(_, verdict)| verdict == "slower"), "{found:?}\n{}", run.stderr);
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("head has no test target that matches base's rooted::gone"), "{warnings}");
    assert_eq!(run.code, 100, "{}", run.stderr);
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

#[test]
fn a_package_at_the_root_becomes_a_member_and_its_tests_move_and_grow() {
    let project = Project::empty();
    let helper = "pub fn call() -> u64 { sample::slow(7) }\n";
    let test = "#[test] fn is_slow() { assert_ne!(helper::call(), 0); }\n";
    project.write("Cargo.toml", manifest("sample", ""));
    project.write("src/lib.rs", slow(500));
    project.write("tests/it.rs", format!("mod helper;\n{test}"));
    project.write("tests/helper.rs", helper);
    project.commit("base");
    for file in ["src/lib.rs", "tests/it.rs", "tests/helper.rs"] {
        project.remove(file);
    }
    project.write("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n");
    project.write("crates/sample/Cargo.toml", manifest("sample", ""));
    project.write("crates/sample/src/lib.rs", slow(1500));
    project.write("crates/sample/tests/it/main.rs", format!("mod fresh;\nmod helper;\n{test}"));
    project.write("crates/sample/tests/it/helper.rs", helper);
    project.write("crates/sample/tests/it/fresh.rs", "#[test] fn fresh() { assert_ne!(sample::slow(9), 0); }\n");
    project.commit("head");
    let run = project.perfunit(["diff", "HEAD~1", "--explain", "never", "--message-format", "json"]);
    let mut found = verdicts(&run.json());
    found.sort();
    let slower = |test: &str| (format!("sample::it {test}"), "slower".to_owned());
    assert_eq!(found, [slower("fresh::fresh"), slower("is_slow")], "{}", run.stderr);
}
