//! Joins the checked shards of a run.

use super::check::Shard;
use crate::summary;
use perfunit_explain::parameters;
use perfunit_measure::programs_over_tests;
use perfunit_model::{
    Environment, Growth, LayoutMatch, NoLayout, NotCompared, Outcome, Partition, Ratchet, Reason, Run, Selection,
    Sharding, Shards, Stages, TargetId, TestId, Verdict, Warning,
};
use perfunit_select::CoverageGaps;
use std::collections::{BTreeMap, BTreeSet};

/// Joins the shards, which are sorted.
pub(super) fn join(shards: &[Shard]) -> Run {
    let runs: Vec<&Run> = shards.iter().map(|shard| &shard.record.run).collect();
    let mut run = join_runs(&runs);
    run.growth = growth(&runs);
    run.scaling = parameters(&run.outcomes);
    // Shards are those of one run.
    run.programs = programs_over_tests(&run, 1);
    run.ratchet = ratchet(&runs);
    run
}

/// Joins the growth of functions. Each shard judged the functions that its tests call.
fn growth(runs: &[&Run]) -> Option<Growth> {
    let seen = runs.iter().filter_map(|run| run.growth.clone());
    seen.reduce(|mut all, more| {
        all.add(more);
        all
    })
}

/// Joins the comparisons with the ratchet's version. If one shard has none, the whole has none.
fn ratchet(runs: &[&Run]) -> Option<Ratchet> {
    let all: Vec<&Ratchet> = runs.iter().filter_map(|run| run.ratchet.as_ref()).collect();
    let version = all.first()?.version.clone();
    let compared: Result<Vec<&Run>, &NotCompared> = all.iter().map(|ratchet| ratchet.comparison.as_deref()).collect();
    let comparison = compared.map(|runs| Box::new(join_runs(&runs))).map_err(NotCompared::clone);
    Some(Ratchet { version, comparison })
}

fn join_runs(runs: &[&Run]) -> Run {
    let first = runs[0];
    let outcomes = outcomes(runs);
    let sharding = sharding(runs);
    let mut run = Run {
        environment: environment(runs),
        selection: selection(runs, &outcomes, sharding.as_ref()),
        warnings: warnings(runs, &outcomes),
        stages: stages(runs),
        interrupted: runs.iter().any(|run| run.interrupted),
        pooled: runs.iter().flat_map(|run| run.pooled.clone()).collect(),
        sharding,
        outcomes,
        ..first.clone()
    };
    run.warnings.extend(disagreement(runs));
    run
}

/// Returns each test's outcome from its own shard, and from the first shard for tests of no shard.
fn outcomes(runs: &[&Run]) -> Vec<Outcome> {
    let mut known: BTreeSet<&TestId> = BTreeSet::new();
    // Builds of shards may differ: a test is unaffected only if no shard has another reason for it.
    let rank = |outcome: &&Outcome| match outcome.reason {
        _ if outcome.verdict != Verdict::NotMeasured => 0,
        Some(Reason::SameExecutable | Reason::SameCode) => 3,
        _ if outcome.is_of_other_shard() => 2,
        _ => 1,
    };
    let mut all: Vec<&Outcome> = runs.iter().flat_map(|run| &run.outcomes).collect();
    all.sort_by_key(rank);
    let joined = all.into_iter().filter(|outcome| known.insert(&outcome.test));
    // Measured tests come first, in the order of the shards.
    let (measured, not): (Vec<&Outcome>, Vec<&Outcome>) =
        joined.partition(|outcome| outcome.verdict != Verdict::NotMeasured);
    measured.into_iter().chain(not).cloned().collect()
}

fn sharding(runs: &[&Run]) -> Option<Sharding> {
    let known = || runs.iter().filter_map(|run| run.sharding.as_ref());
    let all: BTreeSet<&TestId> = known().flat_map(|sharding| &sharding.candidates).collect();
    Some(Sharding {
        candidates: all.into_iter().cloned().collect(),
        parts: known().flat_map(|sharding| &sharding.parts).cloned().collect(),
        led_to: known().flat_map(|sharding| &sharding.led_to).cloned().collect(),
        ..known().next()?.clone()
    })
}

