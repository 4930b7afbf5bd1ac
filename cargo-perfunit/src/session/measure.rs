//! Measures the candidates of a pairing on the same data files, first on those of the version that the tests are from.

use super::build::BuiltSides;
use super::candidates::{Candidate, Candidates, not_measured};
use super::environment;
use super::options::{Measuring, Options};
use super::setup::Setup;
use crate::build::{InPlace, TestExecutable, share_libraries};
use crate::error::{Error, Result};
use crate::measure::{
    AllEnded, Bench, Config, Ended, Figures, Gauges, Instructions, Metering, Seeds, Subject, Terms, cross_check,
    find_valgrind, gate, measure_all, verdicts_of_pairs,
};
use crate::model::{
    Basis, Environment, Metered, Metric, MetricVerdict, Metrics, Outcome, Readings, Reason, Side, Sides, TargetId,
};
use crate::report;
use crate::system::interrupt;
use crate::system::progress::Progress;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What the run found out.
#[derive(Debug)]
pub struct Measured {
    /// One for each test, measured or not.
    pub outcomes: Vec<Outcome>,
    pub environment: Environment,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Time spent on explaining afterwards.
    pub explaining: Duration,
}

/// Paths named in the warning about tests that write into the tree.
const NAMED_PATHS: usize = 3;

/// Whether what the user wants to know can be had here: nothing is built before that is clear.
pub fn check(measuring: &Measuring) -> Result<()> {
    if measuring.instructions == Instructions::Callgrind && find_valgrind().is_none() {
        return Err(Error::setup("--instructions callgrind needs valgrind, which is not in PATH")
            .hint("install valgrind, or leave the option out to count by the processor"));
    }
    if measuring.instructions == Instructions::Never && measuring.gates.contains(&Metric::Instructions) {
        return Err(Error::usage("instructions decide (--metric), and are not to be counted (--instructions never)")
            .hint("leave one of the two out; `cargo perfunit show-config` tells where they are set"));
    }
    Ok(())
}

/// Measures all candidates; `others` are the tests that the whole run may measure besides them.
pub fn measure(
    setup: &mut Setup,
    options: &Options,
    built: &BuiltSides,
    candidates: Candidates,
    others: usize,
    deadline: Option<Instant>,
) -> Result<Measured> {
    let measuring = &options.measuring;
    let config = Config {
        timeout: measuring.timeout,
        per_test_budget: measuring.per_test_budget,
        deadline,
        threshold: measuring.threshold,
        alpha: measuring.alpha,
        others: others * most_verdicts(options),
        seed: measuring.seed,
        placement: measuring.placement,
        metering: Some(Metering { gates: measuring.gates.clone(), instructions: measuring.instructions }),
    };
    let mut bench = Bench::open(&setup.ours)?;
    let mut warnings = Vec::new();
    bench.seeds = Seeds::new(built.seeds.clone());
    bench.gauges = Gauges::new(built.meter.clone(), find_valgrind(), bench.callgrind());
    warnings.extend(bench.seeds.shortcoming(programs(built, &candidates.chosen)));
    // Both sides see the same files: otherwise two workloads would be compared.
    let data = built.pairing.tests_of;
    checkout(setup, built, data)?;
    share_libraries(&built.sides)?;
    bench.made = Some(InPlace::put(&built.sides, &setup.ours)?);
    let AllEnded { tests: mut ended, layouts } = round(setup, &bench, &config, built, &candidates.chosen)?;
    note_writes(setup, built, data, &mut warnings)?;
    with_other_files(setup, &bench, &config, built, &candidates.chosen, &mut ended, &mut warnings)?;
    let outcome = |(candidate, end)| outcome(candidate, end, data);
    let mut outcomes: Vec<Outcome> = candidates.chosen.into_iter().zip(ended).map(outcome).collect();
    outcomes.extend(candidates.excluded);
    let environment = Environment { layouts, ..environment::describe(setup, options, Some(&bench)) };
    warnings.extend(bench.remarks());
    Ok(Measured { outcomes, environment, warnings, explaining: Duration::ZERO })
}

/// As many verdicts as pairs may give on one test, whatever the rules say of it.
fn most_verdicts(options: &Options) -> usize {
    let overrides = options.rules.overrides.iter().filter_map(|rule| rule.metrics.as_ref());
    let gates = overrides.chain([&options.measuring.gates]);
    gates.map(|gates| verdicts_of_pairs(gates)).max().unwrap_or(1)
}

/// The executables of the tests to measure, on both sides.
fn programs<'a>(built: &'a BuiltSides, candidates: &[Candidate]) -> impl Iterator<Item = &'a TestExecutable> {
    let targets: BTreeSet<&TargetId> = candidates.iter().map(|candidate| &candidate.test.target).collect();
    let both = Side::BOTH.into_iter().flat_map(|side| &built.sides.get(side).executables);
    both.filter(move |executable| targets.contains(&executable.target))
}

