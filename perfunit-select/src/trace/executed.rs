//! What is asked of a run, and the answer.

use super::places::Places;
use super::unseen::Unseen;
use perfunit_build::TestExecutable;
use perfunit_system::temporary::TestFolder;
use std::ffi::OsString;

/// Whether a test executes any of the functions in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    Yes,
    /// It passed and did not.
    No,
    Unknown(Unseen),
}

/// A test executable and what its tests need to run in.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub executable: &'a TestExecutable,
    pub places: &'a Places,
    /// `TMPDIR` of its tests; emptied before each.
    pub temporary: &'a TestFolder,
    /// Set besides what cargo and the user set: the seed of this run.
    pub variables: &'a [(&'static str, OsString)],
}
