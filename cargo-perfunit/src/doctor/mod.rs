//! Checks what this machine allows and how quiet it is: reads the system's facts, measures for two seconds, and returns
//! [`Finding`](perfunit_model::checkup::Finding)s, each with its meaning for verdicts and advice.
//!
//! `facts`, `noise` and `workload` only read and measure; `judge` is pure. Nothing on the machine changes, and no
//! project is needed.

mod facts;
mod judge;
mod noise;
mod workload;

pub use workload::{is_workload, serve_workload};

use perfunit_model::checkup::Checkup;
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use std::path::Path;

/// Examines the machine. `folder` determines the toolchain.
pub fn examine(folder: &Path, terminal: Terminal) -> Checkup {
    let progress = Progress::spinner(terminal, "Examining");
    progress.message("the system");
    let facts = facts::read(folder);
    let mut findings = judge::facts(&facts);
    progress.message("how quiet it is");
    let noise = noise::measure(&facts.allowed, &progress);
    findings.extend(judge::noise(&noise));
    Checkup { cpu: facts.cpu, findings, noise }
}
