//! One figure of the pairs of a test, judged by the rule for time. Pure.

use perfunit_decide as decide;
use perfunit_decide::Rule;
use perfunit_model::{Basis, Metered, MetricVerdict, NotMetered, Readings, Side, Sides};
use std::collections::VecDeque;

/// The values of a figure, an entry for each pair, and their log ratios, an entry for each unit of replication.
#[derive(Debug, Clone, Default)]
pub struct Column {
    log_ratios: Vec<f64>,
    values: Sides<Vec<f64>>,
    /// Log ratios of the current unit.
    unit: Vec<f64>,
    /// Log ratios of pairs that wait for a pair begun by the other side.
    waiting: Sides<VecDeque<f64>>,
}

impl Column {
    /// Adds the values of a pair.
    pub fn add(&mut self, values: Sides<f64>) {
        self.add_compared(values, (values.head / values.base).ln());
    }

    /// Adds the values of a pair with a separate log ratio.
    pub fn add_compared(&mut self, values: Sides<f64>, log_ratio: f64) {
        self.unit.push(log_ratio);
        self.keep(values);
    }

    /// Adds the first calls of a pair. Two pairs, one begun by each side, make one log ratio.
    pub fn add_first_calls(&mut self, values: Sides<f64>, starter: Side) {
        let log_ratio = (values.head / values.base).ln();
        match self.waiting.get_mut(starter.other()).pop_front() {
            Some(other) => self.unit.push(f64::midpoint(log_ratio, other)),
            None => self.waiting.get_mut(starter).push_back(log_ratio),
        }
        self.keep(values);
    }

    fn keep(&mut self, values: Sides<f64>) {
        self.values.base.push(values.base);
        self.values.head.push(values.head);
    }

    /// Completes the current unit.
    pub fn end_unit(&mut self) {
        if !self.unit.is_empty() {
            self.log_ratios.push(decide::trimmed_mean(&self.unit, decide::TRIMMING));
            self.unit.clear();
        }
    }

    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    pub fn values(&self) -> &Sides<Vec<f64>> {
        &self.values
    }

    /// Returns whether each pair has a value on both sides.
    pub fn is_known(&self) -> bool {
        [&self.values.base, &self.values.head].into_iter().flatten().all(|value| *value > 0.0)
    }

    /// Returns the figures and the verdict.
    pub fn judge(&self, rule: &Rule) -> Result<Metered, NotMetered> {
        if !self.is_known() {
            return Err(NotMetered::NotCounted);
        }
        // Too few pairs allow no conclusion.
        let decision = decide::conclude(rule, &self.log_ratios);
        let change = decision.map(|decision| decision.change);
        let mut readings = self.values.as_ref().map(|values| readings(values));
        if let Some(change) = change {
            let values = with_ratio(&self.values.base, &self.values.head, 1.0 + change.estimate);
            readings.base.value = values.base.max(readings.base.low).min(readings.base.high);
            readings.head.value = values.head.max(readings.head.low).min(readings.head.high);
        }
        Ok(Metered {
            verdict: decision.map_or(MetricVerdict::Inconclusive, |decision| decision.verdict.into()),
            readings,
            change,
            threshold: rule.threshold,
            basis: Basis::Pairs(self.values.base.len()),
            programs: Vec::new(),
            names: Vec::new(),
        })
    }
}

/// Returns a value of each side with this ratio, which the pairs show. Where the machine's speed jumps, the medians of the
/// sides can belong to different speeds.
pub fn with_ratio(base: &[f64], head: &[f64], ratio: f64) -> Sides<f64> {
    let mut between: Vec<f64> = base.iter().zip(head).map(|(base, head)| (base * head).sqrt()).collect();
    let (between, half) = (decide::median(&mut between), ratio.sqrt());
    Sides { base: between / half, head: between * half }
}

/// Returns the median and the range of values.
pub fn readings(values: &[f64]) -> Readings {
    let fold = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of).unwrap_or(f64::NAN);
    Readings { value: decide::median(&mut values.to_vec()), low: fold(f64::min), high: fold(f64::max) }
}
