//! Why layouts are not matched, in words.

use crate::model::{LostInputs, NoLayout};
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
        }
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
