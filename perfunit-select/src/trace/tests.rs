//! Runs single tests of `tests/stories.rs` under breakpoints.

use super::run::{command, run, run_together};
use super::{Entered, Execution, Functions, Places, Program, Programs, TraceFailure, available};
use crate::target_code::Unlocated;
use perfunit_build::TestExecutable;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Harness, TargetId, TargetKind};
use perfunit_system::temporary::TestFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The result if the test executable itself executes `target`.
fn yes() -> Execution {
    Execution::Yes(Entered { symbol: "target".to_owned(), program: None })
}

/// Enough time for every story that ends.
const LONG: Duration = Duration::from_mins(1);

struct Stories {
    folder: TempDir,
    executable: PathBuf,
}

impl Stories {
    /// Compiled once for all tests that run at the same time; removed with the last of them.
    fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Stories>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let stories = Arc::new(Self::compile(&[]));
            *shared = Arc::downgrade(&stories);
            stories
        })
    }

    fn compile(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("deps/stories");
        std::fs::create_dir(folder.path().join("deps")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace/tests/stories.rs");
        let mut rustc = Command::new("rustc");
        rustc.args(["--test", "--edition=2024", "-Copt-level=1", "--cap-lints=allow"]).args(options);
        assert!(rustc.arg("-o").arg(&executable).arg(source).status().unwrap().success());
        Self { folder, executable }
    }

    /// Runs the story under a breakpoint at `target` and checks the result.
    #[track_caller]
    fn check(&self, story: &str, expected: &Execution) {
        assert_eq!(self.run(story, &["target"], LONG).0, *expected, "{story}");
    }

    /// Checks that a run of the story gives no result, for a reason that contains `why`.
    #[track_caller]
    fn check_unknown(&self, story: &str, symbols: &[&str], limit: Duration, why: &str) {
        let (executed, _) = self.run(story, symbols, limit);
        assert!(
            matches!(&executed, Execution::Unknown(reason) if reason.to_string().contains(why)),
            "{story}: {executed:?}"
        );
    }

    /// Runs a story with breakpoints at `symbols`; also returns the folder of its `TMPDIR`, where it leaves notes.
    fn run(&self, test: &str, symbols: &[&str], limit: Duration) -> (Execution, TestFolder) {
        let (executed, temporary) = self.try_run(&self.executable, test, symbols, limit);
        (executed.unwrap(), temporary)
    }

    /// Does the same from another path.
    fn try_run(&self, path: &Path, test: &str, symbols: &[&str], limit: Duration) -> (Result<Execution>, TestFolder) {
        let symbols: BTreeSet<String> = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        let functions = Functions { of_test: &symbols, of_all_tests: Some(&symbols) };
        self.run_with(path, test, functions, limit, |_| ())
    }

    /// Does the same with the programs that `add` adds.
    fn run_with(
        &self,
        path: &Path,
        test: &str,
        functions: Functions<'_>,
        limit: Duration,
        add: impl FnOnce(&mut Programs),
    ) -> (Result<Execution>, TestFolder) {
        self.with(path, add, |program| {
            let command = command(program, &program.executable.harness.arguments(test));
            run(program, command, functions, limit, spawn)
        })
    }

    /// Calls a function with the program at a path, and with the programs that `add` adds.
    fn with<T>(
        &self,
        path: &Path,
        add: impl FnOnce(&mut Programs),
        then: impl FnOnce(&Program<'_>) -> T,
    ) -> (T, TestFolder) {
        let temporary = TestFolder::create("notes").unwrap();
        temporary.empty().unwrap();
        let mut programs = Programs::new(temporary.path()).unwrap();
        add(&mut programs);
        let programs = Arc::new(programs);
        let executable = TestExecutable {
            link: None,
            libraries: BTreeMap::new(),
            doctests: None,
            target: TargetId { package: "stories".to_owned(), kind: TargetKind::Lib, name: "stories".to_owned() },
            path: path.to_owned(),
            cwd: self.folder.path().to_owned(),
            env: BTreeMap::new(),
            harness: Harness::Libtest,
        };
        let places = Places::read(&self.executable).unwrap();
        let program = Program {
            executable: &executable,
            places: &places,
            programs: &programs,
            temporary: &temporary,
            variables: &[],
            calls: 3,
        };
        (then(&program), temporary)
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| Error::setup(error.to_string()))
}

/// Returns the stories. `None`, with a message, if the system does not allow tracing; then only that can be tested.
fn stories() -> Option<Arc<Stories>> {
    let available = available();
    if let Err(why) = &available {
        // Bypasses the test harness, which drops the output of passing tests.
        let _ = writeln!(std::io::stderr(), "skipped: {}: {why}", module_path!());
    }
    available.ok().map(|()| Stories::shared())
}

#[test]
fn a_call_is_seen_wherever_it_happens() {
    let Some(stories) = stories() else { return };
    stories.check("calls", &yes());
    stories.check("is_ignored_and_calls", &yes());
    stories.check("calls_in_a_thread", &yes());
    stories.check("calls_in_a_child", &yes());
    stories.check("calls_in_a_child_that_shares_memory", &yes());
    stories.check("starts_itself", &yes());
}

#[test]
fn a_call_is_seen_whatever_happened_before() {
    let Some(stories) = stories() else { return };
    stories.check("calls_after_a_caught_panic", &yes());
    stories.check("calls_after_trapping_itself", &yes());
    stories.check("calls_after_another_program", &yes());
    stories.check("calls_and_aborts", &yes());
}

#[test]
fn a_test_that_does_not_call_says_no() {
    let Some(stories) = stories() else { return };
    stories.check("calls_neither", &Execution::No);
    stories.check("many_threads", &Execution::No);
    stories.check("forks", &Execution::No);
    stories.check("catches_a_panic", &Execution::No);
    stories.check("should_panic", &Execution::No);
    stories.check("starts_another_program", &Execution::No);
    stories.check("becomes_another_program", &Execution::No);
    stories.check("becomes_another_program_in_a_thread", &Execution::No);
}

#[test]
fn signals_of_the_test_reach_it() {
    let Some(stories) = stories() else { return };
    stories.check("traps_itself", &Execution::No);
    stories.check("gets_a_real_time_signal", &Execution::No);
    stories.check("stops_its_child", &Execution::No);
    stories.check("kills_its_child", &Execution::No);
    stories.check("has_children_that_crash", &Execution::No);
}

#[test]
fn merged_functions_share_a_breakpoint() {
    let Some(stories) = stories() else { return };
    let both = ["target", "alias_of_target"];
    assert_eq!(stories.run("calls_by_alias", &["target"], LONG).0, yes());
    let of_alias = Execution::Yes(Entered { symbol: "alias_of_target".to_owned(), program: None });
    assert_eq!(stories.run("calls", &both, LONG).0, of_alias);
    assert_eq!(stories.run("calls_neither", &both, LONG).0, Execution::No);
}

#[test]
fn only_the_functions_in_question_count() {
    let Some(stories) = stories() else { return };
    assert_eq!(stories.run("calls", &["bystander"], LONG).0, Execution::No);
    assert_eq!(stories.run("calls", &["bystander", "target"], LONG).0, yes());
}

#[test]
fn a_run_that_does_not_end_well_tells_nothing() {
    let Some(stories) = stories() else { return };
    stories.check_unknown("fails", &["target"], LONG, "it fails: exit status: 101");
    stories.check_unknown("aborts", &["target"], LONG, "SIGABRT");
    stories.check_unknown("overflows_its_stack", &["target"], LONG, "SIGABRT");
    stories.check_unknown("traces_itself", &["target"], LONG, "it fails");
}

#[test]
fn a_run_ends_at_the_limit() {
    let Some(stories) = stories() else { return };
    let started = Instant::now();
    stories.check_unknown("never_ends", &["target"], Duration::from_millis(300), "it did not end within 0.3 s");
    assert!(started.elapsed() < LONG);
}

#[test]
fn what_is_not_a_function_of_the_executable_cannot_be_seen() {
    let Some(stories) = stories() else { return };
    stories.check_unknown("calls_neither", &["target", "nowhere"], LONG, "no function nowhere");
    stories.check_unknown("calls_neither", &["NUMBERS"], LONG, "no function NUMBERS");
}

#[test]
fn what_a_binary_of_the_package_executes_cannot_be_seen() {
    let Some(stories) = stories() else { return };
    // Copied by another process: a process that another test forks meanwhile would hold std's copy open for writing.
    let mut shell = Command::new("sh");
    shell.args(["-c", "cp \"$0\" \"$1\" && echo >> \"$1\""]).arg(&stories.executable);
    assert!(shell.arg(stories.folder.path().join("binary")).status().unwrap().success());
    let (executed, _) = stories.run("starts_a_binary_of_its_package", &["target"], LONG);
    assert!(
        matches!(&executed, Execution::Unknown(why) if matches!(why, TraceFailure::Starts(path) if path.ends_with("binary"))),
        "{executed:?}"
    );
}

/// Stories with another program.
struct WithProgram(Stories, PathBuf);

impl WithProgram {
    /// Returns `None` if the program cannot be compiled with these options here.
    fn compile(options: &[&str]) -> Option<Self> {
        let stories = Stories::compile(&[]);
        let program = stories.folder.path().join("program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace/tests/program.rs");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "-Copt-level=1", "--cap-lints=allow"]).args(options);
        let is_compiled = rustc.arg("-o").arg(&program).arg(source).output().unwrap().status.success();
        assert!(is_compiled || !options.is_empty());
        is_compiled.then_some(Self(stories, program))
    }

    /// Runs the story with breakpoints at these functions of the program.
    fn run(&self, story: &str, symbols: std::result::Result<&[&str], Unlocated>, limit: Duration) -> Execution {
        let Self(stories, program) = self;
        let none = BTreeSet::new();
        let functions = Functions { of_test: &none, of_all_tests: Some(&none) };
        let symbols = symbols.map(|symbols| symbols.iter().map(|symbol| (*symbol).to_owned()).collect());
        let add = |programs: &mut Programs| {
            let symbols = symbols.as_ref().map_err(Clone::clone);
            programs.add_changed("program", program, symbols).unwrap();
        };
        stories.run_with(&stories.executable, story, functions, limit, add).0.unwrap()
    }

    /// Runs stories together, with a breakpoint at a function of the program that it executes.
    fn pass_by(&self, tests: &[&str]) -> bool {
        let Self(stories, program) = self;
        let symbols = BTreeSet::from(["target".to_owned()]);
        let add = |programs: &mut Programs| programs.add_changed("program", program, Ok(&symbols)).unwrap();
        let none = BTreeSet::new();
        let functions = Functions { of_test: &none, of_all_tests: Some(&none) };
        let run = |program: &Program<'_>| run_together(program, tests, functions, LONG, spawn);
        stories.with(&stories.executable, add, run).0.unwrap()
    }

    fn check_unknown(&self, story: &str, symbols: std::result::Result<&[&str], Unlocated>, limit: Duration, why: &str) {
        let executed = self.run(story, symbols, limit);
        assert!(matches!(&executed, Execution::Unknown(reason) if reason.to_string() == why), "{story}: {executed:?}");
    }
}