fn round(
    setup: &Setup,
    bench: &Bench,
    config: &Config,
    built: &BuiltSides,
    candidates: &[Candidate],
) -> Result<AllEnded> {
    let executable = |side: Side, candidate: &Candidate| {
        built.sides.get(side).executables.iter().find(|executable| executable.target == candidate.test.target)
    };
    let subjects: Vec<Subject<'_>> = candidates
        .iter()
        .filter_map(|candidate| {
            let executables =
                Sides { base: executable(Side::Base, candidate)?, head: executable(Side::Head, candidate)? };
            Some(Subject {
                test: candidate.test.clone(),
                executables,
                terms: Some(&candidate.terms),
                ignored: candidate.ignored,
            })
        })
        .collect();
    let progress = Progress::bar(setup.terminal, "Measuring", subjects.len());
    measure_all(bench, config, &built.sides.as_ref(), &subjects, &progress)
}

/// Tests that fail on one version with the other's data files get a second chance on both sides with its own.
fn with_other_files(
    setup: &mut Setup,
    bench: &Bench,
    config: &Config,
    built: &BuiltSides,
    candidates: &[Candidate],
    ended: &mut [Ended],
    warnings: &mut Vec<String>,
) -> Result<()> {
    let data = built.pairing.tests_of;
    let other = data.other();
    let fails_there =
        |end: &Ended| matches!(&end.result, Err(Reason::Fails { side, .. }) if *side == other.to_string());
    let again: Vec<usize> = (0..ended.len()).filter(|index| fails_there(&ended[*index])).collect();
    let data_differs = setup
        .files
        .base
        .changed(&setup.files.head)
        .iter()
        .any(|path| path.extension().is_none_or(|extension| extension != "rs"));
    if again.is_empty() || !data_differs || interrupt::requested() {
        return Ok(());
    }
    checkout(setup, built, other)?;
    let done = candidates.iter().zip(&*ended).filter(|(_, end)| end.result.is_ok());
    let done: usize = done.map(|(candidate, _)| verdicts_of_pairs(&candidate.terms.gates)).sum();
    let config = &Config { others: config.others + done, ..config.clone() };
    let subset: Vec<Candidate> = again.iter().map(|index| candidates[*index].clone()).collect();
    for (index, mut end) in again.into_iter().zip(round(setup, bench, config, built, &subset)?.tests) {
        if let Ok(figures) = &mut end.result {
            figures.notes.push(format!("measured with {other}'s data files: it does not pass with {data}'s"));
            ended[index] = end;
        }
    }
    note_writes(setup, built, other, warnings)
}

/// Puts one version's files into the tree.
pub fn checkout(setup: &mut Setup, built: &BuiltSides, side: Side) -> Result<()> {
    setup.tree.checkout(&setup.repository, built.pairing.files.get(side), &built.injections).map(drop)
}

/// Undoes what tests wrote into the tree, and says so: the next run of such a test may find another world.
fn note_writes(setup: &mut Setup, built: &BuiltSides, side: Side, warnings: &mut Vec<String>) -> Result<()> {
    let written = setup.tree.restore(&setup.repository, built.pairing.files.get(side), &built.injections)?;
    if !written.is_empty() {
        let named: Vec<_> = written.iter().take(NAMED_PATHS).map(|path| path.display().to_string()).collect();
        let more = written.len().saturating_sub(NAMED_PATHS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        warnings
            .push(format!("tests wrote into their package's folder (in our copy of it): {}{more}", named.join(", ")));
    }
    Ok(())
}

fn outcome(candidate: Candidate, end: Ended, tests_of: Side) -> Outcome {
    let capture = end.capture.or(candidate.capture);
    let Candidate { test, because, why, differs, terms, .. } = candidate;
    let of_tests = differs.map(|how| format!("{tests_of}'s test code on both versions: {how}"));
    let mut outcome = match end.result {
        Ok(figures) => {
            let (verdict, reason) = gate(&terms.gates, (figures.verdict, end.reason), &figures.metrics);
            Outcome {
                test,
                verdict,
                reason,
                cross_check: cross_check(figures.verdict, &figures.metrics),
                metrics: with_time(&figures),
                measured: Some(figures.measured),
                capture,
                selected_because: because,
                explanation: None,
                unexplained: None,
                why,
                gates: terms.gates_from.is_some().then(|| terms.gates.clone()),
                notes: figures.notes,
            }
        }
        Err(reason) => not_measured(test, reason, capture, &because),
    };
    outcome.notes.extend(of_tests);
    if outcome.measured.is_some() {
        outcome.notes.extend(own_terms(&terms));
    }
    outcome
}

/// By what else than the run's settings a test is judged, in words.
fn own_terms(terms: &Terms) -> Vec<String> {
    let threshold = |from: &String| format!("judged from {} on, by {from}", report::format::threshold(terms.threshold));
    let gates = |from: &String| {
        let gates: Vec<String> = terms.gates.iter().map(ToString::to_string).collect();
        format!("judged by {}, by {from}", gates.join(", "))
    };
    terms.threshold_from.iter().map(threshold).chain(terms.gates_from.iter().map(gates)).collect()
}

/// All metrics: those besides time, and time as one of them.
fn with_time(figures: &Figures) -> Metrics {
    let measured = &figures.measured;
    let reading = |value: f64| Readings { value, low: value, high: value };
    let time = Metered {
        verdict: MetricVerdict::from(figures.verdict),
        readings: Sides { base: reading(measured.base_ns), head: reading(measured.head_ns) },
        change: Some(measured.change),
        threshold: measured.threshold,
        basis: Basis::Pairs(measured.pairs),
    };
    let mut metrics = figures.metrics.clone();
    metrics.insert(Metric::Time, Ok(time));
    metrics
}
