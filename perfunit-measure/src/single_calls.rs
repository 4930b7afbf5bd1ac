//! Single calls of tests that pairs cannot measure, or measure no better.
//!
//! One version is slower by so much that pairs would not end, or would show nothing that single calls do not show sooner.
//! The plan has few calls of the slower version and many of the other one, in random order (`decide::Calls`), each in a
//! fresh process without a process of the other version alongside. Single calls also show whether a failure repeats.

use super::bench::Config;
use super::classify::first_failure;
use super::lockstep::Task;
use super::measured_process::Pads;
use super::noise::time_work;
use super::pair;
use super::process_pair;
use super::subject::Figures;
use super::trial::{Settled, Trial};
use perfunit_build::TestClock;
use perfunit_decide as decide;
use perfunit_decide::{Calls, FIRST_LOOK, SEPARATION};
use perfunit_model::error::{Result, Stop, Tried};
use perfunit_model::{
    Bound, Change, EffectClass, EffectSize, FailedOn, Measured, Metric, Metrics, Mode, NotMetered, Reason, Sample,
    Side, Sides, Verdict,
};
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// The approximate time to start and end a process, s.
const PROCESS_SECONDS: f64 = 0.005;
/// The longest call that costs nothing to try, s.
const CHEAP_SECONDS: f64 = 0.1;
/// The factor from which pairs add nothing that is worth their time.
const LARGE: f64 = 10.0;
/// The share of a test's budget that pairs may always take.
const UNQUESTIONED: f64 = 0.25;
/// The number of budgets for single calls: they replace both screening and confirmation.
const BUDGETS: u32 = 2;
/// The share of the allowed time that is planned, and the factor by which a busy machine may exceed the plan.
const PLANNED: f64 = 0.8;
const EXCEEDED: f64 = 1.5;

/// The result of single calls.
#[derive(Debug)]
pub enum Found {
    /// One version is slower.
    Bound(Box<Figures>),
    /// The test cannot be measured.
    Reason(Reason),
    /// Calls contradict each other.
    Nothing,
    /// There was no time for single calls. They need `needed` seconds, if time is the only obstacle; a call of the
    /// quicker side takes `quick` seconds.
    NoRoom { needed: Option<f64>, quick: f64 },
}

/// The time of a call with its process, s.
struct Seconds {
    quick: f64,
    /// The time on the slower side, if it is known.
    slow: Option<f64>,
}

/// The number of calls and the limit of each.
struct Plan {
    calls: Calls,
    limit: Duration,
    /// The factor by which the slower side must exceed the quicker one.
    factor: f64,
}

/// The observed times, ns.
#[derive(Debug, Default)]
struct Seen {
    slow: Vec<f64>,
    quick: Vec<f64>,
    /// Longest wall time of a call of the quicker side, and longest time spent outside of the call.
    quick_wall: f64,
    start: f64,
    /// Calls of the slower side that did not end: the time for which each had the core for itself.
    stopped: Vec<f64>,
}

/// The time of a call on each side as far as the pilot shows it, ns.
pub type Known = Sides<Option<f64>>;

/// Returns whether single calls precede pairs: one side is much slower, and pairs take long or too long.
pub fn is_first(config: &Config, settled: &Settled) -> bool {
    let Sides { base, head } = settled.ns;
    let (ratio, pair) = ((base / head).max(head / base), (base + head) / 1e9);
    if !ratio.is_finite() || ratio < SEPARATION {
        return false;
    }
    let (budget, fewest) = (config.per_test_budget.as_secs_f64(), FIRST_LOOK as f64);
    let only_time = config.metering.as_ref().is_none_or(|metering| metering.gates == [Metric::Time]);
    // Screening and confirmation both take at least this many pairs.
    let is_long = 2.0 * fewest * pair > UNQUESTIONED * budget;
    fewest * pair > budget || ratio >= LARGE && is_long && only_time
}

