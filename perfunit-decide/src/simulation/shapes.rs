//! Error rates and pairs of the rule by the shape of the noise, compared with other intervals at the same looks.

use super::super::location::mean_interval;
use super::super::{
    Decision, Estimate, FIRST_LOOK, Interval, Looks, Rule, Sequential, Step, conclude, confirmation_alpha,
    on_fresh_values,
};
use super::noise::{Noise, Shape};
use super::{ALPHA, decide, decide_within, rule, seed};
use perfunit_model::{PossibleChange, Threshold, Verdict, margin};
use std::fmt::Write;

/// Shapes for which the level is claimed; `NOT_HELD` has the others.
const HELD: [Shape; 10] = [
    Shape::Normal,
    Shape::HeavyTails,
    Shape::Contaminated,
    Shape::SkewedSides,
    Shape::Lopsided,
    Shape::Exponential,
    Shape::TwoGroups,
    Shape::Minority(0.1),
    Shape::Minority(0.2),
    Shape::Correlated(0.3),
];
const NOT_HELD: [Shape; 2] = [Shape::Correlated(0.6), Shape::SlowDrift];

/// An interval that is computed at each look.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    /// The rule of this crate.
    Rule,
    /// The trimmed mean with equal levels, alpha / number of looks.
    TrimmedMean,
    /// The mean with Student's interval, with equal levels.
    Mean,
}

impl Statistic {
    const ALL: [Self; 3] = [Self::Rule, Self::TrimmedMean, Self::Mean];

    /// Returns whether the interval at a look at these values excludes 0.
    fn errs(self, values: &[f64]) -> bool {
        let equal = ALPHA / Looks::OF_PAIRS.count() as f64;
        let (low, high) = match self {
            Self::Rule => {
                let Decision { change, .. } = conclude(&rule(0.0), values).unwrap();
                (change.low, change.high)
            }
            Self::TrimmedMean => {
                let Interval { low, high, .. } = Estimate::of(values).unwrap().interval(equal);
                (low, high)
            }
            Self::Mean => {
                let Interval { low, high, .. } = mean_interval(values, equal).unwrap();
                (low, high)
            }
        };
        low > 0.0 || high < 0.0
    }
}

/// Numbers of tests where the interval of any look excludes 0, and where that of the first look does.
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    any: usize,
    first: usize,
}

/// Counts the errors of each statistic on unchanged tests, over all looks up to this many values.
fn errors(experiments: usize, shape: Shape, last: usize) -> [Errors; 3] {
    let mut noise = Noise::new(shape, seed(&[last as f64]));
    let mut errors = [Errors::default(); 3];
    for _ in 0..experiments {
        noise.begin();
        let values: Vec<f64> = (0..last).map(|_| 0.01 * noise.draw()).collect();
        for (errors, statistic) in errors.iter_mut().zip(Statistic::ALL) {
            let first = statistic.errs(&values[..FIRST_LOOK]);
            let mut later = Looks::OF_PAIRS.all().filter(|look| *look > FIRST_LOOK && *look <= last);
            errors.first += usize::from(first);
            errors.any += usize::from(first || later.any(|look| statistic.errs(&values[..look])));
        }
    }
    errors
}

/// Effect that the values of a unit have in common.
#[derive(Debug, Clone, Copy)]
enum UnitEffect {
    /// Normal.
    Normal,
    /// A good or a bad place of the processes of one pair.
    Place,
    /// The mean of the places of two pairs.
    TwoPlaces,
}

const PER_UNIT: usize = 4;

/// Counts the errors of the rule on unchanged tests. The values of a unit have this part of the variance in common.
fn errors_of_units(experiments: usize, effect: UnitEffect, part: f64) -> Errors {
    let looks = Looks::of_calls(PER_UNIT);
    let rule = Rule { looks, ..rule(0.0) };
    let mut noise = Noise::new(Shape::Normal, seed(&[part]));
    let mut errors = Errors::default();
    for _ in 0..experiments {
        let mut values = Vec::with_capacity(looks.last());
        while values.len() < looks.last() {
            let common = match effect {
                UnitEffect::Normal => noise.draw(),
                UnitEffect::Place => noise.draw().signum(),
                UnitEffect::TwoPlaces => (0..2).map(|_| noise.draw().signum()).sum::<f64>() / 2_f64.sqrt(),
            };
            let value = |noise: &mut Noise| 0.01 * (part.sqrt() * common + (1.0 - part).sqrt() * noise.draw());
            values.extend((0..PER_UNIT).map(|_| value(&mut noise)));
        }
        let errs = |look: &usize| {
            let Decision { change, .. } = conclude(&rule, &values[..*look]).unwrap();
            change.low > 0.0 || change.high < 0.0
        };
        errors.first += usize::from(errs(&looks.first()));
        errors.any += usize::from(looks.all().any(|look| errs(&look)));
    }
    errors
}

