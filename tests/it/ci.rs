//! `cargo perfunit ci init`, and the outputs of a run for GitHub Actions.

use crate::source;
use crate::support::{Project, Run};
use saphyr::{LoadableYamlNode, Yaml};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn project() -> Project {
    Project::library(&source(500), &source(1500)).with_natural_layout()
}

#[test]
fn jobs_are_written_once_and_overwritten_only_by_force() {
    let project = project();
    for (service, file) in [("github", ".github/workflows/perfunit.yml"), ("generic", "ci/perfunit.sh")] {
        let printed = project.perfunit(["ci", "init", service, "--print"]).expect(0).stdout;
        let path = project.path().join(file);
        let compares = ["cargo perfunit diff", "uses: cargo-perfunit/cargo-perfunit@v0"];
        assert!(compares.iter().any(|part| printed.contains(part)) && !path.exists(), "{printed}");
        let wrote = project.perfunit(["ci", "init", service]).expect(0);
        assert!(wrote.stderr.contains(&format!("Wrote {file}")), "{}", wrote.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), printed);
        fs::write(&path, "mine").unwrap();
        let refused = project.perfunit(["ci", "init", service]).expect(2);
        assert!(
            refused.stderr.contains(&format!("{file} already exists")) && refused.stderr.contains("--force"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        project.perfunit(["ci", "init", service, "--shards", "3", "--force"]).expect(0);
        assert!(fs::read_to_string(&path).unwrap().contains("cargo perfunit merge"));
    }
    assert_eq!(project.path().join("ci/perfunit.sh").metadata().unwrap().permissions().mode() & 0o111, 0o111);
}

#[test]
fn comments_on_forks_are_a_second_workflow() {
    let project = project();
    let wrote = project.perfunit(["ci", "init", "github", "--forks"]).expect(0);
    let second = ".github/workflows/perfunit-comment.yml";
    assert!(wrote.stderr.contains(&format!("Wrote {second}")), "{}", wrote.stderr);
    let text = fs::read_to_string(project.path().join(second)).unwrap();
    assert!(
        text.contains("workflow_run:") && text.contains("uses: cargo-perfunit/cargo-perfunit/comment@v0"),
        "{text}"
    );
    // None is written where one of them is there.
    project.remove(".github/workflows/perfunit.yml");
    let refused = project.perfunit(["ci", "init", "github", "--forks"]).expect(2);
    assert!(refused.stderr.contains(&format!("{second} already exists")), "{}", refused.stderr);
    assert!(!project.path().join(".github/workflows/perfunit.yml").exists());
    let refused = project.perfunit(["ci", "init", "gitlab", "--forks"]).expect(2);
    assert!(refused.stderr.contains("--inline and --forks are for GitHub"), "{}", refused.stderr);
}

#[test]
fn gitlab_jobs_that_are_there_get_a_file_to_include() {
    let project = project();
    project.write(".gitlab-ci.yml", "build:\n  script: [make]\n");
    let wrote = project.perfunit(["ci", "init", "gitlab"]).expect(0);
    assert_eq!(wrote.stdout, "include:\n  - local: .gitlab/perfunit.gitlab-ci.yml\n");
    assert_eq!(fs::read_to_string(project.path().join(".gitlab-ci.yml")).unwrap(), "build:\n  script: [make]\n");
    assert!(fs::read_to_string(project.path().join(".gitlab/perfunit.gitlab-ci.yml")).unwrap().contains("perfunit:"));
    project.remove(".gitlab-ci.yml");
    project.perfunit(["ci", "init", "gitlab"]).expect(0);
    assert!(fs::read_to_string(project.path().join(".gitlab-ci.yml")).unwrap().contains("cargo perfunit diff"));
}

#[test]
fn a_project_below_the_top_is_named_in_the_job() {
    let project = Project::empty();
    project.write("rust/app/Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("rust/app/src/lib.rs", source(500));
    project.commit("base");
    for folder in ["", "rust/app/src"] {
        let printed = project.perfunit_in(folder, ["ci", "init", "github", "--print"]).expect(0).stdout;
        assert!(printed.contains("manifest-path: rust/app/Cargo.toml\n"), "{printed}");
        let printed = project.perfunit_in(folder, ["ci", "init", "github", "--inline", "--print"]).expect(0).stdout;
        assert!(printed.contains("--manifest-path rust/app/Cargo.toml\n"), "{printed}");
    }
}

/// Runs `diff` as GitHub's runner would, with the runner's files in a folder.
fn on_github(project: &Project, files: &Path, arguments: &[&str]) -> Run {
    let mut command = project.command("");
    command.args(["diff", "HEAD~1", "--explain", "never", "--head", "HEAD"]).args(arguments);
    command.env("GITHUB_ACTIONS", "true").env("RUNNER_TEMP", files);
    command.env("GITHUB_STEP_SUMMARY", files.join("summary")).env("GITHUB_OUTPUT", files.join("output"));
    Run::of(command)
}

#[test]
fn github_gets_annotations_a_summary_and_output_variables() {
    let project = project();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("summary"), "what was there\n").unwrap();
    let run = on_github(&project, folder.path(), &[]).expect(100);
    assert!(run.stderr.contains("1 test slower::sample tests::mixes"), "{}", run.stderr);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (summary, report) = (read("summary"), read("perfunit.md"));
    assert_eq!(summary, format!("what was there\n{report}"));
    assert!(report.starts_with("<!-- cargo-perfunit -->\n") && report.contains("tests::mixes"), "{report}");
    let path = folder.path().join("perfunit.md");
    let expected = format!(
        "verdict=slower\nslower=1\naccepted=0\nslower-than-ratchet=0\nfaster=0\ninconclusive=0\nfailing=0\nuncovered=0\nreport={}\n",
        path.display()
    );
    assert_eq!(read("output"), expected);

    // A run and its verdict survive files that cannot be written.
    let nowhere = Path::new("/proc/nowhere");
    let run = on_github(&project, nowhere, &[]).expect(100);
    for what in ["warning: no file for a comment", "warning: no step summary", "warning: no output variables"] {
        assert!(run.stderr.contains(what), "{}", run.stderr);
    }
    assert!(run.stdout.contains("Slower"), "{}", run.stdout);
}

#[test]
fn the_verdict_for_github_follows_the_exit_code() {
    let idle = |by: u64| format!("{}\npub fn idle(seed: u64) -> u64 {{ seed / {by} }}\n", source(500));
    let project = Project::library(&idle(3), &idle(5));
    for (denied, code, verdict) in [(&[][..], 0, "unmeasured"), (&["--deny", "uncovered"], 106, "uncovered")] {
        let folder = tempfile::tempdir().unwrap();
        on_github(&project, folder.path(), denied).expect(code);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let output = read("output");
        assert_eq!(output.lines().next(), Some(&*format!("verdict={verdict}")), "{output}");
        let heading = read("perfunit.md").lines().nth(1).unwrap().to_owned();
        assert_eq!(heading.contains("executed by no test"), code == 106, "{heading}");
    }
}

/// Returns the script of the step that comments.
fn comment_script(workflow: &str) -> String {
    let workflow = Yaml::load_from_str(workflow).unwrap().remove(0);
    let steps = workflow["jobs"]["perfunit"]["steps"].as_sequence().unwrap().clone();
    let is_comment = |step: &&Yaml<'_>| step.as_mapping_get("name").and_then(Yaml::as_str) == Some("Comment");
    steps.iter().find(is_comment).unwrap()["run"].as_str().unwrap().to_owned()
}

/// A stand-in for GitHub's program: records its arguments, knows a comment or not, may write or not.
const GH: &str = r#"#!/bin/sh
echo "$*" >> "$CALLS"
case $* in *--paginate*) echo "$KNOWN"; exit 0 ;; esac
exit "$REFUSED"
"#;

