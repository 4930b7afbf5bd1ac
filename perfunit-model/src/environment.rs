//! Where a run was measured, and where its time went: by stage, and by test.

use super::{LayoutMatch, NoLayout, TargetId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

/// What the figures depend on besides the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// First line of `rustc -vV`.
    pub rustc: String,
    pub host: String,
    /// Cargo profile of the build.
    pub profile: String,
    /// The link-time optimization (LTO) of the profile that the build left out.
    #[serde(default)]
    pub lto_off: Option<LtoKind>,
    /// CPU model as the kernel names it.
    pub cpu: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// Whether both processes of a pair had the same address space (no ASLR, equal pads).
    pub paired_address_space: bool,
    /// How far the code of base and head lay at the same places, by target that was measured; or why nothing was done
    /// about it.
    #[serde(with = "super::json_forms::as_list")]
    pub layouts: BTreeMap<TargetId, Result<LayoutMatch, NoLayout>>,
}

/// A kind of link-time optimization (LTO) across crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LtoKind {
    /// `lto = true` or `"fat"`: of the whole program at once.
    Fat,
    /// `lto = "thin"`: of each crate, with functions of the others.
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
    /// Versions, source difference, selection, shadow tree.
    pub prepare: Duration,
    /// Both builds, including the toolchain part on first use.
    pub build: Duration,
    /// Comparison of machine code, confirmation by execution.
    pub select: Duration,
    /// Pilots, pairs and confirmation.
    pub measure: Duration,
    /// Builds with probes, and what they are run for.
    pub explain: Duration,
}

/// Time and pairs that measuring a test took, in all its series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Wall time in seconds, with the layouts that were linked first for this test.
    pub seconds: f64,
    /// Pairs of processes, with those on which the verdict does not rest.
    pub pairs: usize,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.pairs += other.pairs;
    }
}
