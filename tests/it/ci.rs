//! `cargo perfunit ci init`, and what a run tells GitHub Actions.

use crate::source;
use crate::support::{Project, Run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn project() -> Project {
    Project::library(&source(500), &source(1500))
}

#[test]
fn jobs_are_written_once_and_overwritten_only_by_force() {
    let project = project();
    for (service, file) in [("github", ".github/workflows/perfunit.yml"), ("generic", "ci/perfunit.sh")] {
        let printed = project.perfunit(["ci", "init", service, "--print"]).expect(0).stdout;
        let path = project.path().join(file);
        assert!(printed.contains("cargo perfunit diff") && !path.exists(), "{printed}");
        let wrote = project.perfunit(["ci", "init", service]).expect(0);
        assert!(wrote.stderr.contains(&format!("Wrote {file}")), "{}", wrote.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), printed);
        fs::write(&path, "mine").unwrap();
        let refused = project.perfunit(["ci", "init", service]).expect(2);
        assert!(
            refused.stderr.contains(&format!("{file} exists")) && refused.stderr.contains("--force"),
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
        assert!(printed.contains("--manifest-path rust/app/Cargo.toml\n"), "{printed}");
    }
}

/// Runs `diff` as the runner of GitHub would, with its files in a folder.
fn on_github(project: &Project, files: &Path, arguments: &[&str]) -> Run {
    let mut command = Project::tool(project.path());
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
    assert!(run.stderr.contains("::error title=1 test slower::sample tests::mixes"), "{}", run.stderr);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (summary, report) = (read("summary"), read("perfunit.md"));
    assert_eq!(summary, format!("what was there\n{report}"));
    assert!(report.starts_with("<!-- cargo-perfunit -->\n") && report.contains("tests::mixes"), "{report}");
    let path = folder.path().join("perfunit.md");
    let expected = format!("verdict=slower\nslower=1\nfaster=0\ninconclusive=0\nreport={}\n", path.display());
    assert_eq!(read("output"), expected);

    // Files that cannot be written are no reason to lose a run, or its verdict.
    let nowhere = Path::new("/proc/nowhere");
    let run = on_github(&project, nowhere, &[]).expect(100);
    for what in ["warning: no file for a comment", "warning: no step summary", "warning: no output variables"] {
        assert!(run.stderr.contains(what), "{}", run.stderr);
    }
    assert!(run.stdout.contains("Slower"), "{}", run.stdout);
}