#[test]
fn programs_are_watched_however_they_are_linked() {
    if stories().is_none() {
        return;
    }
    let fixed = "-Crelocation-model=static";
    let whole = "-Ctarget-feature=+crt-static";
    for options in [&[][..], &[fixed], &[whole], &[fixed, whole]] {
        let Some(stories) = WithProgram::compile(options) else {
            let _ = writeln!(std::io::stderr(), "skipped: {}: {options:?} do not link here", module_path!());
            continue;
        };
        let entered = Execution::Yes(Entered { symbol: "target".to_owned(), program: Some("program".to_owned()) });
        assert_eq!(stories.run("starts_a_program_that_calls", Ok(&["target"]), LONG), entered, "{options:?}");
        assert_eq!(stories.run("starts_a_program_that_calls", Ok(&["bystander"]), LONG), Execution::No, "{options:?}");
        assert_eq!(stories.run("starts_an_idle_program", Ok(&["target"]), LONG), Execution::No, "{options:?}");
    }
}

#[test]
fn a_program_that_cannot_be_watched_tells_nothing_once_it_is_started() {
    if stories().is_none() {
        return;
    }
    let stories = WithProgram::compile(&[]).unwrap();
    let story = "starts_an_idle_program";
    let why = "it starts program, which only one version has";
    stories.check_unknown(story, Err(Unlocated::OneVersionOnly), LONG, why);
    assert_eq!(stories.run("calls_neither", Err(Unlocated::OneVersionOnly), LONG), Execution::No);
    let why = "it starts program, the executable has no function nowhere";
    stories.check_unknown(story, Ok(&["target", "nowhere"]), LONG, why);
    let why = "it did not end within 0.5 s";
    stories.check_unknown("starts_an_endless_program", Ok(&["target"]), Duration::from_millis(500), why);
    let stripped = WithProgram::compile(&["-Cstrip=symbols"]).unwrap();
    let why = "it starts program, the executable has no symbol table";
    stripped.check_unknown(story, Ok(&["target"]), LONG, why);
}

