//! Causes of a difference other than functions.

use crate::support::Project;
use serde_json::Value;

/// A library that calls `rates::total`, a function of a dependency.
const CALLER: &str = r"//! Prices.

pub fn price(numbers: &[u64]) -> u64 {
    rates::total(numbers) + numbers.len() as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn prices() {
        let numbers: Vec<u64> = (0..1000).collect();
        assert!(super::price(&numbers) > 0);
    }
}
";

/// Creates a project that calls `rates::total`, which goes through `numbers`, on head possibly twice.
fn caller(requirement: &str) -> Project {
    let project = Project::empty().with_natural_layout();
    project.write("src/lib.rs", CALLER);
    manifest(&project, requirement);
    project
}

fn manifest(project: &Project, requirement: &str) {
    let package = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    project.write("Cargo.toml", format!("{package}[dependencies]\nrates = {requirement}\n"));
}

fn rates(project: &Project, folder: &str, version: &str, numbers: &str) {
    let package = format!("[package]\nname = \"rates\"\nversion = \"{version}\"\nedition = \"2021\"\n");
    project.write(format!("{folder}/Cargo.toml"), package);
    let total =
        "pub fn total(numbers: &[u64]) -> u64 {\n    numbers.iter().map(|n| std::hint::black_box(*n)).sum()\n}\n";
    project.write(format!("{folder}/src/lib.rs"), total.replace("numbers.iter()", numbers));
}

/// Returns the only cause of the only test, and asserts that no function was held responsible.
#[track_caller]
fn cause(project: &Project) -> Value {
    let run = project.diff(&["--explain", "always"]).expect(100);
    let found = run.json()["tests"][0]["explanation"].clone();
    assert_eq!(found["code_changed"], false, "{found:#}");
    assert!(
        found["responsible"].as_array().unwrap().iter().all(|responsible| responsible["changed"].is_null()),
        "{found:#}"
    );
    let [cause] = &found["causes"].as_array().unwrap()[..] else { panic!("{found:#}") };
    assert!((0.7..1.3).contains(&cause["share"].as_f64().unwrap()), "{found:#}");
    cause.clone()
}

/// Creates a project with a package outside of the workspace that takes longer on head.
pub fn project_with_package() -> Project {
    let project = caller("{ path = \"rates\" }");
    rates(&project, "rates", "0.1.0", "numbers.iter()");
    project.commit("base");
    rates(&project, "rates", "0.1.0", "numbers.iter().chain(numbers)");
    project.commit("head");
    project
}

#[test]
fn a_package_beside_the_workspace_is_named_with_what_changed_in_it() {
    let cause = cause(&project_with_package());
    assert_eq!((&cause["kind"], &cause["package"]), (&"local-dependency".into(), &"rates".into()));
    assert_eq!(cause["text"], "rates: changed total (rates/src/lib.rs:1)");
}

#[test]
fn a_changed_procedural_macro_is_the_cause_of_the_tests_that_use_it() {
    let project = Project::empty().with_natural_layout();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let workspace = "[workspace]\nmembers = [\"twice\"]\n[dependencies]\ntwice = { path = \"twice\" }\n";
    project.write("Cargo.toml", package("shop") + workspace);
    project.write("twice/Cargo.toml", package("twice") + "[lib]\nproc-macro = true\n");
    let code = "pub fn price(numbers: &[u64]) -> u64 {\n    twice::sum!(numbers)\n}\n";
    project.write(
        "src/lib.rs",
        CALLER.replace(&CALLER[CALLER.find("pub fn").unwrap()..CALLER.find("#[cfg").unwrap()], code),
    );
    let library = |times: usize| {
        let sum = "numbers.iter().map(|n| std::hint::black_box(*n)).sum::<u64>()";
        let made = vec![sum; times].join(" + ");
        format!(
            "use proc_macro::TokenStream;\n\n#[proc_macro]\npub fn sum(_: TokenStream) -> TokenStream {{\n    \
             made()\n}}\n\nfn made() -> TokenStream {{\n    \"{made}\".parse().unwrap()\n}}\n"
        )
    };
    project.write("twice/src/lib.rs", library(1));
    project.commit("base");
    project.write("twice/src/lib.rs", library(2));
    project.commit("head");
    let cause = cause(&project);
    assert_eq!(cause["text"], "twice: changed made (twice/src/lib.rs:8)");
}