/// Returns the table of error rates where a unit gives four values, by the part of the variance that they share.
pub fn unit_table(experiments: usize) -> String {
    let mut table = String::from("| values of a unit share | by | any look | at 16 values |\n|-|-|-|-|\n");
    for effect in [UnitEffect::Normal, UnitEffect::Place, UnitEffect::TwoPlaces] {
        for part in [0.0, 0.05, 0.1, 0.2, 0.5, 0.9] {
            let Errors { any, first } = errors_of_units(experiments, effect, part);
            let [part, any, first] =
                [part, any as f64 / experiments as f64, first as f64 / experiments as f64].map(|part| 100.0 * part);
            writeln!(table, "| {part} % of the variance | {effect:?} | {any:.2} % | {first:.2} % |").unwrap();
        }
    }
    table
}

/// Returns the table of error rates by shape: of any look, and of the first.
pub fn error_table(experiments: usize) -> String {
    let mut table = String::from(
        "| noise | rule: any of 7 looks | at 8 pairs | trimmed mean at 1 % / 7: any look | at 8 pairs | \
         Student's t at 1 % / 7: any look | at 8 pairs |\n|-|-|-|-|-|-|-|\n",
    );
    for shape in HELD.into_iter().chain(NOT_HELD) {
        write!(table, "| {shape:?} |").unwrap();
        for Errors { any, first } in errors(experiments, shape, Looks::OF_PAIRS.last()) {
            let [any, first] = [any, first].map(|count| 100.0 * count as f64 / experiments as f64);
            write!(table, " {any:.2} % | {first:.2} % |").unwrap();
        }
        table.push('\n');
    }
    table
}

/// Returns the verdict of the trimmed mean alone with equal levels, and the pairs that it takes.
fn by_trimmed_mean(threshold: f64, mut draw: impl FnMut() -> f64) -> (Verdict, usize) {
    let mut values = Vec::new();
    for look in Looks::OF_PAIRS.all() {
        values.extend((values.len()..look).map(|_| draw()));
        let interval = Estimate::of(&values).unwrap().interval(ALPHA / Looks::OF_PAIRS.count() as f64);
        let [estimate, low, high] = [interval.estimate, interval.low, interval.high].map(f64::exp_m1);
        let from_zero = if estimate > 0.0 { low } else { -high };
        let is_far = from_zero >= (0.25 * estimate.abs()).max(0.5 * threshold);
        let is_inside = -margin(threshold) < low && high < margin(threshold);
        match (estimate.abs() >= threshold, is_far, is_inside) {
            (true, true, _) if estimate > 0.0 => return (Verdict::Slower, look),
            (true, true, _) => return (Verdict::Faster, look),
            (false, _, true) if from_zero > 0.0 => return (Verdict::ChangedBelowThreshold, look),
            (false, _, true) => return (Verdict::Same, look),
            _ => {}
        }
    }
    (Verdict::Inconclusive, Looks::OF_PAIRS.last())
}

/// Verdicts of many tests with the same change.
struct Verdicts {
    all: Vec<(Verdict, usize)>,
}

impl Verdicts {
    fn percent(&self, verdicts: &[Verdict]) -> f64 {
        let count = self.all.iter().filter(|(verdict, _)| verdicts.contains(verdict)).count();
        100.0 * count as f64 / self.all.len() as f64
    }

    fn median_pairs(&self) -> usize {
        let mut pairs: Vec<usize> = self.all.iter().map(|(_, pairs)| *pairs).collect();
        pairs.sort_unstable();
        pairs[pairs.len() / 2]
    }

    fn mean_pairs(&self) -> f64 {
        self.all.iter().map(|(_, pairs)| *pairs as f64).sum::<f64>() / self.all.len() as f64
    }
}

