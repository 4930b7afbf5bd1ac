//! Why layouts are not matched, in words.

use crate::model::{LostInputs, MeasuringLinker, NoLayout};
use std::fmt;

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
