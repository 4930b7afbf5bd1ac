//! `cargo perfunit list`.

use crate::source;
use crate::support::Project;
use std::os::unix::fs::{MetadataExt as _, symlink};

#[test]
fn lists_what_would_be_measured_and_why() {
    let project = Project::library(&source(500), &source(1500));
    let run = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("tests::mixes") && run.stdout.contains("slow"), "{}", run.stdout);
}

#[test]
fn all_shows_how_each_test_was_captured() {
    let project = Project::library(&source(500), &source(1500));
    let run = project.perfunit(["list", "HEAD~1", "--all"]).expect(0);
    for name in ["tests::mixes", "tests::is_ignored"] {
        let line = run.stdout.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{}", run.stdout));
        assert!(line.contains("macro") || line.contains("runner"), "{line}");
    }
}

#[test]
fn the_document_names_tests_and_reasons() {
    let project = Project::library(&source(500), &source(1500));
    let document = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0).json();
    let tests = document["tests"].as_array().unwrap();
    let test = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap();
    assert_eq!(test("tests::mixes")["selected"], true);
    assert!(test("tests::mixes")["selected_because"].is_string());
    assert_eq!(test("tests::is_ignored")["reason"]["kind"], "ignored");
}

#[test]
fn a_change_in_a_package_that_is_not_linked_does_not_select_tests() {
    let project = Project::empty();
    project.write("Cargo.toml", "[workspace]\nmembers = [\"core\", \"man\"]\nresolver = \"2\"\n");
    let package = |name: &str, dependencies: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{dependencies}")
    };
    project.write("core/Cargo.toml", package("core-text", ""));
    project.write("man/Cargo.toml", package("man", "core-text = { path = \"../core\" }\n"));
    let version = |rounds: u32| {
        let folded = format!("(0..{rounds}).fold(seed, |state, round| std::hint::black_box(state ^ round << 3))");
        let core = format!(
            "#[inline(never)]\nfn wrap(seed: u64) -> u64 {{ {folded} }}\n\
             #[inline(never)]\npub fn help(seed: u64) -> u64 {{ wrap(seed) + 1 }}\n\
             #[cfg(test)]\nmod tests {{\n    #[test]\n    fn shows() {{\n        let render = super::help(7);\n        \
             assert_ne!(render, 0);\n    }}\n}}\n"
        );
        project.write("core/src/lib.rs", core);
        let man = format!(
            "pub struct Man(pub u64);\nimpl Man {{\n    pub fn render(&self) -> u64 {{ let seed = self.0; {folded} }}\n}}\n\
             pub fn page() -> u64 {{ Man(core_text::help(1)).render() }}\n"
        );
        project.write("man/src/lib.rs", man);
        project.commit(&rounds.to_string());
    };
    version(100);
    version(300);
    let document = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0).json();
    let tests = document["tests"].as_array().unwrap();
    let shows = tests.iter().find(|test| test["name"] == "tests::shows").unwrap();
    let because = shows["selected_because"].as_str().unwrap();
    assert!(because.contains("wrap") && !because.contains("render"), "{because}");
}

#[test]
fn a_comment_selects_nothing_and_says_why() {
    let project = Project::library(&source(500), &format!("// A comment.\n{}", source(500)));
    let run = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("can have changed") && run.stdout.contains("comments"), "{}", run.stdout);
}

/// Returns a library with tests that meet a change in different ways, with this many rounds.
fn crossroads(rounds: u32) -> String {
    r"
#[inline(never)]
pub fn slow(seed: u64) -> u64 {
    (0..ROUNDS).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}
#[inline(never)]
pub fn other(seed: u64) -> u64 {
    (0..100).fold(seed | 1, |state, round| (state ^ state << 9 ^ state >> 5).wrapping_add(round))
}
#[inline(never)]
pub fn either(seed: u64) -> u64 {
    if seed % 2 == 0 { slow(seed) } else { other(seed) }
}
#[cfg(test)]
mod tests {
    #[test] fn far() { assert_ne!(super::other(1), super::other(3)); }
    #[test] fn beside() { assert_ne!(super::either(1), super::either(3)); }
    #[test] fn on_it() { assert_ne!(super::either(2), super::either(4)); }
}
"
    .replace("ROUNDS", &rounds.to_string())
}

