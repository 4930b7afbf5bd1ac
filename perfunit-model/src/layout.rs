//! Matching of code addresses in two executables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Reason why layouts could not be matched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NoLayout {
    SwitchedOff,
    /// The inputs of the link are unknown.
    NotRecorded,
    /// Some inputs of the link are missing.
    Incomplete {
        why: LostInputs,
    },
    /// A library that the executables load differs, and libraries are not linked again.
    LibraryDiffers {
        library: String,
    },
    /// The executables were not linked as position-independent by a compiler driver.
    NotPositionIndependent,
    Unreadable {
        why: String,
    },
    /// The executables have no code section.
    NoCode,
    /// Base and head are built for different processors.
    OtherProcessors,
    /// The object file for gaps between functions could not be created.
    NoGaps {
        why: String,
    },
    /// The linker ignores the requested order of functions.
    Disobeyed,
    Refused {
        linker: String,
        message: String,
    },
    /// A linker other than the project's creates a different program from the same inputs.
    OtherProgram {
        difference: String,
    },
    /// No available linker can match layouts.
    NoLinker {
        /// Errors by the linker's name.
        tried: Vec<(String, NoLayout)>,
        /// True if an lld is among them.
        has_lld: bool,
    },
}

/// The linker of the measured executables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuringLinker {
    /// The project's linker, an lld.
    #[default]
    Project,
    /// The lld in the toolchain, because the project's linker does not order functions.
    RustLld,
    /// The lld in `PATH`, because neither the project's linker nor the toolchain orders functions.
    Lld,
    /// GNU ld, because no available lld links the project.
    GnuLd,
}

/// Reason why an input of a link may be missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LostInputs {
    /// A file with arguments could not be read.
    Arguments { file: String },
    /// A thin archive has its members elsewhere.
    ThinArchive { file: String },
    /// A linker script may name more files.
    Script { file: String },
    /// A file could not be copied.
    NotCopied { error: String },
}

/// Result of linking two executables with matched layouts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutMatch {
    /// Functions with the same size in both versions and loops at the same places.
    pub common: usize,
    /// Common functions at equal addresses, in the worst layout.
    pub equal: usize,
    /// Functions with another size in head, or loops at other places.
    pub changed: usize,
    /// Changed functions that are placed so that most of their loops keep their addresses, or that have no loops.
    pub anchored: usize,
    /// Loops of changed functions on base.
    pub loops: usize,
    /// Loops that head also has at equal addresses, in the worst layout.
    pub held: usize,
    /// Constants and variables that both versions have.
    pub data: usize,
    /// Constants and variables at equal addresses, in the worst layout.
    pub data_equal: usize,
    /// True if code and data have the same addresses in every process, regardless of ASLR.
    pub fixed_addresses: bool,
    /// Bytes of machine code in both executables together.
    pub text_bytes: u64,
    /// Wall time of linking both again, in seconds.
    pub link_seconds: f64,
    /// The linker that matched the layouts.
    #[serde(default)]
    pub linker: MeasuringLinker,
}

impl LayoutMatch {
    /// Combines two layouts of the same executables, using the worse figures.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self {
            equal: self.equal.min(other.equal),
            held: self.held.min(other.held),
            data_equal: self.data_equal.min(other.data_equal),
            ..self
        }
    }
}

impl fmt::Display for NoLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchedOff => f.write_str("disabled (--layout natural)"),
            Self::NotRecorded => f.write_str("the inputs of its link are unknown"),
            Self::Incomplete { why } => why.fmt(f),
            Self::LibraryDiffers { library } => {
                write!(f, "{library}, which the tests load, differs, and layouts of libraries are not matched")
            }
            Self::NotPositionIndependent => {
                f.write_str("the executable was not linked as position-independent by a compiler driver")
            }
            Self::Unreadable { why } => write!(f, "the executable cannot be read: {why}"),
            Self::NoCode => f.write_str("the executable has no .text section"),
            Self::OtherProcessors => f.write_str("base and head are built for different processors"),
            Self::NoGaps { why } => write!(f, "could not create the object file for gaps: {why}"),
            Self::Disobeyed => f.write_str("the linker ignores the requested order of functions"),
            Self::Refused { linker, message } => write!(f, "the linker {linker} refuses: {message}"),
            Self::OtherProgram { difference } => write!(f, "it creates a different program: {difference}"),
            Self::NoLinker { tried, has_lld } => {
                f.write_str("no available linker can order functions")?;
                for (number, (linker, why)) in tried.iter().enumerate() {
                    f.write_str(if number == 0 { " (" } else { "; " })?;
                    match why {
                        Self::Refused { message, .. } => write!(f, "{linker}: {message}")?,
                        why => write!(f, "{linker}: {why}")?,
                    }
                }
                f.write_str(if tried.is_empty() { "" } else { ")" })?;
                f.write_str(if *has_lld { "" } else { "; install lld (`apt-get install lld`)" })
            }
        }
    }
}

impl fmt::Display for MeasuringLinker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "the project's lld",
            Self::RustLld => "the toolchain's lld, because the project's linker does not order functions",
            Self::Lld => "the lld in PATH, because neither the project's linker nor the toolchain's orders functions",
            Self::GnuLd => "GNU ld, because no available lld links the project",
        })
    }
}

impl fmt::Display for LostInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { file } => write!(f, "the arguments in {file} could not be read"),
            Self::ThinArchive { file } => write!(f, "{file} is a thin archive with members elsewhere"),
            Self::Script { file } => write!(f, "the linker script {file} may name more files"),
            Self::NotCopied { error } => f.write_str(error),
        }
    }
}
