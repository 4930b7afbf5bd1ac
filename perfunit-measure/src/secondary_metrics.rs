//! What pairs tell besides wall time: CPU time and the first call. Pure.
//!
//! The same pairs, units and rule as for wall time, but for first calls: who makes the first one of a pair finds another
//! machine than who comes behind it, so that two pairs, one begun by each side, make one. Nobody confirms what does not
//! decide, so that is judged at the level of confirmations from the start.

use super::lockstep::{PairEnd, SideEnd};
use super::work::Comparison;
use perfunit_decide as decide;
use perfunit_decide::Rule;
use perfunit_model::{Basis, Metered, Metric, MetricVerdict, Metrics, NotMetered, Readings, Side, Sides};
use perfunit_runtime::page::FEW_BATCHES;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The metrics that pairs tell.
pub const OF_PAIRS: [Metric; 2] = [Metric::CpuTime, Metric::Cold];

/// First calls are noisier than any repeated ones: no threshold below this.
const COLD_THRESHOLD: f64 = 0.05;

/// How each metric is judged.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// How wall time is.
    pub time: Rule,
    /// The metrics that decide.
    pub gates: &'a [Metric],
}

impl Rules<'_> {
    fn of(&self, metric: Metric) -> Rule {
        let rule = if self.gates.contains(&metric) {
            self.time
        } else {
            // No fresh pairs confirm what they claim.
            Rule { alpha_of_change: decide::confirmation_alpha(self.time.alpha, 1), ..self.time }
        };
        match metric {
            Metric::Cold => Rule { threshold: rule.threshold.max(COLD_THRESHOLD), ..rule },
            _ => rule,
        }
    }
}

/// Pairs of one test, an entry for each unit of replication.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    columns: BTreeMap<Metric, Column>,
    told: BTreeSet<Metric>,
}

#[derive(Debug, Clone, Default)]
struct Column {
    log_ratios: Vec<f64>,
    values: Sides<Vec<f64>>,
    /// Log ratios of the unit at hand.
    unit: Vec<f64>,
    /// Log ratios of pairs that wait for one begun by the other side.
    waiting: Sides<VecDeque<f64>>,
}

impl Beside {
    /// Adds a pair to the unit at hand.
    pub fn add(&mut self, pair: &PairEnd, comparison: Comparison) {
        for metric in OF_PAIRS {
            let values = pair.sides.as_ref().map(|side| value(metric, side, pair));
            let log_ratio = match metric {
                Metric::CpuTime if pair.shape.batches > 0 => comparison.log_ratio(&in_cpu_time(pair)),
                _ => (values.head / values.base).ln(),
            };
            let column = self.columns.entry(metric).or_default();
            match metric {
                Metric::Cold => column.add_first_calls(log_ratio, pair.starter),
                _ => column.unit.push(log_ratio),
            }
            column.values.base.push(values.base);
            column.values.head.push(values.head);
        }
    }

    /// The unit at hand is complete.
    pub fn end_unit(&mut self) {
        for column in self.columns.values_mut().filter(|column| !column.unit.is_empty()) {
            column.log_ratios.push(decide::trimmed_mean(&column.unit, decide::TRIMMING));
            column.unit.clear();
        }
    }

    /// Notes what can be told by now; true if that is all of what decides.
    pub fn is_told(&mut self, rules: &Rules<'_>) -> bool {
        for (metric, column) in &self.columns {
            if decide::look(&rules.of(*metric), &column.log_ratios).is_some() {
                self.told.insert(*metric);
            }
        }
        self.open(rules).next().is_none()
    }

    /// Whether what is still to be told will not be, with so many units in all.
    pub fn is_hopeless(&self, rules: &Rules<'_>, affordable: usize) -> bool {
        self.open(rules).all(|(metric, column)| decide::is_hopeless(&rules.of(metric), &column.log_ratios, affordable))
    }

    fn open<'a>(&'a self, rules: &'a Rules<'_>) -> impl Iterator<Item = (Metric, &'a Column)> {
        let of_pairs = self.columns.iter().map(|(metric, column)| (*metric, column));
        of_pairs
            .filter(|(metric, column)| rules.gates.contains(metric) && !self.told.contains(metric) && column.is_known())
    }

    /// What is told in the end.
    pub fn metrics(&self, rules: &Rules<'_>) -> Metrics {
        let metered = |(metric, column): (&Metric, &Column)| (*metric, column.metered(&rules.of(*metric)));
        self.columns.iter().map(metered).collect()
    }
}

impl Column {
    fn add_first_calls(&mut self, log_ratio: f64, starter: Side) {
        match self.waiting.get_mut(starter.other()).pop_front() {
            Some(other) => self.unit.push(f64::midpoint(log_ratio, other)),
            None => self.waiting.get_mut(starter).push_back(log_ratio),
        }
    }

    fn is_known(&self) -> bool {
        [&self.values.base, &self.values.head].into_iter().flatten().all(|value| *value > 0.0)
    }

