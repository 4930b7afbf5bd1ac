//! Systems that are not Linux: the tool refuses to measure there, so nothing is ever served.

use std::process::Termination;

pub fn take_over<T: Termination>(_body: fn() -> T) {}

/// Nothing traces a test here.
pub fn call_again<T>(_body: fn() -> T) {}

/// Never called: the tool starts no test here.
pub fn serve_function<E>(_name: &str, _should_panic: bool, _function: fn() -> Result<(), E>) -> ! {
    std::process::exit(2)
}
