//! Stories of single tests under breakpoints: each runs one test of `tests/stories.rs`.

use super::run::run;
use super::{Executed, Places, Program, available};
use crate::build::{Harness, TestExecutable};
use crate::error::Error;
use crate::model::{TargetId, TargetKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Enough for every story that ends.
const LONG: Duration = Duration::from_secs(60);

/// The compiled stories.
struct Stories {
    folder: TempDir,
    executable: PathBuf,
}

impl Stories {
    /// Compiled once for all tests that run at the same time; gone with the last of them.
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
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/execution/tests/stories.rs");
        let mut rustc = Command::new("rustc");
        rustc.args(["--test", "--edition=2024", "-Copt-level=1", "--cap-lints=allow"]).args(options);
        assert!(rustc.arg("-o").arg(&executable).arg(source).status().unwrap().success());
        Self { folder, executable }
    }

    /// Runs a story with breakpoints at `symbols`; also returns its folder for temporary files, where it left notes.
    fn run(&self, test: &str, symbols: &[&str], limit: Duration) -> (Executed, TempDir) {
        let temporary = tempfile::tempdir().unwrap();
        let executable = TestExecutable {
            target: TargetId { package: "stories".to_owned(), kind: TargetKind::Lib, name: "stories".to_owned() },
            path: self.executable.clone(),
            cwd: self.folder.path().to_owned(),
            env: BTreeMap::new(),
            harness: Harness::Libtest,
        };
        let places = Places::read(&self.executable).unwrap();
        let program = Program { executable: &executable, places: &places, temporary: &temporary.path().join("tmp") };
        let symbols: BTreeSet<String> = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        let executed = run(&program, test, &symbols, limit, |command| {
            command.spawn().map_err(|error| Error::setup(error.to_string()))
        });
        (executed.unwrap(), temporary)
    }
}

/// False, and says so, where the system does not let us trace: then nothing can be tested but that it is noticed.
fn can_trace() -> bool {
    let available = available();
    if let Err(why) = &available {
        assert!(!why.is_empty());
        eprintln!("not tested: {why}");
    }
    available.is_ok()
}

/// What a run of the story under a breakpoint at `target` tells.
#[track_caller]
fn check(story: &str, expected: &Executed) {
    if can_trace() {
        assert_eq!(Stories::shared().run(story, &["target"], LONG).0, *expected, "{story}");
    }
}

/// A run of the story tells nothing, for a reason that contains `why`.
#[track_caller]
fn check_unknown(story: &str, symbols: &[&str], limit: Duration, why: &str) {
    if can_trace() {
        let (executed, _) = Stories::shared().run(story, symbols, limit);
        assert!(matches!(&executed, Executed::Unknown(reason) if reason.contains(why)), "{story}: {executed:?}");
    }
}

#[test]
fn a_call_is_seen_wherever_it_happens() {
    check("calls", &Executed::Yes);
    check("is_ignored_and_calls", &Executed::Yes);
    check("calls_in_a_thread", &Executed::Yes);
    check("calls_in_a_child", &Executed::Yes);
    check("calls_in_a_child_that_shares_memory", &Executed::Yes);
    check("starts_itself", &Executed::Yes);
}

#[test]
fn a_call_is_seen_whatever_happened_before() {
    check("calls_after_a_caught_panic", &Executed::Yes);
    check("calls_after_trapping_itself", &Executed::Yes);
    check("calls_after_another_program", &Executed::Yes);
    check("calls_and_aborts", &Executed::Yes);
}

#[test]
fn a_test_that_does_not_call_says_no() {
    check("calls_neither", &Executed::No);
    check("many_threads", &Executed::No);
    check("forks", &Executed::No);
    check("catches_a_panic", &Executed::No);
    check("should_panic", &Executed::No);
    check("starts_another_program", &Executed::No);
    check("becomes_another_program", &Executed::No);
    check("becomes_another_program_in_a_thread", &Executed::No);
}

#[test]
fn signals_of_the_test_reach_it() {
    check("traps_itself", &Executed::No);
    check("gets_a_real_time_signal", &Executed::No);
    check("stops_its_child", &Executed::No);
    check("kills_its_child", &Executed::No);
    check("has_children_that_crash", &Executed::No);
}

