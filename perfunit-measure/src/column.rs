//! One figure of the pairs of a test, judged by the rule for time. Pure.

use perfunit_decide as decide;
use perfunit_decide::{Looks, Rule};
use perfunit_model::{Basis, Metered, MetricVerdict, NotMetered, Readings, Side, Sides};
use std::collections::VecDeque;

/// The values of a figure, an entry for each pair, and their log ratios.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// The log ratios of all units of replication.
    log_ratios: Vec<f64>,
    /// The number of log ratios of each unit; 0 before the first one.
    per_unit: usize,
    values: Sides<Vec<f64>>,
    /// Log ratios of each pair of the current unit.
    unit: Vec<Vec<f64>>,
    /// Log ratios of pairs that wait for a pair begun by the other side.
    waiting: Sides<VecDeque<f64>>,
}

impl Column {
    /// Adds the values of a pair.
    pub fn add(&mut self, values: Sides<f64>) {
        self.add_split(values, None);
    }

    /// Adds the values of a pair, with the log ratios of groups of its calls if they are known.
    pub fn add_split(&mut self, values: Sides<f64>, log_ratios: Option<Vec<f64>>) {
        self.unit.push(log_ratios.unwrap_or_else(|| vec![(values.head / values.base).ln()]));
        self.keep(values);
    }

    /// Adds the first calls of a pair. Two pairs, one begun by each side, make one log ratio.
    pub fn add_first_calls(&mut self, values: Sides<f64>, starter: Side) {
        let log_ratio = (values.head / values.base).ln();
        match self.waiting.get_mut(starter.other()).pop_front() {
            Some(other) => self.unit.push(vec![f64::midpoint(log_ratio, other)]),
            None => self.waiting.get_mut(starter).push_back(log_ratio),
        }
        self.keep(values);
    }

    fn keep(&mut self, values: Sides<f64>) {
        self.values.base.push(values.base);
        self.values.head.push(values.head);
    }

    /// Completes the current unit: its log ratios are the means of counterparts. Units with unequal numbers of them have one
    /// each.
    pub fn end_unit(&mut self) {
        let pairs = std::mem::take(&mut self.unit);
        let mean = |values: &[f64]| decide::trimmed_mean(values, decide::TRIMMING);
        let Some(count) = pairs.first().map(Vec::len) else { return };
        if self.per_unit == 0 {
            self.per_unit = count;
        }
        if pairs.iter().any(|pair| pair.len() != self.per_unit) {
            self.log_ratios = self.log_ratios.chunks(self.per_unit).map(mean).collect();
            self.per_unit = 1;
        }
        if self.per_unit == 1 {
            self.log_ratios.push(mean(&pairs.concat()));
        } else {
            let counterparts = |at: usize| mean(&pairs.iter().map(|pair| pair[at]).collect::<Vec<_>>());
            self.log_ratios.extend((0..count).map(counterparts));
        }
    }

    #[cfg(test)]
    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    /// Returns a rule for time with looks at the values of this figure, of which a unit may have fewer.
    fn own(&self, rule: &Rule) -> Rule {
        let looks = if rule.looks.per_unit() > 1 { Looks::of_calls(self.per_unit.max(1)) } else { rule.looks };
        Rule { looks, ..*rule }
    }

    /// Returns whether the look at these values is clear.
    pub fn is_clear(&self, rule: &Rule) -> bool {
        decide::look(&self.own(rule), &self.log_ratios).is_some()
    }

    /// Returns whether more values are pointless, given the number of values of time that are affordable.
    pub fn is_hopeless(&self, rule: &Rule, affordable: usize) -> bool {
        let affordable = affordable * self.per_unit.max(1) / rule.looks.per_unit();
        decide::is_hopeless(&self.own(rule), &self.log_ratios, affordable)
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
        let decision = decide::conclude(&self.own(rule), &self.log_ratios);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_one_value_each_once_one_has_another_number() {
        let mut column = Column::default();
        let mut add = |pairs: &[&[f64]]| {
            for pair in pairs {
                column.add_split(Sides { base: 1.0, head: 1.0 }, Some(pair.to_vec()));
            }
            column.end_unit();
            column.log_ratios().to_vec()
        };
        assert_eq!(add(&[&[1.0, 2.0], &[3.0, 6.0]]), [2.0, 4.0]);
        assert_eq!(add(&[&[1.0, 2.0], &[5.0]]), [3.0, 8.0 / 3.0]);
        assert_eq!(add(&[&[1.0, 2.0], &[3.0, 6.0]]), [3.0, 8.0 / 3.0, 3.0]);
    }
}
