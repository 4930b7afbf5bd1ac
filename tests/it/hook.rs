//! `cargo perfunit hook`, with real pushes to a local bare repository.

use crate::source;
use crate::support::{Project, Run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Options for short checks, with a budget that suffices on any machine.
const QUICK: [&str; 8] =
    ["--budget", "10m", "--", "--explain", "never", "--per-test-budget", "3s", "--instructions=never"];

/// A library crate with a bare repository as its remote, and a `git` that finds the tool.
struct Pushing {
    project: Project,
    /// The bare repository, and a folder for `PATH`.
    outside: TempDir,
}

impl Pushing {
    /// Creates the project with these versions of `src/lib.rs`; the remote has the first.
    fn new(base: &str, head: &str) -> Self {
        let pushing = Self::unpushed(Project::library(base, head).with_natural_layout());
        pushing.git(["push", "-q", "origin", "HEAD~1:refs/heads/main"]).expect(0);
        pushing.git(["fetch", "-q"]).expect(0);
        pushing
    }

    fn unpushed(project: Project) -> Self {
        let outside = tempfile::Builder::new().prefix("perfunit-remote-").tempdir().unwrap();
        fs::create_dir(outside.path().join("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_cargo-perfunit"), outside.path().join("bin/cargo-perfunit")).unwrap();
        let pushing = Self { project, outside };
        let remote = pushing.remote();
        pushing.git(["init", "-q", "--bare", remote.to_str().unwrap()]).expect(0);
        pushing.git(["remote", "add", "origin", remote.to_str().unwrap()]).expect(0);
        pushing
    }

    fn remote(&self) -> PathBuf {
        self.outside.path().join("remote.git")
    }

    fn command(&self, folder: &Path, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder);
        self.project.prepare(&mut command);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.outside.path().join("bin")).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("PERFUNIT_SKIP");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Tester").env(format!("GIT_{role}_EMAIL"), "t@example.org");
        }
        command
    }

    fn git<const N: usize>(&self, arguments: [&str; N]) -> Run {
        self.git_in(self.project.path(), arguments)
    }

    fn git_in<const N: usize>(&self, folder: &Path, arguments: [&str; N]) -> Run {
        let mut command = self.command(folder, "git");
        command.args(arguments);
        Run::of(command)
    }

    fn hook(&self, arguments: &[&str]) -> Run {
        self.project.perfunit(["hook"].iter().chain(arguments))
    }

    fn install(&self) {
        self.hook(&[&["install"], &QUICK[..]].concat()).expect(0);
    }

    /// Returns the commit of a branch on the remote; empty if there is no such branch.
    fn there(&self, branch: &str) -> String {
        let run =
            self.git_in(&self.remote(), ["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")]);
        run.expect(0).stdout.trim().to_owned()
    }

    fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"]).expect(0).stdout.trim().to_owned()
    }
}