    fn metered(&self, rule: &Rule) -> Result<Metered, NotMetered> {
        if !self.is_known() {
            return Err(NotMetered::NotCounted);
        }
        let readings = self.values.as_ref().map(|values| readings(values));
        // Of too few pairs nothing can be said.
        let decision = decide::conclude(rule, &self.log_ratios);
        let verdict = decision.map_or(MetricVerdict::Inconclusive, |decision| decision.verdict.into());
        let basis = Basis::Pairs(self.values.base.len());
        Ok(Metered {
            verdict,
            readings,
            change: decision.map(|decision| decision.change),
            threshold: rule.threshold,
            basis,
        })
    }
}

pub fn readings(values: &[f64]) -> Readings {
    let fold = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of).unwrap_or(f64::NAN);
    Readings { value: decide::median(&mut values.to_vec()), low: fold(f64::min), high: fold(f64::max) }
}

fn value(metric: Metric, side: &SideEnd, pair: &PairEnd) -> f64 {
    match metric {
        Metric::Cold => side.first_ns,
        _ if side.cpu_times.is_empty() => side.first_cpu_ns,
        _ if side.cpu_times.len() < FEW_BATCHES as usize => per_run(&side.cpu_times, 0.5, pair.shape.repetitions),
        _ => per_run(&side.cpu_times, 0.1, pair.shape.repetitions + u64::from(pair.shape.warm)),
    }
}

fn per_run(batches: &[f64], quantile: f64, runs: u64) -> f64 {
    decide::quantile(&mut batches.to_vec(), quantile) / runs.max(1) as f64
}

/// The pair as if the clock had been the processor's.
fn in_cpu_time(pair: &PairEnd) -> PairEnd {
    let sides = pair.sides.as_ref().map(|side| SideEnd { times: side.cpu_times.clone(), ..side.clone() });
    PairEnd { sides, ..pair.clone() }
}

/// Leaves processor time alone: the rest of what pairs tell is not told of whole processes.
pub fn withhold(metrics: &mut Metrics) {
    for metric in Metric::ALL.into_iter().filter(|metric| !matches!(metric, Metric::Time | Metric::CpuTime)) {
        metrics.insert(metric, Err(NotMetered::WholeProcess));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::Shape;
    use perfunit_decide::Looks;
    use std::time::Duration;

    /// A side that takes so long by the processor's clock, with a little noise.
    fn side(random: &mut fastrand::Rng, cpu_ns: f64) -> SideEnd {
        let mut noisy = |value: f64| value * (1.0 + 0.001 * random.f64());
        SideEnd {
            first_ns: noisy(5e5),
            times: (0..40).map(|_| noisy(1e5)).collect(),
            cpu_times: (0..40).map(|_| noisy(cpu_ns * 101.0)).collect(),
            ..SideEnd::default()
        }
    }

    fn beside(cpu_ns: Sides<f64>) -> Beside {
        let (mut beside, mut random) = (Beside::default(), fastrand::Rng::with_seed(3));
        for starter in [Side::Base, Side::Head, Side::Head, Side::Base].into_iter().cycle().take(16) {
            let mut sides = Sides { base: side(&mut random, cpu_ns.base), head: side(&mut random, cpu_ns.head) };
            let shape = Shape { repetitions: 100, batches: 40, warm: 1 };
            // Who begins wakes up a core that sleeps.
            sides.get_mut(starter).first_ns *= 1.3;
            let pair = PairEnd { sides, shape, starter, timed_out: None, took: Duration::from_millis(10) };
            beside.add(&pair, Comparison::Quantiles);
            beside.end_unit();
        }
        beside
    }

    const RULES: Rules<'_> = Rules {
        time: Rule { alpha: 0.01, alpha_of_change: 0.01, threshold: 0.02, bias: 0.0, looks: Looks::OF_PAIRS },
        gates: &[Metric::CpuTime],
    };

    #[track_caller]
    fn check(beside: &Beside, metric: Metric, expected: MetricVerdict) {
        assert_eq!(beside.metrics(&RULES)[&metric].as_ref().unwrap().verdict, expected);
    }

    #[test]
    fn cpu_time_is_judged_as_wall_time_is() {
        let mut slower = beside(Sides { base: 1e3, head: 1.1e3 });
        assert!(slower.is_told(&RULES));
        assert_eq!(slower.columns[&Metric::Cold].log_ratios.len(), 8);
        check(&slower, Metric::CpuTime, MetricVerdict::More);
        check(&slower, Metric::Cold, MetricVerdict::Same);
        let figures = slower.metrics(&RULES)[&Metric::CpuTime].clone().unwrap();
        assert!((figures.readings.base.value - 1e3).abs() < 2.0, "{figures:?}");
        assert_eq!(figures.basis, Basis::Pairs(16));
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_no_zero() {
        let silent = beside(Sides { base: 0.0, head: 0.0 });
        assert_eq!(silent.metrics(&RULES)[&Metric::CpuTime], Err(NotMetered::NotCounted));
    }

    #[test]
    fn of_a_process_only_its_processor_time_is_told() {
        let mut metrics =
            Metrics::from([(Metric::CpuTime, Err(NotMetered::TooLong)), (Metric::Cold, Err(NotMetered::TooLong))]);
        withhold(&mut metrics);
        assert_eq!(metrics.len(), Metric::ALL.len() - 1);
        assert_eq!(metrics[&Metric::CpuTime], Err(NotMetered::TooLong));
        assert_eq!(metrics[&Metric::Cold], Err(NotMetered::WholeProcess));
    }
}
