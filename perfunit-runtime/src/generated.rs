//! Generated calls: tried in the cage, and measured in it.

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

/// Most inputs that are made at a time: they may be large.
const MOST_INPUTS: u64 = 256;
/// Processor time of a trial, seconds.
const TRIAL_SECONDS: u64 = 2;
/// Calls that are timed in a trial, and for how long.
const TIMED_CALLS: usize = 32;
const TIMED_NS: u64 = 5_000_000;
/// A value's text is handed on up to so many bytes.
const LONGEST_TEXT: usize = 400;

/// The function for which a call is made up, by its number.
static WANTED: AtomicU64 = AtomicU64::new(u64::MAX);
/// How often it was entered.
static EXECUTED: AtomicU64 = AtomicU64::new(0);

/// Of the last panic.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// At the beginning of a function, in trials.
pub fn executed(function: u64) {
    if function == WANTED.load(Relaxed) {
        EXECUTED.fetch_add(1, Relaxed);
    }
}

/// A generated test: measures `call` if that is what this process is for; else calls it once. Always in the cage.
///
/// `setup` makes what is given to the call, and what is lent to it and dropped outside of the time.
///
/// `marker` is never read here: the tool finds it in the executable.
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

/// Tries a call with inputs of the size that the tool asks for, reports, and ends the process. Nobody else calls it.
pub fn try_out<I, L>(marker: &'static str, setup: impl Fn(usize) -> (I, L), call: impl Fn(I, &mut L, &mut Watch)) {
    black_box(marker);
    let Some((n, function)) = asked() else { return };
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
            // Its Drop may panic again.
            std::mem::forget(payload);
            let message = MESSAGE.try_lock().map_or_else(|_| String::new(), |message| message.clone());
            report(&format!("panicked\t{}", message.escape_debug()));
        }
    }
}

/// What the clock says of nothing.
fn clock_ns() -> u64 {
    middle((0..TIMED_CALLS).map(|_| Instant::now().elapsed().as_nanos() as u64).collect())
}

/// The mean of the middle half: a clock may tick in steps of 10 ns, by which every single time is wrong.
fn middle(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    let quarter = times.len() / 4;
    let middle = &times[quarter..times.len() - quarter];
    let count = middle.len().max(1) as u64;
    (middle.iter().sum::<u64>() + count / 2) / count
}

/// The size of the inputs, and the number of the function.
fn asked() -> Option<(usize, u64)> {
    let value = std::env::var(TRIAL_VARIABLE).ok()?;
    let (n, function) = value.split_once(':')?;
    Some((n.parse().ok()?, function.parse().ok()?))
}

fn report(line: &str) -> ! {
    let mut out = std::io::stdout();
    let _ = out.write_all(format!("\n{TRIAL_REPORT}{line}\n").as_bytes()).and_then(|()| out.flush());
    sys::exit_now(0)
}

/// What is seen of a call.
pub struct Watch {
    before: u64,
    started: Instant,
    ns: u64,
    executed: u64,
    seen: Seen,
}

impl Watch {
    /// The call is over.
    pub fn done(&mut self) {
        self.ns = self.started.elapsed().as_nanos() as u64;
        self.executed = EXECUTED.load(Relaxed) - self.before;
    }

    /// What it returned.
    pub fn see(&mut self, seen: Seen) {
        self.seen = seen;
    }
}

/// A value that may or may not be printable.
pub struct Value<'a, T: ?Sized>(pub &'a T);

/// Of printable values; found before [`Unprintable`].
pub trait Printable {
    /// What it prints.
    fn seen(&self) -> Seen;
}

/// Of all others.
pub trait Unprintable {
    /// Nothing.
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

/// What a value prints: the beginning, and a fingerprint of its words in any order, for that of a hash table is random.
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
