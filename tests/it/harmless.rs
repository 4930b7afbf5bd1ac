//! Kills, interrupts and full disks: the project stays as it was, no process remains, and the next run works.

use crate::support::{Project, Run, skipped};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of rounds of random kills.
const ROUNDS_VARIABLE: &str = "PERFUNIT_KILL_ROUNDS";
const ROUNDS: u32 = 3;
/// Longer than any run of [`project`] ever observed.
const LONG: Duration = Duration::from_mins(1);

/// Returns tests to measure; `leaves` starts programs without waiting for them, one of them in another session.
fn source(rounds: u32) -> String {
    let test = |i| format!("    #[test] fn t{i}() {{ assert_ne!(super::slow({i}), 1); }}\n");
    let many = (0..6).map(test).collect::<Vec<_>>().concat();
    let code = crate::source(rounds);
    format!(
        "{code}\n#[cfg(test)]\nmod many {{\n{many}    #[test] fn leaves() {{\n        \
         std::process::Command::new(\"sh\").args([\"-c\", \"sleep 300 & (sleep 300; true) & setsid sleep 300 &\"]).status().unwrap();\n    }}\n}}\n"
    )
}

fn project() -> Project {
    Project::library(&source(500), &source(1500))
}

/// Files of the project outside of the target folder: kind, time and content.
type Snapshot = BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>;

fn snapshot(folder: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path == folder.join("target") {
                continue;
            }
            let data = path.symlink_metadata().unwrap();
            let content = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if data.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (data.mode(), data.mtime(), data.mtime_nsec(), content));
        }
    }
    found
}

/// Returns the processes with a program or working folder in the project.
fn processes(folder: &Path) -> Vec<String> {
    let folder = folder.canonicalize().unwrap();
    let inside = |link: PathBuf| fs::read_link(link).is_ok_and(|path| path.starts_with(&folder));
    let numbers = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let found = numbers.filter(|process| inside(process.join("exe")) || inside(process.join("cwd")));
    found.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default().replace('\0', " ")).collect()
}

/// Asserts that the project is unchanged and that no process of it remains, within a few seconds.
#[track_caller]
fn unharmed(project: &Project, before: &Snapshot, after: &str) {
    let limit = Instant::now() + Duration::from_secs(3);
    let mut running = processes(project.path());
    while !running.is_empty() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(20));
        running = processes(project.path());
    }
    assert_eq!(running, [""; 0], "left behind {after}");
    let now = snapshot(project.path());
    let paths: std::collections::BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let changed: Vec<_> = paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).collect();
    assert!(changed.is_empty(), "changed {after}: {changed:?}");
    assert!(
        !project.path().join("target/perfunit/tmp").exists() || after.contains("kill"),
        "temporary folders are left {after}"
    );
    // After a kill, the keeper removes these folders once no process remains.
    while !of_tests(project).is_empty() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(of_tests(project), Vec::<PathBuf>::new(), "temporary folders of tests are left {after}");
}

/// Returns the temporary folder of runs in this project.
fn temporary(project: &Project) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("harmless").join(project.path().file_name().unwrap())
}

