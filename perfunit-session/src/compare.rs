//! Compares two versions: opens them, selects and measures tests.

use super::acceptances::Acceptances;
use super::news::Announce;
use super::open::{Lock, Opened, open};
use super::options::Options;
use super::session::{Session, select_to_build};
use super::{environment, measure, options, pairings, partition, time_estimate};
use perfunit_build::Builder;
use perfunit_explain::parameters;
use perfunit_measure::programs_over_tests;
use perfunit_model::error::Result;
use perfunit_model::{Generated, Run, Selection, Sides, Stages, Warning};
use perfunit_project::cargo::Context;
use perfunit_project::git::Versions;
use perfunit_select::{LedTo, Names, TargetSelection, find_coverage_gaps, unused_filters};
use perfunit_system::interrupt;
use perfunit_system::term::Terminal;
use std::path::PathBuf;
use std::time::Instant;

/// A completed comparison.
pub struct Compared {
    pub run: Run,
    /// Keys of the versions' content.
    pub contents: Sides<String>,
    /// The keys in the comparison with the ratchet's version, if there was one.
    pub of_ratchet: Option<Sides<String>>,
    /// Our folder in the target folder.
    pub ours: PathBuf,
    /// The lock of our folder, unless the caller holds it.
    pub lock: Option<Lock>,
}

/// Checks that this machine can provide what the options request, before anything is built.
pub fn check(options: &Options) -> Result<()> {
    measure::check(&options.measuring)?;
    perfunit_explain::check(options.explaining)
}

/// Compares two versions. Takes the [`lock`] of our folder unless the caller holds it.
pub fn compare(options: &Options, terminal: Terminal, held: Option<&Lock>, announce: Announce<'_>) -> Result<Compared> {
    // `log` and `bisect` make many comparisons; otherwise proc_macro2 keeps every parsed text for its spans.
    proc_macro2::extra::invalidate_current_thread_spans();
    let started = Instant::now();
    check(options)?;
    compare_opened(open(options, terminal, held)?, options, started, announce)
}

/// Compares two opened versions.
pub fn compare_opened(opened: Opened, options: &Options, started: Instant, announce: Announce<'_>) -> Result<Compared> {
    let Opened { context, mut versions, archive, warnings, lock } = opened;
    let contents = versions.contents();
    let acceptances = Acceptances::read(&versions, options)?;
    let (mut builder, mut selected) = select_to_build(&context, &mut versions, &options.test_filter())?;
    let mut run = empty_run(&context, &versions, options, select_without_builds(&versions, &selected));
    run.acceptances.clone_from(&acceptances.all);
    run.warnings = warnings;
    run.warnings.extend(acceptances.warnings.iter().cloned());
    run.warnings.append(&mut selected.warnings);
    run.stages.prepare = started.elapsed();
    let (mut dealt, mut led_to) = (None, Vec::new());
    if !selected.targets.is_empty() {
        let deadline = options.measuring.budget.map(|budget| started + budget);
        let session = Session::new(&context, &versions, &selected, options).archive(&archive).until(deadline);
        let session = session.announcing(announce);
        (dealt, led_to) = measure_all(&session, &mut builder, &mut run, started)?;
        run.interrupted = interrupt::by_user();
    }
    run.sharding = partition::sharding(options.partition, dealt, led_to, &run);
    acceptances.explain_rest(&mut run);
    Ok(Compared { run, contents, of_ratchet: None, ours: context.ours, lock })
}

/// Builds and measures the selected tests. Returns all tests of the run if it is one shard of several, and the
/// functions that only few tests reach.
fn measure_all(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    run: &mut Run,
    started: Instant,
) -> Result<(Option<partition::Dealt>, LedTo)> {
    let plan = pairings::prepare(session, builder)?;
    run.stages.select = plan.selecting;
    run.stages.build = started.elapsed().saturating_sub(run.stages.prepare + run.stages.select);
    let unseen = plan.find_coverage_gaps(session);
    run.selection = plan.describe(std::mem::take(&mut run.selection), &unseen, session);
    run.warnings.extend(plan.warnings());
    let unused = unused_filters(session.selected, &session.options.scope, &plan.tests(), session.options.generated);
    // Names may still match generated calls.
    if session.options.generated == Generated::Never {
        show(&unused, session.context.terminal);
    }
    run.warnings.extend(unused);
    let dealt = plan.dealt.clone();
    time_estimate::announce(session, plan.tests_to_measure());
    let measured = plan.measure(session, builder)?;
    if let Some(environment) = measured.environment {
        run.environment = environment;
    }
    run.outcomes = measured.outcomes;
    run.selection.uncovered = unseen.uncovered_after(run.outcomes.iter());
    run.drop_executed();
    run.scaling = parameters(&run.outcomes);
    run.programs = programs_over_tests(run, session.options.measuring.family);
    run.warnings.extend(measured.warnings);
    run.pooled = measured.pooled;
    run.growth = measured.growth;
    run.stages.build += measured.building;
    run.stages.select += measured.selecting;
    run.stages.explain = measured.explaining;
    let others = run.stages.prepare + run.stages.build + run.stages.select + run.stages.explain;
    run.stages.measure = started.elapsed().saturating_sub(others);
    Ok((dealt, unseen.led_to))
}

/// Returns the selection before anything is built. If the change reaches no target, no test executes it.
pub fn select_without_builds(versions: &Versions, selected: &TargetSelection) -> Selection {
    let mut selection = selected.summary();
    if selected.targets.is_empty() {
        let unseen = find_coverage_gaps(selected, &Names::of_versions(versions, selected), &[]);
        unseen.describe(&mut selection);
    }
    selection
}

pub fn show(warnings: &[Warning], terminal: Terminal) {
    for warning in warnings {
        terminal.warning(&warning.to_string());
    }
}

fn empty_run(context: &Context, versions: &Versions, options: &Options, selection: Selection) -> Run {
    let names = versions.names();
    let repeat = Some(options::repeat(options, versions.repository.root(), &names));
    let Sides { base, head } = names;
    Run {
        base,
        head,
        repeat,
        environment: environment::describe(context, options, None),
        selection,
        outcomes: Vec::new(),
        warnings: Vec::new(),
        stages: Stages::default(),
        threshold: options.measuring.threshold,
        bound: options.measuring.bound,
        gates: options.measuring.gates.clone(),
        alpha: options.measuring.alpha,
        interrupted: false,
        pooled: Vec::new(),
        programs: Vec::new(),
        sharding: None,
        growth: None,
        scaling: Vec::new(),
        acceptances: Vec::new(),
        ratchet: None,
        generated: None,
    }
}