#[test]
fn tests_that_run_together_pass_by_programs_unless_one_of_them_does_not() {
    if stories().is_none() {
        return;
    }
    let stories = WithProgram::compile(&[]).unwrap();
    let idle = ["calls_neither", "forks", "is_ignored_and_calls", "should_panic", "starts_an_idle_program"];
    assert!(stories.pass_by(&idle));
    // The last one ends the process before the others run.
    let others = ["starts_a_program_that_calls", "reads_a_program", "fails", "becomes_another_program"];
    for other in others {
        assert!(!stories.pass_by(&[&idle[..], &[other]].concat()), "{other}");
    }
}

#[test]
fn many_processes_are_followed() {
    if stories().is_none() {
        return;
    }
    let stories = WithProgram::compile(&[]).unwrap();
    let entered = Execution::Yes(Entered { symbol: "target".to_owned(), program: Some("program".to_owned()) });
    assert_eq!(stories.run("starts_many_idle_programs", Ok(&["target"]), LONG), Execution::No);
    assert_eq!(stories.run("starts_many_programs_of_which_the_last_call", Ok(&["target"]), LONG), entered);
}

#[test]
fn a_program_that_is_opened_otherwise_tells_nothing() {
    if stories().is_none() {
        return;
    }
    let stories = WithProgram::compile(&[]).unwrap();
    let why = "something opens program and is not seen to start it";
    stories.check_unknown("reads_a_program", Ok(&["target"]), LONG, why);
    stories.check_unknown("reads_a_program_that_it_starts", Ok(&["target"]), LONG, why);
}