#[test]
fn a_library_that_a_procedural_macro_uses_is_built_with_probes_and_counters() {
    let project = Project::empty().with_natural_layout();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let workspace = "[workspace]\nmembers = [\"same\", \"words\"]\n[dependencies]\nsame = { path = \"same\" }\n";
    project.write("Cargo.toml", package("shop") + workspace);
    project.write("words/Cargo.toml", package("words"));
    project.write("words/src/lib.rs", "pub fn same(words: &str) -> String {\n    words.to_owned()\n}\n");
    let uses = "[lib]\nproc-macro = true\n[dependencies]\nwords = { path = \"../words\" }\n";
    project.write("same/Cargo.toml", package("same") + uses);
    let code = "use proc_macro::TokenStream;\n\n#[proc_macro]\npub fn same(code: TokenStream) -> TokenStream {\n    \
                words::same(&code.to_string()).parse().unwrap()\n}\n";
    project.write("same/src/lib.rs", code);
    let version = |numbers: &str| {
        let sum = format!("same::same!({numbers}.map(|n| std::hint::black_box(*n)).sum())");
        let code = format!("pub fn price(numbers: &[u64]) -> u64 {{\n    {sum}\n}}\n");
        let rest = &CALLER[CALLER.find("#[cfg").unwrap()..];
        project.write("src/lib.rs", format!("{code}{rest}"));
    };
    version("numbers.iter()");
    project.commit("base");
    version("numbers.iter().chain(numbers)");
    project.commit("head");
    let run = project.diff(&["--explain", "always", "--engine", "probes", "--growth"]).expect(100);
    let document = run.json();
    assert_eq!(document["growth"]["not_counted"], Value::Array(Vec::new()), "{:#}", document["growth"]);
    let explanation = &document["tests"][0]["explanation"];
    assert_eq!(explanation["functions"][0]["name"], "price", "{explanation:#}");
}

/// The same as [`caller`], with a package of the repository instead of the registry's.
fn patched(tables: &str) -> Project {
    let project = Project::empty().with_natural_layout();
    project.write("src/lib.rs", CALLER);
    let package = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    project.write("Cargo.toml", format!("{package}[dependencies]\nrates = \"0.1\"\n{tables}"));
    project
}

#[track_caller]
fn check_patched(tables: &str) {
    let project = patched(tables);
    rates(&project, "local/rates", "0.1.0", "numbers.iter()");
    project.commit("base");
    rates(&project, "local/rates", "0.1.0", "numbers.iter().chain(numbers)");
    project.commit("head");
    let cause = cause(&project);
    assert_eq!((&cause["kind"], &cause["package"]), (&"local-dependency".into(), &"rates".into()));
    assert_eq!(cause["text"], "rates: changed total (local/rates/src/lib.rs:1)");
}

#[test]
fn a_package_that_a_patch_puts_in_the_place_of_another_is_measured_and_named() {
    check_patched("[patch.crates-io]\nrates = { path = \"local/rates\" }\n");
}

/// Cargo does not report such a package, because it is neither a member nor excluded.
#[test]
fn a_patch_below_the_root_of_a_workspace_is_measured_and_named() {
    check_patched("[workspace]\n[patch.crates-io]\nrates = { path = \"local/rates\" }\n");
}