/// Returns the sums for the whole run. Among divided tests, only tracing excluded some.
fn selection(runs: &[&Run], outcomes: &[Outcome], sharding: Option<&Sharding>) -> Selection {
    let dealt: BTreeSet<&TestId> = sharding.iter().flat_map(|sharding| &sharding.candidates).collect();
    let is_left_out = |outcome: &&Outcome| {
        let traced = matches!(outcome.reason, Some(Reason::NotExecuted { .. } | Reason::DataChanged { .. }));
        outcome.verdict == Verdict::NotMeasured && (traced || !dealt.contains(&outcome.test))
    };
    let left_out: Vec<&Outcome> = outcomes.iter().filter(is_left_out).collect();
    // A shard without tests reports for each change that it measures nothing.
    let fewest = runs.iter().map(|run| &run.selection).min_by_key(|selection| selection.effects.len());
    let mut selection = fewest.cloned().unwrap_or_default();
    selection.left_out.clear();
    let unseen = CoverageGaps {
        uncovered: runs.iter().flat_map(|run| &run.selection.uncovered).cloned().collect(),
        led_to: sharding.iter().flat_map(|sharding| &sharding.led_to).cloned().collect(),
        ..CoverageGaps::default()
    };
    selection.uncovered = unseen.uncovered_after(outcomes.iter());
    if outcomes.is_empty() {
        return selection;
    }
    let targets = selection.targets_reached;
    summary::describe(selection, outcomes.len() - left_out.len(), &left_out, targets)
}

/// Returns the first shard's environment with the layouts of all shards, using the worse of two figures.
fn environment(runs: &[&Run]) -> Environment {
    let mut layouts: BTreeMap<TargetId, Result<LayoutMatch, NoLayout>> = BTreeMap::new();
    for (target, found) in runs.iter().flat_map(|run| &run.environment.layouts) {
        let joined = match (layouts.remove(target), found) {
            (Some(Ok(known)), Ok(found)) => Ok(known.worse(*found)),
            (Some(Err(why)), _) => Err(why),
            (_, found) => found.clone(),
        };
        layouts.insert(target.clone(), joined);
    }
    let environments = || runs.iter().map(|run| &run.environment);
    Environment {
        cpu: processors(runs).into_keys().collect::<Vec<_>>().join(", "),
        paired_address_space: environments().all(|environment| environment.paired_address_space),
        layouts,
        ..runs[0].environment.clone()
    }
}

/// Returns the longest time of each stage, as if the shards ran side by side.
fn stages(runs: &[&Run]) -> Stages {
    let longest =
        |of: fn(&Stages) -> std::time::Duration| runs.iter().map(|run| of(&run.stages)).max().unwrap_or_default();
    Stages {
        prepare: longest(|stages| stages.prepare),
        build: longest(|stages| stages.build),
        select: longest(|stages| stages.select),
        measure: longest(|stages| stages.measure),
        explain: longest(|stages| stages.explain),
    }
}

/// Returns the numbers of the shards by processor.
fn processors(runs: &[&Run]) -> BTreeMap<String, Vec<String>> {
    let mut processors: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in runs {
        let number = run.sharding.as_ref().and_then(Sharding::single).map_or(0, |Partition { shard, .. }| shard);
        processors.entry(run.environment.cpu.clone()).or_default().push(number.to_string());
    }
    processors
}

fn warnings(runs: &[&Run], outcomes: &[Outcome]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in runs.iter().flat_map(|run| &run.warnings) {
        if !warnings.contains(warning) {
            Warning::add(&mut warnings, [warning.clone()]);
        }
    }
    let processors = processors(runs);
    if processors.len() > 1 {
        warnings.push(Warning::Shards(Shards::Processors(processors)));
    }
    for run in runs.iter().filter(|run| run.interrupted) {
        let Some(shard) = run.sharding.as_ref().and_then(Sharding::single) else { continue };
        let left = run.outcomes.iter().filter(|outcome| outcome.reason == Some(Reason::Interrupted)).count();
        warnings.push(Warning::Shards(Shards::Interrupted { shard, left }));
    }
    let tests = outcomes.iter().filter(|outcome| outcome.is_of_other_shard()).count();
    if tests > 0 {
        warnings.push(Warning::Shards(Shards::NobodysTests { tests }));
    }
    warnings
}

/// Returns a warning if shards by hash have different candidates, which does not change their division.
fn disagreement(runs: &[&Run]) -> Option<Warning> {
    let mut lists = runs.iter().filter_map(|run| run.sharding.as_ref()).map(|sharding| &sharding.candidates);
    let first = lists.next()?;
    lists.any(|list| list != first).then_some(Warning::Shards(Shards::Disagree))
}
