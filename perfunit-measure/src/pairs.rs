//! The pairs of one test, and the units of replication that they make up.

use super::classify::{per_run, runs};
use super::lockstep::PairEnd;
use super::secondary_metrics::Beside;
use super::work::{Comparison, Work};
use perfunit_decide as decide;
use perfunit_decide::{PairsPerLayout, Rule, Sequential};
use perfunit_model::{Sample, Side, Sides, Throughput};

/// The unit of replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Pair,
    /// A layout drawn at random, with the mean of so many pairs.
    Layout {
        pairs: PairsPerLayout,
    },
}

impl Unit {
    /// The pairs of the unit of this number, from 0.
    pub fn pairs_of(self, unit: usize) -> usize {
        match self {
            Unit::Pair => 1,
            Unit::Layout { pairs } => pairs.of(unit),
        }
    }

    /// The pairs of so many units.
    pub fn pairs(self, units: usize) -> usize {
        match self {
            Unit::Pair => units,
            Unit::Layout { pairs } => pairs.sum(units),
        }
    }

    /// The units that so many pairs begin.
    pub fn units(self, pairs: usize) -> usize {
        match self {
            Unit::Pair => pairs,
            Unit::Layout { pairs: of_layout } => of_layout.layouts(pairs),
        }
    }
}

/// The pairs of one test, one entry for each unit of replication.
#[derive(Debug, Clone)]
pub struct Pairs {
    pub sequential: Sequential,
    pub times: Sides<Vec<f64>>,
    /// Time of one run in each batch, ns.
    batches: Sides<Vec<f64>>,
    /// The pairs of the unit at hand: log ratio, and logarithms of both times.
    pub unit: Vec<(f64, Sides<f64>)>,
    pub work: Work,
    pub beside: Beside,
    /// What a run works through, as benchmarks say it.
    pub throughput: Option<Throughput>,
}

impl Pairs {
    pub fn new(rule: Rule) -> Self {
        let (times, batches, unit) = Default::default();
        let (work, beside) = (Work::default(), Beside::default());
        Self { sequential: Sequential::new(rule), times, batches, unit, work, beside, throughput: None }
    }

    pub fn units(&self) -> usize {
        self.sequential.log_ratios().len()
    }

    /// Time of a run on base where the machine was at its fastest, ns.
    pub fn fastest(&self) -> f64 {
        self.times.base.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// What can be plotted of so many units; the batches are those of all.
    pub fn sample(&self, units: usize) -> Sample {
        let steps = Sample::QUANTILES - 1;
        let quantiles = |times: &Vec<f64>| {
            let times = &mut times.clone();
            let at = (0..=steps).map(|step| decide::quantile(times, step as f64 / steps as f64));
            if self.units() == 0 { Vec::new() } else { at.collect() }
        };
        Sample {
            estimates: self.sequential.log_ratios()[..units].iter().map(|log_ratio| log_ratio.exp_m1()).collect(),
            batches: self.batches.as_ref().map(quantiles),
        }
    }

    /// Adds a pair; the log ratio of the unit of so many that it completes.
    pub fn add(&mut self, pair: &PairEnd, comparison: Comparison, per_unit: usize) -> Option<f64> {
        let ns = pair.sides.as_ref().map(|side| per_run(side, pair.shape).max(0.01));
        for side in Side::BOTH {
            self.batches.get_mut(side).extend(runs(pair.sides.get(side), pair.shape));
        }
        self.work.add(pair);
        self.throughput = Throughput::of(pair.sides.as_ref().map(|side| side.work));
        self.beside.add(pair, comparison);
        self.unit.push((comparison.log_ratio(pair), ns.map(f64::ln)));
        if self.unit.len() < per_unit {
            return None;
        }
        let mean = |of: fn(&(f64, Sides<f64>)) -> f64| {
            decide::trimmed_mean(&self.unit.iter().map(of).collect::<Vec<_>>(), decide::TRIMMING)
        };
        let log_ratio = mean(|(log_ratio, _)| *log_ratio);
        self.times.base.push(mean(|(_, ns)| ns.base).exp());
        self.times.head.push(mean(|(_, ns)| ns.head).exp());
        self.unit.clear();
        self.beside.end_unit();
        Some(log_ratio)
    }
}
