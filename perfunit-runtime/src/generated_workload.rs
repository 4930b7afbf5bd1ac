//! Generated workloads, which are tried and measured in the cage.

use crate::bench::in_parts;
use crate::cage::{self, Time};
use crate::page::{TRIAL_REPORT, TRIAL_VARIABLE};
use crate::serve::{take_over_caged, untimed};
use crate::sys;
use std::fmt::{self, Debug, Write as _};
use std::hint::black_box;
use std::io::Write as _;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::Instant;

/// Largest number of inputs that exist at a time, because inputs may be large.
const MOST_INPUTS: u64 = 256;
/// Processor time of a trial, in seconds.
const TRIAL_SECONDS: u64 = 2;
/// Number of calls that a trial times, and the time after which it stops earlier.
const TIMED_CALLS: usize = 32;
const TIMED_NS: u64 = 5_000_000;
/// Bytes up to which the printed form of a value is passed on.
const LONGEST_TEXT: usize = 400;

/// Number of the function for which the workload is generated.
static WANTED: AtomicU64 = AtomicU64::new(u64::MAX);
/// Number of times that this function was entered.
static EXECUTED: AtomicU64 = AtomicU64::new(0);

/// Message of the last panic.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Counts that a function was entered. Called at the beginning of each function in trials.
pub fn executed(function: u64) {
    if function == WANTED.load(Relaxed) {
        EXECUTED.fetch_add(1, Relaxed);
    }
}

/// Runs a generated test in the cage: measures `call` if this process serves it, otherwise calls it once.
///
/// `setup` returns the input of the call, and a value that the call borrows and that is dropped outside of the measured
/// time.
///
/// `marker` is never read here. The tool finds it in the executable.
#[inline(never)]
pub fn run<I, L>(marker: &'static str, setup: impl Fn() -> (I, L), call: impl Fn(I, &mut L)) {
    black_box(marker);
    let body = |runs: u64| {
        in_parts(runs, runs.div_ceil(10).min(MOST_INPUTS), |some| {
            let (inputs, mut lent): (Vec<I>, Vec<L>) = untimed(|| black_box((0..some).map(|_| setup()).unzip()));
            let mut inputs = inputs.into_iter();
            for (input, lent) in inputs.by_ref().zip(&mut lent) {
                call(input, lent);
            }
            untimed(|| drop((inputs, lent)));
        });
        true
    };
    take_over_caged(black_box(&body));
    if cage::enter(Time::Open) {
        body(1);
    }
}

/// Tries a call with inputs of the size that the tool requests, reports the result, and ends the process. Returns
/// without a call if the tool did not request a trial.
pub fn try_out<I, L>(marker: &'static str, setup: impl Fn(usize) -> (I, L), call: impl Fn(I, &mut L, &mut Watch)) {
    black_box(marker);
    let Some((n, function)) = read_request() else { return };
    WANTED.store(function, Relaxed);
    set_hook(Box::new(|info| {
        if let Ok(mut message) = MESSAGE.try_lock() {
            *message = info.to_string();
        }
    }));
    if !cage::enter(Time::Seconds(TRIAL_SECONDS)) {
        report("uncaged");
    }
    let once = || {
        let (input, mut lent) = setup(black_box(n));
        let before = EXECUTED.load(Relaxed);
        let mut watch = Watch { before, started: Instant::now(), ns: 0, executed: 0, seen: Seen::default() };
        call(input, &mut lent, &mut watch);
        watch
    };
    let passed = catch_unwind(AssertUnwindSafe(|| {
        let (first, second) = (once(), once());
        let mut times = Vec::with_capacity(TIMED_CALLS);
        while times.len() < TIMED_CALLS && times.iter().sum::<u64>() <= TIMED_NS {
            times.push(once().ns);
        }
        (first, second, times)
    }));
    match passed {
        Ok((first, second, times)) => {
            let ns = middle(times).saturating_sub(clock_ns());
            let repeats = first.seen.fingerprint == second.seen.fingerprint;
            let Seen { fingerprint, text, is_too_long, .. } = first.seen;
            let text = if is_too_long { String::new() } else { text.escape_debug().to_string() };
            report(&format!("passed\t{ns}\t{}\t{repeats}\t{fingerprint:x}\t{text}", first.executed));
        }
        Err(payload) => {
            // Dropping the payload may panic again.
            std::mem::forget(payload);
            let message = MESSAGE.try_lock().map_or_else(|_| String::new(), |message| message.clone());
            report(&format!("panicked\t{}", message.escape_debug()));
        }
    }
}

