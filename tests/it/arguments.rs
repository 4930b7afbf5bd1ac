//! Arguments as users type them, and their meaning for all subcommands.

use crate::source;
use crate::support::{Project, Run};
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn project() -> Project {
    Project::library(&source(500), &source(1500))
}

#[track_caller]
fn says(run: &Run, parts: &[&str]) {
    let missing: Vec<_> = parts.iter().filter(|part| !run.stderr.contains(**part)).collect();
    assert!(missing.is_empty(), "without {missing:?}:\n{}", run.stderr);
}

/// Returns the tests that a listing selects.
fn selected(run: &Run) -> Vec<String> {
    let document = run.json();
    let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["selected"] == true);
    tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_positional_argument_may_be_a_revision_or_a_part_of_a_test_name() {
    let more = "\n#[cfg(test)]\nmod others {\n    #[test]\n    fn mixes_too() {\n        assert_ne!(super::slow(5), 6);\n    }\n}\n";
    let project = Project::library(&(source(500) + more), &(source(1500) + more));
    let list = |arguments: &[&str]| project.perfunit(["list", "--message-format", "json"].iter().chain(arguments));
    let run = list(&["mixes_too"]).expect(0);
    says(
        &run,
        &[
            "Filter `mixes_too` is not a revision; comparing only tests that match it",
            "Comparing `HEAD` with its parent",
        ],
    );
    assert_eq!(selected(&run), ["others::mixes_too"]);
    assert_eq!(selected(&list(&["others::", "tests::"]).expect(0)), ["others::mixes_too", "tests::mixes"]);
    assert_eq!(selected(&list(&["tests::mixes", "--exact"]).expect(0)), ["tests::mixes"]);
    // Tests that macros define are known only after a build.
    says(&list(&["made::by_a_macro"]).expect(0), &["Filter `made::by_a_macro` is not a revision"]);

    // A word that is neither, or that may be a branch missing in this clone, is not a filter.
    says(&list(&["no_such"]).expect(102), &["unknown revision `no_such`", "`-E 'test(no_such)'`"]);
    says(&list(&["master"]).expect(102), &["unknown revision `master`", "did you mean `main`?"]);
    says(&list(&["mian"]).expect(102), &["unknown revision `mian`", "did you mean `main`?"]);
    says(&list(&["mixes", "--exact"]).expect(102), &["unknown revision `mixes`"]);
    // `git diff` accepts two revisions as two words.
    says(&list(&["HEAD~1", "HEAD"]).expect(2), &["no tests match `HEAD`, which is a revision", "`BASE..HEAD`"]);
}

#[test]
fn all_subcommands_have_the_same_format_options() {
    // Nothing to measure.
    let project = Project::library(&source(500), &format!("// A comment.\n{}", source(500)));
    for arguments in [
        &["list", "HEAD..HEAD"][..],
        &["diff", "HEAD..HEAD"],
        &["report"],
        &["explain"],
        &["show-config"],
        &["log", "HEAD~1"],
        &["doctor"],
    ] {
        for option in ["--message-format", "--format"] {
            project.perfunit(arguments.iter().chain(&[option, "json"])).expect(0).json();
        }
        for word in ["text", "human"] {
            let run = project.perfunit(arguments.iter().chain(&["--format", word])).expect(0);
            assert!(!run.stdout.starts_with('{'), "{arguments:?} {word}: {}", run.stdout);
        }
    }
}

#[test]
fn a_misspelled_variable_is_reported() {
    let project = project();
    let run = |name: &str| {
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD..HEAD"]).env(name, "5%");
        Run::of(command)
    };
    says(
        &run("PERFUNIT_TRESHOLD").expect(2),
        &["unknown environment variable PERFUNIT_TRESHOLD", "did you mean PERFUNIT_THRESHOLD?"],
    );
    says(&run("PERFUNIT_MOON").expect(0), &["warning: unknown environment variable PERFUNIT_MOON"]);
}

#[test]
fn offline_makes_no_network_request() {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    registry.set_nonblocking(true).unwrap();
    let project = Project::empty();
    let dependency = "[dependencies]\nno-such-package-anywhere = \"1\"\n";
    project.write(
        "Cargo.toml",
        format!("[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{dependency}"),
    );
    let address = registry.local_addr().unwrap();
    let sources = "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\n";
    project
        .write(".cargo/config.toml", format!("{sources}registry = \"sparse+http://{address}/\"\n[net]\nretry = 0\n"));
    project.write("src/lib.rs", source(500));
    project.commit("base");
    project.write("src/lib.rs", source(1500));
    project.commit("head");
    // Requests get no response; only whether there was one matters.
    let was_asked = || match registry.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    };
    for option in ["--offline", "--frozen"] {
        let run = project.diff(&[option]).expect(102);
        says(&run, &["error: ", "no-such-package-anywhere"]);
        assert!(!was_asked(), "{option}: {}", run.stderr);
    }
    let mut command = Project::tool(project.path());
    command.args(["diff", "HEAD~1"]).env("CARGO_HTTP_TIMEOUT", "1");
    Run::of(command).expect(102);
    assert!(was_asked(), "the test itself asks for nothing");
}