impl Alone<'_> {
    /// Measures a test that pairs cannot measure for this reason.
    pub fn instead(&self, reason: Reason, random: &mut fastrand::Rng) -> Tried<Figures, Reason> {
        let (slow, known, mode) = match (&reason, self.task) {
            (Reason::TimedOut { side, .. }, task) => {
                let Some(slow) = side.only() else { return Err(Stop::Because(reason)) };
                (slow, Known::default(), if task == Task::Process { Mode::Process } else { Mode::Cold })
            }
            (Reason::TooLong { ns: Some(ns), .. }, task) => {
                let mode = if task == Task::Process { Mode::Process } else { Mode::Steady };
                (slower(ns), ns.map(Some), mode)
            }
            _ => return Err(Stop::Because(self.repeat_failure(reason, random)?)),
        };
        let config = self.trial.config;
        let room = room(config);
        // After a call that reached the timeout, as much time again is acceptable.
        let room = if matches!(reason, Reason::TimedOut { .. }) { room.max(config.timeout) } else { room };
        match self.bound(slow, &known, mode, room, random)? {
            Found::Bound(figures) => Ok(*figures),
            Found::Reason(reason) => Err(Stop::Because(self.repeat_failure(reason, random)?)),
            Found::Nothing => Err(Stop::Because(reason)),
            Found::NoRoom { needed, quick } => match reason {
                Reason::TimedOut { side, seconds, .. } => {
                    let confirmed = seconds >= SEPARATION * quick && self.hangs_again(slow, random)?;
                    Err(Stop::Because(Reason::TimedOut { side, seconds, confirmed }))
                }
                reason => Err(Stop::Because(cheaper(reason, needed))),
            },
        }
    }

    /// Returns whether a second call of a side does not end either.
    fn hangs_again(&self, side: Side, random: &mut fastrand::Rng) -> Result<bool> {
        let config = self.trial.config;
        let left = config.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = config.per_test_budget.min(config.timeout);
        Ok(left.is_none_or(|left| left > limit) && matches!(self.call(side, limit, random)?, Call::Stopped { .. }))
    }

    /// Measures single calls for as long as there is room, to show that this side is the slower one.
    pub fn bound(
        &self,
        slow: Side,
        known: &Known,
        mode: Mode,
        room: Duration,
        random: &mut fastrand::Rng,
    ) -> Result<Found> {
        let quick = slow.other();
        let end = Instant::now() + room;
        let end = self.trial.config.deadline.map_or(end, |deadline| deadline.min(end));
        let is_costly = |ns: &f64| ns / 1e9 > CHEAP_SECONDS;
        let quick_seconds = match known.get(quick).filter(is_costly) {
            Some(ns) => ns / 1e9 + PROCESS_SECONDS,
            // The present cost of a process determines how many fit.
            None => match self.call(quick, self.trial.config.timeout, random)? {
                Call::Took { wall_ns, .. } => wall_ns / 1e9,
                Call::Failed(reason) => return Ok(Found::Reason(reason)),
                Call::Interrupted => return Ok(Found::Reason(interrupt::reason())),
                Call::Stopped { .. } => {
                    return Ok(Found::Reason(Reason::timed_out(FailedOn::Both, self.trial.config.timeout)));
                }
            },
        };
        let seconds = Seconds { quick: quick_seconds, slow: known.get(slow).map(|ns| ns / 1e9 + PROCESS_SECONDS) };
        let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
        let end = Instant::now() + Duration::from_secs_f64(left * EXCEEDED);
        let end = self.trial.config.deadline.map_or(end, |deadline| deadline.min(end));
        let accepted = self.trial.config.accepted.as_ref().map_or(0.0, |accepted| accepted.log_ratio(mode));
        let factor = factor(slow, self.trial.config.threshold.fraction(), accepted);
        let plan = match plan(self.trial.config, self.level(), factor, &seconds, left) {
            Ok(plan) => plan,
            Err(needed) => return Ok(Found::NoRoom { needed, quick: quick_seconds }),
        };
        let mut order = vec![slow; plan.calls.slow];
        order.resize(plan.calls.slow + plan.calls.quick, quick);
        random.shuffle(&mut order);
        let mut seen = Seen::default();
        for side in order {
            let left = end.saturating_duration_since(Instant::now());
            match self.call(side, plan.limit.min(left), random)? {
                Call::Interrupted => return Ok(Found::Reason(interrupt::reason())),
                Call::Took { ns, .. } if side == slow => seen.slow.push(ns),
                Call::Took { ns, wall_ns, own_ns } => {
                    seen.quick.push(ns);
                    seen.quick_wall = seen.quick_wall.max(wall_ns);
                    seen.start = seen.start.max(own_ns - ns);
                }
                Call::Stopped { own_ns } if side == slow && left > plan.limit => seen.stopped.push(own_ns),
                Call::Failed(reason) if side == slow && seen.slow.is_empty() && seen.stopped.is_empty() => {
                    return Ok(Found::Reason(reason));
                }
                Call::Stopped { .. } | Call::Failed(_) => return Ok(Found::Nothing),
            }
            let ratio = seen.ratio(plan.limit);
            if ratio.is_nan() || ratio < plan.factor {
                return Ok(Found::Nothing);
            }
        }
        Ok(Found::Bound(Box::new(figures(self.trial.config, slow, &plan, &seen, mode))))
    }
}

/// Returns the time that single calls of a test may take.
pub fn room(config: &Config) -> Duration {
    config.per_test_budget * BUDGETS
}

/// Returns the side with the longer call.
pub fn slower(ns: &Sides<f64>) -> Side {
    if ns.head >= ns.base { Side::Head } else { Side::Base }
}

