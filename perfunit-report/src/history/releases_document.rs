//! Releases as JSON.

use super::document::{Entry, Outcome, entry, outcome};
use crate::wire::{SCHEMA_VERSION, Test, pretty};
use perfunit_model as model;
use perfunit_model::Releases;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `log --by-tag`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReleasesDocument {
    /// Version of this format.
    schema_version: u32,
    /// Oldest first; the last one is the end of the range, whether it has a tag or not.
    releases: Vec<ReleaseOf>,
    /// At most the probability that any test is falsely called slower or faster from release to release.
    family_wise_error: f64,
    /// Whether releases are open.
    interrupted: bool,
}

/// A release against the one before it that builds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ReleaseOf {
    base: model::Commit,
    head: model::Commit,
    /// What came of the direct comparison.
    comparison: Outcome,
    /// The commits that lead to it, as far as `log` looked at them; others are `open`.
    commits: Vec<Entry>,
    /// For each slower or faster test, the commits that made it so, as far as they were looked at.
    moved_by: Vec<MovedBy>,
}

/// The commits that made a test slower or faster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MovedBy {
    #[serde(flatten)]
    test: Test,
    /// Their ids.
    commits: Vec<String>,
}

/// Releases for programs.
pub fn releases_json(releases: &Releases) -> String {
    pretty(&ReleasesDocument {
        schema_version: SCHEMA_VERSION,
        releases: releases.releases.iter().map(release).collect(),
        family_wise_error: releases.family_wise_error(),
        interrupted: releases.interrupted,
    })
}

fn release(release: &model::Release) -> ReleaseOf {
    let moved = release.outcome.step().into_iter().flat_map(model::Step::moved);
    let moved_by = |found: &model::StepTest| MovedBy {
        test: Test::from(&found.test),
        commits: release.moved_by(&found.test).map(|(commit, _)| commit.id.clone()).collect(),
    };
    ReleaseOf {
        base: release.base.clone(),
        head: release.head.clone(),
        comparison: outcome(&release.outcome),
        commits: release.commits.iter().map(entry).collect(),
        moved_by: moved.map(moved_by).collect(),
    }
}
