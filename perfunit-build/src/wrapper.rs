//! Settings of the rustc wrapper, in a file next to it.

use perfunit_model::error::Result;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// File name of the executable that selects the role.
pub const WRAPPER_NAME: &str = "perfunit-rustc";
/// File with the wrapper's settings, next to it.
pub const CONFIG_NAME: &str = "wrapper.json";
/// Suffix of the file next to a test executable that names its harness: libtest, our runner, or a stand-in.
pub const HARNESS_SUFFIX: &str = ".perfunit";

/// Settings of the wrapper.
#[derive(Debug, Serialize, Deserialize)]
pub struct WrapperConfig {
    pub runtime: PathBuf,
    /// Runner library; `None` if tests are captured by attribute only.
    pub runner: Option<PathBuf>,
    pub macros: PathBuf,
    /// Library that counts the work of functions.
    pub growth: PathBuf,
    /// Stand-ins for benchmark harnesses, by the name of the harness.
    pub stand_ins: BTreeMap<String, PathBuf>,
    /// The user's own workspace wrapper, called between us and rustc.
    pub chained: Option<PathBuf>,
    /// Folder of the toolchain. Inputs linked from there are the same on both sides.
    pub sysroot: PathBuf,
    /// Instrumentation of functions.
    pub probes: Probes,
    /// Inlining information in executables.
    pub inlining: Inlining,
}

impl WrapperConfig {
    /// Reads the settings from the wrapper's folder.
    pub fn load(dir: &Path) -> Result<Self> {
        json::read(&dir.join(CONFIG_NAME)).map_err(|error| error.hint("run `cargo perfunit clean --cache`"))
    }

    /// Writes the settings into the wrapper's folder. They must be written last, so that their existence means that the
    /// folder is complete.
    pub fn save(&self, dir: &Path) -> Result<()> {
        json::write(&dir.join(CONFIG_NAME), self)
    }
}

/// Instrumentation of the workspace's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Probes {
    /// No probes, for measuring.
    #[default]
    Without,
    /// A probe in each function, for explaining.
    With,
    /// A probe in each function that records the lengths of the arguments, and a counter in each basic block, to find
    /// how work grows.
    Counting,
}

/// Information in executables about the function that each instruction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Inlining {
    /// The profile's debug information, for measuring. If the link strips debug information, the stored objects have
    /// it.
    #[default]
    AsBuilt,
    /// Additional debug information about functions, which is not loaded and changes no instruction.
    Told,
}
