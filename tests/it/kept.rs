//! A kept build of a version is used again only if everything that the build read is unchanged.

use crate::support::{NATURAL_LAYOUT, Project, Run};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns a library with a function that an edit changes, and one that works as long as the project's surroundings tell.
fn library(rounds: u32, weight: &str) -> String {
    format!(
        r"
#[inline(never)]
pub fn edited(seed: u64) -> u64 {{
    (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}}
#[inline(never)]
pub fn weighed(seed: u64) -> u64 {{
    (0..WEIGHT).fold(seed | 1, |state, round| (state ^ state << 9 ^ state >> 5).wrapping_add(round))
}}
const WEIGHT: u64 = {weight};
#[cfg(test)]
mod tests {{
    #[test] fn edits() {{ assert_ne!(super::edited(1), super::edited(3)); }}
    #[test] fn weighs() {{ assert_ne!(super::weighed(1), super::weighed(3)); }}
}}
"
    )
}

/// A project and its surroundings.
struct World {
    project: Project,
    /// A folder outside of the repository.
    outside: tempfile::TempDir,
    weight: &'static str,
}

impl World {
    /// Creates a library that evaluates `weight`, with this build script.
    fn new(weight: &'static str, build_script: &str) -> Self {
        let world = Self { project: Project::empty(), outside: tempfile::tempdir().unwrap(), weight };
        world.project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        if !build_script.is_empty() {
            world.project.write("build.rs", build_script);
        }
        world
    }

    fn file(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }

    /// Returns the tests that `list` would measure after an edit of the working tree.
    fn selected(&self, rounds: u32, environment: &[(&str, &Path)]) -> BTreeSet<String> {
        self.project.write("src/lib.rs", library(rounds, self.weight));
        let mut command = Project::tool(self.project.path());
        command.args(["list", "HEAD", "--message-format", "json"]).envs(environment.iter().copied());
        let document = Run::of(command).expect(0).json();
        let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["selected"] == true);
        tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Builds the last commit and an edit of it, changes the surroundings, and asserts that then only another edit
    /// differs.
    #[track_caller]
    fn check(&self, before: &[(&str, &Path)], change: impl FnOnce(), after: &[(&str, &Path)]) {
        self.project.write("src/lib.rs", library(500, self.weight));
        self.project.commit("base");
        let edited = BTreeSet::from(["tests::edits".to_owned()]);
        assert_eq!(self.selected(1000, before), edited);
        change();
        assert_eq!(self.selected(1500, after), edited);
    }
}

#[test]
fn a_variable_that_code_reads() {
    let world = World::new(r#"match option_env!("WEIGHT") { Some(_) => 300, None => 100 }"#, "");
    world.check(&[], || (), &[("WEIGHT", Path::new("heavy"))]);
}

#[test]
fn a_file_outside_of_the_repository_that_code_includes() {
    let world = World::new(r#"include!(concat!(env!("OUTSIDE"), "/weight"))"#, "");
    let file = world.file("weight");
    std::fs::write(&file, "100").unwrap();
    let environment = [("OUTSIDE", world.outside.path())];
    world.check(&environment, || std::fs::write(&file, "3000").unwrap(), &environment);
}

/// Returns a build script that passes on a number, with the lines that declare its inputs.
fn build_script(number: &str, reads: &str) -> String {
    format!("fn main() {{\n println!(\"cargo:rustc-env=NUMBER={{}}\", {number});\n{reads}\n}}\n")
}

/// Length of the value passed on by the build script.
const NUMBER: &str = "100 * env!(\"NUMBER\").len() as u64";

#[test]
fn a_variable_that_a_build_script_reads() {
    let script = build_script(
        r#"std::env::var("WEIGHT").unwrap_or_default().len()"#,
        r#"println!("cargo:rerun-if-env-changed=WEIGHT");"#,
    );
    let world = World::new(NUMBER, &script);
    world.check(&[], || (), &[("WEIGHT", Path::new("a dozen chars"))]);
}

#[test]
fn a_compiler_variable_that_a_build_script_reads_without_declaring() {
    let script = build_script(
        r#"std::env::var("TARGET_CFLAGS").unwrap_or_default().len()"#,
        r#"println!("cargo:rerun-if-changed=src/lib.rs");"#,
    );
    let world = World::new(NUMBER, &script);
    world.check(&[], || (), &[("TARGET_CFLAGS", Path::new("-DMORE_THAN_TEN"))]);
}

#[test]
fn a_file_outside_of_the_repository_that_a_build_script_reads() {
    let script = build_script(
        r#"std::fs::read_to_string(std::env::var("OUTSIDE").unwrap() + "/weight").unwrap()"#,
        r#"println!("cargo:rerun-if-changed={}/weight", std::env::var("OUTSIDE").unwrap());"#,
    );
    let world = World::new(NUMBER, &script);
    let file = world.file("weight");
    std::fs::write(&file, "1").unwrap();
    let environment = [("OUTSIDE", world.outside.path())];
    world.check(&environment, || std::fs::write(&file, "1234").unwrap(), &environment);
}

#[test]
fn a_package_outside_of_the_repository() {
    let world = World::new("outside::WEIGHT", "");
    std::fs::create_dir(world.file("src")).unwrap();
    std::fs::write(world.file("Cargo.toml"), "[package]\nname = \"outside\"\nversion = \"0.1.0\"\n").unwrap();
    let write = |weight: u32| {
        std::fs::write(world.file("src/lib.rs"), format!("pub const WEIGHT: u64 = {weight};\n")).unwrap();
    };
    write(100);
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n";
    let path = world.outside.path().display();
    world.project.write("Cargo.toml", format!("{manifest}outside = {{ path = \"{path}\" }}\n"));
    world.check(&[], || write(3000), &[]);
}

#[test]
fn the_users_own_configuration_of_cargo() {
    let world = World::new(r#"match option_env!("WEIGHT") { Some(_) => 300, None => 100 }"#, "");
    // Downloads stay where they are.
    let real = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let real = real.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"));
    for part in ["registry", "git"].iter().filter(|part| real.join(part).exists()) {
        std::os::unix::fs::symlink(real.join(part), world.file(part)).unwrap();
    }
    let home = [("CARGO_HOME", world.outside.path())];
    let configure = || std::fs::write(world.file("config.toml"), "[env]\nWEIGHT = \"heavy\"\n").unwrap();
    world.check(&home, configure, &home);
}

/// Returns the manifest of `user`, which has no tests and depends on `engine`, with these additions.
fn manifest_of_user(dependency: &str, more: &str) -> String {
    let package = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ntest = false\n";
    format!("{package}{more}[dependencies]\nengine = {{ path = \"../engine\"{dependency} }}\n")
}

#[test]
fn dependencies_are_resolved_again_where_a_file_or_a_setting_differs() {
    let project = Project::empty();
    project.write("Cargo.toml", "[workspace]\nmembers = [\"engine\", \"user\"]\nresolver = \"2\"\n");
    let engine = "[package]\nname = \"engine\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[features]\nturbo = []\n";
    project.write("engine/Cargo.toml", engine);
    let test = "#[test] fn runs() { assert_ne!(run(1), run(2)); }\n";
    let run = "pub fn run(seed: u64) -> u64 { if cfg!(feature = \"turbo\") { slow(seed) } else { seed } }\n";
    project.write("engine/src/lib.rs", crate::source(500) + run + test);
    project.write("user/Cargo.toml", manifest_of_user("", ""));
    project.write("user/src/lib.rs", "pub fn go() {}\n");
    project.commit("base");
    let home = tempfile::tempdir().unwrap();
    // Returns the number of resolutions, and the number of tests that `list` would measure.
    let run = |arguments: &[&str], environment: &[(&str, &Path)]| {
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD", "--message-format", "json"]).args(arguments);
        command.env("PERFUNIT_LOG", "debug").envs(environment.iter().copied());
        let run = Run::of(command).expect(0);
        let commands = run.stderr.lines().filter(|line| line.contains("\"metadata\"") && !line.contains("--no-deps"));
        let (resolved, document) = (commands.count(), run.json());
        let tests = document["tests"].as_array().unwrap().iter();
        (resolved, tests.filter(|test| test["selected"] == true).count())
    };
    let again = |what: &str, arguments: &[&str], environment: &[(&str, &Path)]| {
        assert_eq!(run(arguments, environment), (3, 0), "{what}");
        assert_eq!(run(arguments, environment), (0, 0), "{what}, once more");
    };
    project.write("user/Cargo.toml", manifest_of_user("", "[features]\nmore = []\n"));
    again("a feature", &[], &[]);
    project.write("user/src/lib.rs", "pub fn go() { unreachable!() }\n");
    assert_eq!(run(&[], &[]), (0, 0), "code alone");
    again("another target", &[], &[("CARGO_BUILD_TARGET", Path::new("wasm32-unknown-unknown"))]);
    again("flags", &[], &[("RUSTFLAGS", Path::new("--cfg more"))]);
    again("without the network", &["--offline"], &[]);
    let of_home = [("CARGO_HOME", home.path())];
    again("another home of cargo", &[], &of_home);
    std::fs::write(home.path().join("config.toml"), "[net]\nretry = 1\n").unwrap();
    again("the user's configuration", &[], &of_home);
    project.write(".cargo/config.toml", "[net]\nretry = 1\n");
    again("the project's configuration", &[], &[]);
    let lock_file = std::fs::read_to_string(project.path().join("target/perfunit/Cargo.lock")).unwrap();
    project.write("Cargo.lock", &lock_file);
    assert_eq!(run(&[], &[]), (0, 0), "the lock file that was used before");
    project.write("Cargo.lock", lock_file.replace("\nversion = ", "\n# Another one.\nversion = "));
    again("the lock file", &[], &[]);
    project.write("user/build.rs", "fn main() {}\n");
    again("a build script", &[], &[]);
    project.write("user/Cargo.toml", manifest_of_user(", features = [\"turbo\"]", ""));
    let (resolved, selected) = run(&[], &[]);
    assert!(resolved == 3 && selected > 0, "a feature of the other package: {resolved}, {selected}");
}

#[test]
fn packages_outside_of_the_version_are_resolved_each_time() {
    let world = World::new("100", "");
    let (project, outside) = (&world.project, world.outside.path().display());
    std::fs::create_dir(world.file("src")).unwrap();
    std::fs::write(world.file("src/lib.rs"), "").unwrap();
    let write = |more: &str| {
        let text = format!("[package]\nname = \"outside\"\nversion = \"0.1.0\"\n{more}");
        std::fs::write(world.file("Cargo.toml"), text).unwrap();
    };
    write("");
    let dependent = format!("[dependencies]\noutside = {{ path = \"{outside}\" }}\n");
    let manifest = |more: &str| format!("{}{more}{dependent}", manifest_of_user("", "").split("[dep").next().unwrap());
    project.write("Cargo.toml", manifest(""));
    project.write("src/lib.rs", "");
    project.commit("base");
    project.write("Cargo.toml", manifest("[features]\nmore = []\n"));
    for _ in 0..2 {
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD"]).env("PERFUNIT_LOG", "debug");
        let log = Run::of(command).expect(0).stderr;
        let commands = log.lines().filter(|line| line.contains("\"metadata\"") && !line.contains("--no-deps"));
        assert_eq!(commands.count(), 3, "{log}");
    }
    let kept = project.path().join("target/perfunit/resolved");
    assert!(!kept.exists(), "{}", kept.display());
}

#[test]
fn kept_executables_list_their_tests_once() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let listed = || {
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD~1", "--message-format", "json"]).env("PERFUNIT_LOG", "debug");
        let run = Run::of(command).expect(0);
        let (tests, log) = (run.json()["tests"].clone(), run.stderr);
        let started = log.lines().filter(|line| line.contains("code: started"));
        (tests, started.count())
    };
    let (first, second) = (listed(), listed());
    assert!(first.0.as_array().is_some_and(|tests| !tests.is_empty()), "{}", first.0);
    assert_eq!(first.0, second.0);
    assert_eq!((first.1, second.1), (2, 0));
}

/// A project and a log of the rustc calls that compile its crate.
struct Compilations {
    project: Project,
    folder: tempfile::TempDir,
}

impl Compilations {
    fn of(project: Project) -> Self {
        Self::after(":", project)
    }

    /// Creates the log; each call of rustc runs after this shell command.
    fn after(command: &str, project: Project) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (wrapper, log) = (folder.path().join("wrapper"), folder.path().join("calls"));
        let script = format!("#!/bin/sh\necho \"$@\" >> {}\n{command}\nexec \"$@\"\n", log.display());
        std::fs::write(&wrapper, script).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { project, folder }
    }

    /// Runs the tool. Returns the run and the rustc calls that compile the tests of `sample`.
    fn run(&self, arguments: &[&str]) -> (Run, Vec<String>) {
        let log = self.folder.path().join("calls");
        let _ = std::fs::remove_file(&log);
        let mut command = Project::tool(self.project.path());
        let run = Run::of({
            command.args(arguments).env("RUSTC_WRAPPER", self.folder.path().join("wrapper"));
            command.env(NATURAL_LAYOUT.0, NATURAL_LAYOUT.1);
            command
        });
        let calls = std::fs::read_to_string(log).unwrap_or_default();
        let of_tests = |call: &&str| call.contains("--crate-name sample") && call.contains("--test");
        (run, calls.lines().filter(of_tests).map(str::to_owned).collect())
    }
}

#[test]
fn lto_is_disabled_unless_requested_or_changed() {
    let project = Project::library(&library(500, "100"), &library(1500, "100"));
    let manifest = |lto: &str| {
        let package = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        // Only the option counts: optimizing std again would take most of the time.
        format!("{package}[profile.release]\nopt-level = 0\nlto = {lto}\n")
    };
    project.write("Cargo.toml", manifest("true"));
    project.commit("base");
    project.write("src/lib.rs", library(3000, "100"));
    project.commit("head");
    let compilations = Compilations::of(project);
    let check = |arguments: &[&str], code: i32, lto: &[Option<&str>]| {
        let (run, calls) = compilations.run(arguments);
        let run = run.expect(code);
        let option = |call: &String| {
            let mut words = call.split(' ');
            words.find_map(|word| word.strip_prefix("lto")).map(|value| value.trim_start_matches('=').to_owned())
        };
        let found: Vec<Option<String>> = calls.iter().map(option).collect();
        assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), lto, "{calls:#?}");
        run
    };
    let without = "built without the bench profile's link-time optimization (fat); `--lto keep` builds with it";
    let run = check(&["diff", "HEAD~1", "--explain", "never"], 100, &[None, None]);
    assert!(run.stdout.contains(without), "{}", run.stdout);
    for (format, expected) in [
        ("json", "\"lto_off\": \"fat\""),
        ("markdown", "link-time optimization (fat)"),
        ("junit", "name=\"lto-off\" value=\"fat\""),
    ] {
        let (run, _) = compilations.run(&["report", "--message-format", format]);
        let run = run.expect(0);
        assert!(run.stdout.contains(expected), "{}", run.stdout);
    }
    check(&["list", "HEAD~1", "--lto", "keep"], 0, &[Some(""), Some("")]);
    // Both versions are kept.
    check(&["list", "HEAD~1", "--lto", "keep"], 0, &[]);
    check(&["list", "HEAD~1"], 0, &[]);
    // A changed setting may be what is to be measured.
    compilations.project.write("Cargo.toml", manifest("'thin'"));
    check(&["list", "HEAD"], 0, &[Some("thin")]);
}

