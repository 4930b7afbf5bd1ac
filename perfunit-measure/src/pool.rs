//! Mean changes of tests that enter the changed code through one function.
//!
//! A change of one or two percent in a function can be too small to confirm in any of its tests. All of them together show
//! it: each drawn layout gives one value, the mean log ratio of the tests on this layout, so the layouts stay independent
//! although the tests of a layout share its effects.

use super::bench::{Bench, Config};
use super::classify::longest_call;
use super::doubt::{doubt_on_mean, least_instructions};
use super::layouts::{Layouts, Placed};
use super::lockstep::Task;
use super::measurement::Clock;
use super::meter;
use super::subject::{Ended, Figures, Observer, Subject};
use super::trial::{Settled, Trial};
use perfunit_build::SideBuild;
use perfunit_decide as decide;
use perfunit_decide::{Decision, Looks, PairsPerLayout, Rule, Sequential, Step};
use perfunit_model::error::Result;
use perfunit_model::{Change, EnteredFunction, MetricVerdict, Mode, PooledChange, Sides, TargetId, Verdict};
use perfunit_system::interrupt;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The fewest tests of a function that are pooled: with fewer tests, a mean says little more than a test.
const FEWEST_TESTS: usize = 5;
/// The most tests that are measured for one function. More of them only reduce the noise of pairs, which is by then less than
/// the effect of layouts that all tests share.
const MOST_TESTS: usize = 12;
/// The smallest mean change that counts, as a part of the run's threshold: a function is only a part of its tests.
const PART_OF_THRESHOLD: f64 = 0.5;
/// The time for one function, in budgets of one test.
const BUDGETS: u32 = 2;

/// A test whose pairs leave open whether a function changed it.
pub(super) struct Member<'r> {
    subject: &'r Subject<'r>,
    settled: Settled,
    /// The settings for this test.
    config: Config,
    figures: Figures,
}

impl<'r> Member<'r> {
    /// Returns the test if it can be pooled: its calls are repeated, it starts no processes, and its figures rest on equal
    /// places or on drawn layouts.
    pub fn of(config: &Config, subject: &'r Subject<'r>, settled: Settled, ended: &Ended) -> Option<Self> {
        let figures = ended.figures.as_ref()?;
        let config = config.on(subject.terms);
        // One slow test would use up the time of all members.
        let is_quick = figures.seconds_per_pair <= 2.0 * longest_call(config.per_test_budget).as_secs_f64();
        let can_be_pooled = matches!(settled.task, Task::Steady(_))
            && is_quick
            && settled.matched
            && !settled.starts_processes
            && figures.measured.mode == Mode::Steady
            && figures.measured.bound.is_none();
        can_be_pooled.then(|| Self { subject, settled, config, figures: figures.clone() })
    }

    fn log_ratio(&self) -> f64 {
        self.figures.measured.change.estimate.ln_1p()
    }

    /// Returns the time that one unit of precision of this test costs.
    fn cost(&self) -> f64 {
        self.figures.spread.powi(2) * self.figures.seconds_per_pair
    }
}

/// The tests of a target that enter the changed code through one function.
pub(super) struct Pool<'r> {
    entered: &'r EnteredFunction,
    target: &'r TargetId,
    members: Vec<Member<'r>>,
    entering: usize,
}

/// Groups tests by the function that they enter. Only functions with several tests remain, whose verdicts leave the function
/// open and whose mean change may count.
pub(super) fn pools<'r>(
    config: &Config,
    ended: impl Iterator<Item = (&'r Subject<'r>, Option<Settled>, &'r Ended)>,
) -> Vec<Pool<'r>> {
    let mut pools: BTreeMap<(&TargetId, String), (Pool<'r>, bool)> = BTreeMap::new();
    for (subject, settled, end) in ended {
        let Some(entered) = subject.enters.filter(|_| end.figures.is_some()) else { continue };
        let target = &subject.test.target;
        let new = || (Pool { entered, target, members: Vec::new(), entering: 0 }, false);
        let (pool, is_known) = pools.entry((target, entered.to_string())).or_insert_with(new);
        pool.entering += 1;
        *is_known |= end.verdict.is_change();
        // A loss that the user accepts is judged test by test.
        let accepts = subject.terms.is_some_and(|terms| terms.accepted.is_some());
        pool.members.extend(settled.filter(|_| !accepts).and_then(|settled| Member::of(config, subject, settled, end)));
    }
    let threshold = threshold(config);
    pools
        .into_values()
        .filter(|(_, is_known)| !is_known)
        .map(|(pool, _)| pool.cheapest())
        .filter(|pool| pool.members.len() >= FEWEST_TESTS && pool.mean().exp_m1().abs() >= threshold)
        .collect()
}

/// Returns the smallest mean change that counts, as a fraction of base.
fn threshold(config: &Config) -> f64 {
    PART_OF_THRESHOLD * config.threshold.fraction()
}

impl Pool<'_> {
    /// Keeps the tests that give the most certain mean in a given time.
    fn cheapest(mut self) -> Self {
        self.members.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        self.members.truncate(MOST_TESTS);
        self
    }

    /// Returns the mean log ratio of the tests so far.
    fn mean(&self) -> f64 {
        self.members.iter().map(Member::log_ratio).sum::<f64>() / self.members.len().max(1) as f64
    }

    /// Returns the standard deviation of the mean of one pair of each test, as a log ratio.
    fn spread(&self) -> f64 {
        let variance: f64 = self.members.iter().map(|member| member.figures.spread.powi(2)).sum();
        variance.sqrt() / self.members.len().max(1) as f64
    }
}