/// Returns the table of the verdicts of screening and of its pairs, by noise and true change; figures of the trimmed
/// mean alone follow a slash.
pub fn verdict_table(experiments: usize) -> String {
    let threshold = 0.01;
    let mut table = String::from(
        "Threshold 1 %, margin 2 %; each cell: rule / trimmed mean alone.\n\n| noise | SD of a pair | true change | \
         slower | faster | same | median pairs | mean pairs |\n|-|-|-|-|-|-|-|-|\n",
    );
    for shape in [Shape::Normal, Shape::Contaminated, Shape::Lopsided, Shape::TwoGroups, Shape::Correlated(0.3)] {
        for deviation in [0.005, 0.01, 0.02] {
            let changes = [0.0, 1.0, 2.0, 5.0].map(|times| times * deviation);
            // The last change is the margin, for which *same* is false.
            for change in changes.into_iter().chain([margin(threshold)]) {
                let of = |is_rule: bool| {
                    let mut noise = Noise::new(shape, seed(&[deviation, change]));
                    let all = (0..experiments).map(|_| {
                        noise.begin();
                        if is_rule {
                            let decision = decide(&rule(threshold), change, deviation, &mut noise);
                            return (decision.verdict, decision.values);
                        }
                        by_trimmed_mean(threshold, || change.ln_1p() + deviation * noise.draw())
                    });
                    Verdicts { all: all.collect() }
                };
                let (new, old) = (of(true), of(false));
                let pair = |verdict| format!("{:.1} / {:.1}", new.percent(&[verdict]), old.percent(&[verdict]));
                writeln!(
                    table,
                    "| {shape:?} | {:.1} % | {:+.1} % | {} | {} | {} | {} / {} | {:.1} / {:.1} |",
                    100.0 * deviation,
                    100.0 * change,
                    pair(Verdict::Slower),
                    pair(Verdict::Faster),
                    pair(Verdict::Same),
                    new.median_pairs(),
                    old.median_pairs(),
                    new.mean_pairs(),
                    old.mean_pairs(),
                )
                .unwrap();
            }
        }
    }
    table
}

/// Returns the table of the rates at which layouts of unchanged code are called slower or faster at the level of
/// confirmation, by the shape of the differences between layouts.
pub fn confirmation_table(experiments: usize) -> String {
    let alpha = 0.001;
    let fresh = Rule { alpha_of_change: alpha, looks: Looks::of_layouts(alpha), ..rule(0.01) };
    let mut table = String::from("| layouts | false slower or faster at 0.1 % | mean layouts |\n|-|-|-|\n");
    for shape in HELD.into_iter().chain(NOT_HELD) {
        let mut noise = Noise::new(shape, seed(&[alpha]));
        let (mut errors, mut layouts) = (0, 0);
        for _ in 0..experiments {
            noise.begin();
            let mut sequential = Sequential::new(fresh);
            let decision = std::iter::repeat_with(|| 0.1 * noise.draw()).find_map(|value| {
                let Step::Ended(decision) = sequential.push(value, usize::MAX) else { return None };
                decision
            });
            let Decision { verdict, values, .. } = decision.unwrap();
            errors += usize::from(verdict.is_change());
            layouts += values;
        }
        let [rate, layouts] = [100.0 * errors as f64, layouts as f64].map(|sum| sum / experiments as f64);
        writeln!(table, "| {shape:?} | {rate:.2} % | {layouts:.1} |").unwrap();
    }
    table
}

/// The pairs after which the time of a test ends, in turns.
const ENDS: [usize; 6] = [8, 11, 16, 32, 64, usize::MAX];

/// The bounds that are stated about tests with one true change.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    stated: usize,
    /// Bounds that the true change reaches.
    wrong: usize,
    /// Tests with a larger slowdown or speed-up than their figures leave possible, with or without a stated bound.
    missed: usize,
}

