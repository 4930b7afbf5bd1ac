//! How far the code of two executables lies at the same places.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why the code of two executables could not be put at the same places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NoLayout {
    SwitchedOff,
    /// Nothing is known of how they were linked.
    NotRecorded,
    /// Not everything is kept that they were linked from.
    Incomplete {
        why: LostInputs,
    },
    /// A library that they load differs, and is not linked again.
    LibraryDiffers {
        library: String,
    },
    /// They were not linked as position-independent by a compiler driver.
    NotPositionIndependent,
    Unreadable {
        why: String,
    },
    /// They have no section with code.
    NoCode,
    /// Base and head are for different processors.
    OtherProcessors,
    /// The object file that keeps code apart could not be made.
    NoGaps {
        why: String,
    },
    /// The linker does not place functions as it is told.
    Disobeyed,
    Refused {
        linker: String,
        message: String,
    },
    /// What a linker that is not the project's makes of the same inputs is another program.
    OtherProgram {
        difference: String,
    },
    /// No linker at hand can match layouts.
    NoLinker {
        /// By the linker's name.
        tried: Vec<(String, NoLayout)>,
        /// Whether an lld is among them.
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
    /// The lld of the toolchain, because the project's linker does not order functions.
    RustLld,
    /// The lld in `PATH`, because neither the project's linker nor the toolchain orders functions.
    Lld,
    /// GNU ld, because there is no lld that links the project.
    GnuLd,
}

/// Why something that went into an executable may not be kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LostInputs {
    /// The arguments in a file could not be read.
    Arguments { file: String },
    /// An archive whose members lie elsewhere.
    ThinArchive { file: String },
    /// A linker script that may name further files.
    Script { file: String },
    /// One could not be copied.
    NotCopied { error: String },
}

/// What is known of two executables that were linked with matched layouts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutMatch {
    /// Functions of one size in both versions, with loops at the same places.
    pub common: usize,
    /// Those at equal addresses, in the worst of the layouts.
    pub equal: usize,
    /// Functions of another size in head, or with loops at other places.
    pub changed: usize,
    /// Those placed so that most of their loops lie as on base, or that have no loops.
    pub anchored: usize,
    /// Loops of changed functions on base.
    pub loops: usize,
    /// Those that head has too, at equal addresses, in the worst of the layouts.
    pub held: usize,
    /// Constants and variables that both versions have.
    pub data: usize,
    /// Those at equal addresses, in the worst of the layouts.
    pub data_equal: usize,
    /// Whether code and data lie at the same addresses in every process, whatever the kernel draws.
    pub fixed_addresses: bool,
    /// Bytes of machine code, of both executables together.
    pub text_bytes: u64,
    /// Wall time of linking both once more, seconds.
    pub link_seconds: f64,
    /// The linker that matched the layouts.
    #[serde(default)]
    pub linker: MeasuringLinker,
}

impl LayoutMatch {
    /// What holds of two layouts of the same executables.
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
            Self::SwitchedOff => f.write_str("matching is switched off (--layout natural)"),
            Self::NotRecorded => f.write_str("what it was linked from is not known"),
            Self::Incomplete { why } => why.fmt(f),
            Self::LibraryDiffers { library } => {
                write!(f, "{library}, which the tests load, differs, and libraries are not linked again")
            }
            Self::NotPositionIndependent => {
                f.write_str("the executable was not linked as position-independent by a compiler driver")
            }
            Self::Unreadable { why } => write!(f, "the executable cannot be read: {why}"),
            Self::NoCode => f.write_str("the executable has no .text"),
            Self::OtherProcessors => f.write_str("base and head are for other processors"),
            Self::NoGaps { why } => write!(f, "no object file for the gaps: {why}"),
            Self::Disobeyed => f.write_str("the linker does not place functions as it is told"),
            Self::Refused { linker, message } => write!(f, "the linker {linker} refuses: {message}"),
            Self::OtherProgram { difference } => write!(f, "it makes another program: {difference}"),
            Self::NoLinker { tried, has_lld } => {
                f.write_str("no linker at hand can order functions")?;
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
            Self::RustLld => "the toolchain's lld, as the project's linker does not order functions",
            Self::Lld => "the lld in PATH, as neither the project's linker nor the toolchain orders functions",
            Self::GnuLd => "GNU ld, as no lld at hand links the project",
        })
    }
}

impl fmt::Display for LostInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { file } => write!(f, "the arguments in {file} could not be read"),
            Self::ThinArchive { file } => write!(f, "{file} is a thin archive, its members lie elsewhere"),
            Self::Script { file } => write!(f, "the linker script {file} may name further files"),
            Self::NotCopied { error } => f.write_str(error),
        }
    }
}