/// Returns the folders inside the temporary folder. A C compiler that is killed while it links leaves files there, as
/// with cargo.
fn of_tests(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(temporary(project)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[track_caller]
fn the_next_run_is_right(project: &Project) {
    let document = project.diff(&["t1", "mixes"]).expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    for name in ["many::t1", "tests::mixes"] {
        assert!(tests.iter().any(|test| test["name"] == name && test["verdict"] == "slower"), "{document}");
    }
}

fn start(project: &Project) -> Child {
    let mut command = project.command("");
    fs::create_dir_all(temporary(project)).unwrap();
    command.env("TMPDIR", temporary(project));
    command.args(["diff", "HEAD~1", "--per-test-budget", "1s"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    // As a shell does, so that Ctrl-C goes to this group.
    command.process_group(0).spawn().unwrap()
}

fn wait_until(child: &mut Child, condition: impl Fn() -> bool) {
    let limit = Instant::now() + LONG;
    while !condition() {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < limit, "the moment never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; a negative target is a process group.
fn signal(name: &str, target: i64) {
    assert!(Command::new("kill").args([name, "--", &target.to_string()]).status().unwrap().success());
}

fn end(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn kill_at_random_moments() {
    let project = project();
    let before = snapshot(project.path());
    let started = Instant::now();
    end(start(&project)).expect(100);
    let whole = started.elapsed();
    unharmed(&project, &before, "after a whole run");
    let rounds = std::env::var(ROUNDS_VARIABLE).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..rounds {
        if round % 2 == 0 {
            fs::remove_dir_all(project.path().join("target")).unwrap();
        }
        let mut child = start(&project);
        let moment = whole.mul_f64(random.f64());
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        unharmed(&project, &before, &format!("by a kill after {moment:?}"));
        the_next_run_is_right(&project);
        unharmed(&project, &before, "by the next run");
    }
}

#[test]
fn ctrl_c_while_building() {
    let project = project();
    let before = snapshot(project.path());
    for to_group in [true, false] {
        let mut child = start(&project);
        wait_until(&mut child, || project.path().join("target/perfunit/capture").exists());
        let id = i64::from(child.id());
        signal("-INT", if to_group { -id } else { id });
        let run = end(child).expect(130);
        assert!(run.stderr.contains("interrupted"), "{}", run.stderr);
        unharmed(&project, &before, "by Ctrl-C");
        project.perfunit(["clean"]).expect(0);
    }
    the_next_run_is_right(&project);
}

/// The first run of a toolchain compiles several libraries at once before it builds the project.
#[test]
fn ctrl_c_in_the_first_run_ends_the_build() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let files = tempfile::tempdir().unwrap();
    let [began, ended] = ["began", "ended"].map(|name| files.path().join(name));
    project.write(
        "build.rs",
        format!(
            "fn main() {{\n    std::fs::write({began:?}, \"\").unwrap();\n    \
             std::thread::sleep(std::time::Duration::from_secs(30));\n    std::fs::write({ended:?}, \"\").unwrap();\n}}\n"
        ),
    );
    project.commit("build script");
    let mut command = project.command("");
    command.args(["list", "HEAD", "--all-tests"]).env("PERFUNIT_CACHE_DIR", files.path().join("cache"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || began.exists());
    signal("-INT", i64::from(child.id()));
    end(child).expect(130);
    assert!(!ended.exists(), "the build went on");
}

#[test]
fn ctrl_c_while_measuring_reports_what_is_finished() {
    let project = project();
    // Builds, so that the runs below measure at once.
    the_next_run_is_right(&project);
    let before = snapshot(project.path());
    for to_group in [true, false] {
        let mut child = start(&project);
        let temporary = project.path().join("target/perfunit/tmp");
        let of_head = || of_tests(&project).into_iter().find(|folder| folder.join("head").exists());
        wait_until(&mut child, || of_head().is_some());
        let above = of_head().unwrap();
        for folder in [&temporary, &above, &above.join("base"), &above.join("head")] {
            // The folder may be about to be created again.
            let mode = folder.metadata().map_or(0o700, |data| data.permissions().mode() & 0o777);
            assert_eq!(mode, 0o700, "{}", folder.display());
        }
        let id = i64::from(child.id());
        signal("-INT", if to_group { -id } else { id });
        let run = end(child);
        assert!([100, 130].contains(&run.code), "{}\n{}", run.code, run.stderr);
        assert!(run.stdout.contains("Interrupted") && run.stdout.contains("Summary"), "{}", run.stdout);
        unharmed(&project, &before, "by Ctrl-C");
    }
    the_next_run_is_right(&project);
}

#[test]
fn two_runs_take_turns_and_one_that_waits_can_be_stopped() {
    let project = project().with_natural_layout();
    let before = snapshot(project.path());
    let mut first = start(&project);
    wait_until(&mut first, || project.path().join("target/perfunit/capture").exists());
    let (second, mut third) = (start(&project), start(&project));
    let mut said = String::new();
    let mut stderr = BufReader::new(third.stderr.take().unwrap());
    while !said.contains("waiting for another") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it did not wait: {said}");
    }
    signal("-INT", i64::from(third.id()));
    end(third).expect(130);
    end(first).expect(100);
    end(second).expect(100);
    unharmed(&project, &before, "by two runs");
}

/// A mounted file system.
struct Mount(tempfile::TempDir);

impl Mount {
    /// Mounts a file system in memory. Without permission to mount, reports the test as skipped and returns `None`.
    fn new(options: &str) -> Option<Self> {
        let mount = Self(tempfile::tempdir().unwrap());
        if !mount.call(&["-t", "tmpfs", "-o", options, "none"]) {
            skipped("mounting a file system is not permitted");
            return None;
        }
        Some(mount)
    }

    fn call(&self, arguments: &[&str]) -> bool {
        Command::new("mount").args(arguments).arg(self.0.path()).output().is_ok_and(|output| output.status.success())
    }

    fn run(&self, project: &Project, variable: &str) -> Run {
        let mut command = Project::tool(project.path());
        command.args(["diff", "HEAD~1", "t1"]).env(variable, self.0.path().join("below"));
        Run::of(command)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk() {
    let project = project();
    let before = snapshot(project.path());
    for size in ["300k", "2m"] {
        let Some(mount) = Mount::new(&format!("size={size}")) else { return };
        let run = mount.run(&project, "CARGO_TARGET_DIR").expect(102);
        assert!(run.stderr.contains("hint: free some disk space"), "{}", run.stderr);
        unharmed(&project, &before, "by a full disk");
        assert!(mount.call(&["-o", "remount,size=500m"]));
        mount.run(&project, "CARGO_TARGET_DIR").expect(100);
    }
}

#[test]
fn a_read_only_target_folder() {
    let project = project();
    let before = snapshot(project.path());
    let Some(mount) = Mount::new("ro") else { return };
    let run = mount.run(&project, "CARGO_TARGET_DIR").expect(102);
    assert!(
        run.stderr.contains("Read-only") && run.stderr.contains("hint: choose a writable folder"),
        "{}",
        run.stderr
    );
    unharmed(&project, &before, "by a read-only target folder");
}
