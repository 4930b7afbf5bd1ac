//! What the rustc wrapper is told, by the file beside it.

use perfunit_model::error::Result;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// File name by which `main` knows this role.
pub const WRAPPER_NAME: &str = "perfunit-rustc";
/// The wrapper's settings, beside it.
pub const CONFIG_NAME: &str = "wrapper.json";
/// Suffix of the file left beside a test executable that libtest, our runner or a stand-in drives; its content says which.
pub const HARNESS_SUFFIX: &str = ".perfunit";

/// What the wrapper adds.
#[derive(Debug, Serialize, Deserialize)]
pub struct WrapperConfig {
    pub runtime: PathBuf,
    /// Runner library; absent where tests are captured by attribute only.
    pub runner: Option<PathBuf>,
    pub macros: PathBuf,
    /// The library that counts the work of functions.
    pub growth: PathBuf,
    /// Our stand-ins for harnesses of benchmarks, by the names of these.
    pub stand_ins: BTreeMap<String, PathBuf>,
    /// The user's own workspace wrapper, called between us and rustc.
    pub chained: Option<PathBuf>,
    /// The toolchain's folder: what is linked from there is the same on both sides.
    pub sysroot: PathBuf,
    /// Whether functions carry probes.
    pub probes: Probes,
    /// Whether executables tell what was inlined where.
    pub inlining: Inlining,
}

impl WrapperConfig {
    /// Reads the settings from the wrapper's folder.
    pub fn load(dir: &Path) -> Result<Self> {
        json::read(&dir.join(CONFIG_NAME)).map_err(|error| error.hint("run `cargo perfunit clean --cache`"))
    }

    /// Writes the settings into the wrapper's folder, last: their presence says that the folder is complete.
    pub fn save(&self, dir: &Path) -> Result<()> {
        json::write(&dir.join(CONFIG_NAME), self)
    }
}

/// Whether the functions of the workspace carry probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Probes {
    /// As written, for measuring.
    #[default]
    Without,
    /// With a probe each, for explaining.
    With,
    /// With a probe each that knows the lengths of the arguments, and a counter in each basic block: to see how work grows.
    Counting,
}

/// Whether executables tell which function each instruction is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Inlining {
    /// As the profile has it, for measuring; where the link drops debug information, the kept objects hold it.
    #[default]
    AsBuilt,
    /// With debug information about functions, which is not loaded and changes no instruction.
    Told,
}