#[test]
fn a_patch_of_cargos_configuration_counts_like_one_of_the_manifest() {
    for configured in ["[patch.crates-io]\nrates = { path = \"local/rates\" }\n", "paths = [\"local/rates\"]\n"] {
        let project = patched("");
        project.write(".cargo/config.toml", configured);
        rates(&project, "local/rates", "0.1.0", "numbers.iter()");
        project.commit("base");
        rates(&project, "local/rates", "0.1.0", "numbers.iter().chain(numbers)");
        let document = project.perfunit(["list", "HEAD", "--message-format", "json"]).expect(0).json();
        assert_eq!(document["tests"][0]["selected"], true, "{configured}: {document:#}");
    }
}

#[test]
fn a_build_with_probes_is_not_reused_for_a_dependency_without_them() {
    let project = Project::empty().with_natural_layout();
    let caller = CALLER.replace("super::price(&numbers)", "rates::total(&numbers)").replace(
        "    #[test]\n",
        "    #[test]\n    fn taxed() {\n        assert!(taxes::total(&[1, 2, 3]) > 0);\n    }\n\n    #[test]\n",
    );
    project.write("src/lib.rs", caller);
    manifest(&project, "{ path = \"rates\" }\ntaxes = { path = \"taxes\" }");
    let versions = |rates_do: &str, taxes_do: &str| {
        rates(&project, "rates", "0.1.0", rates_do);
        rates(&project, "taxes", "0.1.0", taxes_do);
        project.write("taxes/Cargo.toml", "[package]\nname = \"taxes\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    };
    let (once, twice) = ("numbers.iter()", "numbers.iter().chain(numbers)");
    versions(once, once);
    project.commit("base");
    versions(twice, once);
    project.commit("head");
    // The build for callgrind, which is of the first tree again, would hide the error.
    project.diff(&["--explain", "always", "--engine", "probes"]).expect(100);
    versions(once, twice);
    project.commit("another head");
    let run = project.perfunit(["diff", "HEAD~2..HEAD", "--message-format", "json", "--explain", "never"]).json();
    let verdicts = run["tests"].as_array().unwrap().iter().map(|test| (&test["name"], &test["verdict"]));
    let prices = verdicts.clone().find(|(name, _)| *name == "tests::prices").unwrap();
    assert_eq!(prices.1, "not-measured", "{run:#}");
    assert_ne!(verdicts.clone().find(|(name, _)| *name == "tests::taxed").unwrap().1, "not-measured", "{run:#}");
}

#[test]
fn another_version_of_a_dependency_is_named_with_both() {
    let project = caller("\"=1.0.0\"");
    // Both versions are vendored; the lock file chooses one.
    let vendored = "[source.crates-io]\nreplace-with = \"vendor\"\n[source.vendor]\ndirectory = \"vendor\"\n";
    project.write(".cargo/config.toml", vendored);
    for (version, numbers) in [("1.0.0", "numbers.iter()"), ("1.1.0", "numbers.iter().chain(numbers)")] {
        let folder = format!("vendor/rates-{version}");
        rates(&project, &folder, version, numbers);
        project.write(format!("{folder}/.cargo-checksum.json"), "{\"files\":{}}");
    }
    lock(&project, "1.0.0");
    project.commit("base");
    manifest(&project, "\"=1.1.0\"");
    lock(&project, "1.1.0");
    project.commit("head");
    let cause = cause(&project);
    assert_eq!((&cause["kind"], &cause["text"]), (&"dependency".into(), &"rates 1.0.0 -> 1.1.0".into()));
    assert_eq!((&cause["base"][0], &cause["head"][0]), (&"1.0.0".into(), &"1.1.0".into()));
}

fn lock(project: &Project, version: &str) {
    let registry = "registry+https://github.com/rust-lang/crates.io-index";
    let text = format!(
        "version = 4\n\n[[package]]\nname = \"rates\"\nversion = \"{version}\"\nsource = \"{registry}\"\n\n\
         [[package]]\nname = \"shop\"\nversion = \"0.1.0\"\ndependencies = [\n \"rates\",\n]\n"
    );
    project.write("Cargo.lock", text);
}
