//! Metrics of pairs other than wall time: CPU time, the time of started programs, and the first call. Pure.
//!
//! Pairs, units and rule are the same as for wall time, except for first calls. The side that makes the first call of a
//! pair finds the machine in a different state than the side that follows, so two pairs, one begun by each side, make one
//! value. Metrics that do not decide are not confirmed, so they are judged at the level of confirmations from the start.

use super::classify::undisturbed_time;
use super::column::Column;
use super::lockstep::{PairEnd, SideEnd};
use super::programs::Programs;
use super::work::Comparison;
use perfunit_decide as decide;
use perfunit_decide::{Estimate, Rule};
use perfunit_model::{Metric, Metrics, NotMetered, Sides};
use perfunit_runtime::page::FEW_BATCHES;
use std::collections::{BTreeMap, BTreeSet};

/// The metrics that pairs measure, other than wall time.
pub const OF_PAIRS: [Metric; 3] = [Metric::CpuTime, Metric::ProgramTime, Metric::Cold];
/// The metrics of the test's own process.
const OF_OWN_PROCESS: [Metric; 2] = [Metric::CpuTime, Metric::Cold];

/// The smallest threshold of first calls, which are noisier than any repeated ones.
const COLD_THRESHOLD: f64 = 0.05;

/// The rules for judging each metric.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The rule for wall time.
    pub time: Rule,
    /// The metrics that decide.
    pub gates: &'a [Metric],
}

impl Rules<'_> {
    fn of(&self, metric: Metric) -> Rule {
        let rule = if self.gates.contains(&metric) {
            self.time
        } else {
            // Fresh pairs do not confirm changes of these metrics.
            Rule { alpha_of_change: decide::confirmation_alpha(self.time.alpha, 1), ..self.time }
        };
        match metric {
            Metric::Cold => Rule { threshold: rule.threshold.max(COLD_THRESHOLD), ..rule },
            _ => rule,
        }
    }
}

/// The values of one test's pairs, with an entry for each unit of replication.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    columns: BTreeMap<Metric, Column>,
    programs: Programs,
    told: BTreeSet<Metric>,
}

impl Beside {
    /// Adds a pair, which gives this many values of time, to the current unit.
    pub fn add(&mut self, pair: &PairEnd, comparison: Comparison, count: usize) {
        self.programs.add(pair, comparison, count);
        for metric in OF_OWN_PROCESS {
            let values = pair.sides.as_ref().map(|side| value(metric, side, pair));
            let column = self.columns.entry(metric).or_default();
            match metric {
                Metric::Cold => column.add_first_calls(values, pair.starter),
                _ if pair.shape.batches > 0 => {
                    let of_calls = comparison.split(&in_cpu_time(pair), count);
                    column.add_split(values, Some(of_calls.iter().map(|value| value.log_ratio).collect()));
                }
                _ => column.add(values),
            }
        }
    }

    /// Completes the current unit.
    pub fn end_unit(&mut self) {
        self.columns.values_mut().for_each(Column::end_unit);
        self.programs.end_unit();
    }

    /// Notes the metrics that are clear by now; returns whether all metrics that decide are clear.
    pub fn is_told(&mut self, rules: &Rules<'_>) -> bool {
        let is_told = |(metric, column): &(Metric, &Column)| column.is_clear(&rules.of(*metric));
        let told: Vec<Metric> = self.all(rules).filter(is_told).map(|(metric, _)| metric).collect();
        self.told.extend(told);
        self.open(rules).next().is_none()
    }

    /// Returns whether none of the open metrics can become clear with this many units in all.
    pub fn is_hopeless(&self, rules: &Rules<'_>, affordable: usize) -> bool {
        self.open(rules).all(|(metric, column)| column.is_hopeless(&rules.of(metric), affordable))
    }

