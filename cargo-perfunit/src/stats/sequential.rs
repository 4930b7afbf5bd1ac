//! The sequential rule: look at the values after 8, 16, 32 of them and so on, and stop as soon as they say something.
//!
//! A value is the log ratio ln(head / base) of a pair, or the mean of the pairs of a layout. Each look spends an equal part
//! of alpha, so that by the union bound the intervals of all looks together hold the true change with probability
//! 1 - alpha, however the looks depend on each other. This pays for stopping early and for choosing the verdict by what is
//! seen.
//!
//! It presumes that the values are drawn independently. Pairs correlated 0.3 with their predecessor make 6 % false alarms
//! out of 1 % (`simulation`), so whatever drifts must cancel within the pair. Skewed noise is harmless as long as it hits
//! both sides alike: the log ratio of sides that could swap names is symmetric around 0.
//!
//! The threshold is compared with the estimate, not with the interval: a true change somewhat below it may be flagged
//! (never a test without change, up to alpha), and what is flagged early looks larger than it is.

use super::estimate::{Estimate, Interval};
use super::looks::Looks;
use crate::model::{Change, Verdict};

/// The probability with which a change of the size [`Decision::detectable`] would have been found.
pub const POWER: f64 = 0.99;

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Probability, over all looks, that the interval decided upon misses the true change; for an unchanged test, of a
    /// false alarm in either direction.
    pub alpha: f64,
    /// The smallest change that is gated, as a fraction of base: 0.1 flags head at 1.1 times base and more, and at 0.9
    /// times base and less.
    pub threshold: f64,
    /// What all values may have in common besides the change, as a log ratio: every interval is wider by it on both sides,
    /// for no number of values shows it.
    pub bias: f64,
    /// When to look.
    pub looks: Looks,
}

/// A verdict and the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The answer; never `NotMeasured`.
    pub verdict: Verdict,
    /// The change with the interval of the deciding look, at its part of alpha.
    pub change: Change,
    /// The smallest slowdown, as a fraction of base, that this look would have shown with probability [`POWER`].
    pub detectable: f64,
    /// Two-sided p value of "no change", times the number of looks: it may be compared with alpha, and is at most alpha
    /// exactly when the interval excludes 0. It knows of pairs only, not of a bias.
    pub p_value: f64,
    /// Values used.
    pub values: usize,
}

/// What to do after a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Measure on.
    Continue,
    /// Stop: it is clear, there are no more looks, or more values would not help. No decision if there are too few values
    /// for any figures.
    Ended(Option<Decision>),
}

/// The rule at work on one test.
#[derive(Debug, Clone)]
pub struct Sequential {
    rule: Rule,
    log_ratios: Vec<f64>,
    ended: Option<Decision>,
}

impl Sequential {
    /// No values yet.
    pub fn new(rule: Rule) -> Self {
        Self { rule, log_ratios: Vec::new(), ended: None }
    }

    /// The rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The values so far, in the order measured.
    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    /// Takes the next value. `affordable` are the values that time allows, those at hand included. What has ended stays as
    /// it ended.
    pub fn push(&mut self, log_ratio: f64, affordable: usize) -> Step {
        self.log_ratios.push(log_ratio);
        if self.ended.is_some() {
            return Step::Ended(self.ended);
        }
        let values = self.log_ratios.len();
        let is_look = self.rule.looks.contains(values);
        self.ended = if is_look { look(&self.rule, &self.log_ratios) } else { None };
        let is_over = affordable <= values
            || values >= self.rule.looks.last()
            || (is_look && is_hopeless(&self.rule, &self.log_ratios, affordable));
        if self.ended.is_none() && is_over {
            self.ended = conclude(&self.rule, &self.log_ratios);
        }
        if self.ended.is_some() || is_over { Step::Ended(self.ended) } else { Step::Continue }
    }

    /// What is said if no more values come; `None` for fewer than 4 or if one is not finite.
    pub fn conclude(&self) -> Option<Decision> {
        self.ended.or_else(|| conclude(&self.rule, &self.log_ratios))
    }
}

/// What is clear at a look, of all its values:
///
/// - interval excludes 0 and the estimate is at or beyond the threshold: `Slower` or `Faster`;
/// - interval excludes 0 and lies inside the threshold: `ChangedBelowThreshold`;
/// - interval holds 0 and lies inside the threshold: `Same`.
///
/// `None` if nothing is, and between looks.
pub fn look(rule: &Rule, log_ratios: &[f64]) -> Option<Decision> {
    if !rule.looks.contains(log_ratios.len()) {
        return None;
    }
    let found = Found::of(rule, log_ratios)?;
    found.verdict().map(|verdict| found.decision(verdict))
}

/// How much narrower than hoped for an interval must stay before more values count as hopeless: the standard error that the
/// forecast rests on is itself an estimate.
const DOUBT: f64 = 2.0;