#[test]
fn why_shows_the_path_to_the_change_or_the_stage_that_excluded_a_test() {
    let project = Project::library(&crossroads(500), &crossroads(1500));
    let run = project.perfunit(["list", "HEAD~1", "--why"]).expect(0);
    let lines: Vec<&str> = run.stdout.lines().map(str::trim).collect();
    let line = |start: &str| lines.iter().position(|line| line.starts_with(start)).expect(&run.stdout);
    assert!(lines[line("tests::far ")].contains("all reachable machine code is identical"), "{}", run.stdout);
    assert!(lines[line("tests::beside ")].contains("but executes none"), "{}", run.stdout);
    let path = lines[line("tests::on_it ") + 1];
    assert!(path.starts_with("path ") && path.ends_with("either > sample::slow"), "{}", run.stdout);
    assert!(run.stdout.contains("1 of 3 tests can have changed") && run.stdout.contains("1 more can reach"));
    let run = project.perfunit(["list", "HEAD~1", "--why", "tests::far"]).expect(0);
    assert!(run.stdout.contains("tests::far") && !run.stdout.contains("tests::on_it"), "{}", run.stdout);
    let run = project.perfunit(["list", "--why", "HEAD~1"]).expect(2);
    assert!(run.stderr.contains("no tests match `HEAD~1`"), "{}", run.stderr);
}

#[test]
fn the_stages_of_selection_add_up() {
    let project = Project::library(&crossroads(500), &crossroads(1500));
    let selection = &project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0).json()["selection"];
    let count = |key: &str| selection[key].as_u64().unwrap();
    assert_eq!((count("found"), count("reachable"), count("executed")), (3, 2, 1));
    let left_out = selection["left_out"].as_object().unwrap();
    assert_eq!(left_out.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), count("found") - count("executed"));
}

#[test]
fn when_nothing_is_selected_each_change_is_explained_on_request() {
    let extended = crossroads(500) + "pub fn unused(seed: u64) -> u64 { seed / 3 }\n";
    let project = Project::library(&crossroads(500), &extended);
    project.write("README.md", "Words.\n");
    project.commit("words");
    let run = project.perfunit(["list", "HEAD~2", "--explain-none"]).expect(0);
    for words in ["README.md: ", "added unused", "0 of 3 tests can have changed"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
}

#[test]
fn a_second_listing_needs_no_build_and_no_comparison() {
    let project = Project::library(&crossroads(500), &crossroads(1500));
    let first = project.perfunit(["list", "HEAD~1"]).expect(0);
    let answers = project.path().join("target/perfunit/selection");
    let written = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        // A file that is written again is another one.
        files.map(|file| (file.metadata().unwrap().ino(), file)).collect::<Vec<_>>()
    };
    let before = written(&answers);
    assert_eq!(before.len(), 1);
    let second = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert_eq!(first.stdout, second.stdout);
    assert!(!second.stderr.contains("Compiling"), "{}", second.stderr);
    assert_eq!(before, written(&answers));
}

#[test]
fn targets_that_do_not_compile_with_base_s_test_code_are_found_at_once() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let version = |name: &str| {
        project.write("src/lib.rs", format!("pub fn {name}() -> u8 {{ 1 }}\n"));
        for number in 0..6 {
            let test = format!("#[test] fn calls_it() {{ assert_eq!(sample::{name}(), 1); }}\n");
            project.write(format!("tests/t{number}.rs"), test);
        }
        project.commit(name);
    };
    version("old");
    version("new");
    let run = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0);
    assert_eq!(run.json()["tests"].as_array().unwrap().len(), 6);
    let again = run.stderr.lines().filter(|line| line.ends_with(", again")).count();
    // Each version with the other version's test code.
    assert!(again <= 2, "{}", run.stderr);
}

#[test]
fn a_dependency_may_be_named_core() {
    let project = Project::empty();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let dependency = "[workspace]\n[dependencies]\ncore = { path = \"empty\", package = \"empty\" }\n";
    project.write("Cargo.toml", package("sample") + dependency);
    project.write("empty/Cargo.toml", package("empty"));
    project.write("empty/src/lib.rs", "");
    for rounds in [500, 1500] {
        project.write("src/lib.rs", source(rounds));
        project.commit("a version");
    }
    let run = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0);
    let document = run.json();
    let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "tests::mixes").unwrap();
    assert_eq!(test["capture"], "macro", "{}", run.stderr);
}

