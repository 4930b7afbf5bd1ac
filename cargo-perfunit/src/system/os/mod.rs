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

use crate::error::{Error, Result};

/// Refuses to measure where that cannot work.
pub fn supported() -> Result<()> {
    if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return Ok(());
    }
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Err(Error::setup(format!(
        "{os} on {arch} is not supported: lockstep pairs need Linux futexes, memfd and personality"
    ))
    .hint("run it in a Linux container or CI job on x86-64 or aarch64"))
}