/// Returns the factor by which one side must be slower: it covers the user's threshold, and the accepted loss (a log ratio)
/// if head is slower.
fn factor(slow: Side, threshold: f64, accepted: f64) -> f64 {
    let wanted = match slow {
        Side::Head => 1.0 + threshold,
        Side::Base if threshold < 1.0 => 1.0 / (1.0 - threshold),
        Side::Base => f64::INFINITY,
    };
    let beyond = if slow == Side::Head { accepted.max(0.0).exp() } else { 1.0 };
    wanted.max(SEPARATION) * beyond
}

/// Plans the calls for the seconds that are left. The error has the seconds that would suffice, if time is the only
/// obstacle.
fn plan(
    config: &Config,
    level: f64,
    factor: f64,
    &Seconds { quick, slow }: &Seconds,
    left: f64,
) -> std::result::Result<Plan, Option<f64>> {
    let room = left * PLANNED;
    let timeout = config.timeout.as_secs_f64();
    // The factor by which a call exceeds the usual ones of its version before it counts as one that does not end.
    let ample = 2.0 * factor;
    let cut = (config.per_test_budget.as_secs_f64() * UNQUESTIONED).max(ample * quick).min(timeout);
    let of = |seconds: f64, limit: f64| {
        let calls = Calls::cheapest(level, seconds, quick)?;
        Some((calls.seconds(seconds, quick), Plan { calls, limit: Duration::from_secs_f64(limit), factor }))
    };
    let is_far = |slow: f64| slow >= factor * quick;
    let whole = slow.filter(|slow| is_far(*slow)).and_then(|slow| of(slow, timeout.min(ample * slow)));
    let stopped = Some(cut).filter(|cut| slow.is_none_or(|slow| slow > *cut) && is_far(*cut));
    let stopped = stopped.and_then(|cut| of(cut, cut));
    let mut needed: Option<f64> = None;
    for (seconds, plan) in whole.into_iter().chain(stopped) {
        if seconds <= room {
            return Ok(plan);
        }
        needed = Some(needed.map_or(seconds, |least| least.min(seconds)));
    }
    Err(needed)
}

/// Returns the reason with the budget that single calls would need, if that is less.
fn cheaper(reason: Reason, needed: Option<f64>) -> Reason {
    match (reason, needed) {
        (Reason::TooLong { seconds, needed_seconds, ns }, Some(needed)) => {
            let needed = (needed / PLANNED / f64::from(BUDGETS)).ceil();
            Reason::TooLong { seconds, needed_seconds: needed_seconds.min(needed), ns }
        }
        (reason, _) => reason,
    }
}

impl Seen {
    /// Returns the least time of the slower side's calls as a multiple of the longest call of the quicker side.
    fn ratio(&self, limit: Duration) -> f64 {
        let longest = self.quick.iter().copied().fold(0.0, f64::max);
        let ended = self.slow.iter().copied().fold(f64::INFINITY, f64::min) / longest;
        if self.stopped.is_empty() {
            return ended;
        }
        // Other processes disturb both sides alike, so wall time is compared with wall time. Where the core was ours alone,
        // the time of the call itself is more precise.
        let by_wall = limit.as_nanos() as f64 / self.quick_wall;
        let by_core = (self.stopped.iter().copied().fold(f64::INFINITY, f64::min) - self.start) / longest;
        ended.min(by_wall.max(by_core))
    }
}

