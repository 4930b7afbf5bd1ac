//! Decides if one run of a test executes any of a set of functions.
//!
//! Input: a test executable with its symbol addresses, the programs that its tests may start, the name of a test,
//! linker symbols. Output: [`Execution`]. The test runs once, with a given seed, under breakpoints (ptrace) at the
//! entries of the functions. The first hit, in any thread or process that runs one of these executables, decides the
//! result and ends the run. Invariants: [`Execution::No`] is returned only for a run that succeeded and was traced
//! completely; only the test's own processes are waited for, stopped or killed.

#[cfg(target_os = "linux")]
mod available;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod failure;
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
mod traced_run;
#[cfg(target_os = "linux")]
mod tracer;

#[cfg(target_os = "linux")]
pub use available::available;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{available, executes, pass_by_programs};
pub use failure::TraceFailure;
pub use places::Places;
pub use programs::Programs;
#[cfg(target_os = "linux")]
pub use run::{executes, pass_by_programs};
pub use traced_run::{Entered, Execution, Functions, LONGEST, Program, in_any_run};
