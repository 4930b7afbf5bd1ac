//! The sequential rule: look at the pairs after 8, 16, ..., 512 of them and stop as soon as they say something.
//!
//! Each of the 7 looks spends alpha / 7, so that by the union bound the intervals of all looks together hold the true
//! change with probability 1 - alpha, however the looks depend on each other. This pays for stopping early and for
//! choosing the verdict by what is seen.
//!
//! It presumes that the pairs are drawn independently. Pairs correlated 0.3 with their predecessor make 6 % false alarms
//! out of 1 % (`simulation`), so whatever drifts must cancel within the pair. Skewed noise is harmless as long as it hits
//! both sides alike: the log ratio of sides that could swap names is symmetric around 0.
//!
//! The threshold is compared with the estimate, not with the interval: a true change somewhat below it may be flagged
//! (never a test without change, up to alpha), and what is flagged early looks larger than it is.

use super::estimate::{Estimate, Interval};
use crate::model::{Change, Verdict};

/// The numbers of pairs after which to look. Only these: a look in between would spend alpha that nobody has set aside.
pub const LOOKS: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];

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
    /// What all pairs may have in common besides the change, as a log ratio: every interval is wider by it on both sides,
    /// for no number of pairs shows it.
    pub bias: f64,
}

/// A verdict and the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The answer; never `NotMeasured`.
    pub verdict: Verdict,
    /// The change with the interval of the deciding look, at level alpha / 7.
    pub change: Change,
    /// The smallest slowdown, as a fraction of base, that this look would have shown with probability [`POWER`].
    pub detectable: f64,
    /// Two-sided p value of "no change", times the number of looks: it may be compared with alpha, and is at most alpha
    /// exactly when the interval excludes 0. It knows of pairs only, not of a bias.
    pub p_value: f64,
    /// Pairs used.
    pub pairs: usize,
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Look {
    /// Not clear yet: measure up to the next of [`LOOKS`].
    Continue,
    /// Clear: stop.
    Decided(Decision),
}

/// Looks at the log ratios ln(head / base), one for each pair, in the order measured.
///
/// - interval excludes 0 and the estimate is at or beyond the threshold: `Slower` or `Faster`;
/// - interval excludes 0 and lies inside the threshold: `ChangedBelowThreshold`;
/// - interval holds 0 and lies inside the threshold: `Same`;
/// - else `Continue`, except at the last look, which concludes as [`conclude`] does.
///
/// Between looks the answer is always `Continue`.
pub fn look(rule: &Rule, log_ratios: &[f64]) -> Look {
    let pairs = log_ratios.len();
    if !LOOKS.contains(&pairs) {
        return Look::Continue;
    }
    let Some(found) = Found::of(rule, log_ratios) else { return Look::Continue };
    let verdict = if pairs == LOOKS[LOOKS.len() - 1] { Some(found.last_word()) } else { found.verdict() };
    verdict.map_or(Look::Continue, |verdict| Look::Decided(found.decision(verdict)))
}

/// How much narrower than hoped for an interval must stay before more pairs count as hopeless: the standard error that the
/// forecast rests on is itself an estimate.
const DOUBT: f64 = 2.0;

/// Whether going on is pointless after a look that said `Continue`: with `affordable` pairs in all no further look is
/// reached, or the interval at the last one would still be far too wide to decide anything.
///
/// Stopping early on such a forecast can only turn a verdict into `Inconclusive`: it makes no false alarm more likely.
pub fn is_hopeless(rule: &Rule, log_ratios: &[f64], affordable: usize) -> bool {
    let pairs = log_ratios.len();
    let Some(last) = LOOKS.into_iter().rev().find(|look| *look <= affordable && *look > pairs) else { return true };
    let Some(now) = Estimate::of(log_ratios) else { return false };
    let then = Estimate {
        mean: now.mean,
        standard_error: now.standard_error * (pairs as f64 / last as f64).sqrt(),
        degrees_of_freedom: now.degrees_of_freedom * last as f64 / pairs as f64,
    };
    let interval = then.interval(alpha_per_look(rule));
    let half = (interval.high - interval.low) / 2.0 + rule.bias;
    // Either 0 or the threshold must fall out of it.
    let enough = now.mean.abs().max(rule.threshold.ln_1p() - now.mean.abs());
    half > DOUBT * enough
}

/// What to say when the budget ended at any number of pairs; `None` for fewer than 4 or if one is not finite.
///
/// Only the pairs up to the last of [`LOOKS`] count, the rest is dropped: the end of the budget is not a planned look,
/// and using it as one would break the union bound. With fewer than 8 pairs the figures describe all of them, but the
/// verdict is `Inconclusive` whatever they say. Otherwise what [`look`] left open is `ChangedBelowThreshold` if the
/// interval excludes 0 (it reaches beyond the threshold, the estimate does not), or else `Inconclusive`.
pub fn conclude(rule: &Rule, log_ratios: &[f64]) -> Option<Decision> {
    match LOOKS.into_iter().rev().find(|pairs| *pairs <= log_ratios.len()) {
        Some(pairs) => Found::of(rule, &log_ratios[..pairs]).map(|found| found.decision(found.last_word())),
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

/// An estimate seen through the rule.
struct Found<'a> {
    rule: &'a Rule,
    estimate: Estimate,
    /// On the logarithmic scale, where 0 is "no change" without rounding.
    interval: Interval,
    pairs: usize,
}

impl<'a> Found<'a> {
    fn of(rule: &'a Rule, log_ratios: &[f64]) -> Option<Self> {
        let estimate = Estimate::of(log_ratios)?;
        let Interval { estimate: mean, low, high } = estimate.interval(alpha_per_look(rule));
        let interval = Interval { estimate: mean, low: low - rule.bias, high: high + rule.bias };
        Some(Self { rule, estimate, interval, pairs: log_ratios.len() })
    }

    /// What is clear; `None` if more pairs may tell.
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

    /// What is left to say when there will be no more pairs.
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
            p_value: (self.estimate.p_value() * LOOKS.len() as f64).min(1.0),
            pairs: self.pairs,
        }
    }
}

fn alpha_per_look(rule: &Rule) -> f64 {
    rule.alpha / LOOKS.len() as f64
}

#[cfg(test)]
mod tests;
