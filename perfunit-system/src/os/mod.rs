//! Operating system functions that std lacks: one interface, with a file per implementation.
//!
//! `linux` is the real one. `elsewhere` has the same names and returns errors, so that the tool compiles and reports
//! what is missing; a port starts from it. Other Linux-only code is in `select::trace` and in `perfunit-runtime`.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub mod ptrace;
#[cfg(target_os = "linux")]
mod tracer;
#[cfg(not(unix))]
pub mod unix;

#[cfg(target_os = "linux")]
pub use calls::{OUT_OF_CAGE, OUT_OF_TIME, system_call};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::*;
#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(unix)]
pub use std::os::unix;
#[cfg(target_os = "linux")]
pub use tracer::{count_system_calls, system_call_name};

use perfunit_model::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// Numbers of calls, by system call number.
pub type SystemCalls = BTreeMap<u64, u64>;

/// A function that starts a process.
pub type Spawn<'a> = Box<dyn FnOnce(&mut Command) -> Result<Child> + 'a>;

/// A process to start and to trace.
pub struct Traceable<'a> {
    pub command: Command,
    pub spawn: Spawn<'a>,
    /// Folder of programs that do not count.
    pub spared: Option<PathBuf>,
}

/// Result of tracing a process.
#[derive(Debug)]
pub struct Counted {
    /// Exit status; `None` if the process was killed because its time was over.
    pub status: Option<ExitStatus>,
    /// Calls of each section, by section number.
    pub sections: BTreeMap<u64, SystemCalls>,
}

/// Unit of processor time in `/proc`: `USER_HZ` is 100 on all supported platforms.
pub const TICK: Duration = Duration::from_millis(10);

/// Minimum number of open files. Measured processes get descriptors with numbers that no test expects to be free.
const FEWEST_OPEN_FILES: u64 = 256;

/// Returns an error if measuring cannot work on this system.
pub fn check_support() -> Result<()> {
    if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return enough_open_files(open_file_limit());
    }
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Err(Error::setup(format!(
        "{os} on {arch} is not supported: lockstep pairs need Linux futexes, memfd and personality"
    ))
    .hint("run cargo-perfunit in a Linux container or CI job on x86-64 or aarch64"))
}

/// Returns an error if the limit of open files is too low.
fn enough_open_files(limit: Option<u64>) -> Result<()> {
    match limit {
        Some(limit) if limit < FEWEST_OPEN_FILES => Err(Error::setup(format!(
            "the limit of {limit} open files per process (RLIMIT_NOFILE) is too low: measuring needs {FEWEST_OPEN_FILES}"
        ))
        .hint("raise the limit with `ulimit -n 1024` in the shell that starts cargo-perfunit, or in the settings of the container or service")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_of_open_files_is_refused_with_what_to_raise() {
        assert!(enough_open_files(None).is_ok());
        assert!(enough_open_files(Some(256)).is_ok());
        let error = enough_open_files(Some(255)).unwrap_err().to_string();
        assert!(
            error.contains("limit of 255 open files") && error.contains("hint: raise the limit with `ulimit -n 1024`"),
            "{error}"
        );
    }
}
