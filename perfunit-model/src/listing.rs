//! What selection found, test by test.

use super::{Capture, Reason, SelectedBecause, Selection, Sides, TestId, VersionName, Why, WithoutWorkload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What selection found.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// Every test found, in the order to show; within a target those that use changed code directly come first.
    pub tests: Vec<Listed>,
    /// What selection did.
    pub selection: Selection,
    /// Changed functions that no test executes and that have no generated call, where calls were asked for.
    pub without: Vec<WithoutWorkload>,
    /// Folders of the executables of both versions; `None` if nothing was built.
    pub kept: Option<Sides<PathBuf>>,
    /// The library that gives both processes of a pair the same random numbers, if there is one.
    pub seeds: Option<PathBuf>,
    /// Wall time of the stages.
    pub seconds: ListSeconds,
}

/// Wall time of the stages of `list`, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListSeconds {
    /// Versions, source difference, targets reached.
    pub prepare: f64,
    /// Both builds; a version that was built before costs next to nothing.
    pub build: f64,
    /// From the executables to the tests that can have changed.
    pub select: f64,
}

/// One test found.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub test: TestId,
    /// Whether names lead from it to a changed item; selects nothing, but tells what a call graph by names would.
    pub by_name: bool,
    /// How it was captured, if it was.
    pub capture: Option<Capture>,
    /// Why it was selected; `None` if it was not.
    pub selected_because: Option<SelectedBecause>,
    /// What of its machine code differs, where that was compared.
    pub why: Option<Why>,
    /// Why it was left out, or cannot be measured.
    pub reason: Option<Reason>,
}