#[test]
fn targets_without_tests_are_not_built() {
    let project = Project::library(&source(500), &source(1500));
    let manifest = "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nsample = { path = \"..\" }\n";
    project.write("tool/Cargo.toml", manifest);
    project.write("tool/src/main.rs", "mod breaks;\nfn main() { breaks::main() }\n");
    project.write("tool/src/breaks.rs", "pub fn main() { let _: u64 = \"\"; }\n");
    let members =
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\nmembers = [\"tool\"]\n";
    project.write("Cargo.toml", members);
    project.commit("a tool that does not build");
    project.write("src/lib.rs", source(500));
    let list = |arguments: &[&str]| project.perfunit(["list", "HEAD"].iter().chain(arguments)).expect(0);
    let run = list(&["--workspace"]);
    assert!(run.stdout.contains("in 1 of 2 targets") && run.stdout.contains("tests::mixes"), "{}", run.stdout);
    project.write("tool/src/breaks.rs", "pub fn main() { let _: u64 = \"one\"; }\n");
    let run = list(&["--package", "tool"]);
    assert!(run.stdout.contains("the only target that the change can reach has no tests"), "{}", run.stdout);
}

#[test]
fn files_behind_symbolic_links_are_reached() {
    let project = Project::library("", "");
    let code = "pub const TABLE: &[u8] = include_bytes!(\"words.txt\");\npub const STEPS: usize = \
                include!(concat!(env!(\"OUT_DIR\"), \"/steps\"));\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn counts() {\n        \
                assert!((0..super::STEPS).all(|step| std::hint::black_box(super::TABLE)[step % 3] > 0));\n    }\n}\n";
    project.write("store/words.txt", "abc");
    project.write("src/lib.rs", code);
    symlink("../store/words.txt", project.path().join("src/words.txt")).unwrap();
    symlink("store/build.rs", project.path().join("build.rs")).unwrap();
    let script = |steps: usize| {
        let steps = format!("std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/steps\", \"{steps}\").unwrap();");
        project.write("store/build.rs", format!("fn main() {{ {steps} }}\n"));
    };
    script(3);
    project.commit("links");
    project.write("store/words.txt", "abd");
    project.commit("data");
    script(5);
    project.commit("script");
    for range in ["HEAD~2..HEAD~1", "HEAD~1..HEAD"] {
        let run = project.perfunit(["list", range]).expect(0);
        assert!(run.stdout.contains("1 of 1 test can have changed"), "{range}: {}", run.stdout);
    }
}

/// Returns a library with tests that do not compile with our `#[test]`, because their own macro accepts only literals.
fn with_own_macro(rounds: u32) -> String {
    let added = "
    macro_rules! assert_ne {
        ($function:ident($seed:literal), $other:expr) => { std::assert_ne!(super::$function($seed), $other) };
    }

    macro_rules! tested {
        ($name:ident, $seed:literal) => { #[test] fn $name() { assert_ne!(slow($seed), 2); } };
    }

    #[test]
    fn own_macro() {
        assert_ne!(slow(1), 2);
    }

    tested!(of_a_macro, 3);

    #[test]
    #[ignore]";
    source(rounds).replace("    #[test]\n    #[ignore]", added)
}

#[test]
fn only_a_test_that_does_not_compile_with_our_attribute_is_called_whole() {
    let project = Project::library(&with_own_macro(500), &with_own_macro(1500));
    let run = project.perfunit(["list", "HEAD~1", "--all", "--message-format", "json"]).expect(0);
    let document = run.json();
    let tests = document["tests"].as_array().unwrap();
    let capture = |name: &str| {
        let test = tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("{document}"));
        test["capture"].as_str().unwrap().to_owned()
    };
    assert_eq!(capture("tests::mixes"), "macro");
    assert_eq!((capture("tests::own_macro"), capture("tests::of_a_macro")), ("runner".to_owned(), "runner".to_owned()));
    assert!(run.stderr.contains("own_macro") && run.stderr.contains("whole functions"), "{}", run.stderr);
}
