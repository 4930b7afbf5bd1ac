//! Bad input: the tool reports what is wrong, where, and what to do, and leaves the project unchanged.

use crate::source;
use crate::support::{Project, Run};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROKEN: &str = "fn broken() { let number: u32 = \"text\"; }\n";

/// Asserts that the run was refused with this code, these words and a hint, and that stdout is empty.
#[track_caller]
fn refused(run: Run, code: i32, words: &[&str]) {
    let run = run.expect(code);
    let missing: Vec<_> =
        ["error: ", "hint: "].iter().chain(words).filter(|word| !run.stderr.contains(**word)).collect();
    assert!(missing.is_empty(), "without {missing:?}:\n{}", run.stderr);
    assert_eq!(run.stdout, "");
}

fn project() -> Project {
    Project::library(&source(500), &source(1500))
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn run_in(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = Project::tool(folder);
    command.args(arguments);
    Run::of(command)
}

fn run_with(project: &Project, variables: &[(&str, &Path)]) -> Run {
    let mut command = project.command("");
    command.args(["diff", "HEAD~1", "--explain", "never"]).envs(variables.iter().copied());
    Run::of(command)
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn folder_beside(project: &Project, name: &str) -> PathBuf {
    // In the ignored folder, which is removed with the project.
    let folder = project.path().join("target").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn deny_growth_without_growth() {
    let run = project().perfunit(["diff", "HEAD~1", "--deny", "growth"]);
    refused(run, 2, &["`--deny growth` requires `--growth`", "growth = true"]);
}

#[test]
fn outside_of_git() {
    let folder = tempfile::tempdir().unwrap();
    refused(run_in(folder.path(), &["diff"]), 102, &["not in a git repository", "git init"]);
}

#[test]
fn a_bare_repository() {
    let folder = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(folder.path()).unwrap();
    refused(run_in(folder.path(), &["diff"]), 102, &["bare repository"]);
}

#[test]
fn outside_of_cargo() {
    let project = Project::empty();
    project.commit("no crate");
    refused(project.perfunit(["diff"]), 102, &["could not find `Cargo.toml`", "--manifest-path"]);
}

#[test]
fn no_commits() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("src/lib.rs", source(1));
    refused(project.perfunit(["diff"]), 102, &["no commits yet"]);
}

#[test]
fn names_that_do_not_exist() {
    let project = project();
    refused(project.perfunit(["diff", "nosuch"]), 102, &["unknown revision `nosuch`"]);
    refused(
        project.perfunit(["diff", "HEAD~1", "-p", "nosuch"]),
        2,
        &["no package `nosuch`", "the workspace has sample"],
    );
    refused(project.perfunit(["diff", "HEAD~1", "--test", "nosuch"]), 2, &["no integration test `nosuch`"]);
    refused(project.perfunit(["diff", "HEAD~1", "--bin", "nosuch"]), 2, &["no binary `nosuch`"]);
}

#[test]
fn a_shallow_clone_without_the_base() {
    let project = project();
    let clone = folder_beside(&project, "clone");
    let url = format!("file://{}", project.path().display());
    git(project.path(), &["clone", "-q", "--depth", "1", &url, clone.to_str().unwrap()]);
    refused(run_in(&clone, &["diff", "HEAD~1"]), 102, &["HEAD~1", "--unshallow", "fetch-depth: 0"]);
    refused(run_in(&clone, &["diff"]), 102, &["is missing", "--unshallow"]);
}

#[test]
fn values_that_make_no_sense() {
    let project = project();
    for arguments in
        [["--threshold", "200%"], ["--timeout", "0s"], ["--budget", "10 parsecs"], ["--timeout", "4000000000000000h"]]
    {
        let run = project.perfunit(["diff", "HEAD~1"].iter().chain(&arguments)).expect(2);
        assert!(run.stderr.contains(arguments[0]) && run.stderr.contains(arguments[1]), "{}", run.stderr);
    }
}

#[test]
fn a_manifest_that_cannot_be_read() {
    let project = project();
    project.write("Cargo.toml", "[package\nname =");
    refused(project.perfunit(["diff"]), 102, &["cargo metadata failed", "Cargo.toml:1"]);
    assert_eq!(project.status(), ["Cargo.toml"]);
}

#[test]
fn a_base_whose_manifest_cannot_be_read() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package\nname =");
    project.write("src/lib.rs", source(2));
    project.commit("base");
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("src/lib.rs", source(1));
    project.commit("head");
    refused(project.perfunit(["diff", "HEAD~1"]), 101, &["Cargo.toml:1", "base (HEAD~1, ", "does not build"]);
}

#[test]
fn a_side_that_does_not_build_is_named_with_cargos_errors() {
    let base = Project::library(&(source(500) + BROKEN), &source(1500));
    refused(base.perfunit(["diff", "HEAD~1"]), 101, &["error[E0308]", "base (HEAD~1, ", "does not build"]);
    let head = Project::library(&source(500), &(source(1500) + BROKEN));
    refused(head.perfunit(["diff", "HEAD~1"]), 101, &["error[E0308]", "head (HEAD, ", "does not build"]);
    assert_eq!(head.status(), [""; 0]);
}

/// Returns the names of the complete folders of libraries in a cache.
fn libraries(cache: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(cache.join("libraries")).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter(|name| !name.to_string_lossy().contains('.')).collect()
}

/// A side that does not build is built again without the runner, which takes no other libraries.
#[test]
fn libraries_are_built_once_for_all_ways_to_capture_tests() {
    let project = Project::library(&source(500), &(source(1500) + BROKEN));
    // After this run the shared cache has the libraries of this toolchain.
    project.perfunit(["list", "HEAD~1..HEAD~1", "--all-tests"]).expect(0);
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("libraries")).unwrap();
    for name in libraries(&Project::cache()) {
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(Project::cache().join("libraries").join(name)).arg(cache.path().join("libraries"));
        assert!(copy.status().unwrap().success());
    }
    let before = libraries(cache.path());
    assert!(!before.is_empty());
    let mut command = project.command("");
    command.args(["diff", "HEAD~1"]).env("PERFUNIT_CACHE_DIR", cache.path());
    refused(Run::of(command), 101, &["error[E0308]", "head (HEAD, ", "does not build"]);
    assert_eq!(libraries(cache.path()), before);
}

