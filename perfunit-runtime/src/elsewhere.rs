//! Replacement for systems other than Linux, where the tool does not measure and nothing is served.

use std::process::Termination;

pub fn take_over<T: Termination>(_body: fn() -> T) {}

/// Does nothing: tests are not traced on this system.
pub fn call_again<T>(_body: fn() -> T) {}

/// Never called: the tool starts no tests on this system.
pub fn serve_function<E>(_name: &str, _should_panic: bool, _function: fn() -> Result<(), E>) -> ! {
    std::process::exit(2)
}
