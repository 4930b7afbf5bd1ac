//! First calls of tests that are measured by later calls, for work that only a first call does.

use super::bench::Config;
use super::doubt::{is_apart, is_loss, threshold_of_first_calls};
use super::fork_pilot::Pilot;
use super::lockstep::Task;
use super::measurement::Measurement;
use super::pairs::Unit;
use super::settled::Settled;
use super::subject::{Figures, Finding};
use super::trial::Trial;
use super::work::{Comparison, uncertainty};
use perfunit_model::error::Result;
use perfunit_model::{FirstCallUnknown, Reason, Verdict};
use perfunit_system::interrupt;
use std::time::Instant;

/// The distance of a single pair's difference from 0, in standard errors, from which more pairs are measured.
const SUSPICIOUS: f64 = 4.0;

/// The first comparison of a test's first calls.
pub enum Look {
    /// They differ no more than later calls do.
    Unremarkable,
    Unknown(FirstCallUnknown),
    /// They seem to differ although later calls do not, or not as much.
    Flagged(Box<Flagged>),
}

/// First calls that seem to differ.
#[derive(Debug)]
pub struct Flagged {
    pub settled: Settled,
    pub figures: Figures,
}

/// Compares the first calls of a test that was measured by later calls: one pair, and more if this pair differs.
pub fn look(trial: &Trial<'_>, way: &Settled, later: &Figures, random: &mut fastrand::Rng) -> Result<Look> {
    let _span = tracing::debug_span!("first_call").entered();
    let config = trial.config;
    if !matches!(way.task, Task::Steady(_)) || interrupt::requested() {
        return Ok(Look::Unremarkable);
    }
    if config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok(Look::Unknown(FirstCallUnknown::BudgetUsedUp));
    }
    let pilot = Pilot::run(trial, way.capture, way.clock, random)?;
    if interrupt::requested() {
        return Ok(Look::Unremarkable);
    }
    if let Some(obstacle) = pilot.obstacle(config) {
        return Ok(Look::Unknown(FirstCallUnknown::NotForked { obstacle }));
    }
    let ns = pilot.end.sides.as_ref().map(|side| side.first_ns);
    let comparison = Comparison::for_pilot(&pilot.end);
    let certain = comparison.log_ratio(&pilot.end).abs() > SUSPICIOUS * uncertainty(&pilot.end);
    if !certain || !is_apart(config.threshold, ns, &later.measured) {
        return Ok(Look::Unremarkable);
    }
    let task = Task::Fork(way.capture, pilot.end.shape);
    let settled = Settled { matched: way.matched, ..pilot.settled(task, Vec::new()) };
    let judged = judged(config);
    let trial = Trial { config: &judged, ..*trial };
    let measurement = Measurement::new(&judged, settled.clone(), Unit::Pair, config.alpha);
    let Finding { result, reason: open, .. } = measurement.run(&trial, None, random)?;
    Ok(match result {
        // Fresh pairs also decide on a probable loss.
        Ok(figures)
            if (figures.verdict.is_change() || is_loss(&figures))
                && is_apart(config.threshold, figures.ns(), &later.measured) =>
        {
            Look::Flagged(Box::new(Flagged { settled, figures }))
        }
        Err(Reason::Interrupted) => Look::Unremarkable,
        Ok(Figures { verdict, .. }) if verdict != Verdict::Inconclusive => Look::Unremarkable,
        Ok(_) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why: open.unwrap_or(Reason::TooNoisy) }),
        Err(why) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why }),
    })
}

/// Returns the terms of first calls that are compared alongside later ones.
pub fn judged(config: &Config) -> Config {
    Config { threshold: threshold_of_first_calls(config.threshold), metering: None, ..config.clone() }
}