    fn open<'a>(&'a self, rules: &'a Rules<'_>) -> impl Iterator<Item = (Metric, &'a Column)> {
        let is_open = |metric: &Metric| rules.gates.contains(metric) && !self.told.contains(metric);
        self.all(rules).filter(move |(metric, column)| is_open(metric) && column.is_known())
    }

    fn all<'a>(&'a self, rules: &Rules<'_>) -> impl Iterator<Item = (Metric, &'a Column)> {
        let of_programs = self.programs.deciding(&rules.of(Metric::ProgramTime));
        let of_programs = of_programs.map(|column| (Metric::ProgramTime, column));
        self.columns.iter().map(|(metric, column)| (*metric, column)).chain(of_programs)
    }

    /// Returns the distance between the change of first calls and this change of later ones, in standard errors; `None` for
    /// fewer than 4 pairs.
    pub fn first_calls_apart(&self, change: f64) -> Option<f64> {
        let Sides { base, head } = self.columns.get(&Metric::Cold)?.values();
        let log_ratios: Vec<f64> = base.iter().zip(head).map(|(base, head)| (head / base).ln()).collect();
        let Estimate { mean, standard_error, .. } = Estimate::of(&log_ratios)?;
        Some((mean - change.ln_1p()).abs() / standard_error)
    }

    /// Returns the final metrics.
    pub fn metrics(&self, rules: &Rules<'_>) -> Metrics {
        let metered = |(metric, column): (&Metric, &Column)| (*metric, column.judge(&rules.of(*metric)));
        let decides = rules.gates.contains(&Metric::ProgramTime);
        let of_programs = self.programs.judge(&rules.of(Metric::ProgramTime), decides);
        let of_programs = of_programs.map(|metered| (Metric::ProgramTime, metered));
        self.columns.iter().map(metered).chain(of_programs).collect()
    }
}

fn value(metric: Metric, side: &SideEnd, pair: &PairEnd) -> f64 {
    match metric {
        Metric::Cold => side.first_ns,
        _ if side.cpu_times.is_empty() => side.first_cpu_ns,
        _ => {
            // The processor time of many short batches includes the untimed run before each batch.
            let is_many = side.cpu_times.len() >= FEW_BATCHES as usize;
            let runs = pair.shape.repetitions + if is_many { u64::from(pair.shape.warm) } else { 0 };
            undisturbed_time(&side.cpu_times) / runs.max(1) as f64
        }
    }
}

/// Returns the pair with CPU times in the place of wall times.
fn in_cpu_time(pair: &PairEnd) -> PairEnd {
    let sides = pair.sides.as_ref().map(|side| SideEnd {
        times: side.cpu_times.clone(),
        first_ns: side.first_cpu_ns,
        ..side.clone()
    });
    PairEnd { sides, ..pair.clone() }
}

/// Withholds all metrics except time, CPU time and the time of programs: the others are not measured for whole processes.
pub fn withhold(metrics: &mut Metrics) {
    let is_told = |metric: &Metric| matches!(metric, Metric::Time | Metric::CpuTime | Metric::ProgramTime);
    for metric in Metric::ALL.into_iter().filter(|metric| !is_told(metric)) {
        metrics.insert(metric, Err(NotMetered::WholeProcess));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::Shape;
    use perfunit_decide::Looks;
    use perfunit_model::{Basis, MetricVerdict, Side};
    use std::time::Duration;

    /// Returns a side with this CPU time per run, with a little noise.
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
            // The first side wakes up a sleeping core.
            sides.get_mut(starter).first_ns *= 1.3;
            let pair = PairEnd { sides, shape, starter, timed_out: None, took: Duration::from_millis(10) };
            beside.add(&pair, Comparison::Quantiles, 1);
            beside.end_unit();
        }
        beside
    }

    const RULES: Rules<'_> = Rules {
        time: Rule {
            alpha: 0.01,
            alpha_of_change: 0.01,
            threshold: 0.02,
            distance: 0.0,
            bias: 0.0,
            looks: Looks::OF_PAIRS,
        },
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
        assert_eq!(slower.columns[&Metric::Cold].log_ratios().len(), 8);
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
        assert_eq!(metrics.len(), Metric::ALL.len() - 2);
        assert_eq!(metrics[&Metric::CpuTime], Err(NotMetered::TooLong));
        assert_eq!(metrics[&Metric::Cold], Err(NotMetered::WholeProcess));
    }
}
