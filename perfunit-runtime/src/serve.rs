//! Serves one test in lockstep with the process of the other version, then ends the process.

mod batch;
mod begin;
mod first_calls;
mod fork_server;
mod pilot;
mod repeated_calls;
mod seat;
mod untimed_part;

use crate::page::{state, CALLS_VARIABLE};
use crate::sys;
use batch::{first_call, Body};
use seat::{leave, take_seat, Seat};
use std::hint::black_box;
use std::process::{ExitCode, Termination};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

pub use fork_server::next_test;
pub use seat::taken_seat;
pub use untimed_part::{timed_by_itself, untimed};

/// True once a body is served: a test that calls another test must not serve twice.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Serves `body` and ends the process if the tool requests it; otherwise returns at once. Called by the macro's code.
pub fn take_over<T: Termination>(body: fn() -> T) {
    // Opaque, so that the compiler neither inlines the body into the loop nor hoists it out.
    let body = black_box(body);
    take_over_body(&move |runs| (0..runs).fold(true, |passed, _| passed & is_success(body().report())));
}

/// Makes the later calls that the tool wants to observe after the first one; stops at a panic.
pub fn call_again<T>(body: fn() -> T) {
    let calls = std::env::var(CALLS_VARIABLE).ok().and_then(|calls| calls.parse::<u32>().ok());
    for _ in 1..calls.unwrap_or(1) {
        if std::panic::catch_unwind(|| drop(body())).is_err() {
            return;
        }
    }
}

/// The same as [`take_over`] for a benchmark's body, which takes the number of runs.
pub fn take_over_body(body: Body<'_>) {
    let Some(seat) = taken_seat() else { return };
    if TAKEN.swap(true, AcqRel) {
        return;
    }
    if first_calls::is_asked(seat, false) {
        first_calls::serve(seat, body);
    }
    repeated_calls::serve(seat, body, None)
}

/// The same as [`take_over_body`] for a generated workload, which runs only in the cage.
pub fn take_over_caged(body: Body<'_>) {
    begin::cage();
    take_over_body(body);
}

/// Returns whether the exit code is `SUCCESS`. Exit codes cannot be compared before Rust 1.84.
fn is_success(code: ExitCode) -> bool {
    // SAFETY: an exit code is one byte on this system; of a larger type only the first byte would be read.
    let byte = |code: &ExitCode| unsafe { std::mem::transmute_copy::<ExitCode, u8>(code) };
    byte(&code) == byte(&ExitCode::SUCCESS)
}

/// Serves the test function in a thread named like libtest's. Called by the runner.
///
/// If the macro captured the test, its first call ends in [`take_over`] and never returns; otherwise the whole function
/// is the body.
pub fn serve_function<E: 'static>(name: &str, should_panic: bool, function: fn() -> Result<(), E>) -> ! {
    let Some(seat) = take_seat(should_panic) else { sys::exit_now(2) };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        with_stack_pad(seat.page.stack_pad.load(Relaxed), &mut || whole_function(seat, function));
    });
    match thread {
        Ok(thread) => {
            let _unreachable = thread.join();
            sys::exit_now(3)
        }
        Err(_) => sys::exit_now(2),
    }
}

fn whole_function<E: 'static>(seat: &'static Seat, function: fn() -> Result<(), E>) {
    begin::begin(seat);
    let function = black_box(function);
    let body = move |runs| (0..runs).fold(true, |passed, _| passed & function().is_ok());
    if first_calls::is_asked(seat, true) {
        TAKEN.store(true, Release);
        seat.area().whole_function.store(1, Relaxed);
        first_calls::serve(seat, &body);
    }
    let first = first_call(seat, &body);
    TAKEN.store(true, Release);
    seat.area().whole_function.store(1, Relaxed);
    if first_calls::is_asked(seat, false) {
        // The macro should have taken over the test, but did not.
        leave(seat, state::NO_FORK);
    }
    repeated_calls::serve(seat, &body, Some(first))
}

/// Calls `then` below `frames` frames of at least 16 bytes, which shifts the thread's stack by less than a page.
#[inline(never)]
fn with_stack_pad(frames: u32, then: &mut dyn FnMut()) {
    if frames == 0 {
        return then();
    }
    let filler = black_box([0u8; 16]);
    with_stack_pad(frames - 1, then);
    black_box(&filler);
}
