//! What this machine allows and how quiet it is: from the system's own figures and two seconds of measuring to
//! [`Finding`]s, each with what it means for verdicts and what to do about it.
//!
//! Reading (`facts`, `noise`, `workload`) is thin; `judge` is pure. Nothing is changed on the machine, and no project is
//! needed.

mod counters;
mod facts;
mod finding;
mod judge;
mod noise;
mod workload;

pub use finding::{Finding, Level};
pub use noise::{CoreNoise, Noise};
pub use workload::{AgainstItself, is_workload, serve_workload};

use crate::system::progress::Progress;
use crate::system::term::Terminal;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Checkup {
    /// The processor, as the kernel names it.
    pub cpu: String,
    /// In a fixed order: what is needed, what it means for noise, what was measured.
    pub findings: Vec<Finding>,
    /// The figures of the measured ones.
    pub noise: Noise,
}

impl Checkup {
    /// How many findings have a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

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
