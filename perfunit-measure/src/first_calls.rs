//! First calls of tests, each in a child process that forks just before the test's body.
//!
//! A forked call costs a third of a millisecond and starts with the same memory and caches as the previous call. A
//! pilot shows whether the process of a test can fork; if it cannot, each call costs a process. First calls measure
//! tests that cannot be repeated, and the work that only the first call of a repeated test does.

use super::bench::Config;
use super::classify::FEWEST_PAIRS;
use super::doubt::{is_apart, is_loss, threshold_of_first_calls};
use super::lockstep::{PairEnd, Task};
use super::measured_process::Pads;
use super::measurement::{Measurement, Unit};
use super::pair;
use super::subject::{Figures, Finding};
use super::trial::{Settled, Trial};
use super::work::{Comparison, clock_bias, uncertainty};
use perfunit_build::TestClock;
use perfunit_model::error::{Result, Stop, Tried};
use perfunit_model::{
    Capture, FirstCallUnknown, FirstCallsBecause, ForkObstacle, Metric, Note, Reason, Sides, Verdict,
};
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::rc::Rc;
use std::time::Instant;

/// The least distance of a difference from 0, in standard errors, at which more pairs are measured.
const SUSPICIOUS: f64 = 4.0;

/// The first comparison of a test's first calls.
pub enum Look {
    /// First calls differ no more than later calls do.
    Unremarkable,
    Unknown(FirstCallUnknown),
    /// First calls seem to differ although later calls do not, or not as much.
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
    if !matches!(way.task, Task::Steady(_)) || interrupt::is_requested() {
        return Ok(Look::Unremarkable);
    }
    if config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok(Look::Unknown(FirstCallUnknown::BudgetUsedUp));
    }
    if way.starts_processes && !pairs_show_apart(config, later) {
        return Ok(Look::Unremarkable);
    }
    let pilot = Pilot::run(trial, way.capture, way.clock, random)?;
    if interrupt::is_requested() {
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
    let settled = Settled {
        matched: way.matched,
        starts_processes: way.starts_processes,
        pairs_run: Rc::clone(&way.pairs_run),
        ..pilot.build_settled(task, Vec::new())
    };
    let judged = judging_config(config);
    let trial = Trial { config: &judged, ..*trial };
    let unit = Unit::on_one_layout(trial.bench, judged.per_test_budget, &settled);
    let measurement = Measurement::new(&judged, settled.clone(), unit, config.alpha);
    let Finding { result, reason: open, .. } = measurement.run(&trial, None, random)?;
    Ok(match result {
        // Fresh pairs also decide on a probable loss.
        Ok(figures)
            if (figures.verdict.is_change() || is_loss(&figures))
                && is_apart(config.threshold, figures.ns(), &later.measured) =>
        {
            Look::Flagged(Box::new(Flagged { settled, figures }))
        }
        Err(Reason::Interrupted | Reason::BudgetUsedUp) => Look::Unremarkable,
        Ok(Figures { verdict, .. }) if verdict != Verdict::Inconclusive => Look::Unremarkable,
        Ok(_) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why: open.unwrap_or(Reason::TooNoisy) }),
        Err(why) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why }),
    })
}

/// Least difference of the first calls of a test that starts processes, beyond that of its later calls, as a fraction of
/// base. Single calls of such tests vary by about 5 %.
const APART_IF_STARTING: f64 = 0.1;

/// Returns whether the first calls of the pairs, which every child makes before its timed ones, differ more than later
/// calls do. Calls that start processes take so long that the overhead of a forked child's first call hides nothing.
fn pairs_show_apart(config: &Config, later: &Figures) -> bool {
    let of_pairs = later.metrics.get(&Metric::Cold).and_then(|metered| metered.as_ref().ok());
    let ns = of_pairs.map(|metered| metered.readings.as_ref().map(|reading| reading.value));
    let exceed_noise = later.first_calls_apart.is_none_or(|distance| distance > SUSPICIOUS);
    exceed_noise && ns.is_none_or(|ns| is_apart(config.threshold.at_least(APART_IF_STARTING), ns, &later.measured))
}