/// Returns the time between two readings of the clock.
fn clock_ns() -> u64 {
    middle((0..TIMED_CALLS).map(|_| Instant::now().elapsed().as_nanos() as u64).collect())
}

/// Returns the mean of the middle half of the times. A single time may be wrong by the clock's resolution, e.g. 10 ns.
fn middle(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    let quarter = times.len() / 4;
    let middle = &times[quarter..times.len() - quarter];
    let count = middle.len().max(1) as u64;
    (middle.iter().sum::<u64>() + count / 2) / count
}

/// Returns the requested size of the inputs and the number of the function.
fn read_request() -> Option<(usize, u64)> {
    let value = std::env::var(TRIAL_VARIABLE).ok()?;
    let (n, function) = value.split_once(':')?;
    Some((n.parse().ok()?, function.parse().ok()?))
}

fn report(line: &str) -> ! {
    let mut out = std::io::stdout();
    let _ = out.write_all(format!("\n{TRIAL_REPORT}{line}\n").as_bytes()).and_then(|()| out.flush());
    sys::exit_now(0)
}

/// Observations of one call.
pub struct Watch {
    before: u64,
    started: Instant,
    ns: u64,
    executed: u64,
    seen: Seen,
}

impl Watch {
    /// Marks the end of the call.
    pub fn done(&mut self) {
        self.ns = self.started.elapsed().as_nanos() as u64;
        self.executed = EXECUTED.load(Relaxed) - self.before;
    }

    /// Records the call's result.
    pub fn see(&mut self, seen: Seen) {
        self.seen = seen;
    }
}

/// A value that may or may not implement [`Debug`].
pub struct Value<'a, T: ?Sized>(pub &'a T);

/// Implemented for values with [`Debug`]; takes precedence over [`Unprintable`].
pub trait Printable {
    /// Returns the printed form of the value.
    fn seen(&self) -> Seen;
}

/// Implemented for all other values.
pub trait Unprintable {
    /// Returns an empty observation.
    fn seen(&self) -> Seen {
        Seen::default()
    }
}

impl<T: Debug + ?Sized> Printable for Value<'_, T> {
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        let _ = write!(seen, "{:?}", self.0);
        seen.end_word();
        seen
    }
}

impl<T: ?Sized> Unprintable for &Value<'_, T> {}

/// Printed form of a value: its beginning, and a fingerprint of its words that ignores their order, because hash tables
/// print theirs in random order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    fingerprint: u64,
    word: u64,
    text: String,
    is_too_long: bool,
}

impl Seen {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        self.fingerprint = self.fingerprint.wrapping_add(word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (word >> 29));
    }
}

impl fmt::Write for Seen {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.text.len() < LONGEST_TEXT {
                self.text.push(c);
            } else {
                self.is_too_long = true;
            }
            if c.is_alphanumeric() {
                self.word = self.word.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(u32::from(c)) + 1);
            } else {
                self.end_word();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Seen {
        let mut seen = Seen::default();
        seen.write_str(text).unwrap();
        seen.end_word();
        seen
    }

    #[test]
    fn a_fingerprint_is_of_the_words_in_any_order() {
        assert_eq!(seen("{1: 2, 3: 4}").fingerprint, seen("{3: 4, 1: 2}").fingerprint);
        assert_ne!(seen("{1: 2, 3: 4}").fingerprint, seen("{1: 2, 3: 5}").fingerprint);
        assert_ne!(seen("ab").fingerprint, seen("ba").fingerprint);
    }

    #[test]
    fn the_middle_lies_between_the_steps_of_a_clock() {
        assert_eq!(middle(vec![20, 10, 20, 10]), 15);
        assert_eq!(middle(vec![10, 9000, 10, 20, 20, 10, 20, 0]), 15);
        assert_eq!((middle(Vec::new()), middle(vec![7])), (0, 7));
    }

    #[test]
    fn what_cannot_be_printed_is_not_seen() {
        struct Opaque;
        assert_eq!((&Value(&Opaque)).seen(), Seen::default());
        assert_eq!(Value(&vec![1, 2]).seen().text, "[1, 2]");
    }
}
