//! Tests that a generated workload stays in its cage. This program starts itself for each trial, and reads the report
//! from the standard output.

use perfunit_runtime::__private::generated::{executed, run, try_out, Printable, Value};
use perfunit_runtime::page::{TRIAL_REPORT, TRIAL_VARIABLE};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment variable with the call to make.
const CALL: &str = "PERFUNIT_CAGED_CALL";
/// Environment variable with a folder that has the file `kept` and must not change.
const FOLDER: &str = "PERFUNIT_CAGED_FOLDER";

fn main() {
    if let Ok(call) = std::env::var(CALL) {
        make(&call);
        return;
    }
    what_works_is_reported();
    what_asks_for_more_is_ended_before_it_happens();
    what_ends_the_process_reports_nothing();
    without_a_trial_a_call_is_in_the_cage_too();
    println!("4 cases passed");
}

fn folder() -> PathBuf {
    std::env::var_os(FOLDER).unwrap().into()
}

fn make(call: &str) {
    let kept = folder().join("kept");
    let written = folder().join("written");
    match call {
        "sum" => tried(|n| (0..n).sum::<usize>()),
        "no value" => tried(|_| {}),
        "hash" => tried(|n| (0..n).map(|i| (i, i * 2)).collect::<std::collections::HashMap<_, _>>()),
        "address" => tried(|n| format!("{:p}", Box::leak(Box::new(n)))),
        "panic" => tried(|n| assert!(n > 1 << 30, "too small")),
        "print" => tried(|n| println!("{n}")),
        "memory given back" => tried(|n| {
            let blocks = move || (0..n * 16).map(|_| vec![1_u8; 1 << 16]).collect::<Vec<_>>();
            black_box(blocks());
            std::thread::spawn(move || drop(black_box(blocks()))).join().unwrap();
        }),
        "threads" => tried(|n| std::thread::spawn(move || n).join().unwrap()),
        "delete" => tried(|_| std::fs::remove_file(&kept)),
        "delete once" => run("", || ((), ()), |(), ()| drop(std::fs::remove_file(&kept))),
        "write" => tried(|_| std::fs::write(&written, "x")),
        "read" => tried(|_| std::fs::read(&kept)),
        "input" => tried(|_| std::io::stdin().read(&mut [0])),
        "start" => tried(|_| Command::new("/bin/true").status()),
        "fork" => tried(|_| {
            // SAFETY: takes no arguments; a child would end at once.
            unsafe {
                if fork() == 0 {
                    std::process::abort()
                }
            }
        }),
        "connect" => tried(|_| std::net::TcpStream::connect("127.0.0.1:9")),
        "sleep" => tried(|_| std::thread::sleep(std::time::Duration::from_secs(60))),
        // SAFETY: even if the signal is sent, no process has this ID.
        "kill" => tried(|_| unsafe { kill(i32::MAX, 9) }),
        "exit" => tried(|_| std::process::exit(0)),
        "abort" => tried(|_| std::process::abort()),
        "spin" => tried(|n| while black_box(n) > 0 {}),
        "overflow" => tried(deep),
        "memory" => tried(|n| black_box(vec![1_u8; n << 30]).len()),
        _ => panic!("no call {call}"),
    }
}

extern "C" {
    fn fork() -> i32;
    fn kill(process: i32, signal: i32) -> i32;
}

fn deep(n: usize) -> usize {
    if black_box(n) == 0 {
        0
    } else {
        deep(n + 1) + 1
    }
}

fn tried<T: std::fmt::Debug>(work: impl Fn(usize) -> T) {
    try_out(
        "",
        |n| ((n,), ()),
        |(n,), (), watch| {
            executed(7);
            executed(8);
            let value = work(n);
            watch.done();
            watch.see(Value(&value).seen());
        },
    );
}

/// Returns the report's fields without the time, and whether the process passed.
fn trial(call: &str, n: &str, folder: &Path) -> (Vec<String>, bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(CALL, call).env(FOLDER, folder).env("RUST_BACKTRACE", "0").env(TRIAL_VARIABLE, format!("{n}:7"));
    let output = command.stdin(Stdio::piped()).stderr(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = text.lines().rev().find_map(|line| line.strip_prefix(TRIAL_REPORT)).unwrap_or_default();
    let mut fields: Vec<String> = report.split('\t').map(str::to_owned).collect();
    if fields[0] == "passed" {
        fields.remove(1).parse::<u64>().unwrap();
    }
    (fields, output.status.success())
}

/// Runs a check with a folder and asserts that the folder did not change.
fn in_folder(check: impl Fn(&Path)) {
    let folder = std::env::temp_dir().join(format!("perfunit-caged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kept"), "kept").unwrap();
    check(&folder);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(left, ["kept"]);
}

fn what_works_is_reported() {
    in_folder(|folder| {
        let check = |call: &str, repeats: &str, text: Option<&str>| {
            let (fields, _) = trial(call, "16", folder);
            assert_eq!(fields[..3], ["passed", "1", repeats], "{call}");
            assert!(text.map_or(true, |text| fields[4] == text), "{call}: {fields:?}");
        };
        check("sum", "true", Some("120"));
        check("no value", "true", Some("()"));
        // The order differs each time.
        check("hash", "true", None);
        check("address", "false", None);
        check("print", "true", Some("()"));
        check("threads", "true", Some("16"));
        check("memory given back", "true", Some("()"));
        let (fields, _) = trial("panic", "16", folder);
        assert!(fields[0] == "panicked" && fields[1].ends_with("too small"), "{fields:?}");
    });
}

fn what_asks_for_more_is_ended_before_it_happens() {
    in_folder(|folder| {
        for call in ["delete", "write", "read", "input", "fork", "connect", "sleep", "kill"] {
            let (fields, passed) = trial(call, "16", folder);
            assert!(!passed, "{call}");
            // Signals are blocked while a process is forked, so there is no report.
            assert!(fields[0] == "left" || call == "fork", "{call}: {fields:?}");
        }
        let (fields, passed) = trial("start", "16", folder);
        assert!(!passed && fields[0] != "passed", "{fields:?}");
    });
}

fn what_ends_the_process_reports_nothing() {
    in_folder(|folder| {
        for call in ["exit", "abort", "spin", "overflow", "memory"] {
            let (fields, passed) = trial(call, "16", folder);
            assert_eq!((fields[0].as_str(), passed), ("", call == "exit"), "{call}");
        }
    });
}

fn without_a_trial_a_call_is_in_the_cage_too() {
    in_folder(|folder| {
        let (fields, passed) = trial("delete once", "16", folder);
        assert!(!passed && fields[0] == "left", "{fields:?}");
    });
}
