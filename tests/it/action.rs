//! The reusable action, and the workflow that comments on pull requests from forks: their steps, run as GitHub's runner does.

use crate::source;
use crate::support::{NATURAL_LAYOUT, Project, Run, repository_root};
use saphyr::{LoadableYamlNode, Yaml};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

type Variables = BTreeMap<String, String>;

/// Stands for GitHub's program. It notes how it is called, and answers what a pull request's head is and which comment there
/// is; pull request 9 does not exist.
const GH: &str = r#"#!/bin/sh
echo "$*" >> "$CALLS"
case $* in
*pulls/9*) exit 1 ;;
*pulls/*) cat "$PULL_REQUEST_HEAD" ;;
*--paginate*) test ! -e "$COMMENT_ID.refused" || exit 4; cat "$COMMENT_ID" 2> /dev/null || true ;;
esac
"#;

/// A runner: folders, programs and files of a job.
struct Runner {
    folder: TempDir,
}

/// What the steps of an action did.
struct Job {
    outputs: Variables,
    code: i32,
    said: String,
    /// How `gh` was called.
    calls: Vec<String>,
}

impl Runner {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("perfunit-runner-").tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(folder.path().join("temp")).unwrap();
        symlink(env!("CARGO_BIN_EXE_cargo-perfunit"), bin.join("cargo-perfunit")).unwrap();
        for (name, script) in [("gh", GH), ("rustup", "#!/bin/sh\n")] {
            fs::write(bin.join(name), script).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the steps of an action that are scripts. `context` has the values of expressions.
    fn run(&self, action: &str, at: &Path, context: &[(&str, &str)]) -> Job {
        let file = repository_root().join(action).join("action.yml");
        let text = fs::read_to_string(&file).unwrap();
        let document = Yaml::load_from_str(&text).unwrap().remove(0);
        let mut context: Variables = context.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        for (name, input) in document["inputs"].as_mapping().unwrap() {
            let default = input["default"].as_str().map(str::to_owned).unwrap_or_default();
            context.entry(format!("inputs.{}", name.as_str().unwrap())).or_insert(default);
        }
        context.insert("runner.temp".into(), self.path("temp").display().to_string());
        let _ = fs::remove_file(self.path("calls"));
        let (mut code, mut said) = (0, String::new());
        for step in document["runs"]["steps"].as_sequence().unwrap() {
            let text = |key: &str| step.as_mapping_get(key).and_then(Yaml::as_str);
            let Some(script) = text("run") else { continue };
            let condition = text("if").unwrap_or("");
            let is_wanted = holds(condition, &context) && (code == 0 || condition.contains("!cancelled()"));
            if !is_wanted {
                continue;
            }
            let run = self.step(script, step, &file, at, &context);
            let output = fs::read_to_string(self.path("output")).unwrap_or_default();
            for (key, value) in output.lines().filter_map(|line| line.split_once('=')) {
                context.insert(format!("steps.{}.outputs.{key}", text("id").unwrap()), value.to_owned());
            }
            said.extend([run.stdout.as_str(), run.stderr.as_str()]);
            code = if code == 0 { run.code } else { code };
        }
        let outputs = document.as_mapping_get("outputs").and_then(Yaml::as_mapping);
        let outputs = outputs.into_iter().flatten().map(|(name, output)| {
            (name.as_str().unwrap().to_owned(), filled_in(output["value"].as_str().unwrap(), &context))
        });
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default().lines().map(str::to_owned).collect();
        Job { outputs: outputs.collect(), code, said, calls }
    }

    fn step(&self, script: &str, step: &Yaml<'_>, action: &Path, at: &Path, context: &Variables) -> Run {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(at);
        Project::isolate(&mut command);
        command.env(NATURAL_LAYOUT.0, NATURAL_LAYOUT.1);
        let _ = fs::remove_file(self.path("output"));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_REPOSITORY", "me/it").env("RUNNER_TEMP", self.path("temp"));
        command.env("GITHUB_ACTION_PATH", action.parent().unwrap()).env("GITHUB_OUTPUT", self.path("output"));
        command.env("GITHUB_STEP_SUMMARY", self.path("summary")).env("CALLS", self.path("calls"));
        command.env("GITHUB_EVENT_NAME", &context["github.event_name"]);
        command.env("COMMENT_ID", self.path("comment-id")).env("PULL_REQUEST_HEAD", self.path("pull-request-head"));
        let variables = step.as_mapping_get("env").and_then(Yaml::as_mapping);
        for (name, value) in variables.into_iter().flatten() {
            command.env(name.as_str().unwrap(), filled_in(value.as_str().unwrap(), context));
        }
        Run::of(command)
    }
}

/// Returns a text with the values of its expressions.
fn filled_in(text: &str, context: &Variables) -> String {
    let mut parts = text.split("${{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (name, rest) = part.split_once("}}").unwrap();
        text + context.get(name.trim()).map_or("", String::as_str) + rest
    })
}

/// Returns whether a condition of comparisons holds.
fn holds(condition: &str, context: &Variables) -> bool {
    let condition = condition.trim().trim_start_matches("${{").trim_end_matches("}}").trim();
    let value = |text: &str| match text.trim().strip_prefix('\'') {
        Some(literal) => literal.trim_end_matches('\'').to_owned(),
        None => context.get(text.trim()).cloned().unwrap_or_default(),
    };
    condition.is_empty()
        || condition.split("&&").all(|part| match (part.split_once("=="), part.split_once("!=")) {
            (Some((one, other)), _) => value(one) == value(other),
            (_, Some((one, other))) => value(one) != value(other),
            _ => part.trim() == "!cancelled()",
        })
}

fn git(project: &Project, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(project.path());
    Project::isolate(&mut command);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Tester").env(format!("GIT_{role}_EMAIL"), "t@example.org");
    }
    Run::of(command).expect(0);
}

/// Makes a branch of `main` with these commits, and checks out its merge as GitHub does.
fn pull_request(project: &Project, commits: &[(&str, &str)]) {
    git(project, &["checkout", "-q", "main"]);
    git(project, &["checkout", "-q", "-B", "topic"]);
    for (source, message) in commits {
        project.write("src/lib.rs", source);
        git(project, &["commit", "-q", "-a", "--allow-empty", "-m", message]);
    }
    git(project, &["checkout", "-q", "--detach", "main"]);
    git(project, &["merge", "-q", "--no-ff", "-m", "Merge topic into main", "topic"]);
}

const ARGUMENTS: (&str, &str) = ("inputs.arguments", "--explain never\n--instructions never");

#[test]
fn the_action_compares_pull_requests_and_comments() {
    let (project, runner) = (Project::library(&source(2000), &source(2000)), Runner::new());
    let on = |event: &str| {
        let pull_request = [("github.event_name", event), ("github.event.pull_request.number", "7"), ARGUMENTS];
        runner.run("", project.path(), &pull_request)
    };
    let base = on("push");
    assert_eq!((base.code, base.calls.len(), base.outputs["verdict"].as_str()), (0, 0, ""), "{}", base.said);

    pull_request(&project, &[(&source(2600), "slow")]);
    let slow = on("pull_request");
    assert_eq!((slow.code, slow.outputs["verdict"].as_str(), slow.outputs["slower"].as_str()), (100, "slower", "1"));
    let report = slow.outputs["report"].as_str();
    assert!(fs::read_to_string(report).unwrap().contains("### 1 test got slower"), "{}", slow.said);
    let post = format!("api --silent --method POST repos/me/it/issues/7/comments --field body=@{report}");
    assert_eq!(slow.calls.last(), Some(&post), "{}", slow.said);
    assert!(Path::new(&slow.outputs["run"]).join("run.json").is_file());

    // Any commit of the pull request accepts it.
    let accept = "why\n\nPerfunit-Accept: tests::mixes <= 60% because it is exact";
    pull_request(&project, &[(&source(2600), "slow"), (&source(2600), accept), (&source(2600), "more")]);
    fs::write(runner.path("comment-id"), "42\n").unwrap();
    let accepted = on("pull_request");
    assert_eq!((accepted.code, accepted.outputs["verdict"].as_str()), (0, "accepted"), "{}", accepted.said);
    assert!(accepted.calls.last().unwrap().contains("--method PATCH repos/me/it/issues/comments/42"));

    pull_request(&project, &[(&source(2600), accept), (&source(8000), "slower")]);
    assert_eq!(on("pull_request").code, 100);

    pull_request(&project, &[(&format!("// A remark.\n{}", source(2000)), "remark")]);
    let remark = on("pull_request");
    assert_eq!((remark.code, remark.outputs["verdict"].as_str()), (0, "nothing"), "{}", remark.said);
    assert!(!remark.said.contains("Compiling"), "{}", remark.said);

    // Without a token comments cannot be read, and the job is as green as before.
    fs::write(runner.path("comment-id.refused"), "").unwrap();
    let refused = on("pull_request");
    assert!(refused.code == 0 && refused.said.contains("may not read comments"), "{}", refused.said);
}

#[test]
fn words_of_the_action_s_inputs_are_never_code() {
    let (project, runner) = (Project::library(&source(500), &source(500)), Runner::new());
    let inputs = [
        ("github.event_name", "pull_request"),
        ("inputs.base", "$(touch base)"),
        ("inputs.arguments", "; touch arguments\n`touch arguments`"),
        ("inputs.budget", "$(touch budget)"),
        ("github.event.pull_request.number", "7"),
    ];
    let job = runner.run("", project.path(), &inputs);
    assert_eq!(job.code, 2, "{}", job.said);
    for name in ["base", "arguments", "budget"] {
        assert!(!project.path().join(name).exists(), "{name}");
    }
}

/// The head of the measured pull request.
const HEAD: &str = "8d01e7b6a5948372615049382716f5e4d3c2b1a0";

struct Forks {
    runner: Runner,
    run: Vec<u8>,
}

impl Forks {
    /// With the run of a test that got slower.
    fn new() -> Self {
        let (project, runner) = (Project::library(&source(500), &source(1500)).with_natural_layout(), Runner::new());
        let folder = project.path().join("target/kept");
        let arguments = ["diff", "HEAD~1", "--explain", "never", "--instructions", "never", "--output"];
        project.perfunit(arguments.iter().chain(&[folder.to_str().unwrap()])).expect(100);
        fs::write(runner.path("pull-request-head"), HEAD).unwrap();
        Self { runner, run: fs::read(folder.join("run.json")).unwrap() }
    }

    fn artifact(&self) -> PathBuf {
        self.runner.path("temp").join("perfunit")
    }

    /// Runs the second workflow's action on an artifact, for a run of this commit.
    fn comment(&self, number: &[u8], run: &[u8], head: &str) -> Job {
        let _ = fs::remove_dir_all(self.artifact());
        fs::create_dir(self.artifact()).unwrap();
        fs::write(self.artifact().join("number"), number).unwrap();
        fs::write(self.artifact().join("run.json"), run).unwrap();
        self.comment_as_it_is(head)
    }

    fn comment_as_it_is(&self, head: &str) -> Job {
        let context = [
            ("github.event_name", "workflow_run"),
            ("github.event.workflow_run.head_sha", head),
            ("steps.artifact.outcome", "success"),
        ];
        let _ = fs::remove_file(self.runner.path("temp").join("comment.md"));
        self.runner.run("comment", self.runner.folder.path(), &context)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.runner.path("temp").join("comment.md")).unwrap()
    }
}

fn has_commented(job: &Job) -> bool {
    job.calls.iter().any(|call| call.contains("--method"))
}

#[test]
fn the_second_workflow_comments_only_on_the_pull_request_of_the_measured_commit() {
    let forks = Forks::new();
    let job = forks.comment(b"7", &forks.run, HEAD);
    assert_eq!(job.code, 0, "{}", job.said);
    let report = forks.runner.path("temp").join("comment.md");
    let post = format!("api --silent --method POST repos/me/it/issues/7/comments --field body=@{}", report.display());
    assert_eq!(job.calls.last(), Some(&post), "{}", job.said);
    let text = forks.text();
    assert!(text.starts_with("<!-- cargo-perfunit -->\n### 1 test got slower\n"), "{text}");

    // Another pull request, or one that has moved on.
    let job = forks.comment(b"7", &forks.run, &HEAD.replace('8', "9"));
    assert!(job.code == 0 && !has_commented(&job), "{:?}", job.calls);
    assert!(job.said.contains("::notice::no comment: pull request 7 is not at 9d01e7b6"), "{}", job.said);
    let job = forks.comment(b"9", &forks.run, HEAD);
    assert!(job.code == 1 && !has_commented(&job), "{}", job.said);
    assert!(job.said.contains("pull request 9 is not known"), "{}", job.said);
}

#[test]
fn hostile_numbers_and_runs_are_refused() {
    let forks = Forks::new();
    let digits = "7".repeat(10_000);
    let numbers: [&[u8]; 12] = [
        b"",
        b"0",
        b"-7",
        b"7; touch pwned",
        b"$(touch pwned)",
        b"7\n8",
        b"7\0",
        b"../../7",
        b"7/comments",
        b"\x1b[31m7",
        "７".as_bytes(),
        digits.as_bytes(),
    ];
    for number in numbers {
        let job = forks.comment(number, &forks.run, HEAD);
        assert!(job.code == 1 && job.calls.is_empty(), "{number:?}: {}", job.said);
        assert!(job.said.contains("::error::no comment: the artifact does not name a pull request"), "{}", job.said);
    }
    let text = String::from_utf8(forks.run.clone()).unwrap();
    let runs = ["", "{}", "null", "not json", &text[..text.len() / 2], &"[".repeat(100_000)];
    for run in runs {
        let job = forks.comment(b"7", run.as_bytes(), HEAD);
        assert!(job.code == 1 && !has_commented(&job), "{}", job.said);
    }
    // A link leads to a file of the runner.
    forks.comment(b"7", &forks.run, HEAD);
    fs::remove_file(forks.artifact().join("run.json")).unwrap();
    symlink("/etc/passwd", forks.artifact().join("run.json")).unwrap();
    let job = forks.comment_as_it_is(HEAD);
    assert!(job.code == 1 && !has_commented(&job) && job.said.contains("has no run.json"), "{}", job.said);
}

#[test]
fn hostile_names_in_a_run_are_text_in_the_comment() {
    let forks = Forks::new();
    let text = String::from_utf8(forks.run.clone()).unwrap();
    let long = "x".repeat(10_000);
    let names = [
        "</code><script>alert(1)</script>",
        "`|[l](http://x.example)",
        "@everyone #1",
        "a\\n\\n# heading\\n::error::x",
        "\\u001b[31mred\\u202e",
        long.as_str(),
    ];
    for name in names {
        let job = forks.comment(b"7", text.replace("tests::mixes", name).as_bytes(), HEAD);
        assert!(job.code == 0 && has_commented(&job), "{}", job.said);
        let page = forks.text();
        assert!(page.len() < 10_000 && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && line.contains("sample")).collect();
        assert_eq!((rows.len(), rows[0].matches('|').count()), (1, 7), "{page}");
        // In a code span everything is text.
        let outside: String = page.split('`').step_by(2).collect();
        for odd in ["<script", "](http", "\n# heading", "@everyone"] {
            assert!(!outside.contains(odd), "{odd}: {page}");
        }
    }
}