/// Counts the bounds of tests with this change: of the first pairs, or of fresh pairs where the first ones show a
/// change, at the level of a run of 1,000 tests. The time of each series may end at any of [`ENDS`].
fn bounds(experiments: usize, shape: Shape, change: f64, deviation: f64) -> Bounds {
    let screening = rule(0.01);
    let confirmation = Rule { alpha_of_change: confirmation_alpha(ALPHA, 1_000), ..screening };
    let limit = Threshold::of_inconclusive();
    let mut noise = Noise::new(shape, seed(&[change, deviation]));
    let mut bounds = Bounds::default();
    for number in 0..experiments {
        let mut series = |rule, end| {
            noise.begin();
            decide_within(rule, end, change, deviation, &mut noise)
        };
        let mut reported = series(&screening, ENDS[number % ENDS.len()]);
        if reported.verdict.is_change() {
            let fresh = series(&confirmation, ENDS[number / ENDS.len() % ENDS.len()]);
            if on_fresh_values(reported.verdict, fresh.verdict) != fresh.verdict {
                continue;
            }
            reported = fresh;
        }
        let Some(possible) = PossibleChange::of(&reported.change, 0.0) else { continue };
        let stated = possible.within(limit);
        bounds.stated += usize::from(stated.is_some());
        bounds.wrong += usize::from(stated.is_some_and(|bound| change.abs() >= bound.fraction()));
        bounds.missed += usize::from(change > possible.slower || -change > possible.faster);
    }
    bounds
}

/// Returns the table of tests with a bound and of wrong bounds, by noise and true change. A true change of 2, 5 or 10 %
/// is just outside of the bound of that name.
pub fn bound_table(experiments: usize) -> String {
    let mut table = String::from(
        "| noise | SD of a pair | true change | with a bound | wrong bound | possible change misses |\n|-|-|-|-|-|-|\n",
    );
    for shape in HELD.into_iter().chain(NOT_HELD) {
        for deviation in [0.01, 0.03] {
            for change in [0.0, 0.02, -0.05, 0.05, 0.1] {
                let Bounds { stated, wrong, missed } = bounds(experiments, shape, change, deviation);
                let [stated, wrong, missed] =
                    [stated, wrong, missed].map(|count| 100.0 * count as f64 / experiments as f64);
                let [deviation, change] = [deviation, change].map(|value| 100.0 * value);
                writeln!(
                    table,
                    "| {shape:?} | {deviation} % | {change:+} % | {stated:.1} % | {wrong:.2} % | {missed:.2} % |"
                )
                .unwrap();
            }
        }
    }
    table
}

#[test]
fn simulated_bounds_hold_for_noise_of_every_shape() {
    let experiments = 500;
    for shape in HELD {
        for (change, deviation) in [(0.02, 0.01), (-0.05, 0.02), (0.1, 0.03)] {
            let bounds = bounds(experiments, shape, change, deviation);
            // The limit is 1 % and three standard deviations of chance.
            assert!(bounds.wrong <= 12 && bounds.missed <= 12, "{shape:?} {change}: {bounds:?}");
        }
    }
    // The limits above are meaningful only if many bounds are stated.
    assert!(bounds(100, Shape::Normal, 0.0, 0.01).stated > 90);
}

#[test]
fn simulated_levels_hold_for_noise_of_every_shape() {
    let experiments = 1_000;
    for shape in HELD {
        let [of_rule, _, _] = errors(experiments, shape, 32);
        // The limit is 1 % and three standard deviations of chance.
        assert!(of_rule.any <= 20, "{shape:?}: {of_rule:?}");
    }
}

/// Checks that the simulation detects levels that do not hold.
#[test]
fn simulated_two_groups_mislead_other_intervals() {
    let experiments = 1_000;
    let [of_rule, of_trimmed_mean, of_mean] = errors(experiments, Shape::TwoGroups, 32);
    assert!(of_trimmed_mean.any >= 50 && of_trimmed_mean.first >= 40, "{of_trimmed_mean:?}");
    assert!(of_mean.any > of_rule.any, "{of_mean:?} {of_rule:?}");
}

#[test]
fn simulated_levels_hold_for_values_of_a_unit_that_are_little_alike() {
    let experiments = 500;
    for effect in [UnitEffect::Normal, UnitEffect::Place, UnitEffect::TwoPlaces] {
        for part in [0.0, 0.1, 0.2] {
            let errors = errors_of_units(experiments, effect, part);
            // The limit is 1 % and three standard deviations of chance.
            assert!(errors.any <= 12, "{effect:?} {part}: {errors:?}");
        }
    }
}