/// Returns the terms of first calls that are compared alongside later ones.
pub fn judging_config(config: &Config) -> Config {
    Config { threshold: threshold_of_first_calls(config.threshold), metering: None, ..config.clone() }
}

/// The longest time of an empty call in a child, ns, while its code is not in the caches yet.
const NOTHING_NS: f64 = 1_000.0;
/// The smallest difference that counts, ns: a cache miss takes less.
const LEAST_NS: f64 = 50.0;

/// Settles how to measure a test that cannot be repeated.
pub fn settle(
    trial: &Trial<'_>,
    capture: Capture,
    because: FirstCallsBecause,
    clock: TestClock,
    random: &mut fastrand::Rng,
) -> Tried<Settled, Reason> {
    let pilot = Pilot::run(trial, capture, clock, random)?;
    let obstacle = pilot.obstacle(trial.config);
    let is_forked = obstacle.is_none();
    let notes = vec![Note::FirstCalls { because, obstacle }];
    if is_forked {
        return Ok(pilot.build_settled(Task::Fork(capture, pilot.end.shape), notes));
    }
    let cold = Settled { ns: Sides::default(), ..pilot.build_settled(Task::Cold, notes) };
    let end = cold.pair(trial, random)?;
    if interrupt::is_requested() {
        return Err(Stop::Because(interrupt::reason()));
    }
    after_cold_pair(cold, &end, trial.config).map_err(Stop::Because)
}

/// Returns cold calls with the time that a first pair of them takes, unless they take too long.
fn after_cold_pair(cold: Settled, end: &PairEnd, config: &Config) -> std::result::Result<Settled, Reason> {
    if let Some(side) = end.timed_out {
        return Err(Reason::timed_out(side.into(), config.timeout));
    }
    if !end.complete() {
        // The failure may be chance: the pairs count how often it occurs.
        return Ok(cold);
    }
    let ns = end.sides.as_ref().map(|side| side.first_ns);
    let needed = FEWEST_PAIRS * end.took.as_secs_f64();
    if needed > config.per_test_budget.as_secs_f64() {
        let seconds = ns.base.max(ns.head) / 1e9;
        return Err(Reason::TooLong { seconds, needed_seconds: needed.ceil(), ns: Some(ns) });
    }
    Ok(Settled { ns, ..cold })
}

/// Settles how to measure a test if its later calls hold no work; `None` if its first call holds none either.
pub fn if_they_hold_work(trial: &Trial<'_>, capture: Capture, random: &mut fastrand::Rng) -> Result<Option<Settled>> {
    let pilot = Pilot::run(trial, capture, TestClock::True, random)?;
    let Sides { base, head } = pilot.end.sides.as_ref().map(|side| side.first_ns);
    if pilot.obstacle(trial.config).is_some() || base.max(head) < NOTHING_NS {
        return Ok(None);
    }
    let note = Note::FirstCalls { because: FirstCallsBecause::OnlyFirstHoldsWork, obstacle: None };
    Ok(Some(pilot.build_settled(Task::Fork(capture, pilot.end.shape), vec![note])))
}

/// A pair that shows whether calls can be forked and how many fit.
pub struct Pilot {
    pub end: PairEnd,
    capture: Capture,
    /// True if both processes got the same random numbers.
    equal_seeds: bool,
    clock: TestClock,
}

impl Pilot {
    /// Runs a pilot with equal random numbers, or with different ones if only these pass.
    pub fn run(trial: &Trial<'_>, capture: Capture, clock: TestClock, random: &mut fastrand::Rng) -> Result<Self> {
        let Trial { bench, config, programs } = trial;
        let pads = Pads::draw(random).with_clock(clock);
        let run = |pads| pair::run(bench, programs, Task::ForkPilot(capture), pads, config.timeout);
        let (end, given) = (run(pads)?, bench.seeds.are_given());
        if end.complete() || end.timed_out.is_some() || !given {
            return Ok(Self { end, capture, equal_seeds: given, clock });
        }
        let apart = run(pads.without_seed())?;
        let has_passed = apart.complete();
        Ok(Self { end: if has_passed { apart } else { end }, capture, equal_seeds: !has_passed, clock })
    }

