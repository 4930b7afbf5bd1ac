//! Simulation of the whole rule: pairs on one layout, then drawn layouts for flagged tests, and for other results that
//! the one layout may explain.

use super::super::{
    FIRST_LOOK, Looks, PairsPerLayout, Rule, Sequential, Step, confirmation_alpha, on_fresh_values, rests_on_layout,
};
use super::noise::{Noise, Shape};
use super::{ALPHA, decide_within, rule, seed};
use perfunit_model::Verdict;
use std::fmt::Write;

#[derive(Debug, Clone, Copy)]
struct Case {
    threshold: f64,
    tests: usize,
    /// The true change, as a fraction of base.
    change: f64,
    /// Standard deviations of the noise of a pair, and of the effect that a layout has on all of its pairs.
    pair: f64,
    layout: f64,
    /// True if the layout is suspect: then tests that screening calls the same are also measured on drawn layouts.
    is_anchored: bool,
    /// How often each side lies, independently, at a place that makes it half as slow again.
    slow_places: f64,
}

#[derive(Debug, Default)]
struct Verdicts {
    slower: usize,
    below: usize,
    same: usize,
    rest: usize,
    pairs: usize,
}

impl Case {
    fn run(&self, noise: &mut Noise) -> (Verdict, usize) {
        let screening = rule(self.threshold);
        let bias = (1.0 + self.change) * (self.layout * noise.draw()).exp() - 1.0;
        let most = if self.is_anchored { usize::MAX } else { FIRST_LOOK };
        let first = decide_within(&screening, most, bias, self.pair, noise);
        let is_flagged = first.verdict.is_change();
        let is_open = first.values == most || rests_on_layout(first.verdict, &first.change, self.threshold);
        let rests_on_layout = !self.is_anchored && is_open;
        if !is_flagged && !rests_on_layout {
            return (first.verdict, first.values);
        }
        let alpha = confirmation_alpha(ALPHA, self.tests);
        let wanted = self.threshold.max(first.change.estimate.abs());
        let per_layout = PairsPerLayout::new(self.pair, wanted, alpha, f64::INFINITY);
        let fresh = Rule { alpha_of_change: alpha, looks: Looks::of_layouts(alpha), ..screening };
        let mut sequential = Sequential::new(fresh);
        let mut all = first.values;
        loop {
            let slow = [(); 2].map(|()| if noise.happens(self.slow_places) { 1.5_f64.ln() } else { 0.0 });
            let place = self.layout * noise.draw() + slow[1] - slow[0];
            let pairs = per_layout.of(sequential.log_ratios().len());
            let mean = (0..pairs).map(|_| self.pair * noise.draw()).sum::<f64>() / pairs as f64;
            all += pairs;
            if let Step::Ended(decision) = sequential.push(self.change.ln_1p() + place + mean, usize::MAX) {
                let verdict = decision.map_or(Verdict::Inconclusive, |decision| decision.verdict);
                return (on_fresh_values(first.verdict, verdict), all);
            }
        }
    }

    fn verdicts(&self, experiments: usize) -> Verdicts {
        let row = [self.threshold, self.tests as f64, self.change, self.pair, self.layout];
        let mut noise = Noise::new(Shape::Normal, seed(&row));
        let mut verdicts = Verdicts::default();
        for _ in 0..experiments {
            let (verdict, pairs) = self.run(&mut noise);
            verdicts.pairs += pairs;
            *match verdict {
                Verdict::Slower => &mut verdicts.slower,
                Verdict::ChangedBelowThreshold => &mut verdicts.below,
                Verdict::Same => &mut verdicts.same,
                _ => &mut verdicts.rest,
            } += 1;
        }
        verdicts
    }
}

/// Returns the table of final verdicts, by true change in thresholds and number of tests.
pub fn table(experiments: usize) -> String {
    let mut table = String::from(
        "| threshold | SD of a pair | SD of layouts | true change | tests | slower | changed below | same | \
         faster or inconclusive | mean pairs |\n|-|-|-|-|-|-|-|-|-|-|\n",
    );
    for threshold in [0.01, 0.02] {
        for (pair, layout) in [(0.005, 0.0), (0.005, 0.005), (0.01, 0.01), (0.01, 0.02)] {
            for times in [0.0, 1.0, 1.5, 2.0] {
                for tests in [1, 30, 1_000] {
                    let is_anchored = layout == 0.0;
                    let case = Case {
                        threshold,
                        tests,
                        change: times * threshold,
                        pair,
                        layout,
                        is_anchored,
                        slow_places: 0.0,
                    };
                    case.write(experiments, &mut table);
                }
            }
        }
    }
    table
}

impl Case {
    fn write(&self, experiments: usize, table: &mut String) {
        let verdicts = self.verdicts(experiments);
        let percent = |count: usize| 100.0 * count as f64 / experiments as f64;
        let [threshold, pair, layout, change] =
            [self.threshold, self.pair, self.layout, self.change].map(|value| 100.0 * value);
        let [slower, below, same, rest] = [verdicts.slower, verdicts.below, verdicts.same, verdicts.rest].map(percent);
        let (tests, pairs) = (self.tests, verdicts.pairs / experiments);
        writeln!(
            table,
            "| {threshold} % | {pair} % | {layout} % | {change:+.1} % | {tests} | {slower:.1} % | {below:.1} % | \
             {same:.1} % | {rest:.1} % | {pairs} |"
        )
        .unwrap();
    }
}

#[test]
fn simulated_places_of_two_groups_fake_nothing_and_hide_nothing() {
    let case = |change| Case {
        threshold: 0.01,
        tests: 1,
        change,
        pair: 0.005,
        layout: 0.005,
        is_anchored: false,
        slow_places: 0.2,
    };
    let verdicts = case(0.0).verdicts(2_000);
    // The limit is half of 0.1 % in one direction, plus the excess that chance makes once in 1,000 cases.
    assert!(verdicts.slower <= 5, "{verdicts:?}");
    // The trimmed mean alone found 52 of 100.
    let verdicts = case(0.1).verdicts(500);
    assert!(verdicts.slower >= 425, "{verdicts:?}");
}
