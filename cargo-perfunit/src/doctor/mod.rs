//! What this machine allows and how quiet it is: from the system's own figures and two seconds of measuring to
//! [`Finding`]s, each with what it means for verdicts and what to do about it.
//!
//! Reading (`facts`, `noise`, `workload`) is thin; `judge` is pure. Nothing is changed on the machine, and no project is
//! needed.

mod counters;
mod facts;
mod judge;
mod noise;
mod workload;

pub use noise::{CoreNoise, Noise};
pub use workload::{AgainstItself, is_workload, serve_workload};

use crate::system::progress::Progress;
use crate::system::term::Terminal;
use std::path::Path;

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be, or without influence.
    Ok,
    /// Verdicts hold, but take longer or say less.
    Warn,
    /// The tool does not work, or what it says is doubtful.
    Bad,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What, as a word with hyphens that stays the same.
    pub what: &'static str,
    pub value: String,
    /// How good that is.
    pub level: Level,
    pub why: &'static str,
    /// What to do, if there is something.
    pub advice: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
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
