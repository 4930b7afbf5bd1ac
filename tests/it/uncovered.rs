//! Changed functions that no test executes.

use crate::source;
use crate::support::Project;
use serde_json::Value;

/// Returns a library with a function that its only test does not call.
fn library(idle: &str) -> String {
    format!("{}\npub fn idle(seed: u64) -> u64 {{ {idle} }}\n", source(500))
}

fn names(document: &Value) -> Vec<&str> {
    let uncovered = document["selection"]["uncovered"].as_array().unwrap();
    uncovered.iter().map(|function| function["name"].as_str().unwrap()).collect()
}

#[test]
fn an_uncovered_change_fails_only_when_denied() {
    let project = Project::library(&library("seed / 3"), &library("seed / 5"));
    assert_eq!(names(&project.diff(&[]).expect(0).json()), ["idle"]);
    let text = project.perfunit(["diff", "HEAD~1"]).expect(0).stdout;
    assert!(text.contains("1 changed function is executed by no test: idle"), "{text}");
    project.diff(&["--deny", "uncovered"]).expect(106);
    project.write(".config/perfunit.toml", "[profile.default]\ndeny = [\"uncovered\"]\n");
    project.diff(&[]).expect(106);
    let junit = project.perfunit(["report", "--format", "junit", "--deny", "uncovered"]).expect(0).stdout;
    assert!(junit.contains("failures=\"1\"") && junit.contains("executed by no test"), "{junit}");
}

#[test]
fn a_function_is_executed_even_if_its_changed_closure_is_not() {
    let version = |message: &str| {
        let function = format!(
            "#[inline(never)]\nfn text(message: &dyn Fn() -> String) -> String {{ message() }}\n\
             #[inline(never)]\npub fn half(n: u64) -> Result<u64, String> {{\n    \
             if n % 2 == 0 {{ Ok(n / 2) }} else {{ Err(text(&|| String::from(\"{message}\"))) }}\n}}\n"
        );
        let test = "#[test]\nfn halves() { assert_eq!(super::half(std::hint::black_box(8)), Ok(4)); }\n";
        format!("{}\n{function}\n#[cfg(test)]\nmod halving {{\n{test}}}\n", source(500))
    };
    let project = Project::library(&version("odd"), &version("the number must be even"));
    assert_eq!(names(&project.diff(&["--deny", "uncovered"]).expect(0).json()), [""; 0]);
}