fn figures(config: &Config, slow: Side, plan: &Plan, seen: &Seen, mode: Mode) -> Figures {
    let ratio = seen.ratio(plan.limit);
    let limit_ns = (!seen.stopped.is_empty()).then_some(plan.limit.as_nanos() as f64);
    let longest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let shortest = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let quick_ns = decide::median(&mut seen.quick.clone());
    // For stopped calls only a lower bound is known.
    let (slow_ns, most) = match limit_ns {
        Some(limit) => (shortest(&seen.slow).min(limit), f64::INFINITY),
        None => (decide::median(&mut seen.slow.clone()), longest(&seen.slow) / shortest(&seen.quick)),
    };
    let likely = if limit_ns.is_some() { ratio } else { slow_ns / quick_ns };
    let of = |slow_side: f64, quick_side: f64| match slow {
        Side::Head => Sides { base: quick_side, head: slow_side },
        Side::Base => Sides { base: slow_side, head: quick_side },
    };
    let (change, verdict) = match slow {
        Side::Head => (Change { estimate: likely - 1.0, low: ratio - 1.0, high: most - 1.0 }, Verdict::Slower),
        Side::Base => {
            (Change { estimate: 1.0 / likely - 1.0, low: 1.0 / most - 1.0, high: 1.0 / ratio - 1.0 }, Verdict::Faster)
        }
    };
    let ns = of(slow_ns, quick_ns);
    let calls = match slow {
        Side::Head => Sides { base: plan.calls.quick, head: plan.calls.slow },
        Side::Base => Sides { base: plan.calls.slow, head: plan.calls.quick },
    };
    let (base, head) = if slow == Side::Head { (&seen.quick, &seen.slow) } else { (&seen.slow, &seen.quick) };
    let effect = Some(limit_ns).filter(Option::is_none).and_then(|_| decide::cohens_d(base, head));
    let measured = Measured {
        change,
        base_ns: ns.base,
        head_ns: ns.head,
        pairs: plan.calls.slow.min(plan.calls.quick),
        layouts: 1,
        detectable: plan.factor - 1.0,
        p_value: plan.calls.chance(),
        effect: effect.unwrap_or(EffectSize { d: f64::NAN, class: EffectClass::Large }),
        mode,
        asked: config.threshold,
        threshold: if slow == Side::Head { plan.factor - 1.0 } else { 1.0 - 1.0 / plan.factor },
        sample: Sample::default(),
        bound: Some(Bound { ratio, limit_ns, calls }),
        throughput: None,
    };
    let metrics = match &config.metering {
        None => Metrics::new(),
        Some(_) => Metric::ALL.into_iter().map(|metric| (metric, Err(NotMetered::TooLong))).collect(),
    };
    Figures {
        verdict,
        measured,
        spread: 0.0,
        seconds_per_pair: 0.0,
        has_level: false,
        first_calls_apart: None,
        notes: Vec::new(),
        metrics,
    }
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Took {
        /// Time of the call, ns.
        ns: f64,
        /// Wall time including the process, in which other processes may have had the core, ns.
        wall_ns: f64,
        /// The same, approximately without the time of other processes.
        own_ns: f64,
    },
    /// The call was stopped at the limit.
    Stopped {
        /// Wall time until then, approximately without the time of other processes, ns.
        own_ns: f64,
    },
    /// The test did not pass.
    Failed(Reason),
    Interrupted,
}

/// One test to call alone.
pub struct Alone<'a> {
    pub trial: Trial<'a>,
    /// [`Task::Process`] for whole processes; anything else for first calls.
    pub task: Task,
    pub clock: TestClock,
}

impl Alone<'_> {
    /// Calls one side once.
    pub fn call(&self, side: Side, limit: Duration, random: &mut fastrand::Rng) -> Result<Call> {
        let Trial { bench, programs, .. } = &self.trial;
        let pads = Pads::draw(random).with_clock(self.clock);
        let (end, own) = time_work(bench.core(), || match self.task {
            Task::Process => process_pair::alone(bench, programs, side, pads, limit),
            _ => pair::run(bench, programs, Task::Solo(side), pads, limit),
        });
        let (end, own_ns) = (end?, own.as_nanos() as f64);
        if interrupt::is_requested() {
            return Ok(Call::Interrupted);
        }
        if end.timed_out.is_some() {
            return Ok(Call::Stopped { own_ns });
        }
        let of_side = end.sides.get(side);
        Ok(match first_failure(of_side, side) {
            Some(reason) => Call::Failed(reason),
            None => Call::Took { ns: of_side.first_ns, wall_ns: end.took.as_nanos() as f64, own_ns },
        })
    }

    /// Returns the level at which a verdict by single calls needs no confirmation.
    pub fn level(&self) -> f64 {
        let config = self.trial.config;
        decide::confirmation_alpha(config.alpha, config.other_verdicts * config.family)
    }

    /// Repeats a test that failed on one side only, in random order as far as the budget allows. Returns the same reason if it
    /// fails each time on that side and passes each time on the other one; otherwise it fails by chance.
    pub fn repeat_failure(&self, reason: Reason, random: &mut fastrand::Rng) -> Result<Reason> {
        let Some(failing) = reason.failing_side() else { return Ok(reason) };
        // A failure and a success cost about the same.
        let Some(Calls { slow, quick }) = Calls::cheapest(self.level(), 1.0, 1.0) else { return Ok(reason) };
        let end = Instant::now() + self.trial.config.per_test_budget;
        let end = self.trial.config.deadline.map_or(end, |deadline| deadline.min(end));
        let mut order = vec![failing; slow];
        order.resize(slow + quick, failing.other());
        random.shuffle(&mut order);
        for side in order {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.call(side, self.trial.config.timeout.min(left), random)? {
                Call::Interrupted => return Ok(interrupt::reason()),
                // A call that the budget ended shows nothing.
                Call::Stopped { .. } if Instant::now() >= end => break,
                call if matches!(call, Call::Failed(_)) != (side == failing) => return Ok(reason.now_and_then()),
                _ => {}
            }
        }
        Ok(reason)
    }
}

#[cfg(test)]
pub mod tests;
