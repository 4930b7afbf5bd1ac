//! Measures the error rates on this machine like Peass does: with pairs of artificial tests that differ by a known
//! amount, or not at all.
//!
//! Input: the time limit. Output: a [`Calibration`], and the machine's [profile](keep). The tests are built by the
//! pipeline and measured by the engine like all others. Then the rule decides, for every effect size, over consecutive,
//! disjoint stretches of the recorded pairs. `trial`, `tally` and `compare` are pure.

mod compare;
mod profile;
mod project;
mod recording;
mod trial;

pub use profile::{Options, keep, load_calibration};

use perfunit_build::Seeds;
use perfunit_decide as decide;
use perfunit_measure::{Bench, Config, Measuring};
use perfunit_model::error::Result;
use perfunit_model::{Calibration, Level, Placement, Terms};
use perfunit_system::interrupt;
use perfunit_system::term::Terminal;
use profile::Machine;
use profile::{BASE, CHANGED, effect, threshold};
use project::Project;
use recording::{Recorded, Recordings, Studio};
use std::path::Path;
use std::time::{Duration, Instant};

/// Probability of a false verdict before confirmation, as in `diff`.
const ALPHA: f64 = 0.01;
/// Timeout of one measured process, as in `diff`.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Builds the tests, records pairs and evaluates them.
pub fn calibrate(options: &Options, terminal: Terminal) -> Result<Calibration> {
    let started = Instant::now();
    let mut machine = Machine::look();
    let project = Project::build(terminal)?;
    let terms = terms(options);
    let mut bench = Bench::open(&project.ours())?;
    bench.seeds = Seeds::new(project.seeds().map(Path::to_owned));
    // The versions differ only in a number that all tests read, so their code has equal addresses.
    let config = Config::of(&Measuring {
        timeout: TIMEOUT,
        per_test_budget: options.verdict_budget,
        alpha: terms.alpha,
        seed: terms.seed,
        placement: Placement::Natural,
        ..Measuring::default()
    });
    machine.load_before = profile::load();
    let studio = Studio { project: &project, bench: &bench, config: &config, terms: &terms };
    let recordings = Recordings::make(&studio, options, started + options.budget, terminal)?;
    Ok(Calibration {
        circumstances: machine.circumstances(project.rustc(), &bench),
        terms,
        levels: CHANGED.into_iter().map(|operations| level(&recordings, &terms, operations)).collect(),
        seconds: started.elapsed().as_secs_f64(),
        interrupted: interrupt::is_requested(),
    })
}

fn terms(options: &Options) -> Terms {
    Terms {
        quick: options.quick,
        seed: options.seed,
        alpha: ALPHA,
        // The level of a run that measures exactly these tests.
        confirmation_alpha: decide::confirmation_alpha(ALPHA, project::WORKLOADS.len()),
        verdict_seconds: options.verdict_budget.as_secs_f64(),
    }
}

fn level(recordings: &Recordings, terms: &Terms, operations: u32) -> Level {
    let threshold = threshold(operations);
    let of = |operations: u32| -> Vec<&Recorded> { recordings.of(operations).collect() };
    let (changed, equal) = (of(operations), of(BASE));
    let cells: Vec<_> =
        changed.iter().zip(&equal).map(|(changed, equal)| compare::cell(terms, threshold, changed, equal)).collect();
    let compared = compare::rules(terms, effect(operations), &cells, &changed, &equal);
    Level { base_operations: BASE, operations, threshold, cells, compared }
}