#[test]
fn functions_without_their_feature_are_listed_separately_and_not_denied() {
    let project = Project::empty();
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[features]\nwide = []\n";
    let version = |step: u64| {
        project.write("Cargo.toml", manifest);
        let code = "#[cfg(feature = \"wide\")]\npub mod wide;\n#[cfg(all(feature = \"wide\", unix))]\n";
        let narrow = format!("pub fn narrow(seed: u64) -> u64 {{ seed / {step} }}\n");
        let wider = format!("#[cfg(feature = \"wide\")]\nlet seed = seed / {step};\nseed");
        let partly = format!("pub fn partly(seed: u64) -> u64 {{ {wider} }}\n");
        project.write("src/lib.rs", format!("{}\n{code}{narrow}{partly}", source(500)));
        project.write("src/wide.rs", format!("pub fn divide(seed: u128) -> u128 {{ seed / {step} }}\n"));
        project.commit("version");
    };
    version(3);
    version(5);
    let not_compiled = |document: &Value| {
        let functions = document["selection"]["not_compiled"].as_array().unwrap();
        functions.iter().map(|function| function["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let document = project.diff(&["--deny", "uncovered"]).expect(0).json();
    assert_eq!(
        (names(&document), not_compiled(&document)),
        (vec![], ["narrow", "partly", "divide"].map(str::to_owned).to_vec())
    );
    let text = project.perfunit(["diff", "HEAD~1"]).expect(0).stdout;
    // The condition of a whole file is not evaluated.
    let by = "the features (--features), the platform or the profile (debug assertions)";
    assert!(text.contains(&format!("3 changed functions are excluded from the build by {by}")), "{text}");
    let document = project.diff(&["--features", "wide", "--deny", "uncovered"]).expect(106).json();
    assert_eq!((names(&document), not_compiled(&document)), (vec!["narrow", "partly", "divide"], vec![]));
}

#[test]
fn debug_assertions_are_those_of_the_build() {
    let uncovered_and_not_compiled = |config: &str| {
        let project = Project::empty();
        let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        for step in [3, 5] {
            let function = |name: &str| format!("pub fn {name}(seed: u64) -> u64 {{ seed / {step} }}\n");
            let (checked, quick) = (function("checked"), function("quick"));
            let both = format!("#[cfg(debug_assertions)]\n{checked}#[cfg(not(debug_assertions))]\n{quick}");
            project.write("Cargo.toml", manifest);
            project.write(".cargo/config.toml", config);
            project.write("src/lib.rs", source(500) + &both);
            project.commit("version");
        }
        let document = project.diff(&[]).expect(0).json();
        let text = project.perfunit(["report"]).expect(0).stdout;
        assert!(text.contains("is excluded from the build by the profile (debug assertions): "), "{text}");
        let names_of = |key: &str| {
            let functions = document["selection"][key].as_array().unwrap();
            functions.iter().map(|function| function["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (names_of("uncovered"), names_of("not_compiled"))
    };
    let (checked, quick) = (vec!["checked".to_owned()], vec!["quick".to_owned()]);
    assert_eq!(uncovered_and_not_compiled(""), (quick.clone(), checked.clone()));
    // The flag overrides the profile.
    assert_eq!(uncovered_and_not_compiled("[build]\nrustflags = [\"-Cdebug-assertions\"]\n"), (checked, quick));
}

#[test]
fn tests_that_need_other_features_execute_nothing() {
    let project = Project::empty();
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[features]\nwide = []\n\n\
                    [[test]]\nname = \"required\"\nrequired-features = [\"wide\"]\n";
    let function = |name: &str, by: u64| {
        format!(
            "pub fn {name}<T: Into<u64>>(seed: T) -> u64 {{ (1..500).fold(seed.into(), |x, y| (x ^ y) / {by} + y * x) }}\n"
        )
    };
    let test = |name: &str| {
        format!("#[test]\nfn calls_{name}() {{ std::hint::black_box(demo::{name}(std::hint::black_box(9u64))); }}\n")
    };
    project.write("Cargo.toml", manifest);
    project.write("tests/required.rs", test("half"));
    project.write("tests/conditional.rs", format!("#![cfg(feature = \"wide\")]\n{}", test("third")));
    for by in [2, 3] {
        project.write("src/lib.rs", format!("{}\n{}{}", source(500), function("half", by), function("third", by)));
        project.commit("version");
    }
    assert_eq!(names(&project.diff(&[]).expect(0).json()), ["half", "third"]);
    assert_eq!(names(&project.diff(&["--features", "wide", "--explain", "never"]).json()), Vec::<&str>::new());
}

#[test]
fn a_filter_does_not_make_functions_uncovered() {
    let project = Project::library(&source(500), &source(1500));
    assert_eq!(names(&project.diff(&["no_such_test"]).expect(0).json()), Vec::<&str>::new());
}

#[test]
fn all_changed_functions_of_a_package_without_tests_are_uncovered() {
    let project = Project::empty();
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("Cargo.toml", "[workspace]\nmembers = [\"tested\", \"bare\"]\nresolver = \"2\"\n");
    project.write("tested/Cargo.toml", manifest("tested"));
    project.write("tested/src/lib.rs", source(500));
    project.write("bare/Cargo.toml", manifest("bare"));
    project.write("bare/src/lib.rs", "pub fn half(seed: u64) -> u64 { seed / 2 }\n#[test]\nfn gone() {}\n");
    project.commit("base");
    project.write("bare/src/lib.rs", "pub fn half(seed: u64) -> u64 { seed / 4 }\n");
    project.commit("head");
    assert_eq!(names(&project.diff(&[]).expect(0).json()), ["half"]);
}

/// Returns a library in which `f` can change independently of its tests.
fn with_tests(f: &str, tests: &str) -> String {
    let rest = source(500);
    let before = rest.find("#[cfg(test)]").unwrap();
    let code = &rest[..before];
    format!(
        "{code}\n#[inline(never)]\npub fn summed(seed: u64) -> u64 {{ (0..{f}u64).fold(seed, |sum, x| sum ^ (sum << 7) ^ x) }}\n{tests}"
    )
}

#[test]
fn a_change_that_only_new_test_code_reaches_is_measured_with_it() {
    let old = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(1 + 1, 2);\n    }\n}\n";
    let new = old.replace("1 + 1, 2", "super::summed(std::hint::black_box(9)) & 1, super::summed(9) & 1");
    let project = Project::library(&with_tests("1000", old), &with_tests("3000", &new));
    let document = project.diff(&["--deny", "uncovered"]).expect(100).json();
    let adds = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "tests::adds").unwrap();
    assert_eq!(adds["verdict"], "slower");
    assert_eq!(names(&document), Vec::<&str>::new());
    // If the new test fails on base, nothing is known of the function.
    let harsh = new.replace("& 1,", "^ 1,");
    project.write("src/lib.rs", with_tests("3000", &harsh));
    project.commit("no test passes");
    let document = project.perfunit(["diff", "HEAD~2", "--deny", "uncovered", "--message-format", "json"]).json();
    assert_eq!(names(&document), ["summed"]);
}

#[test]
fn tests_that_moved_to_another_file_execute_what_they_did() {
    let test = "    #[test]\n    fn sums() {\n        assert_ne!(super::summed(std::hint::black_box(9)), 0);\n    }\n";
    let inline = format!("#[cfg(test)]\nmod tests {{\n{test}}}\n");
    let project = Project::library(&with_tests("1000", &inline), &with_tests("3000", &inline));
    project.write("src/tests.rs", test);
    project.write("src/lib.rs", with_tests("9000", "#[cfg(test)]\nmod tests;\n"));
    project.commit("moved");
    assert_eq!(names(&project.diff(&["--deny", "uncovered"]).expect(100).json()), Vec::<&str>::new());
    // The reverse move.
    project.write("src/lib.rs", with_tests("27000", &inline));
    project.remove("src/tests.rs");
    project.commit("and back");
    assert_eq!(names(&project.diff(&["--deny", "uncovered"]).expect(100).json()), Vec::<&str>::new());
}

/// A build script that writes tests which are in no file of the repository.
const WRITES_TESTS: &str = r##"fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let test = "#[test]\nfn sums() {\n    assert_ne!(demo::total(std::hint::black_box(9)), 0);\n}\n";
    std::fs::write(std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("tests.rs"), test).unwrap();
}
"##;

#[test]
fn functions_called_by_tests_of_a_build_script_are_covered() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("build.rs", WRITES_TESTS);
    project.write("tests/written.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/tests.rs\"));\n");
    let version = |rounds: u64| {
        // `total` is inlined into the test, which calls it; `summed` is compiled; `once` has one caller, which is not
        // the test.
        let total = "#[inline(always)]\npub fn total(seed: u64) -> u64 { summed(seed) ^ once(seed, ROUNDS) }\n";
        let summed =
            "#[inline(never)]\nfn summed(seed: u64) -> u64 { (0..ROUNDS).fold(seed, |sum, x| sum ^ (sum << 7) ^ x) }\n";
        let once =
            "#[inline(always)]\nfn once(seed: u64, more: u64) -> u64 { std::hint::black_box(seed) ^ more / STEP }\n";
        let idle = "pub fn idle(seed: u64) -> u64 { seed / ROUNDS }\n";
        let code = [total, summed, once, idle].concat();
        project.write(
            "src/lib.rs",
            code.replace("ROUNDS", &rounds.to_string()).replace("STEP", &(rounds / 500).to_string()),
        );
        project.commit("version");
    };
    version(1000);
    version(3000);
    let document = project.diff(&["--explain", "always", "--engine", "probes"]).expect(100).json();
    assert_eq!((&document["tests"][0]["name"], &document["tests"][0]["verdict"]), (&"sums".into(), &"slower".into()));
    assert_eq!(names(&document), ["idle"]);
}
