//! What this machine allows and how quiet it is: from the system's own figures and two seconds of measuring to
//! [`Finding`](perfunit_model::checkup::Finding)s, each with what it means for verdicts and what to do about it.
//!
//! Reading (`facts`, `noise`, `workload`) is thin; `judge` is pure. Nothing is changed on the machine, and no project is
//! needed.

mod facts;
mod judge;
mod noise;
mod workload;

pub use workload::{is_workload, serve_workload};

use perfunit_model::checkup::Checkup;
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use std::path::Path;

/// Looks at everything; `folder` is where the user stands and so settles the toolchain.
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
