//! What the stand-ins for harnesses of benchmarks have in common: which benchmark is wanted of this process, and what becomes
//! of its body.
//!
//! Bodies are called when they are wanted only: a list costs what the program does before its first one.

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

/// What this process is for.
enum Wanted {
    List(File),
    Serve(String),
    /// In an ordinary run: those that one of these names.
    Run {
        names: Vec<String>,
        exact: bool,
    },
}

struct Program {
    wanted: Wanted,
    /// The names that there are already.
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
                // Before the program does anything: what it starts is not part of the protocol.
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

/// The list could not be written.
fn fail() -> ! {
    std::process::exit(2)
}

/// Lists a benchmark if that is what this process is for; else whether its body is wanted.
pub fn is_wanted(name: &str) -> bool {
    is_wanted_as(name, "false")
}

/// As [`is_wanted`], of one that is run on request only.
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
    /// A name in one line that no other benchmark has: criterion numbers equal ones in the same way.
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

/// Divides so many runs into parts of a length.
pub fn in_parts(runs: u64, length: u64, mut part: impl FnMut(usize)) {
    let mut left = runs;
    while left > 0 {
        let some = length.clamp(1, left);
        part(some as usize);
        left -= some;
    }
}

/// Says how many of a [`unit`](crate::page::unit) a run of the benchmark works through.
pub fn works_through(unit: u32, amount: u64) {
    if let Some(seat) = taken_seat() {
        seat.area().unit.store(unit, Relaxed);
        seat.area().amount.store(amount, Relaxed);
    }
}

/// Serves the body of the benchmark that is wanted, which runs so many times, and ends the process; in an ordinary run
/// runs it once.
pub fn run(body: &dyn Fn(u64) -> bool) {
    take_over_body(black_box(body));
    body(1);
}
