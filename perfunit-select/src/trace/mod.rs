//! Whether one run of a test executes any of a set of functions.
//!
//! Input: a test executable with its table of addresses, the programs that its tests may start, the name of a test, linker
//! symbol names. Output: [`Executed`]. The test runs once, with the seed that it is given, under breakpoints (ptrace) at the
//! entries of those functions. The first hit, in any thread or process that runs one of these executables, answers the
//! question and ends the run. Invariants: "no" is said only of a run that ended well and was seen whole; nothing but the
//! test's own processes is waited for, stopped or killed.

#[cfg(target_os = "linux")]
mod available;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod executed;
#[cfg(target_os = "linux")]
mod opens;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a tracer needs what it finds"))]
mod places;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a tracer needs what it finds"))]
mod programs;
#[cfg(target_os = "linux")]
mod run;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(target_os = "linux")]
mod tracer;
mod unseen;

#[cfg(target_os = "linux")]
pub use available::available;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{available, executes};
pub use executed::{Entered, Executed, Functions, LONGEST, Program, in_any_run};
pub use places::Places;
pub use programs::Programs;
#[cfg(target_os = "linux")]
pub use run::executes;
pub use unseen::Unseen;
