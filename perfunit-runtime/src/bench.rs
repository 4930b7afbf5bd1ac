//! Common parts of the stand-ins for benchmark harnesses: which benchmark this process runs, and how its body is
//! measured.
//!
//! Bodies run only when they are wanted, so listing costs only the code before the first benchmark.

use crate::page::BENCH_MARKER;
use crate::request::{request, Request};
use crate::serve::{next_test, take_over_body, taken_seat};
use std::collections::HashSet;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock, PoisonError};

pub use crate::serve::{timed_by_itself, untimed};

/// Task of this process.
enum Wanted {
    List(File),
    Serve(String),
    /// An ordinary run of all benchmarks that match one of the names.
    Run {
        names: Vec<String>,
        exact: bool,
    },
}

struct Program {
    wanted: Wanted,
    /// Names that are already in use.
    names: Mutex<HashSet<String>>,
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        black_box(BENCH_MARKER);
        let wanted = match request() {
            Some(Request::List(path)) => match File::create(&path) {
                Ok(file) => Wanted::List(file),
                Err(_) => fail(),
            },
            Some(Request::Serve { test }) => {
                // Taken before the program starts other processes, which are not part of the protocol.
                let _seat = taken_seat();
                Wanted::Serve(test)
            }
            Some(Request::ForkServer) => {
                let test = next_test();
                let _seat = taken_seat();
                Wanted::Serve(test)
            }
            None => {
                let arguments: Vec<String> = std::env::args().skip(1).collect();
                let exact = arguments.iter().any(|argument| argument == "--exact");
                let names = arguments.into_iter().filter(|argument| !argument.starts_with('-')).collect();
                Wanted::Run { names, exact }
            }
        };
        Program { wanted, names: Mutex::default() }
    })
}

/// Ends the process because the list could not be written.
fn fail() -> ! {
    std::process::exit(2)
}

/// Lists the benchmark if this process lists. Otherwise returns whether its body is to run.
pub fn is_wanted(name: &str) -> bool {
    is_wanted_as(name, "false")
}

/// The same as [`is_wanted`] for a benchmark that runs only on request.
pub fn is_wanted_if_ignored(name: &str) -> bool {
    is_wanted_as(name, "true")
}

fn is_wanted_as(name: &str, ignored: &str) -> bool {
    let program = program();
    let name = program.unique(name);
    match &program.wanted {
        Wanted::List(file) => {
            let mut file = file;
            if writeln!(file, "{name}\t{ignored}\tfalse").is_err() {
                fail();
            }
            false
        }
        Wanted::Serve(wanted) => *wanted == name,
        Wanted::Run { names, exact } => {
            let is = |wanted: &String| if *exact { *wanted == name } else { name.contains(wanted.as_str()) };
            names.is_empty() || names.iter().any(is)
        }
    }
}

impl Program {
    /// Returns the name in one line, with a number if another benchmark has it, as criterion does.
    fn unique(&self, name: &str) -> String {
        let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let numbered = (2..).map(|number| format!("{name} #{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        let free = free.unwrap_or(name);
        names.insert(free.clone());
        free
    }
}

/// Calls `part` with numbers of at most `length` that add up to `runs`.
pub fn in_parts(runs: u64, length: u64, mut part: impl FnMut(usize)) {
    let mut left = runs;
    while left > 0 {
        let some = length.clamp(1, left);
        part(some as usize);
        left -= some;
    }
}

/// Records how much of a [`unit`](crate::page::unit) one run of the benchmark processes.
pub fn works_through(unit: u32, amount: u64) {
    if let Some(seat) = taken_seat() {
        seat.area().unit.store(unit, Relaxed);
        seat.area().amount.store(amount, Relaxed);
    }
}

/// Serves the body of the wanted benchmark and ends the process; in an ordinary run, executes the body once. The body
/// takes the number of runs.
pub fn run(body: &dyn Fn(u64) -> bool) {
    take_over_body(black_box(body));
    body(1);
}