#[test]
fn toolchains_are_never_installed() {
    let project = project();
    let folder = project.path().join("target/programs");
    fs::create_dir_all(&folder).unwrap();
    let (compiler, seen) = (folder.join("rustc"), folder.join("seen"));
    fs::write(
        &compiler,
        format!("#!/bin/sh\necho \"$RUSTUP_AUTO_INSTALL\" >> '{}'\nexec rustc \"$@\"\n", seen.display()),
    )
    .unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Project::tool(project.path());
    command.args(["report", "--list"]).env("RUSTC", &compiler);
    Run::of(command).expect(0);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.is_empty() && seen.lines().all(|value| value == "0"), "{seen}");
}

#[test]
fn unselected_members_that_the_change_reaches_are_named() {
    let project = Project::empty().with_natural_layout();
    project.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"core\", \"app\", \"other\"]\ndefault-members = [\"core\"]\nresolver = \"2\"\n",
    );
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    project.write("core/Cargo.toml", manifest("core-part", ""));
    project.write("app/Cargo.toml", manifest("app", "[dependencies]\ncore-part = { path = \"../core\" }\n"));
    project.write("other/Cargo.toml", manifest("other", ""));
    let test = "#[cfg(test)]\nmod tests { #[test] fn runs() { assert_ne!(core_part::slow(3), 7); } }\n";
    project.write("app/src/lib.rs", test);
    project.write("other/src/lib.rs", test.replace("core_part::slow(3)", "3"));
    for rounds in [500, 1500] {
        project.write("core/src/lib.rs", source(rounds));
        project.commit("version");
    }
    let warning = "the change can reach tests of app, which are not selected; `--workspace` adds them";
    let list = |arguments: &[&str]| project.perfunit(["list", "HEAD~1"].iter().chain(arguments)).expect(0).stderr;
    assert!(list(&[]).contains(warning), "{}", list(&[]));
    assert!(list(&["-p", "core-part"]).contains(warning));
    for arguments in [&["--workspace"][..], &["--workspace", "--exclude", "app"], &["-p", "app", "-p", "core-part"]] {
        assert!(!list(arguments).contains("not selected"), "{arguments:?}: {}", list(arguments));
    }
    let document = project.diff(&[]).expect(100).json();
    assert!(document["warnings"].to_string().contains(warning), "{}", document["warnings"]);
}

#[test]
fn a_report_opens_in_the_browser() {
    let project = project();
    project.perfunit(["diff", "HEAD..HEAD"]).expect(0);
    let folder = project.path().join("target/programs");
    fs::create_dir_all(&folder).unwrap();
    let rustc = std::env::split_paths(&std::env::var_os("PATH").unwrap()).find(|folder| folder.join("rustc").exists());
    let open = |path: &Path| {
        let mut command = Project::tool(project.path());
        command.args(["report", "--open"]).env("PATH", std::env::join_paths([path, &rustc.clone().unwrap()]).unwrap());
        Run::of(command)
    };
    let opener = folder.join("xdg-open");
    fs::write(&opener, format!("#!/bin/sh\necho \"$1\" > '{}'\n", folder.join("opened").display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let run = open(&folder).expect(0);
    let page = fs::read_to_string(folder.join("opened")).unwrap().trim().to_owned();
    says(&run, &["Wrote", "report.html"]);
    assert!(
        page.starts_with(&*project.path().canonicalize().unwrap().join("target/perfunit/runs").to_string_lossy()),
        "{page}"
    );
    assert!(fs::read_to_string(&page).unwrap().contains("<html"), "{page}");

    fs::write(&opener, "#!/bin/sh\nexit 3\n").unwrap();
    says(
        &open(&folder).expect(102),
        &["`xdg-open` failed to open a browser: exit status: 3", "open the report yourself: "],
    );
    says(&project.perfunit(["report", "--open", "--format", "json"]).expect(2), &["--open requires HTML, not json"]);
}

#[test]
fn log_refuses_options_that_do_not_apply() {
    let project = Project::empty();
    for command in ["log", "bisect"] {
        for option in [["--head", "HEAD"], ["--partition", "slice:1/2"]] {
            let run = project.perfunit([command, "x"].into_iter().chain(option)).expect(2);
            says(&run, &[option[0], "this command compares whole steps of a history"]);
        }
    }
}

#[test]
fn generate_refuses_options_that_choose_tests() {
    let project = Project::empty();
    for option in [&["--skip", "x"][..], &["--exact"], &["-E", "all()"]] {
        let run = project.perfunit(["generate"].iter().chain(option)).expect(2);
        says(&run, &["cannot be used with `generate`: it selects tests"]);
    }
}

#[test]
fn a_hook_uses_its_profile_regardless_of_the_environment() {
    let project = project();
    let hook = ["hook", "run", "--branch", "--strict", "--base", "HEAD~1", "--profile", "mine"];
    let run = |arguments: &[&str]| {
        let mut command = Project::tool(project.path());
        command.args(arguments).env("PERFUNIT_PROFILE", "other");
        Run::of(command)
    };
    says(&run(&hook).expect(2), &["`mine`"]);
    says(&run(&hook[..6]).expect(2), &["`other`"]);
}