/// Whether going on is pointless after a look at which nothing was clear: with `affordable` values in all no further look is
/// reached, or the interval at the last one would still be far too wide to decide anything.
///
/// Stopping early on such a forecast can only turn a verdict into `Inconclusive`: it makes no false alarm more likely.
pub fn is_hopeless(rule: &Rule, log_ratios: &[f64], affordable: usize) -> bool {
    let values = log_ratios.len();
    let Some(last) = rule.looks.up_to(affordable).filter(|look| *look > values) else { return true };
    let Some(now) = Estimate::of(log_ratios) else { return false };
    let then = Estimate {
        mean: now.mean,
        standard_error: now.standard_error * (values as f64 / last as f64).sqrt(),
        degrees_of_freedom: now.degrees_of_freedom * last as f64 / values as f64,
    };
    let interval = then.interval(alpha_per_look(rule));
    let half = (interval.high - interval.low) / 2.0 + rule.bias;
    // Either 0 or the threshold must fall out of it.
    let enough = now.mean.abs().max(rule.threshold.ln_1p() - now.mean.abs());
    half > DOUBT * enough
}

/// What to say when time ended at any number of values; `None` for fewer than 4 or if one is not finite.
///
/// Only the values up to the last look count, the rest is dropped: the end of the budget is not a planned look, and using
/// it as one would break the union bound. With fewer values than the first look asks for the figures describe all of them,
/// but the verdict is `Inconclusive` whatever they say.
pub fn conclude(rule: &Rule, log_ratios: &[f64]) -> Option<Decision> {
    match rule.looks.up_to(log_ratios.len()) {
        Some(values) => Found::of(rule, &log_ratios[..values]).map(|found| found.decision(found.last_word())),
        None => Found::of(rule, log_ratios).map(|found| found.decision(Verdict::Inconclusive)),
    }
}

/// The level of the [`Rule`] that confirms flagged tests on fresh pairs: min(0.1 %, alpha / tests measured).
///
/// By Bonferroni the probability of even one false alarm in the whole run is then about alpha at most if screening let
/// everything through; screening, on other pairs, divides it by another hundred.
pub fn confirmation_alpha(alpha: f64, tests_measured: usize) -> f64 {
    (alpha / tests_measured.max(1) as f64).min(0.001)
}

/// What is said in the end of a test with this verdict when fresh values say this: only what was seen twice is a change.
pub fn on_fresh_values(first: Verdict, fresh: Verdict) -> Verdict {
    match fresh {
        Verdict::Same | Verdict::ChangedBelowThreshold => fresh,
        _ if fresh == first => fresh,
        _ => Verdict::Inconclusive,
    }
}

/// An estimate seen through the rule.
struct Found<'a> {
    rule: &'a Rule,
    estimate: Estimate,
    /// On the logarithmic scale, where 0 is "no change" without rounding.
    interval: Interval,
    values: usize,
}

impl<'a> Found<'a> {
    fn of(rule: &'a Rule, log_ratios: &[f64]) -> Option<Self> {
        let estimate = Estimate::of(log_ratios)?;
        let Interval { estimate: mean, low, high } = estimate.interval(alpha_per_look(rule));
        let interval = Interval { estimate: mean, low: low - rule.bias, high: high + rule.bias };
        Some(Self { rule, estimate, interval, values: log_ratios.len() })
    }

    /// What is clear; `None` if more values may tell.
    fn verdict(&self) -> Option<Verdict> {
        let Change { estimate, low, high } = self.change();
        let threshold = self.rule.threshold;
        let inside = -threshold < low && high < threshold;
        match self.excludes_zero() {
            true if estimate >= threshold => Some(Verdict::Slower),
            true if estimate <= -threshold => Some(Verdict::Faster),
            true if inside => Some(Verdict::ChangedBelowThreshold),
            false if inside => Some(Verdict::Same),
            _ => None,
        }
    }

    /// What is left to say when there will be no more values.
    fn last_word(&self) -> Verdict {
        let unclear = if self.excludes_zero() { Verdict::ChangedBelowThreshold } else { Verdict::Inconclusive };
        self.verdict().unwrap_or(unclear)
    }

    fn excludes_zero(&self) -> bool {
        self.interval.low > 0.0 || self.interval.high < 0.0
    }

    /// From logarithms of a ratio to fractions of base.
    fn change(&self) -> Change {
        let Interval { estimate, low, high } = self.interval;
        Change { estimate: estimate.exp_m1(), low: low.exp_m1(), high: high.exp_m1() }
    }

    fn decision(&self, verdict: Verdict) -> Decision {
        Decision {
            verdict,
            change: self.change(),
            detectable: (self.estimate.detectable(alpha_per_look(self.rule), POWER) + self.rule.bias).exp_m1(),
            p_value: (self.estimate.p_value() * self.rule.looks.count() as f64).min(1.0),
            values: self.values,
        }
    }
}

fn alpha_per_look(rule: &Rule) -> f64 {
    rule.alpha / rule.looks.count() as f64
}

#[cfg(test)]
mod tests;