#[test]
fn a_kept_build_serves_as_base_or_head() {
    let project = Project::library(&library(500, "100"), &library(1500, "100"));
    project.write("src/lib.rs", library(3000, "100"));
    project.commit("third");
    let compilations = Compilations::of(project);
    for (versions, compiled) in [("HEAD~2..HEAD~1", 2), ("HEAD~1..HEAD", 1), ("HEAD..HEAD~2", 0), ("HEAD~1..HEAD~2", 0)]
    {
        let (run, calls) = compilations.run(&["list", versions]);
        run.expect(0);
        assert_eq!(calls.len(), compiled, "{versions}: {calls:#?}");
    }
}

#[test]
fn unchanged_doc_tests_are_kept_for_both_sides() {
    let documented =
        |rounds| format!("/// ```\n/// assert_ne!(sample::edited(1), 0);\n/// ```{}", library(rounds, "100"));
    let project = Project::library(&documented(500), &documented(1500));
    project.perfunit(["list", "HEAD~1..HEAD", "--doc"]).expect(0);
    // Cargo would create its folder again if it were called.
    let cargos = project.path().join("target/perfunit/build");
    std::fs::remove_dir_all(&cargos).unwrap();
    let document = project.perfunit(["list", "HEAD..HEAD~1", "--doc", "--message-format", "json"]).expect(0).json();
    assert_eq!(document["tests"][0]["target_kind"], "doctest", "{document}");
    assert!(!cargos.exists(), "something was built");
}

