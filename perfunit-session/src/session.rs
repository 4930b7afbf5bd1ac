//! The immutable data that all steps of a comparison share.

use super::archived::Archive;
use super::news::{Announce, News};
use super::options::Options;
use perfunit_build::{Builder, BuiltSides};
use perfunit_explain::Inquiry;
use perfunit_model::error::Result;
use perfunit_model::{Reason, Side, Warning};
use perfunit_project::cargo::Context;
use perfunit_project::config::StepKind;
use perfunit_project::git::Versions;
use perfunit_select::{Names, TargetSelection, Tracing, Wanted, select};
use perfunit_system::interrupt;
use std::time::Instant;

/// A comparison with settled versions, targets and options.
pub struct Session<'a> {
    pub context: &'a Context,
    /// The versions, with the same lock file policy.
    pub versions: &'a Versions,
    pub selected: &'a TargetSelection,
    pub options: &'a Options,
    pub names: Names<'a>,
    /// Deadline of the whole run.
    pub deadline: Option<Instant>,
    /// Whether builds are packed into an archive or come from one.
    pub archive: &'a Archive,
    pub news: News<'a>,
}

/// Selects what to compare, and returns it with its builder. Resolves the lock files if anything will be built.
pub fn select_to_build<'a>(
    context: &'a Context,
    versions: &mut Versions,
    wanted: &Wanted<'_>,
) -> Result<(Builder<'a>, TargetSelection)> {
    let mut builder = Builder::open(context, versions)?;
    let warnings = before_builds(&mut builder, versions, wanted)?;
    let mut selected = select(&mut builder, versions, wanted)?;
    selected.warnings.extend(warnings);
    if !selected.targets.is_empty() {
        builder.settle_lock_file(versions, &selected.workspace.root)?;
    }
    Ok((builder, selected))
}

/// Runs the steps before builds in both versions, unless nothing will be built.
fn before_builds(builder: &mut Builder<'_>, versions: &mut Versions, wanted: &Wanted<'_>) -> Result<Vec<Warning>> {
    let steps = &wanted.rules.steps;
    if !steps.iter().any(|step| step.kind == StepKind::Build) || !needs_builds(builder, versions, wanted)? {
        return Ok(Vec::new());
    }
    builder.settle_lock_file(versions, &builder.context().live.root)?;
    let mut warnings = Vec::new();
    for side in Side::BOTH {
        warnings.extend(builder.prepare(side, versions.files.get_mut(side), steps)?);
    }
    Ok(warnings)
}

/// Checks whether a comparison builds the versions. A version that needs its steps may not even load, which means yes.
fn needs_builds(builder: &mut Builder<'_>, versions: &Versions, wanted: &Wanted<'_>) -> Result<bool> {
    let Ok(selected) = select(builder, &mut versions.clone(), wanted) else { return Ok(true) };
    if !selected.targets.is_empty() || !selected.diff.is_empty() {
        return Ok(true);
    }
    // A step may read files that nothing else reads.
    let changed = versions.files.base.changed_paths(&versions.files.head);
    for step in wanted.rules.steps.iter().filter(|step| step.kind == StepKind::Build) {
        if step.patterns()?.is_some_and(|patterns| changed.iter().any(|path| patterns.is_match(path))) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl<'a> Session<'a> {
    /// Creates a session without a deadline, archive or announcements.
    pub fn new(
        context: &'a Context,
        versions: &'a Versions,
        selected: &'a TargetSelection,
        options: &'a Options,
    ) -> Self {
        let names = Names::of_versions(versions, selected);
        Self {
            context,
            versions,
            selected,
            options,
            names,
            deadline: None,
            archive: &Archive::None,
            news: News::new(&|_| {}),
        }
    }

    #[must_use]
    pub fn archive(self, archive: &'a Archive) -> Self {
        Self { archive, ..self }
    }

    #[must_use]
    pub fn announcing(self, announce: Announce<'a>) -> Self {
        Self { news: News::new(announce), ..self }
    }

    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// Returns true if no further step may start.
    pub fn is_over(&self) -> bool {
        interrupt::is_requested() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the reason why no further step may start.
    pub fn stop_reason() -> Reason {
        if interrupt::by_user() { Reason::Interrupted } else { Reason::BudgetUsedUp }
    }

    pub fn tracing(&self) -> Tracing {
        let measuring = &self.options.measuring;
        Tracing { timeout: measuring.timeout, deadline: self.deadline }
    }

    /// Returns the settings for explaining tests of a pairing.
    pub fn inquiry<'b>(&'b self, built: &'b BuiltSides) -> Inquiry<'b> {
        Inquiry {
            versions: self.versions,
            selected: self.selected,
            built,
            build: &self.options.build,
            explaining: self.options.explaining,
            measuring: &self.options.measuring,
            deadline: self.deadline,
            unasked_until: None,
        }
    }
}