#[test]
fn there_is_one_comment_that_is_changed_and_none_while_nothing_changed() {
    let project = project();
    let script = comment_script(&project.perfunit(["ci", "init", "github", "--inline", "--print"]).expect(0).stdout);
    let folder = tempfile::tempdir().unwrap();
    let gh = folder.path().join("gh");
    fs::write(&gh, GH).unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let comment = |known: &str, verdict: &str, refused: &str| {
        let calls = folder.path().join("calls");
        let _ = fs::remove_file(&calls);
        let mut command = Command::new("bash");
        command.args(["-e", "-c", &script]).env("CALLS", &calls).env("KNOWN", known).env("REFUSED", refused);
        command.env("PATH", format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap()));
        command.env("GITHUB_REPOSITORY", "me/it").env("NUMBER", "7").env("VERDICT", verdict).env("REPORT", "r.md");
        let run = Run::of(command).expect(0);
        (fs::read_to_string(calls).unwrap().lines().skip(1).collect::<Vec<_>>().join("; "), run.stdout)
    };
    let post = "api --silent --method POST repos/me/it/issues/7/comments --field body=@r.md";
    let patch = "api --silent --method PATCH repos/me/it/issues/comments/42 --field body=@r.md";
    assert_eq!(comment("", "slower", "0").0, post);
    assert_eq!(comment("", "same", "0").0, "");
    assert_eq!(comment("42", "same", "0").0, patch);
    let (calls, said) = comment("", "slower", "1");
    assert_eq!(calls, post);
    assert!(said.starts_with("::notice::"), "{said}");
}
