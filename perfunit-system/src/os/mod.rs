//! What the tool asks of the operating system besides what std offers: one face, a file for each that answers.
//!
//! `linux` does it. `elsewhere` has the same names and refuses, so that the tool compiles and says what is missing; it is
//! what a port begins with. Besides this, `select::trace` and the parts of `perfunit-runtime` are for Linux alone.

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
use std::process::ExitStatus;
use std::time::Duration;

/// System calls by their numbers.
pub type SystemCalls = BTreeMap<u64, u64>;

/// What a traced process did.
#[derive(Debug)]
pub struct Counted {
    /// `None` if the process was killed because its time was over.
    pub status: Option<ExitStatus>,
    /// The calls of each section, by its number.
    pub sections: BTreeMap<u64, SystemCalls>,
}

/// Length of a tick, in which `/proc` gives processor time: `USER_HZ` is 100 on all platforms that we serve.
pub const TICK: Duration = Duration::from_millis(10);

/// Open files that a process must be allowed: measured processes get theirs under numbers that no test expects to be free.
const FEWEST_OPEN_FILES: u64 = 256;

/// Refuses to measure where that cannot work.
pub fn supported() -> Result<()> {
    if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return enough_open_files(open_file_limit());
    }
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Err(Error::setup(format!(
        "{os} on {arch} is not supported: lockstep pairs need Linux futexes, memfd and personality"
    ))
    .hint("run it in a Linux container or CI job on x86-64 or aarch64"))
}

/// Refuses a limit of open files that is too low to hand files to measured processes.
fn enough_open_files(limit: Option<u64>) -> Result<()> {
    match limit {
        Some(limit) if limit < FEWEST_OPEN_FILES => Err(Error::setup(format!(
            "a process may open at most {limit} files here (RLIMIT_NOFILE), and measuring needs {FEWEST_OPEN_FILES}"
        ))
        .hint("raise the limit with `ulimit -n 1024` in the shell that starts the tool, or in the settings of the container or service")),
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
            error.contains("at most 255 files") && error.contains("hint: raise the limit with `ulimit -n 1024`"),
            "{error}"
        );
    }
}
