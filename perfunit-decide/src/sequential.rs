//! The sequential rule: looks at the values after 8, 16, 32 and so on, and stops at the first look that is clear.
//!
//! A value is the log ratio ln(head / base) of a pair, or the mean of the pairs of a layout. Each look spends a part of
//! alpha ([`Looks::spends`]). By the union bound, the intervals of all looks together therefore hold the true change
//! with probability 1 - alpha, however the looks depend on each other. This pays for stopping early and for choosing
//! the verdict after seeing the values.
//!
//! The interval of up to 32 values ([`Claim`]) spans two intervals: that of the trimmed mean, which has its level for
//! noise that is nearly normal, and that of the median, which has its level for any noise that is symmetric around the
//! true change. The log ratio of sides that could swap names is symmetric. Above 32 values the trimmed mean's interval
//! suffices.
//!
//! Values that are correlated with their predecessor widen both intervals (`serial_inflation`). This repairs a weak
//! correlation only: `simulation` has the rates, up to 4 % for a correlation of 0.6. Slow drift must cancel within the
//! pair.
//!
//! Where a unit of replication gives several values, the spread between units widens both intervals, too
//! (`unit_inflation`).
//!
//! The threshold is compared with the estimate, not with the interval. A true change slightly below the threshold may
//! therefore be flagged, but a test without change only at a rate of up to alpha. A change that is flagged early looks
//! larger than it is. An interval that nearly holds 0 flags nothing.

use super::estimate::{Estimate, TRIMMING};
use super::location::Interval;
use super::location::{
    deviation, forecast_half, median, median_interval, serial_inflation, sign_p_value, stretch, unit_inflation,
};
use super::looks::{FEW_VALUES, Looks};
use perfunit_model::{Change, Threshold, Verdict, margin};

/// The probability of detecting a change of the size [`Decision::detectable`].
pub const POWER: f64 = 0.99;

/// Definition of a change: error rates, threshold and looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Probability, over all looks, that the interval behind the decision misses the true change.
    pub alpha: f64,
    /// The same probability for the interval by which a test counts as slower or faster; for an unchanged test it is
    /// the false alarm rate. At most `alpha`, and less where many tests share an error rate.
    pub alpha_of_change: f64,
    /// The smallest change that is gated, as a fraction of base: 0.1 flags head at 1.1 times base and more, and at 0.9
    /// times base and less.
    pub threshold: f64,
    /// The distance from 0 that the interval of a change must keep, as a fraction of base: 0 unless something other than a
    /// change of the code can explain smaller changes.
    pub distance: f64,
    /// The largest log ratio that all values may share apart from the change. Every interval is wider by this bias on
    /// both sides, because no number of values reveals it.
    pub bias: f64,
    pub looks: Looks,
}

/// A verdict and the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The verdict; never `NotMeasured`.
    pub verdict: Verdict,
    /// The change with the interval of the deciding look: at `alpha_of_change` if the estimate is at or beyond the
    /// threshold, else at `alpha`.
    pub change: Change,
    /// The smallest slowdown, as a fraction of base, that this look would have detected with probability [`POWER`].
    pub detectable: f64,
    /// Two-sided p value of "no change", divided by the part of the error rate that the look spends. For estimates at
    /// or beyond the threshold it is also multiplied by the number of estimates that may claim a change. The p value is
    /// at most the level of the interval exactly when the interval excludes 0. It does not account for a bias.
    pub p_value: f64,
    pub values: usize,
}

/// The next action after a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    Continue,
    /// Stop: the result is clear, there are no more looks, or more values would not help. The decision is `None` if
    /// there are too few values for any figures.
    Ended(Option<Decision>),
}

/// The state of the rule for one test.
#[derive(Debug, Clone)]
pub struct Sequential {
    rule: Rule,
    log_ratios: Vec<f64>,
    ended: Option<Decision>,
}

