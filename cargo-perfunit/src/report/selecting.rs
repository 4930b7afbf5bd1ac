//! Why machine code or execution could not tell which tests a change reaches, in words.

use super::format::count;
use crate::model::{Uncompared, Untraceable};
use std::fmt;
use std::io;

impl fmt::Display for Untraceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProcessor => f.write_str("tests are not traced on this processor"),
            Self::OtherSystem => write!(f, "tests are not traced on {}", std::env::consts::OS),
            Self::Refused => {
                f.write_str("the system does not let us trace processes (seccomp, or kernel.yama.ptrace_scope)")
            }
            Self::OutOfTime { tests } => write!(f, "the budget left no time for {}", count(*tests, "test")),
            Self::Failed(error) => {
                write!(f, "processes cannot be traced: {}", io::Error::from_raw_os_error(*error))
            }
        }
    }
}

impl fmt::Display for Uncompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolchains => f.write_str("the versions are built with different toolchains"),
            Self::UnknownInputs => f.write_str("it is not known what it was linked from"),
            Self::LinkerOptions { differ } => write!(f, "the linker's options differ: {}", differ.join(" and ")),
            Self::LinkerEnvironment => f.write_str("the linker's environment differs"),
            Self::LinkerScripts => f.write_str("the linker scripts differ"),
            Self::IncompleteInputs { why } | Self::Unreadable { why } => f.write_str(why),
        }
    }
}