#[test]
fn merged_functions_share_a_breakpoint() {
    if can_trace() {
        let stories = Stories::shared();
        let both = ["target", "alias_of_target"];
        assert_eq!(stories.run("calls_by_alias", &["target"], LONG).0, Executed::Yes);
        assert_eq!(stories.run("calls", &both, LONG).0, Executed::Yes);
        assert_eq!(stories.run("calls_neither", &both, LONG).0, Executed::No);
    }
}

#[test]
fn only_the_functions_in_question_count() {
    if can_trace() {
        let stories = Stories::shared();
        assert_eq!(stories.run("calls", &["bystander"], LONG).0, Executed::No);
        assert_eq!(stories.run("calls", &["bystander", "target"], LONG).0, Executed::Yes);
    }
}

#[test]
fn a_run_that_does_not_end_well_tells_nothing() {
    check_unknown("fails", &["target"], LONG, "it fails: exit status: 101");
    check_unknown("aborts", &["target"], LONG, "SIGABRT");
    check_unknown("overflows_its_stack", &["target"], LONG, "SIGABRT");
    check_unknown("traces_itself", &["target"], LONG, "it fails");
}

#[test]
fn a_run_ends_at_the_limit() {
    let started = Instant::now();
    check_unknown("never_ends", &["target"], Duration::from_millis(300), "it did not end within 0.3 s");
    assert!(started.elapsed() < LONG);
}

#[test]
fn what_is_not_a_function_of_the_executable_cannot_be_seen() {
    check_unknown("calls_neither", &["target", "nowhere"], LONG, "no function nowhere");
    check_unknown("calls_neither", &["NUMBERS"], LONG, "no function NUMBERS");
}

#[test]
fn what_a_binary_of_the_package_executes_cannot_be_seen() {
    if can_trace() {
        let stories = Stories::compile(&[]);
        let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let rustc = Path::new(String::from_utf8(rustc.stdout).unwrap().trim()).join("bin/rustc");
        let binary = stories.folder.path().join("binary");
        assert!(std::fs::copy(rustc, &binary).is_ok());
        let (executed, _) = stories.run("starts_a_binary_of_its_package", &["target"], LONG);
        assert!(matches!(&executed, Executed::Unknown(why) if why.contains("binary")), "{executed:?}");
    }
}

#[test]
fn an_executable_without_a_symbol_table_tells_nothing() {
    if can_trace() {
        let (executed, _) = Stories::compile(&["-Cstrip=symbols"]).run("calls", &["target"], LONG);
        assert_eq!(executed, Executed::Unknown("the executable has no symbol table".to_owned()));
    }
}

#[test]
fn an_executable_may_be_linked_to_a_fixed_address() {
    if can_trace() {
        let stories = Stories::compile(&["-Crelocation-model=static"]);
        assert_eq!(stories.run("calls", &["target"], LONG).0, Executed::Yes);
        assert_eq!(stories.run("calls_neither", &["target"], LONG).0, Executed::No);
    }
}

#[test]
fn daemons_end_with_the_test() {
    for (story, expected) in [("leaves_a_daemon", Executed::No), ("leaves_a_daemon_and_calls", Executed::Yes)] {
        if can_trace() {
            let (executed, temporary) = Stories::shared().run(story, &["target"], LONG);
            assert_eq!(executed, expected, "{story}");
            let daemon = std::fs::read_to_string(temporary.path().join("tmp/daemon")).unwrap();
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
}

#[test]
fn an_executable_that_cannot_be_started_is_an_error() {
    if can_trace() {
        let stories = Stories::compile(&[]);
        let places = Places::read(&stories.executable).unwrap();
        let executable = TestExecutable {
            target: TargetId { package: "stories".to_owned(), kind: TargetKind::Lib, name: "stories".to_owned() },
            path: stories.folder.path().join("deps/gone"),
            cwd: stories.folder.path().to_owned(),
            env: BTreeMap::new(),
            harness: Harness::Libtest,
        };
        let temporary = stories.folder.path().join("tmp");
        let program = Program { executable: &executable, places: &places, temporary: &temporary };
        let symbols = BTreeSet::from(["target".to_owned()]);
        let executed = run(&program, "calls", &symbols, LONG, |command| {
            command.spawn().map_err(|error| Error::setup(error.to_string()))
        });
        assert!(executed.unwrap_err().message().contains("No such file"));
    }
}
