//! The result of selection, test by test.

use super::{Capture, Reason, SelectedBecause, Selection, Sides, TestId, VersionName, Why, WithoutWorkload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The result of selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// All tests found, in the order of output; within a target, tests that use changed code directly come first.
    pub tests: Vec<Listed>,
    /// Summary of the selection.
    pub selection: Selection,
    /// Changed functions without a test or a generated call, if generated calls were requested.
    pub without: Vec<WithoutWorkload>,
    /// Folders of both versions' executables; `None` if nothing was built.
    pub kept: Option<Sides<PathBuf>>,
    /// The library that gives both processes of a pair the same random numbers, if there is one.
    pub seeds: Option<PathBuf>,
    /// Wall time of the stages.
    pub seconds: ListSeconds,
}

/// Wall time of the stages of `list`, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListSeconds {
    /// Resolving versions, comparing sources, selecting targets.
    pub prepare: f64,
    /// Building both versions; almost zero for versions that were built before.
    pub build: f64,
    /// Selecting tests from the executables.
    pub select: f64,
}

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub test: TestId,
    /// True if a call graph by names leads from the test to a changed item. It does not affect selection.
    pub by_name: bool,
    /// Capture method, if the test was captured.
    pub capture: Option<Capture>,
    /// The reason for selection; `None` if the test was not selected.
    pub selected_because: Option<SelectedBecause>,
    /// Differences of the test's machine code, if compared.
    pub why: Option<Why>,
    /// The reason if the test was dropped or cannot be measured.
    pub reason: Option<Reason>,
}