/// Asserts that git printed these parts for a hook.
#[track_caller]
fn says(run: &Run, parts: &[&str]) {
    for part in parts {
        assert!(
            run.stderr.contains(part) || run.stdout.contains(part),
            "no `{part}` in\n{}\n{}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn a_head_that_hangs_or_fails_blocks_the_push() {
    let with = |body: &str| {
        format!("pub fn f() {{ {body} }}\n#[cfg(test)]\nmod tests {{ #[test] fn runs() {{ super::f(); }} }}\n")
    };
    let pushing = Pushing::new(&with("let _ = vec![1];"), &with("loop { std::thread::park(); }"));
    let options = [&QUICK[..], &["--timeout", "2s"]].concat();
    pushing.hook(&[&["install"], &options[..]].concat()).expect(0);
    let blocked = pushing.git(["push", "origin", "main"]).expect(1);
    says(&blocked, &["at least x", "push of main blocked: 1 test slower than at origin/main", "sample tests::runs"]);

    pushing.project.write("src/lib.rs", with("panic!(\"broken\")"));
    pushing.project.commit("broken");
    let blocked = pushing.git(["push", "origin", "main"]).expect(1);
    says(&blocked, &["1 test passes on base and fails on head", "push of main blocked: 1 test newly failing"]);
}

#[test]
fn an_accepted_slowdown_does_not_block_the_push() {
    let pushing = Pushing::new(&source(2000), &source(2000));
    pushing.install();
    pushing.project.write("src/lib.rs", source(2600));
    pushing.project.commit("Exact\n\nPerfunit-Accept: tests::mixes <= 60% because it is exact\n");
    says(&pushing.git(["push", "origin", "main"]).expect(0), &["none slower, 1 slower and accepted"]);
    pushing.project.write("src/lib.rs", source(8000));
    pushing.project.commit("More exact\n\nPerfunit-Accept: tests::mixes <= 60% because it is exact\n");
    let blocked = pushing.git(["push", "origin", "main"]).expect(1);
    says(&blocked, &["1 test slower than at origin/main", "accepted only up to 60 %: it is exact"]);
}

#[test]
fn small_losses_since_the_accepted_version_block_the_push() {
    let project = Project::library(&source(4000), &source(4040));
    // The last step alone is well below the threshold.
    for rounds in [4080, 4100, 4120] {
        project.write("src/lib.rs", source(rounds));
        project.commit("a little more");
    }
    let pushing = Pushing::unpushed(project);
    pushing.git(["push", "-q", "origin", "HEAD~1:refs/heads/main"]).expect(0);
    pushing.git(["fetch", "-q"]).expect(0);
    pushing.project.perfunit(["ratchet", "set", "HEAD~4"]).expect(0);
    pushing.install();
    let blocked = pushing.git(["push", "origin", "main"]).expect(1);
    says(&blocked, &["push of main blocked: 1 test slower than", "although not slower than", "sample tests::mixes"]);
    says(&blocked, &["`cargo perfunit explain --ratchet`"]);
}

#[test]
fn a_regression_blocks_the_push_and_nothing_else_does() {
    let pushing = Pushing::new(&source(500), &source(1500));
    let before = pushing.there("main");
    pushing.install();

    let blocked = pushing.git(["push", "origin", "main"]).expect(1);
    says(&blocked, &["Slower", "push of main blocked: 1 test slower than at origin/main", "sample tests::mixes"]);
    says(&blocked, &["cargo perfunit explain", "git push --no-verify", "PERFUNIT_SKIP=1 git push"]);
    assert_eq!(pushing.there("main"), before);

    // A new branch with the same commits and a tag: the pair is compared once.
    let blocked = pushing.git(["push", "origin", "main", "main:topic", "main:refs/tags/v1"]).expect(1);
    says(&blocked, &["push of main, topic blocked", "refs/tags/v1 is a tag: nothing to compare"]);

    let mut skipped = pushing.command(pushing.project.path(), "git");
    skipped.args(["push", "origin", "main:skipped"]).env("PERFUNIT_SKIP", "1");
    says(&Run::of(skipped).expect(0), &["PERFUNIT_SKIP is set"]);
    pushing.git(["push", "-q", "--no-verify", "origin", "main:unverified"]).expect(0);
    assert_eq!([pushing.there("skipped"), pushing.there("unverified")], [pushing.head(), pushing.head()]);
    says(
        &pushing.git(["push", "origin", ":skipped", ":unverified"]).expect(0),
        &["skipped is deleted: nothing to compare"],
    );
    assert_eq!([pushing.there("skipped"), pushing.there("unverified")], ["", ""]);

    // The revert restores the files; afterwards only a comment is new.
    pushing.git(["revert", "--no-edit", "HEAD"]).expect(0);
    says(&pushing.git(["push", "origin", "main"]).expect(0), &["main has the files of origin/main"]);
    pushing.project.write("src/lib.rs", format!("// A remark.\n{}", source(500)));
    pushing.project.commit("comment");
    says(&pushing.git(["push", "origin", "main"]).expect(0), &["main: no test can have changed since origin/main"]);
    assert_eq!(pushing.there("main"), pushing.head());

    // A faster version passes, whatever the working tree contains.
    pushing.project.write("src/lib.rs", source(100));
    pushing.project.commit("faster");
    pushing.project.write("src/lib.rs", source(5000));
    says(
        &pushing.git(["push", "origin", "main"]).expect(0),
        &["main: 1 test measured against origin/main", "1 faster"],
    );
    assert_eq!(pushing.there("main"), pushing.head());
}

#[test]
fn a_forced_push_is_compared_with_what_the_remote_is_known_to_have() {
    let pushing = Pushing::new(&source(500), &source(1500));
    pushing.git(["push", "-q", "origin", "main:topic"]).expect(0);
    pushing.install();
    pushing.git(["checkout", "-q", "-b", "topic"]).expect(0);
    pushing.git(["commit", "-q", "--amend", "-m", "amended"]).expect(0);
    let blocked = pushing.git(["push", "--force", "origin", "topic"]).expect(1);
    says(&blocked, &["push of topic blocked: 1 test slower than at origin/main"]);

    // Another clone has pushed since, and this clone has not fetched.
    let other = pushing.outside.path().join("other");
    pushing.git(["clone", "-q", pushing.remote().to_str().unwrap(), other.to_str().unwrap()]).expect(0);
    pushing.git_in(&other, ["checkout", "-q", "topic"]).expect(0);
    pushing.git_in(&other, ["commit", "-q", "--allow-empty", "-m", "theirs"]).expect(0);
    pushing.git_in(&other, ["push", "-q", "origin", "topic"]).expect(0);
    let blocked = pushing.git(["push", "--force", "origin", "topic"]).expect(1);
    says(&blocked, &["push of topic blocked: 1 test slower than at origin/main"]);

    // An unreachable remote is left to git to report.
    fs::rename(pushing.remote(), pushing.outside.path().join("gone")).unwrap();
    assert!(!pushing.git(["push", "--force", "origin", "topic"]).expect(128).stderr.contains("blocked"));
    says(&pushing.hook(&["status"]).expect(0), &["pushing topic to origin would compare"]);
}

#[test]
fn linked_worktrees_and_subfolders_are_no_obstacle() {
    // git sets variables for hooks that name the repository; tests and build scripts must not see them.
    let deaf = |rounds| {
        source(rounds).replace("fn mixes() {", "fn mixes() {\n assert!(std::env::var_os(\"GIT_DIR\").is_none());")
    };
    let pushing = Pushing::new(&deaf(500), &deaf(1500));
    let linked = pushing.outside.path().join("linked");
    pushing.git(["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]).expect(0);
    let mut install = Project::tool(&linked.join("src"));
    install.args(["hook", "install"]).args(QUICK);
    Run::of(install).expect(0);
    assert!(pushing.project.path().join(".git/hooks/pre-push").exists());
    for folder in [linked.join("src"), pushing.project.path().join("src")] {
        says(&pushing.git_in(&folder, ["push", "origin", "HEAD:topic"]).expect(1), &["push of topic blocked"]);
    }
}

#[test]
fn a_project_below_the_top_is_found() {
    let project = Project::empty().with_natural_layout();
    let library = |rounds| {
        project.write("rust/app/Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        project.write("rust/app/.gitignore", "/target\n");
        project.write("rust/app/src/lib.rs", source(rounds));
        project.commit("version");
    };
    library(500);
    library(1500);
    let pushing = Pushing::unpushed(project);
    pushing.git(["push", "-q", "origin", "HEAD~1:refs/heads/main"]).expect(0);
    pushing.install();
    says(&pushing.hook(&["status"]).expect(0), &["--manifest-path rust/app/Cargo.toml"]);
    says(&pushing.git(["push", "origin", "main"]).expect(1), &["push of main blocked"]);
}

#[test]
fn what_cannot_be_checked_is_let_through_unless_strict() {
    let pushing = Pushing::new(&source(500), "this is no Rust\n");
    pushing.install();
    let run = pushing.git(["push", "--dry-run", "origin", "main"]).expect(0);
    says(&run, &["main was not checked and is let through", "does not build"]);
    pushing.hook(&[&["install", "--strict"], &QUICK[..]].concat()).expect(0);
    pushing.git(["push", "--dry-run", "origin", "main"]).expect(1);
    let hook = pushing.project.path().join(".git/hooks/pre-push");
    let mut bare = pushing.command(pushing.project.path(), "/bin/sh");
    bare.arg(hook).args(["origin", "url"]).env("PATH", "/usr/bin:/bin").env("CARGO_HOME", "/nowhere");
    let run = Run::of(bare);
    // `PATH` has cargo but not the tool.
    says(&run.expect(0), &["perfunit: not installed here"]);
}

#[test]
fn a_push_is_let_through_when_its_time_is_over() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("build.rs", "fn main() { std::thread::sleep(std::time::Duration::from_secs(600)); }\n");
    for rounds in [500, 1500] {
        project.write("src/lib.rs", source(rounds));
        project.commit("version");
    }
    let pushing = Pushing::unpushed(project);
    pushing.git(["push", "-q", "origin", "HEAD~1:refs/heads/main"]).expect(0);
    // Enough to begin a build on a busy machine, where other tests may be preparing the shared cache.
    pushing.hook(&["install", "--budget", "3s"]).expect(0);
    let push = || pushing.git(["push", "--dry-run", "origin", "main"]).expect(0);
    let first = push();
    says(
        &first,
        &["First build with the `bench` profile compiles all dependencies", "budget", "was used up", "let through"],
    );
    says(
        &first,
        &[
            "warning: this push was not checked because the time budget was used up",
            "`cargo perfunit hook install --budget TIME`",
        ],
    );
    says(&push(), &["2 pushes were not checked since the last measured one"]);
    let third = push();
    let last = third.stderr.lines().rfind(|line| !line.starts_with("To ") && !line.starts_with(' '));
    assert!(last.unwrap().starts_with("warning: 3 pushes were not checked"), "{}", third.stderr);
}

#[test]
fn installing_builds_the_base_on_request() {
    let pushing = Pushing::new(&source(500), &source(1500));
    says(
        &pushing.hook(&[&["install", "--build"], &QUICK[..]].concat()).expect(0),
        &["Installed", "Building base", "Built"],
    );
    let counted = pushing.project.path().join("target/perfunit/unchecked-pushes");
    fs::write(&counted, "2\n").unwrap();
    let pushed = pushing.git(["push", "--dry-run", "origin", "main"]).expect(1);
    says(&pushed, &["Building head", "push of main blocked"]);
    assert!(!pushed.stderr.contains("Building base") && !pushed.stderr.contains("First build"), "{}", pushed.stderr);
    assert!(!counted.exists());
}

#[test]
fn an_existing_hook_runs_first_and_is_restored() {
    let pushing = Pushing::new(&source(500), &format!("// A remark.\n{}", source(500)));
    let hooks = pushing.project.path().join(".git/hooks");
    let own = "#!/bin/sh\ncat > \"$(dirname \"$0\")/seen\"\necho \"first: $1 $2\" >&2\nexit ${OWN_HOOK:-0}\n";
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("pre-push"), own).unwrap();
    fs::set_permissions(hooks.join("pre-push"), fs::Permissions::from_mode(0o750)).unwrap();
    says(&pushing.hook(&["install"]).expect(0), &["pre-push.before-perfunit and runs first"]);
    says(&pushing.hook(&["install"]).expect(0), &["is already installed"]);
    says(&pushing.hook(&["status"]).expect(0), &["Installed", "First  .git/hooks/pre-push.before-perfunit"]);

    let mut refused = pushing.command(pushing.project.path(), "git");
    refused.args(["push", "origin", "main"]).env("OWN_HOOK", "7");
    let refused = Run::of(refused).expect(1);
    assert!(refused.stderr.contains("first: origin ") && !refused.stderr.contains("no test"), "{}", refused.stderr);
    let passed = pushing.git(["push", "origin", "main"]).expect(0);
    says(&passed, &["first: origin ", "no test can have changed since origin/main"]);
    let seen = fs::read_to_string(hooks.join("seen")).unwrap();
    assert!(seen.starts_with("refs/heads/main ") && seen.ends_with('\n') && seen.lines().count() == 1, "{seen}");

    says(&pushing.hook(&["uninstall"]).expect(0), &["the earlier hook is restored"]);
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).unwrap(), own);
    assert_eq!(hooks.join("pre-push").metadata().unwrap().permissions().mode() & 0o777, 0o750);
    says(&pushing.hook(&["uninstall"]).expect(0), &["cargo-perfunit's hook is not installed"]);
    assert!(!hooks.join("pre-push.before-perfunit").exists());
}

#[test]
fn an_edited_hook_is_not_touched() {
    let pushing = Pushing::new(&source(500), &source(500));
    pushing.install();
    let hook = pushing.project.path().join(".git/hooks/pre-push");
    let edited = fs::read_to_string(&hook).unwrap().replace("code=$?", "code=0");
    fs::write(&hook, &edited).unwrap();
    for arguments in [&["uninstall"][..], &["install"]] {
        says(&pushing.hook(arguments).expect(102), &["was edited since it was installed", "hint: move it away"]);
    }
    says(&pushing.hook(&["status"]).expect(0), &["edited since"]);
    assert_eq!(fs::read_to_string(&hook).unwrap(), edited);
}

#[test]
fn configured_folders_of_hooks_are_respected() {
    let pushing = Pushing::new(&source(500), &format!("// A remark.\n{}", source(500)));
    pushing.git(["config", "core.hooksPath", ".githooks"]).expect(0);
    says(&pushing.hook(&["install"]).expect(0), &["Installed .githooks/pre-push", "commit the hook to share it"]);
    says(&pushing.git(["push", "origin", "main"]).expect(0), &["no test can have changed"]);
    pushing.hook(&["uninstall"]).expect(0);

    let shared = pushing.outside.path().join("hooks");
    pushing.git(["config", "core.hooksPath", shared.to_str().unwrap()]).expect(0);
    let refused = pushing.hook(&["install"]).expect(102);
    says(&refused, &["outside this repository", "hint: `git config core.hooksPath .git/hooks`"]);
    assert!(!shared.exists());
    pushing.hook(&["install", "--force"]).expect(0);
    assert!(shared.join("pre-push").exists());
    pushing.hook(&["uninstall"]).expect(0);
    assert!(!shared.join("pre-push").exists());

    let bare = Project::tool(&pushing.remote());
    let mut bare = bare;
    says(
        &Run::of({
            bare.args(["hook", "install"]);
            bare
        })
        .expect(102),
        &["is a bare repository"],
    );
}

#[test]
fn install_prints_the_command_for_hook_managers() {
    let pushing = Pushing::new(&source(500), &source(1500));
    let hook = pushing.project.path().join(".git/hooks/pre-push");
    pushing.project.write("lefthook.yml", "pre-commit:\n  commands: {}\n");
    let told = pushing.hook(&["install", "--base", "main"]).expect(0);
    says(&told, &["nothing was installed: lefthook writes the hooks", "add this to lefthook.yml"]);
    assert!(told.stdout.contains("run: 'cargo perfunit hook run --base main {1} {2}'"), "{}", told.stdout);
    assert!(!hook.exists());
    pushing.project.write("lefthook.yml", &told.stdout);
    says(&pushing.hook(&["install"]).expect(0), &["lefthook already runs it"]);
    says(&pushing.hook(&["status"]).expect(0), &["Installed  in lefthook.yml, which lefthook reads"]);
    says(&pushing.hook(&["uninstall"]).expect(2), &["hint: remove `cargo perfunit hook run` from lefthook.yml"]);
    pushing.hook(&["install", "--force"]).expect(0);
    assert!(hook.exists());

    // Managers such as pre-commit do not pass on git's input.
    let mut by_pre_commit = pushing.project.command("");
    let (from, to) = (pushing.there("main"), pushing.head());
    by_pre_commit.args(["hook", "run"]).args(QUICK).env("PRE_COMMIT_FROM_REF", from).env("PRE_COMMIT_TO_REF", to);
    by_pre_commit.env("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/main").env("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/main");
    says(&Run::of(by_pre_commit).expect(100), &["push of main blocked"]);
    let by_branch = pushing.hook(&[&["run", "--branch"], &QUICK[..]].concat()).expect(100);
    says(&by_branch, &["push of main blocked"]);
    pushing.git(["checkout", "-q", "--detach"]).expect(0);
    let detached = ["this push was not checked and is let through: no branch is checked out", "hint: "];
    says(&pushing.hook(&["run", "--branch"]).expect(0), &detached);
    says(&pushing.hook(&["run", "--branch", "--strict"]).expect(102), &["error: no branch is checked out"]);
}

#[test]
fn wrong_options_are_reported_at_installation() {
    let pushing = Pushing::new(&source(500), &source(500));
    let run = pushing.hook(&["install", "--", "--treshold", "5%"]).expect(2);
    says(&run, &["invalid options of `diff`", "--threshold"]);
    says(&pushing.hook(&["install", "--base", "mian"]).expect(102), &["mian", "main"]);
    for (words, named) in [(&["main"][..], "`main`"), (&["--head", "HEAD~1"], "--head"), (&["a..b"], "`a..b`")] {
        let run = pushing.hook(&[&["install", "--"], words].concat()).expect(2);
        says(&run, &[named, "each push names its versions", "`hook install --base REV`"]);
    }
    says(&pushing.hook(&["status"]).expect(0), &["Not  installed"]);
    let mut run = pushing.command(pushing.project.path(), "sh");
    run.args(["-c", &format!("echo nonsense | {} hook run", env!("CARGO_BIN_EXE_cargo-perfunit"))]);
    says(&Run::of(run).expect(0), &["invalid pushed ref `nonsense`", "--branch"]);
}