impl Sequential {
    pub fn new(rule: Rule) -> Self {
        Self { rule, log_ratios: Vec::new(), ended: None }
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Raises the threshold, effective at the next look.
    pub fn raise_threshold(&mut self, threshold: f64) {
        self.rule.threshold = self.rule.threshold.max(threshold);
    }

    /// Returns the values so far, in the order measured.
    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    /// Takes the next value. `affordable` is the number of values that time allows, including the values so far. A rule
    /// that has ended keeps its decision.
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

    /// Returns the same values, judged by another threshold. The intervals of all looks hold for any threshold.
    #[must_use]
    pub fn judged_at(self, threshold: f64) -> Self {
        Self { rule: Rule { threshold, ..self.rule }, ended: None, ..self }
    }

    /// Returns the same values, with more to come until the interval of a change keeps this distance from 0. The
    /// intervals of all looks hold for any distance.
    #[must_use]
    pub fn continued_to(self, distance: f64) -> Self {
        Self { rule: Rule { distance, ..self.rule }, ended: None, ..self }
    }

    /// Returns the decision if no more values come; `None` for fewer than 4 values or if one is not finite.
    pub fn conclude(&self) -> Option<Decision> {
        self.ended.or_else(|| conclude(&self.rule, &self.log_ratios))
    }
}

/// Returns the number of values that time allows in all, from the seconds that `values` values took and the seconds
/// that are left: at least one more value as long as time is left.
pub fn affordable(values: usize, took: f64, left: f64) -> usize {
    let each = took / values as f64;
    if left <= 0.0 { values } else { values + ((left / each.max(1e-6)) as usize).max(1) }
}

/// Returns the decision that is clear at a look, from all its values:
///
/// - `Slower` or `Faster` if the estimate is at or beyond the threshold, and the nearer end of the interval at
///   `alpha_of_change` is away from 0 by half of the threshold and a quarter of the estimate;
/// - else `ChangedBelowThreshold` if the interval excludes 0 and lies inside the margin;
/// - else `Same` if the interval holds 0 and lies inside the margin;
/// - else, for layouts, `Slower` or `Faster` if the median meets the condition for the estimate.
///
/// The margin is the threshold, or a little more where the threshold is small ([`margin`]).
///
/// Returns `None` if nothing is clear, and between looks.
pub fn look(rule: &Rule, log_ratios: &[f64]) -> Option<Decision> {
    if !rule.looks.contains(log_ratios.len()) {
        return None;
    }
    Found::of(rule, log_ratios)?.clear(When::UnderWay)
}

/// The factor by which the forecast of an interval must miss before more values count as hopeless. The forecast rests
/// on a standard error that is itself an estimate.
const DOUBT: f64 = 2.0;

/// Least distance of the interval of a change from 0, as a part of the threshold.
const FAR_BY_THRESHOLD: f64 = 0.5;
/// Least distance from 0 as a part of the estimate, as long as there are further looks.
const FAR_BY_ESTIMATE: f64 = 0.25;

/// Returns whether more values are pointless after a look at which nothing was clear. They are pointless if
/// `affordable` values in all reach no further look, or if the interval at the last look would still be far too wide to
/// decide anything. Changes that are worth a statement ([`Threshold::of_inconclusive`]) and are not yet excluded are a
/// reason to continue if the last look may exclude them.
///
/// The first look makes no forecast. Later looks use the quieter half of the values, and the middle half of these: a
/// machine that was disturbed for some seconds need not stay disturbed. A stop on a forecast can only turn a verdict
/// into `Inconclusive`, so it makes no false alarm more likely.
pub fn is_hopeless(rule: &Rule, log_ratios: &[f64], affordable: usize) -> bool {
    let values = log_ratios.len();
    let Some(last) = rule.looks.up_to(affordable).filter(|look| *look > values) else { return true };
    let Some(found) = Found::of(rule, log_ratios).filter(|_| values > rule.looks.first()) else { return false };
    let now = found.estimate;
    let (earlier, later) = found.values.split_at(values / 2);
    let [earlier, later] = [earlier, later].map(|half| deviation(&mut half.to_vec()));
    let of_quiet_half = earlier.min(later) / (values as f64).sqrt();
    let then = Estimate {
        mean: now.mean,
        standard_error: now.standard_error.min(of_quiet_half) * (values as f64 / last as f64).sqrt(),
        degrees_of_freedom: now.degrees_of_freedom * last as f64 / values as f64,
    };
    let half_of = |interval: Interval| (interval.high - interval.low) / 2.0 + rule.bias;
    let half = half_of(then.interval(rule.looks.spends_on_trimmed_mean(last, rule.alpha)));
    let is_bounded = |half: f64| now.mean.abs() + half < Threshold::of_inconclusive().fraction().ln_1p();
    if !is_bounded(half_of(found.claim(rule.alpha).interval)) && is_bounded(half) {
        return false;
    }
    // A verdict needs an interval that excludes 0 or stays inside the margin.
    let from_zero = now.mean.abs() - rule.distance.ln_1p();
    let enough = from_zero.max(margin(rule.threshold).ln_1p() - now.mean.abs());
    let by_median = || {
        let spent = rule.looks.spends(last, level_of_change(rule, last));
        let half = forecast_half(&found.around_median(), last, spent) + rule.bias;
        half <= DOUBT * median(&mut log_ratios.to_vec()).abs()
    };
    half > DOUBT * enough && !(rule.looks.by_median() && by_median())
}

/// Returns the decision if time ends at any number of values; `None` for fewer than 4 values or if one is not finite.
///
/// Only the values up to the last look count, and the rest is dropped: the end of the budget is not a planned look, and
/// using it as one would break the union bound. With fewer values than the first look needs, the figures describe all
/// values, but the verdict is `Inconclusive` in any case. Otherwise the verdict is the clear one, where the distance of
/// a change from 0 is compared only with the threshold, or `Inconclusive` if no verdict is clear.
pub fn conclude(rule: &Rule, log_ratios: &[f64]) -> Option<Decision> {
    match rule.looks.up_to(log_ratios.len()) {
        Some(values) => Found::of(rule, &log_ratios[..values])
            .map(|found| found.clear(When::AtTheEnd).unwrap_or_else(|| found.decision(Verdict::Inconclusive))),
        None => Found::of(rule, log_ratios).map(|found| found.decision(Verdict::Inconclusive)),
    }
}

/// Returns the final verdict of a test, or of one of its metrics, after fresh values gave a second verdict: the fresh
/// verdict, unless the two contradict each other.
pub fn on_fresh_values<V: Copy + PartialEq + From<Verdict>>(first: V, fresh: V) -> V {
    let [slower, faster] = [Verdict::Slower, Verdict::Faster].map(V::from);
    let contradicts = (first == slower && fresh == faster) || (first == faster && fresh == slower);
    if contradicts { V::from(Verdict::Inconclusive) } else { fresh }
}

/// Returns whether another layout of the code may change this verdict of a single layout, for a test that is sensitive
/// to the layout. A verdict that noise alone left inconclusive stays so.
pub fn rests_on_layout(verdict: Verdict, change: &Change, threshold: f64) -> bool {
    verdict != Verdict::Inconclusive || (change.high - change.low) / 2.0 < margin(threshold)
}

/// Availability of further values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    UnderWay,
    AtTheEnd,
}

