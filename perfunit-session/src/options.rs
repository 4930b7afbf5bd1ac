//! What the user asked for, resolved: no strings with units, no choices left open.

use perfunit_build as build;
use perfunit_explain::Explaining;
use perfunit_measure::Measuring;
use perfunit_model::{Generated, Partition};
use perfunit_project::config::{RatchetRequest, Rules};
use perfunit_project::git::Request;
use perfunit_select::{Filter, Scope, Wanted};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A comparison to make.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Options {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    pub request: Request,
    /// An older version to compare with as well.
    #[serde(default)]
    pub ratchet: Option<RatchetRequest>,
    /// Whether to compare generated calls, too.
    #[serde(skip)]
    pub generated: Generated,
    /// Which packages and targets.
    pub scope: Scope,
    pub filter: Filter,
    /// What the configuration says of some tests and files.
    pub rules: Rules,
    /// How the configuration was chosen, as it is typed.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Measure this shard only.
    #[serde(default)]
    pub partition: Option<Partition>,
    /// Take the builds from this archive.
    #[serde(skip)]
    pub archive: Option<PathBuf>,
    /// Files and folders of results that the command names, absolute: where they lie in the project they are no change of it.
    #[serde(default)]
    pub results: Vec<PathBuf>,
    /// A folder that gets the record of the run too.
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// Take all tests in scope, whether the change reaches them or not.
    pub all_tests: bool,
    /// Cargo's options.
    pub build: build::Options,
    /// How to measure and decide.
    pub measuring: Measuring,
    /// How to find the responsible functions.
    pub explaining: Explaining,
    /// Whether to count how the work of functions grows.
    #[serde(default)]
    pub growth: bool,
}

impl Options {
    /// As without any option.
    pub fn new(folder: PathBuf, request: Request) -> Self {
        let build = build::Options { profile: "bench".to_owned(), arguments: Vec::new() };
        Self { folder, request, build, ..Self::default() }
    }

    /// Which tests are wanted.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted {
            is_head_live: self.request.is_head_live(),
            scope: &self.scope,
            filter: &self.filter,
            rules: &self.rules,
            all_tests: self.all_tests,
            terms: self.measuring.terms(),
        }
    }
}