#[test]
fn builds_for_tests_that_failed_count_as_builds() {
    let library = |value: u32| {
        format!("pub fn value() -> u32 {{\n    {value}\n}}\n#[test]\nfn is() {{ assert_eq!(value(), {value}); }}\n")
    };
    let project = Project::library(&library(1), &library(2));
    // No machine is fast enough to make four builds shorter than the time that their compilers sleep.
    let compilations = Compilations::after("case \"$*\" in *' sample '*--test*) sleep 2;; esac", project);
    let (run, calls) = compilations.run(&["diff", "HEAD~1", "--message-format", "json"]);
    let document = run.expect(0).json();
    assert_eq!(document["tests"][0]["reason"]["kind"], "test-changed", "{document}");
    assert_eq!(calls.len(), 4, "{calls:#?}");
    assert!(document["summary"]["seconds"]["build"].as_f64().unwrap() >= 8.0, "{}", document["summary"]);
}

#[test]
fn a_build_with_more_targets_is_reused() {
    let project = Project::library(&library(500, "100"), &library(1500, "100"));
    let program = |rounds| {
        library(rounds, "100") + "fn main() {\n    println!(\"{}\", sample::edited(1) + edited(3) + weighed(5));\n}\n"
    };
    let commit = |library: String, program: String| {
        project.write("src/lib.rs", library);
        project.write("src/main.rs", program);
        project.commit("commit");
    };
    let test = "#[test]\nfn runs() {\n    let program = env!(\"CARGO_BIN_EXE_sample\");\n    \
        assert!(std::process::Command::new(program).status().unwrap().success());\n}\n";
    project.write("tests/it.rs", test);
    commit(library(500, "100"), program(500));
    commit(library(1500, "100"), program(500));
    commit(library(500, "100"), program(1500));
    let compilations = Compilations::of(project);
    let (run, calls) = compilations.run(&["list", "HEAD~2..HEAD~1"]);
    run.expect(0);
    // The tests of the library and of the program, in each version.
    assert_eq!(calls.len(), 4, "{calls:#?}");
    let arguments = ["diff", "HEAD~2..HEAD", "--message-format", "json", "--explain", "never", "-E", "test(edits)"];
    let (run, calls) = compilations.run(&arguments);
    let document = run.expect(100).json();
    let test = &document["tests"][0];
    assert_eq!((&test["target"], &test["verdict"]), (&"sample::bin/sample".into(), &"slower".into()), "{document}");
    assert!(calls.len() == 1 && calls[0].contains("src/main.rs"), "{calls:#?}");
}