/// The claim that a look at some values may make, at an error rate over all looks.
struct Claim {
    interval: Interval,
    /// Two-sided p value of "no change", in terms of that error rate.
    p_value: f64,
    /// True if the look may claim anything. It may not if chance alone makes so few values look alike too often.
    decides: bool,
}

/// Values with their estimate under the rule.
struct Found<'a> {
    rule: &'a Rule,
    log_ratios: &'a [f64],
    /// The factor by which correlation of the values widens the intervals.
    inflation: f64,
    /// The values, stretched around their trimmed mean to the spread of independent values with the same information.
    values: Vec<f64>,
    estimate: Estimate,
}

impl<'a> Found<'a> {
    fn of(rule: &'a Rule, log_ratios: &'a [f64]) -> Option<Self> {
        let Estimate { mean, .. } = Estimate::of(log_ratios)?;
        let of_units = unit_inflation(log_ratios, rule.looks.per_unit());
        let of_series = if rule.looks.is_single() { 1.0 } else { serial_inflation(log_ratios, TRIMMING) };
        let inflation = of_series.max(of_units);
        let values = stretch(log_ratios, mean, inflation);
        let estimate = Estimate::of(&values)?;
        Some(Self { rule, log_ratios, inflation, values, estimate })
    }

    /// Returns the clear decision by the trimmed mean, else by the median.
    fn clear(&self, when: When) -> Option<Decision> {
        self.verdict(when).map(|verdict| self.decision(verdict)).or_else(|| self.by_median(when))
    }

    fn verdict(&self, when: When) -> Option<Verdict> {
        let threshold = self.rule.threshold;
        let claim = self.claim(self.level());
        if !claim.decides {
            return None;
        }
        let change = as_fractions(claim.interval, self.rule.bias);
        if self.is_beyond() {
            return far_from_zero(change, self.rule, when);
        }
        let Change { low, high, .. } = change;
        let margin = margin(threshold);
        let is_inside = -margin < low && high < margin;
        let excludes_zero = low > 0.0 || high < 0.0;
        is_inside.then_some(if excludes_zero { Verdict::ChangedBelowThreshold } else { Verdict::Same })
    }