#[test]
fn a_test_that_does_not_compile_on_head_causes_no_further_builds() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let library = |name: &str| format!("pub fn one() -> u32 {{\n    1\n}}\n\npub fn {name}() -> u32 {{\n    2\n}}\n");
    let test = |name: &str| format!("#[test]\nfn is_there() {{\n    assert!(sample::{name}() > 0);\n}}\n");
    project.write("src/lib.rs", library("two"));
    project.write("tests/one.rs", test("one"));
    project.write("tests/two.rs", test("two"));
    project.commit("base");
    project.write("src/lib.rs", library("three"));
    project.commit("head");
    let run = project.perfunit(["diff", "HEAD~1"]);
    let builds = |side: &str| {
        let begins = |line: &&str| line.trim_start().starts_with(&format!("Building {side}")) && !line.ends_with(" s]");
        run.stderr.lines().filter(begins).count()
    };
    // Once normally and once with the whole function as the body: the runner works, as the other test shows.
    assert_eq!((builds("base"), builds("head")), (1, 2), "{}", run.stderr);
    refused(run, 101, &["error[E0425]", "tests/two.rs", "head (HEAD, ", "does not build"]);
}

#[test]
fn tests_that_compile_on_head_only() {
    let project = Project::library(&source(500).replace("assert_ne!(super", "assert_ne!(nosuch"), &source(1500));
    refused(project.perfunit(["diff", "HEAD~1"]), 101, &["nosuch", "base (HEAD~1, ", "does not build"]);
}