#[test]
fn programs_that_are_left_running_tell_nothing() {
    if stories().is_none() {
        return;
    }
    let stories = WithProgram::compile(&[]).unwrap();
    let why = "it leaves processes behind, which may start programs";
    stories.check_unknown("leaves_an_endless_program", Ok(&["target"]), LONG, why);
    stories.check_unknown("leaves_a_daemon", Ok(&["target"]), LONG, why);
    assert_eq!(stories.run("kills_an_endless_program", Ok(&["target"]), LONG), Execution::No);
}

#[test]
fn an_executable_without_a_symbol_table_tells_nothing() {
    if stories().is_none() {
        return;
    }
    let (executed, _) = Stories::compile(&["-Cstrip=symbols"]).run("calls", &["target"], LONG);
    assert_eq!(executed, Execution::Unknown(TraceFailure::NoSymbols));
}

#[test]
fn an_executable_may_be_linked_to_a_fixed_address() {
    if stories().is_none() {
        return;
    }
    let stories = Stories::compile(&["-Crelocation-model=static"]);
    assert_eq!(stories.run("calls", &["target"], LONG).0, yes());
    assert_eq!(stories.run("calls_neither", &["target"], LONG).0, Execution::No);
}

#[test]
fn daemons_end_with_the_test() {
    let Some(stories) = stories() else { return };
    for (story, expected) in [("leaves_a_daemon", Execution::No), ("leaves_a_daemon_and_calls", yes())] {
        let (executed, temporary) = stories.run(story, &["target"], LONG);
        assert_eq!(executed, expected, "{story}");
        let daemon = std::fs::read_to_string(temporary.path().join("daemon")).unwrap();
        let running = || {
            let state = std::fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z")
        };
        let deadline = Instant::now() + LONG;
        while running() {
            assert!(Instant::now() < deadline, "{story}: the daemon outlives the test");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn an_executable_that_cannot_be_started_is_an_error() {
    let Some(stories) = stories() else { return };
    let gone = stories.folder.path().join("deps/gone");
    let (executed, _) = stories.try_run(&gone, "calls", &["target"], LONG);
    assert!(executed.unwrap_err().message().contains("No such file"));
}