    /// Returns the claim that this look may make at an error rate of `alpha` over all looks.
    ///
    /// Up to [`FEW_VALUES`] values the interval spans that of the trimmed mean and that of the median: a few values of one
    /// group can make the former arbitrarily narrow.
    fn claim(&self, alpha: f64) -> Claim {
        let (looks, count) = (self.rule.looks, self.values.len());
        let (level, spent) = (looks.spends_on_trimmed_mean(count, alpha), looks.spends(count, alpha));
        let interval = self.estimate.interval(level);
        let p_value = self.estimate.p_value() * alpha / level;
        if count > FEW_VALUES {
            return Claim { interval, p_value, decides: true };
        }
        let of_median = median_interval(&self.values, spent);
        let decides = of_median.is_some();
        let end = |of: fn(f64, f64) -> f64| self.values.iter().copied().fold(self.estimate.mean, of);
        let all = || (end(f64::min), end(f64::max));
        let (low, high) = of_median.map_or_else(all, |interval| (interval.low, interval.high));
        let interval = Interval { low: interval.low.min(low), high: interval.high.max(high), ..interval };
        let of_signs = if decides { sign_p_value(&self.values) * alpha / spent } else { 1.0 };
        Claim { interval, p_value: p_value.max(of_signs), decides }
    }

    /// Returns `Slower` or `Faster` if the median is clear about it and the looks use the median. The median can claim
    /// only a change: a majority of values without a change does not prove that the other values have none.
    fn by_median(&self, when: When) -> Option<Decision> {
        let Self { rule, log_ratios, .. } = *self;
        if !rule.looks.by_median() {
            return None;
        }
        let (count, values) = (log_ratios.len(), self.around_median());
        let spent = rule.looks.spends(count, level_of_change(rule, count));
        let change = as_fractions(median_interval(&values, spent)?, rule.bias);
        let verdict = far_from_zero(change, rule, when).filter(|_| change.estimate.abs() >= rule.threshold)?;
        let p_value = (sign_p_value(&values) * rule.alpha_of_change / spent).min(1.0);
        Some(Decision { change, p_value, ..self.decision(verdict) })
    }

    /// Returns the values, stretched around their median by the same factor.
    fn around_median(&self) -> Vec<f64> {
        stretch(self.log_ratios, median(&mut self.log_ratios.to_vec()), self.inflation)
    }

    /// Returns whether the estimate is at or beyond the threshold; an estimate of 0 is not beyond a threshold of 0.
    fn is_beyond(&self) -> bool {
        let estimate = self.estimate.mean.exp_m1();
        estimate.abs() >= self.rule.threshold && estimate != 0.0
    }

    /// Returns the error rate, over all looks, of the interval that decides.
    fn level(&self) -> f64 {
        if self.is_beyond() { self.level_of_change() } else { self.rule.alpha }
    }

    fn level_of_change(&self) -> f64 {
        level_of_change(self.rule, self.values.len())
    }

    fn decision(&self, verdict: Verdict) -> Decision {
        let bias = self.rule.bias;
        let Claim { interval, p_value, .. } = self.claim(self.level());
        let estimates = if self.is_beyond() { self.rule.alpha_of_change / self.level_of_change() } else { 1.0 };
        let of_change = self.claim(self.level_of_change()).interval;
        let half = (of_change.high - of_change.estimate).max(of_change.estimate - of_change.low);
        Decision {
            verdict,
            change: as_fractions(interval, bias),
            detectable: (self.estimate.detectable(half, POWER) + bias).exp_m1(),
            p_value: (p_value * estimates).min(1.0),
            values: self.log_ratios.len(),
        }
    }
}

/// Returns the verdict on a change at or beyond the threshold if its interval is far from 0.
fn far_from_zero(change: Change, rule: &Rule, when: When) -> Option<Verdict> {
    let (estimate, from_zero) = (change.estimate, change.from_zero());
    let by_estimate = if when == When::UnderWay { FAR_BY_ESTIMATE * estimate.abs() } else { 0.0 };
    let least = by_estimate.max(FAR_BY_THRESHOLD * rule.threshold).max(rule.distance);
    let is_far = from_zero > 0.0 && from_zero >= least;
    is_far.then_some(if estimate > 0.0 { Verdict::Slower } else { Verdict::Faster })
}

/// Converts logarithms of a ratio to fractions of base, with the interval widened by the bias.
fn as_fractions(interval: Interval, bias: f64) -> Change {
    let Interval { estimate, low, high } = interval;
    Change { estimate: estimate.exp_m1(), low: (low - bias).exp_m1(), high: (high + bias).exp_m1() }
}

/// Returns the error rate, over all looks, of each estimate by which a test counts as slower or faster at a look at
/// this many values. The median's claims cover those of the trimmed mean for few values, so the two need not share the
/// rate.
fn level_of_change(rule: &Rule, values: usize) -> f64 {
    let estimates = if rule.looks.by_median() && values > FEW_VALUES { 2.0 } else { 1.0 };
    rule.alpha_of_change / estimates
}

#[cfg(test)]
mod tests;