#[test]
fn tests_that_all_fail_on_base() {
    let project = Project::library(
        &source(500).replace("assert_ne!", "assert_eq!"),
        &source(1500).replace("assert_ne!", "assert_eq!"),
    );
    let run = project.perfunit(["diff", "HEAD~1"]).expect(103);
    assert!(run.stdout.contains("fail"), "{}", run.stdout);
}

#[test]
fn a_project_without_tests() {
    let code = |value: u32| format!("pub fn value() -> u32 {{ {value} }}\n");
    let project = Project::library(&code(1), &code(2));
    assert!(project.perfunit(["diff", "HEAD~1"]).expect(0).stdout.contains("has no tests"));
    project.perfunit(["diff", "HEAD~1", "--no-tests=fail"]).expect(4);
}

#[test]
fn tests_that_are_new_in_head_do_not_fail_on_base() {
    let project = project().with_natural_layout();
    project.write("src/lib.rs", format!("{}\npub fn added() -> u64 {{ slow(7) }}\n", source(1500)));
    project.write("tests/new.rs", "#[test]\nfn is_new() { assert_ne!(sample::slow(1), sample::slow(2)); }\n");
    project.write("tests/newer.rs", "#[test]\nfn needs_head() { assert_ne!(sample::added(), 1); }\n");
    project.commit("new tests");
    let document = project.perfunit(["diff", "HEAD~2", "--message-format", "json"]).expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    let named = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("{document}"));
    // It also builds on base, so there is a version to compare with.
    assert_eq!(named("is_new")["verdict"], "slower", "{document}");
    assert!(named("is_new")["notes"][0].as_str().unwrap().contains("head's test code"), "{document}");
    assert_eq!(named("needs_head")["reason"]["kind"], "new", "{document}");
    project.perfunit(["diff", "HEAD~2", "--test", "newer"]).expect(0);
}

#[test]
fn a_toolchain_too_old() {
    let project = project();
    let rustc = folder_beside(&project, "fake").join("rustc");
    script(
        &rustc,
        "if [ \"$1\" = -vV ]; then echo 'rustc 1.60.0'; echo 'host: x86_64-unknown-linux-gnu'; echo 'release: 1.60.0'; else exec rustc \"$@\"; fi",
    );
    refused(run_with(&project, &[("RUSTC", &rustc)]), 102, &["too old", "1.60.0", "1.78"]);
    refused(run_with(&project, &[("RUSTC", Path::new("/nonexistent/rustc"))]), 102, &["/nonexistent/rustc"]);
}

#[test]
fn the_users_wrappers_are_called() {
    for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        let project = project().with_natural_layout();
        let log = folder_beside(&project, "log").join("calls");
        script(&project.path().join("target/wrapper"), &format!("echo \"$@\" >> {}\nexec \"$@\"", log.display()));
        // Relative, because cargo itself runs in another folder than the user.
        run_with(&project, &[(name, Path::new("target/wrapper"))]).expect(100);
        let calls = fs::read_to_string(&log).unwrap();
        assert_eq!(calls.matches("--crate-name sample").count(), 2, "{calls}");
    }
}

#[test]
fn the_users_flags_count() {
    let guarded = |rounds| source(rounds) + "#[cfg(not(given))] compile_error!(\"no flags\");\n";
    let project = Project::library(&guarded(500), &guarded(1500)).with_natural_layout();
    run_with(&project, &[("RUSTFLAGS", Path::new("--cfg given"))]).expect(100);
}

#[test]
fn a_target_folder_elsewhere() {
    let project = project().with_natural_layout();
    let target = tempfile::tempdir().unwrap();
    run_with(&project, &[("CARGO_TARGET_DIR", target.path())]).expect(100);
    assert!(!project.path().join("target").exists());
    // The target folder is a file.
    let file = target.path().join("file");
    fs::write(&file, "").unwrap();
    refused(run_with(&project, &[("CARGO_TARGET_DIR", &file)]), 102, &["cannot create the folder", "file"]);
}

