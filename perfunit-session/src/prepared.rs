//! A pairing, built, with its tests.

use super::news::has_new_code;
use super::shared::Session;
use perfunit_build::{Builder, BuiltSides, Inlining, Job, Pairing, Place, Probes, Variant};
use perfunit_model::TargetId;
use perfunit_model::error::Result;
use perfunit_select::{Candidates, Names, Selected, candidates};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A pairing with the tests to measure in it and, with their reasons, those that are not measured.
pub struct Prepared {
    pub built: BuiltSides,
    pub candidates: Candidates,
}

impl Prepared {
    /// Builds a pairing and sorts out its tests, with the time that the latter took.
    pub fn new(
        session: &Session<'_>,
        builder: &mut Builder<'_>,
        pairing: Pairing,
        targets: &BTreeSet<TargetId>,
    ) -> Result<(Self, Duration)> {
        let built = build(session, builder, pairing, targets)?;
        if built.pairing.moves() {
            // Tests are listed in their folders, and a version that moved is not where the other one is.
            builder.checkout(Place::Measured, built.pairing.data(), &built.injections)?;
        }
        let Session { context, versions, selected, names, .. } = session;
        let started = Instant::now();
        let candidates = candidates(context, versions, selected, names, &built)?;
        Ok((Self { built, candidates }, started.elapsed()))
    }

    /// The targets of tests that join the second pairing if they fail on head.
    pub fn may_move<'a>(&'a self, names: &'a Names<'_>) -> impl Iterator<Item = TargetId> + 'a {
        let tests = self.candidates.chosen.iter().map(|candidate| &candidate.test);
        tests.filter(|test| has_new_code(test, names)).map(|test| test.target.clone())
    }
}

/// Builds a pairing, or finds it in an archive.
fn build(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    pairing: Pairing,
    targets: &BTreeSet<TargetId>,
) -> Result<BuiltSides> {
    let Session { selected, options, .. } = session;
    // Of all selected targets, even if fewer are built: a root that changes between pairings is compiled again.
    let roots = selected.injections();
    let variant = Variant { runner: true, probes: Probes::Without, inlining: Inlining::AsBuilt };
    if let Some(recipe) = session.archive.recipe(pairing.tests_of, targets)? {
        return recipe.follow(&session.context.ours, &selected.workspace, pairing, &roots, variant);
    }
    let Selected { workspace, packages, .. } = selected;
    builder.pairing(
        &Job { options: &options.build, workspace, packages, targets, deadline: None },
        pairing,
        roots,
        variant,
    )
}
