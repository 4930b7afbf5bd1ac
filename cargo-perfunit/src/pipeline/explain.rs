//! Explains tests: pairs of processes with probes, until it is clear who is to blame.

use super::build::BuiltSides;
use super::options::{Explain, Options};
use super::probes::{self, Probed};
use super::select::Selected;
use super::setup::Setup;
use crate::error::Result;
use crate::explain::{Charges, Known, Merged, charges, differences, told};
use crate::interrupt;
use crate::measure::{Bench, Config, Layouts, ProbeRequest, ProbedPairs, Seeds, Subject};
use crate::model::{Explanation, Function, Mode, Outcome, Side, Sides, Strategy, TargetId, Verdict};
use crate::progress::Progress;
use crate::source::ChangedItem;
use perfunit_runtime::tree::mode;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Looks at who is to blame after so many pairs.
const LOOKS: [usize; 4] = [8, 16, 32, 64];
/// Probability that some interval of an explanation misses.
const ALPHA: f64 = 0.01;
/// Of each look: all of them have to be paid for.
const LEVEL: f64 = ALPHA / LOOKS.len() as f64;
/// Longest measuring for one explanation.
const LONGEST: Duration = Duration::from_secs(8);
/// Who is found to pay for this part of the difference is answer enough.
const EXPLAINED: f64 = 0.8;

/// Explains those of the outcomes that are slower or faster. Returns what the user should know: whatever goes wrong here,
/// what was measured is not lost.
pub fn explain(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    outcomes: &mut [Outcome],
    deadline: Option<Instant>,
) -> Vec<String> {
    try_explain(setup, options, selected, built, outcomes, deadline).unwrap_or_else(|error| {
        vec![format!("nothing more is explained: {}", error.to_string().lines().next().unwrap_or_default())]
    })
}

fn try_explain(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    outcomes: &mut [Outcome],
    deadline: Option<Instant>,
) -> Result<Vec<String>> {
    let wanted = |outcome: &Outcome| {
        matches!(outcome.verdict, Verdict::Slower | Verdict::Faster)
            && outcome.measured.as_ref().is_some_and(|measured| measured.mode == Mode::Steady)
    };
    let targets: BTreeSet<TargetId> =
        outcomes.iter().filter(|outcome| wanted(outcome)).map(|outcome| outcome.test.target.clone()).collect();
    if options.explain == Explain::Never || targets.is_empty() || interrupt::requested() {
        return Ok(Vec::new());
    }
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if is_over() {
        return Ok(vec!["nothing is explained: the budget was used up by measuring".to_owned()]);
    }
    let probed = match probes::build(setup, options, selected, built, &targets)? {
        Ok(probed) => probed,
        Err(why) => return Ok(vec![format!("nothing is explained: {why}")]),
    };
    let measuring = &options.measuring;
    let mut bench = Bench::open(&setup.ours)?;
    bench.seeds = Seeds::new(built.seeds.clone().filter(|_| measuring.equal_seeds));
    let mut layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let outcomes: Vec<&mut Outcome> = outcomes.iter_mut().filter(|outcome| wanted(outcome)).collect();
    let progress = Progress::bar(setup.terminal, "Explaining", outcomes.len());
    for outcome in outcomes {
        if interrupt::requested() {
            break;
        }
        if is_over() {
            outcome.notes.push("not explained: the budget was used up".to_owned());
            continue;
        }
        progress.message(outcome.test.to_string());
        let limit = Instant::now() + LONGEST;
        let config = config(options, deadline.map_or(limit, |deadline| deadline.min(limit)));
        match one(&bench, &config, &probed, outcome, &selected.diff.items, &mut layouts)? {
            Ok(explanation) => outcome.explanation = Some(explanation),
            Err(why) => outcome.notes.push(format!("not explained: {why}")),
        }
        progress.advance();
    }
    Ok(Vec::new())
}

fn config(options: &Options, deadline: Instant) -> Config {
    let measuring = &options.measuring;
    Config {
        timeout: measuring.timeout,
        per_test_budget: LONGEST,
        deadline: Some(deadline),
        threshold: measuring.threshold,
        alpha: ALPHA,
        seed: measuring.seed,
        placement: measuring.placement,
        metering: None,
    }
}

/// Explains one test, or says in words why that cannot be done.
fn one(
    bench: &Bench,
    config: &Config,
    probed: &Probed,
    outcome: &Outcome,
    changes: &[ChangedItem],
    layouts: &mut Layouts,
) -> Result<std::result::Result<Explanation, String>> {
    let executable = |side: Side| {
        probed.sides.get(side).executables.iter().find(|executable| executable.target == outcome.test.target)
    };
    let (Some(base), Some(head)) = (executable(Side::Base), executable(Side::Head)) else {
        return Ok(Err("its target was not built with probes".to_owned()));
    };
    let subject = Subject { test: outcome.test.clone(), executables: Sides { base, head } };
    let request = ProbeRequest { default_mode: mode::TIMING, listed_mode: mode::INACTIVE, keys: Vec::new() };
    let mut pairs = match ProbedPairs::open(bench, config, probed.sides.as_ref(), subject, layouts, request)? {
        Ok(pairs) => pairs,
        Err(why) => return Ok(Err(why)),
    };
    let mut merged = Merged::default();
    let mut cost = Sides { base: 0.0, head: 0.0 };
    let mut overflow = 0;
    while let Some(runs) = pairs.pair()? {
        cost = Sides { base: runs.base.cost_ns, head: runs.head.cost_ns };
        overflow = overflow.max(runs.base.overflow).max(runs.head.overflow);
        merged.add(&runs.map(|run| run.tree));
        if LOOKS.contains(&merged.pairs) {
            let is_enough = charges(&merged, LEVEL).as_ref().is_some_and(is_explained);
            if is_enough || merged.pairs == LOOKS[LOOKS.len() - 1] {
                break;
            }
        }
    }
    let (Some(paid), Some(differences)) = (charges(&merged, LEVEL), differences(&merged, LEVEL)) else {
        return Ok(Err("too few pairs of processes fit the time".to_owned()));
    };
    let known = Known {
        test: &outcome.test,
        strategy: Strategy::Complete,
        plain_base_ns: outcome.measured.as_ref().map_or(f64::NAN, |measured| measured.base_ns),
        probe_cost_ns: cost,
        functions: &probed.functions,
        without_probe: probed.without_probe.clone(),
        overflow,
        changed: &|function| changed(function, changes),
    };
    Ok(Ok(told(&merged, &differences, &paid, &known)))
}

/// Whether those who certainly pay do so for most of the difference.
fn is_explained(charges: &Charges) -> bool {
    let certain = charges.charges.iter().filter(|charge| charge.change.is_certain());
    let paid: f64 =
        certain.map(|charge| charge.change.estimate / charges.whole.estimate).filter(|part| *part > 0.0).sum();
    charges.whole.is_certain() && paid >= EXPLAINED
}

/// What happened to a function's source.
fn changed(function: &Function, changes: &[ChangedItem]) -> Option<String> {
    let is = |item: &&ChangedItem| {
        item.path == function.file
            && function.name.strip_suffix(&item.name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    };
    changes.iter().find(is).map(|item| item.change.to_string())
}