    pub fn build_settled(&self, task: Task, notes: Vec<Note>) -> Settled {
        Settled {
            task,
            capture: self.capture,
            matched: true,
            notes,
            starts_processes: false,
            equal_seeds: self.equal_seeds,
            clock: self.clock,
            comparison: Comparison::for_pilot(&self.end),
            clock_bias: clock_bias(&self.end),
            least_ns: LEAST_NS,
            ns: self.end.sides.as_ref().map(|side| side.first_ns),
            first_ns: self.end.sides.as_ref().map(|side| side.first_ns),
            pairs_run: Rc::default(),
            waiting: Rc::default(),
            pace: Rc::default(),
        }
    }

    /// Returns the reason why a test's first calls cannot run in forked children.
    pub fn obstacle(&self, config: &Config) -> Option<ForkObstacle> {
        let states = [self.end.sides.base.state, self.end.sides.head.state];
        let needed = FEWEST_PAIRS * self.end.took.as_secs_f64();
        match () {
            () if states.contains(&state::THREADS) => Some(ForkObstacle::Threads),
            () if states.contains(&state::NO_FORK) => Some(ForkObstacle::Forbidden),
            () if self.end.timed_out.is_some() => Some(ForkObstacle::Hangs),
            () if !self.end.complete() => Some(ForkObstacle::Fails),
            () if needed > config.per_test_budget.as_secs_f64() => Some(ForkObstacle::TooLong),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lockstep::{Shape, SideEnd};
    use super::*;
    use crate::single_calls::tests::{config, settle};
    use perfunit_model::{FailedOn, Side};
    use std::time::Duration;

    fn end(state: u32, took: Duration) -> PairEnd {
        let done = SideEnd { state, first_ns: 1e6, ..SideEnd::default() };
        let sides = Sides { base: done.clone(), head: SideEnd { first_ns: 8e7, ..done } };
        let shape = Shape { repetitions: 1, batches: 1, warm: 0 };
        PairEnd { sides, shape, starter: Side::Base, timed_out: None, took }
    }

    #[test]
    fn a_cold_call_that_became_much_slower_is_too_long_and_not_noisy() {
        let config = config();
        let after = |end: &PairEnd| after_cold_pair(settle(0.0, 0.0), end, &config);
        let budget = config.per_test_budget;
        let ns = Sides { base: 1e6, head: 8e7 };
        assert_eq!(after(&end(state::DONE, budget / 20)).map(|settled| settled.ns), Ok(ns));
        let long = after(&end(state::DONE, budget / 10)).map(|settled| settled.ns);
        assert!(matches!(&long, Err(Reason::TooLong { ns: Some(told), .. }) if *told == ns), "{long:?}");
        let late = PairEnd { timed_out: Some(Side::Head), ..end(state::FIRST_CALL, budget) };
        let late = after(&late).map(|settled| settled.ns);
        assert!(matches!(&late, Err(Reason::TimedOut { side: FailedOn::Head, .. })), "{late:?}");
        // The pairs count later how often the test fails.
        assert_eq!(after(&end(state::FAILED_FIRST, budget)).map(|settled| settled.ns), Ok(Sides::default()));
    }

    #[test]
    fn each_obstacle_to_forked_children_is_told() {
        let config = config();
        let told = |change: &dyn Fn(&mut PairEnd)| {
            let mut end = end(state::DONE, Duration::from_millis(1));
            change(&mut end);
            Pilot { end, capture: Capture::Macro, equal_seeds: true, clock: TestClock::True }.obstacle(&config)
        };
        assert_eq!(told(&|_| {}), None);
        assert_eq!(told(&|end| end.sides.head.state = state::NO_FORK), Some(ForkObstacle::Forbidden));
        assert_eq!(told(&|end| end.sides.base.state = state::THREADS), Some(ForkObstacle::Threads));
        assert_eq!(told(&|end| end.took = config.per_test_budget), Some(ForkObstacle::TooLong));
    }
}