/// Wrappers in the cache run as compiler and linker, so others must not be able to write there.
#[test]
fn a_cache_folder_that_others_may_write() {
    let project = project();
    let cache = tempfile::tempdir().unwrap();
    Project::share_cached("libraries", cache.path());
    fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let open = || {
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD~1"]).env("PERFUNIT_CACHE_DIR", cache.path());
        Run::of(command)
    };
    refused(open(), 102, &["other users can write to it (mode 777)", "PERFUNIT_CACHE_DIR"]);
    fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o755)).unwrap();
    open().expect(0);
    let wrappers = cache.path().join("wrappers");
    assert_eq!(wrappers.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // A folder that was safe when it was created may have become unsafe.
    let wrapper = fs::read_dir(&wrappers).unwrap().next().unwrap().unwrap().path();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o770)).unwrap();
    refused(open(), 102, &["other users can write to it (mode 770)", "PERFUNIT_CACHE_DIR"]);
}

#[test]
fn a_target_folder_that_git_does_not_ignore() {
    let project = project().with_natural_layout();
    project.remove(".gitignore");
    project.commit("ignore nothing");
    project.perfunit(["diff", "HEAD~2"]).expect(100);
    assert_eq!(project.status(), [""; 0]);
    project.perfunit(["diff", "HEAD~2"]).expect(100);
}

/// Flags, runner, target triple, folder and environment from the configuration, and the package's own binary.
#[test]
fn cargos_configuration_counts() {
    let host = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let host = String::from_utf8(host)
        .unwrap()
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .unwrap();
    let project = Project::empty();
    project.write(".gitignore", "/out\n");
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let configuration = format!(
        "[build]\nrustflags = [\"--cfg\", \"given\"]\ntarget = \"{host}\"\ntarget-dir = \"out/here\"\n[target.{host}]\nrunner = \"/bin/false\"\n\
         [env]\nFROM_CONFIG = \"yes\"\nHERE = {{ value = \"\", relative = true }}\n"
    );
    project.write(".cargo/config.toml", configuration);
    project.write("src/main.rs", "fn main() { println!(\"{}\", sample::slow(1) > 0); }\n");
    project.write(
        "tests/it.rs",
        "#[test]\nfn sees_all() {\n    assert!(cfg!(given));\n    assert_eq!(std::env::var(\"FROM_CONFIG\").unwrap(), \"yes\");\n    \
         let here = std::env::var(\"HERE\").unwrap();\n    assert!(std::path::Path::new(&here).join(\"Cargo.toml\").exists());\n    \
         let output = std::process::Command::new(env!(\"CARGO_BIN_EXE_sample\")).output().unwrap();\n    \
         assert_eq!(output.stdout, b\"true\\n\");\n}\n",
    );
    project.write("src/lib.rs", source(500));
    project.commit("base");
    project.write("src/lib.rs", source(1500));
    project.commit("head");
    let document = project.diff(&["--per-test-budget", "2s"]).json();
    let tests = document["tests"].as_array().unwrap();
    assert!(tests.iter().any(|test| test["name"] == "sees_all" && test["verdict"] != "not-measured"), "{document}");
    assert_eq!(project.status(), [""; 0]);
    assert!(!project.path().join("target").exists());
}

#[test]
fn wherever_the_project_is() {
    let project = project().with_natural_layout();
    // A subfolder, a symbolic link, a linked worktree, and a path with spaces and non-ASCII letters.
    project.write("src/deep/note.txt", "");
    project.perfunit_in("src/deep", ["diff", "HEAD~1..HEAD"]).expect(100);
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("link");
    std::os::unix::fs::symlink(project.path(), &link).unwrap();
    let mut through_link = Project::tool(&link);
    project.prepare(&mut through_link);
    through_link.args(["diff", "HEAD~1..HEAD"]);
    Run::of(through_link).expect(100);
    let worktree = other.path().join("ein Baum 木");
    git(project.path(), &["worktree", "add", "-q", worktree.to_str().unwrap(), "HEAD"]);
    // Links of random layouts must cope with such a path, too.
    run_in(&worktree, &["diff", "HEAD~1"]).expect(100);
    assert!(worktree.join("target/perfunit").is_dir());
}
