//! Whether one run of a test executes any of a set of functions.
//!
//! Input: a test executable with its table of addresses, the name of a test, linker symbol names. Output: [`Executed`].
//! The test runs once, with the seed that it is given, under breakpoints (ptrace) at the entries of those functions; the first hit, in any thread or
//! process that runs this executable, answers the question and ends the run. Invariants: "no" is said only of a run
//! that ended well and was seen whole; nothing but the test's own processes is waited for, stopped or killed.

mod available;
mod breakpoints;
mod places;
mod ptrace;
mod rounds;
mod run;
#[cfg(test)]
mod tests;
mod tracer;

pub use available::available;
pub use places::Places;
pub use rounds::{LONGEST, in_any_run};
pub use run::{Executed, Program, executes};
