//! The environment of a run, and its time by stage and by test.

use super::{LayoutMatch, NoLayout, TargetId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

/// Environment that the figures depend on, apart from the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// First line of `rustc -vV`.
    pub rustc: String,
    pub host: String,
    /// Cargo profile of the build.
    pub profile: String,
    /// The profile's link-time optimization (LTO), if the build left it out.
    #[serde(default)]
    pub lto_off: Option<LtoKind>,
    /// CPU model, as the kernel reports it.
    pub cpu: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// True if both processes of a pair had the same address space (no ASLR, equal pads).
    pub paired_address_space: bool,
    /// Result of matching the layouts of base and head, or the reason for not matching them, by measured target.
    #[serde(with = "super::json_forms::as_list")]
    pub layouts: BTreeMap<TargetId, Result<LayoutMatch, NoLayout>>,
}

/// A kind of link-time optimization (LTO) across crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LtoKind {
    /// `lto = true` or `"fat"`: the whole program at once.
    Fat,
    /// `lto = "thin"`: each crate, with functions of other crates.
    Thin,
}

impl fmt::Display for LtoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fat => "fat",
            Self::Thin => "thin",
        })
    }
}

/// Wall time of the stages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// Resolving versions, comparing sources, selecting targets, writing the shadow tree.
    pub prepare: Duration,
    /// Building both versions, and the runtime on first use of a toolchain.
    pub build: Duration,
    /// Comparing machine code and tracing tests.
    pub select: Duration,
    /// Pilot runs, pairs and confirmation.
    pub measure: Duration,
    /// Builds with probes and their runs.
    pub explain: Duration,
}

/// Time and pairs for measuring a test, over all series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Wall time in seconds, including layouts that were linked for this test.
    pub seconds: f64,
    /// Number of process pairs, including those that the verdict does not use.
    pub pairs: usize,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.pairs += other.pairs;
    }
}