/// The measurement of pools over drawn layouts.
pub(super) struct Pooling<'r, 'a> {
    pub bench: &'a Bench,
    pub config: &'r Config,
    pub sides: &'r Sides<&'r SideBuild>,
    pub observer: Observer<'r>,
    pub layouts: &'r mut Layouts<'a>,
    pub random: &'r mut fastrand::Rng,
}

impl Pooling<'_, '_> {
    /// Measures all pools. They share the error rate of a run, apart from the verdicts on tests; `others` is the number of
    /// tests that other rounds may pool.
    pub fn run(&mut self, pools: Vec<Pool<'_>>, others: usize) -> Result<Vec<PooledChange>> {
        let family = (others / FEWEST_TESTS + pools.len()) * self.config.family;
        let alpha = decide::confirmation_alpha(self.config.alpha, family);
        if !pools.is_empty() {
            self.observer.progress.proceed("Measuring functions", pools.len());
        }
        let mut found = Vec::new();
        let deadline = self.config.deadline;
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        for pool in pools.into_iter().take_while(|_| !is_late() && !interrupt::is_requested()) {
            self.observer.progress.message(pool.entered.to_string());
            found.extend(self.measure(&pool, alpha)?);
            self.observer.progress.advance();
        }
        Ok(found)
    }

    /// Measures the tests of a pool; `None` if layouts cannot be drawn, tests fail, or time ends before the first look.
    fn measure(&mut self, pool: &Pool<'_>, alpha: f64) -> Result<Option<PooledChange>> {
        let _span = tracing::debug_span!("pool").entered();
        for member in &pool.members {
            if self.layouts.places(self.sides, member.subject)? == Placed::Uncertain {
                return Ok(None);
            }
        }
        let clock_bias = pool.members.iter().map(|member| member.settled.clock_bias).fold(0.0, f64::max);
        let threshold = threshold(self.config);
        let looks = Looks::of_layouts(alpha);
        let rule = Rule {
            alpha: self.config.alpha,
            alpha_of_change: alpha,
            threshold,
            distance: 0.0,
            bias: clock_bias,
            looks,
        };
        let budget = (self.config.per_test_budget * BUDGETS).mul_f64(decide::effort(alpha) * looks.delay(alpha));
        let mut clock = Clock::start(Duration::ZERO, budget, self.config.deadline);
        let seconds: f64 = pool.members.iter().map(|member| member.figures.seconds_per_pair).sum();
        let pairs = PairsPerLayout::new(pool.spread(), threshold, alpha, budget.as_secs_f64() / seconds);
        let mut sequential = Sequential::new(rule);
        while !interrupt::is_requested() && !clock.left().is_zero() {
            let layout = sequential.log_ratios().len();
            let Some(value) = self.mean_on(pool, layout, pairs.of(layout), &mut clock)? else { return Ok(None) };
            let affordable = clock.affordable(layout + 1);
            if matches!(sequential.push(value, affordable), Step::Ended(_)) {
                break;
            }
        }
        let Some(decision) = sequential.conclude() else { return Ok(None) };
        let verdict = if decision.verdict.is_change() && !self.instructions_support(pool, &decision.change)? {
            Verdict::Inconclusive
        } else {
            decision.verdict
        };
        tracing::info!(function = %pool.entered, ?verdict, mean = decision.change.estimate, "function measured");
        let Decision { change, p_value, values: layouts, .. } = decision;
        let tests = pool.members.iter().map(|member| member.subject.test.clone()).collect();
        let (name, function) = (pool.entered.name().to_owned(), pool.entered.in_sources(pool.target));
        let entering = pool.entering;
        Ok(Some(PooledChange { name, function, tests, entering, verdict, change, threshold, p_value, layouts }))
    }

    /// Returns the mean log ratio of all tests on a layout; `None` if it cannot be linked or a test fails on it.
    fn mean_on(&mut self, pool: &Pool<'_>, layout: usize, pairs: usize, clock: &mut Clock) -> Result<Option<f64>> {
        self.bench.settle();
        let mut sum = 0.0;
        for Member { subject, settled, config, .. } in &pool.members {
            let started = Instant::now();
            let drawn = self.layouts.drawn(subject.executables, layout)?;
            clock.leave_out(started.elapsed());
            let Some(executables) = drawn else { return Ok(None) };
            let mut programs = subject.programs(self.sides);
            (programs.executables, programs.is_drawn) = (executables, true);
            let trial = Trial { bench: self.bench, config, programs };
            let mut log_ratios = Vec::with_capacity(pairs);
            for _ in 0..pairs {
                let pair = settled.pair(&trial, self.random)?;
                if !pair.complete() {
                    return Ok(None);
                }
                log_ratios.push(settled.comparison().log_ratio(&pair));
            }
            sum += decide::trimmed_mean(&log_ratios, decide::TRIMMING);
        }
        Ok(Some(sum / pool.members.len() as f64))
    }

    /// Returns whether a change beyond what other code with the same work explains, or the instructions of most tests,
    /// support this mean change.
    fn instructions_support(&mut self, pool: &Pool<'_>, mean: &Change) -> Result<bool> {
        let Some(doubt) = doubt_on_mean(mean) else { return Ok(true) };
        let wanted = if mean.estimate > 0.0 { MetricVerdict::More } else { MetricVerdict::Less };
        let mut supporting = 0;
        for Member { subject, settled, config, .. } in &pool.members {
            let programs = self.layouts.first_programs(self.sides, subject)?;
            let trial = Trial { bench: self.bench, config, programs };
            let counted = meter::instructions(&trial, settled, least_instructions(mean, doubt), self.random)?;
            supporting += usize::from(counted == Ok(wanted));
        }
        Ok(2 * supporting > pool.members.len())
    }
}
