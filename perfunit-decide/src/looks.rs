//! Schedule of looks at a series of values, number of pairs per layout, and division of a run's error rate among tests
//! and looks.

use statrs::distribution::{ContinuousCDF, Normal};

/// Level of confirmation in a run with few tests.
const LEAST_STRICT: f64 = 0.001;
/// Power at which levels are compared.
const COMPARED_AT: f64 = 0.9;
/// Standard deviation of a layout's mean that is small enough, as a part of the change that the run looks for.
const NOISE_OF_LAYOUT: f64 = 0.25;
/// Number of layouts that have fewer pairs: enough for two looks.
const FIRST_LAYOUTS: usize = 16;
/// Largest number of pairs per layout: with more pairs, another layout is worth more than another pair.
const MOST_PAIRS_PER_LAYOUT: f64 = 16.0;

/// Returns the level at which fresh values confirm that a test changed: min(0.1 %, alpha / tests measured).
///
/// By Bonferroni, the probability of even one false alarm in the whole run is then at most about alpha if screening
/// lets every test through. Screening uses other pairs and divides the probability by another hundred.
pub fn confirmation_alpha(alpha: f64, tests_measured: usize) -> f64 {
    (alpha / tests_measured.max(1) as f64).min(LEAST_STRICT)
}

/// Returns the factor by which a level needs more values than the level of a few tests, to find the same change with
/// the same power: the normal approximation, ((z(1 - a/2) + z(power)) / (z(1 - a0/2) + z(power)))^2.
pub fn effort(alpha: f64) -> f64 {
    let normal = Normal::standard();
    let errors = |alpha: f64| -normal.inverse_cdf(alpha / 2.0) + normal.inverse_cdf(COMPARED_AT);
    (errors(alpha.min(LEAST_STRICT)) / errors(LEAST_STRICT)).powi(2)
}

/// Number of pairs that make up each layout's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairsPerLayout {
    first: usize,
    later: usize,
}

impl PairsPerLayout {
    /// Chooses enough pairs to make their noise small compared with the change that the run looks for at a level. The
    /// first layouts have a quarter of these pairs, which suffices for most tests. If twice the first layouts do not
    /// fit the `affordable` pairs, all layouts have as many pairs as the first layouts alone allow.
    pub fn new(spread: f64, change: f64, alpha: f64, affordable: f64) -> Self {
        let needed = (spread / (NOISE_OF_LAYOUT * change)).powi(2) * effort(alpha);
        let needed = (needed.ceil().min(MOST_PAIRS_PER_LAYOUT) as usize).max(1);
        let staged = Self { first: needed.div_ceil(4), later: needed };
        if staged.sum(2 * FIRST_LAYOUTS) as f64 <= affordable {
            return staged;
        }
        let each = ((affordable / FIRST_LAYOUTS as f64) as usize).clamp(1, needed);
        Self { first: each, later: each }
    }

    /// Returns the same plan with fewer pairs for each of the first layouts, if the first look has more than this many pairs.
    #[must_use]
    pub fn with_first_look_of(self, pairs: f64) -> Self {
        let most = ((pairs / FIRST_LOOK as f64) as usize).max(1);
        Self { first: self.first.min(most), ..self }
    }

    /// Returns the same plan with an even number of pairs for each layout.
    #[must_use]
    pub fn in_twos(self) -> Self {
        Self { first: self.first.next_multiple_of(2), later: self.later.next_multiple_of(2) }
    }

    /// Returns the pairs of the layout with this index, from 0.
    pub fn of(self, layout: usize) -> usize {
        if layout < FIRST_LAYOUTS { self.first } else { self.later }
    }

    /// Returns the pairs of the first `layouts` layouts together.
    pub fn sum(self, layouts: usize) -> usize {
        let first = layouts.min(FIRST_LAYOUTS);
        first * self.first + (layouts - first) * self.later
    }

    /// Returns the number of layouts that this many pairs begin.
    pub fn layouts(self, pairs: usize) -> usize {
        let of_first = self.sum(FIRST_LAYOUTS);
        if pairs <= of_first {
            pairs.div_ceil(self.first)
        } else {
            FIRST_LAYOUTS + (pairs - of_first).div_ceil(self.later)
        }
    }
}

/// The fewest values that make an interval.
pub const FIRST_LOOK: usize = 8;

/// Most layouts at the level of a few tests.
const MOST_LAYOUTS: f64 = 64.0;

/// Largest number of values that a few values of one group can mislead. Among 64 values of two equal groups, the
/// smaller group has more values than are trimmed, except with a probability of 2e-7.
pub(super) const FEW_VALUES: usize = 32;

/// Fewest units of replication at the first look.
const FEWEST_UNITS: usize = 4;

/// The part of an error rate that the first look spends. Of 1 %, at [`FIRST_LOOK`] values, this part is just more than the
/// probability that all eight values lie on one side of their median, 2 / 2^8; with a smaller part, this look could not
/// decide anything.
const FIRST_SHARE: f64 = 0.79;
/// The part that each other look at up to [`FEW_VALUES`] values spends if the first look is at [`FIRST_LOOK`] values. Of 1 %,
/// this part lets the median lie between the 2nd and the 15th of 16 values, and between the 7th and the 26th of 32.
const EARLY_SHARE: f64 = 0.055;
/// The part that all later looks share.
const LATE_SHARE: f64 = 0.1;
/// The parts of the looks at 16, 32 and so on values if no look has fewer: units then give at least four values. Of 1 %, the
/// first two let the median lie between the 3rd and the 14th of 16 values, and between the 8th and the 25th of 32. Tests that
/// start programs often need the next two.
const SHARES_FROM_16: [f64; 6] = [0.42, 0.22, 0.18, 0.1, 0.05, 0.03];

/// The planned looks. An unplanned look would spend a part of alpha that is not reserved for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Numbers of values at the first and the last look.
    first: usize,
    last: usize,
    /// True if the median may decide if the trimmed mean cannot: the placement of code can split the values into two
    /// groups.
    by_median: bool,
    /// Number of values that each unit of replication gives.
    per_unit: usize,
}

impl Looks {
    /// Looks at pairs on one layout.
    pub const OF_PAIRS: Self = Self { first: FIRST_LOOK, last: 512, by_median: false, per_unit: 1 };

    /// Returns one look at this many values, which were not measured in this order.
    pub fn once(values: usize) -> Self {
        Self { first: values, last: values, ..Self::OF_PAIRS }
    }

    /// Returns the looks at units that give this many values each: 1, 2 or 4. All values of a unit belong to the same
    /// looks, and the first look has at least four units.
    pub fn of_calls(per_unit: usize) -> Self {
        Self { first: FIRST_LOOK.max(FEWEST_UNITS * per_unit), per_unit, ..Self::OF_PAIRS }
    }

    /// Returns the looks at layouts where a change is claimed at this level: a stricter level needs more layouts.
    pub fn of_layouts(alpha_of_change: f64) -> Self {
        let last = (MOST_LAYOUTS * effort(alpha_of_change)).round() as usize;
        Self { last, by_median: true, ..Self::OF_PAIRS }
    }

    /// Returns whether the looks also use the median.
    pub fn by_median(self) -> bool {
        self.by_median
    }

    /// Returns the number of values that a unit of replication gives.
    pub fn per_unit(self) -> usize {
        self.per_unit
    }

    /// Returns the number of values at the first look.
    pub fn first(self) -> usize {
        self.first
    }

    /// Returns the number of values at the last look.
    pub fn last(self) -> usize {
        self.last
    }

    /// Returns the number of looks.
    pub fn count(self) -> usize {
        self.all().count()
    }

    /// Returns whether there is a look after exactly this many values.
    pub fn contains(self, values: usize) -> bool {
        self.all().any(|look| look == values)
    }

    /// Returns the last look at no more than this many values.
    pub fn up_to(self, values: usize) -> Option<usize> {
        self.all().take_while(|look| *look <= values).last()
    }

    /// Returns the part of the error rate `alpha` that the look at this many values spends: all looks together spend
    /// `alpha`. A look cannot decide anything if its part is smaller than the probability that all its values lie on
    /// one side of their median. Such a look spends nothing and leaves its part to the later looks, in equal shares.
    pub fn spends(self, values: usize, alpha: f64) -> f64 {
        let late = self.all().filter(|look| *look > FEW_VALUES).count().max(1);
        let mut left_over = 0.0;
        for (index, look) in self.all().enumerate() {
            let share = match look {
                _ if self.is_single() => 1.0,
                _ if self.begins_late() => SHARES_FROM_16.get(index).copied().unwrap_or(0.0),
                _ if look > FEW_VALUES => LATE_SHARE / late as f64,
                _ if index == 0 => FIRST_SHARE,
                _ => EARLY_SHARE,
            };
            let part = share * alpha + left_over;
            let decides = look > FEW_VALUES || all_on_one_side(look) <= part;
            if look >= values {
                return if decides { part } else { 0.0 };
            }
            if !decides {
                left_over += part / (self.count() - index - 1).max(1) as f64;
            }
        }
        0.0
    }

    /// Returns whether there is only one look, at values in no order.
    pub fn is_single(self) -> bool {
        self.first == self.last
    }

    /// Returns whether the first look has more than [`FIRST_LOOK`] values.
    fn begins_late(self) -> bool {
        self.first > FIRST_LOOK
    }

    /// Returns the part of an error rate that a look at this many values spends on the interval of the trimmed mean. It needs
    /// little at a look at [`FIRST_LOOK`] values, where the median's interval needs most: early looks share evenly.
    pub fn spends_on_trimmed_mean(self, values: usize, alpha: f64) -> f64 {
        if self.is_single() {
            return alpha;
        }
        if self.begins_late() || values > FEW_VALUES {
            return self.spends(values, alpha);
        }
        (1.0 - LATE_SHARE) * alpha / self.all().filter(|look| *look <= FEW_VALUES).count() as f64
    }

    /// Returns the fewest values with an interval that holds the true change at an error rate of `alpha` over all looks.
    pub fn fewest(self, alpha: f64) -> usize {
        self.all().find(|look| self.spends(*look, alpha) > 0.0).unwrap_or(self.last)
    }

    /// Returns the number of values at the first look that can decide anything at an error rate of `alpha`, as a
    /// multiple of those at the first look.
    pub fn delay(self, alpha: f64) -> f64 {
        self.fewest(alpha) as f64 / self.first() as f64
    }

    /// Returns all looks in ascending order, without one shortly before the last: it would cost as much and add no
    /// information.
    pub fn all(self) -> impl Iterator<Item = usize> {
        let doubled = std::iter::successors(Some(self.first), |look| Some(2 * look));
        doubled.take_while(move |look| look + look / 2 < self.last).chain([self.last])
    }
}

/// Returns the probability that this many values all lie on one side of their median.
fn all_on_one_side(values: usize) -> f64 {
    2.0 * std::iter::repeat_n(0.5_f64, values).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmation_is_stricter_the_more_tests_were_measured() {
        assert!((confirmation_alpha(0.01, 1) - 0.001).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 10) - 0.001).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 500) - 0.000_02).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 0) - 0.001).abs() < 1e-15);
    }

    #[test]
    fn a_stricter_level_takes_more() {
        assert!((effort(0.01) - 1.0).abs() < 1e-12 && (effort(0.001) - 1.0).abs() < 1e-12);
        // z(0.999995) = 4.417, z(0.9995) = 3.291, z(0.9) = 1.282.
        assert!((effort(0.000_01) - (5.699_f64 / 4.573).powi(2)).abs() < 0.002);
    }

    #[test]
    fn so_many_pairs_begin_so_many_layouts() {
        let pairs = PairsPerLayout { first: 2, later: 5 };
        assert_eq!([1, 16, 17, 32].map(|layouts| pairs.sum(layouts)), [2, 32, 37, 112]);
        assert_eq!([1, 2, 31, 36, 37, 112].map(|all| pairs.layouts(all)), [1, 1, 16, 17, 17, 32]);
    }

    #[test]
    fn a_layout_gets_the_pairs_that_its_noise_asks_for_and_the_budget_allows() {
        let pairs = |spread, affordable| {
            let pairs = PairsPerLayout::new(spread, 0.02, 0.001, affordable);
            [0, 15, 16].map(|layout| pairs.of(layout))
        };
        assert_eq!([0.005, 0.01, 0.2].map(|spread| pairs(spread, 1e3)), [[1, 1, 1], [1, 1, 4], [4, 4, 16]]);
        // 16 layouts of 4 pairs and 16 of 16 do not fit; neither do 16 of 3, nor 16 of 1.
        assert_eq!([319.0, 50.0, 3.0].map(|affordable| pairs(0.2, affordable)), [[16; 3], [3; 3], [1; 3]]);
        assert_eq!(PairsPerLayout::new(0.2, 5.0, 0.001, 1e3).of(16), 1);
        assert!(PairsPerLayout::new(0.01, 0.02, 0.000_01, 1e3).of(16) > 4);
        // A first look of 16 pairs has two for each layout, and one of 3 pairs still has one.
        let limited = |look| PairsPerLayout::new(0.2, 0.02, 0.001, 1e3).with_first_look_of(look);
        assert_eq!([16.0, 3.0, 99.0].map(|look| limited(look).of(0)), [2, 1, 4]);
        assert_eq!(limited(3.0).of(16), 16);
        let in_twos = PairsPerLayout { first: 1, later: 3 }.in_twos();
        assert_eq!([in_twos.of(0), in_twos.of(16)], [2, 4]);
    }

    #[test]
    fn a_single_look_spends_all() {
        for values in [8, 9, 20, 700] {
            let looks = Looks::once(values);
            assert_eq!(looks.all().collect::<Vec<_>>(), [values]);
            let spent = [looks.spends(values, 0.01), looks.spends_on_trimmed_mean(values, 0.01)];
            assert!(spent.iter().all(|spent| (spent - 0.01).abs() < 1e-15), "{spent:?}");
        }
        assert!(Looks::once(7).spends(7, 0.01) < 1e-15);
    }

    #[track_caller]
    fn check(last: usize, expected: &[usize]) {
        let looks = Looks { last, ..Looks::OF_PAIRS };
        assert_eq!(looks.all().collect::<Vec<_>>(), expected);
        assert_eq!((looks.count(), looks.last()), (expected.len(), expected[expected.len() - 1]));
        assert!(expected.iter().all(|look| looks.contains(*look)) && !looks.contains(9));
    }

    #[test]
    fn looks_double_up_to_the_last() {
        check(8, &[8]);
        check(64, &[8, 16, 32, 64]);
        check(77, &[8, 16, 32, 77]);
        check(99, &[8, 16, 32, 64, 99]);
        check(512, &[8, 16, 32, 64, 128, 256, 512]);
    }

    #[test]
    fn the_first_look_has_values_of_at_least_four_units() {
        let first = |per_unit| Looks::of_calls(per_unit).all().take(2).collect::<Vec<_>>();
        assert_eq!([1, 2, 4].map(first), [[8, 16], [8, 16], [16, 32]]);
        assert_eq!(Looks::of_calls(1), Looks::OF_PAIRS);
    }

    #[test]
    fn a_stricter_level_has_more_layouts() {
        let last = |tests: f64| Looks::of_layouts(0.01 / tests).last();
        assert_eq!((last(1.0), last(10.0)), (64, 64));
        assert!(64 < last(30.0) && last(30.0) < last(1000.0) && last(1000.0) < 128);
    }

    #[test]
    fn all_looks_together_spend_the_error_rate() {
        for looks in [Looks::OF_PAIRS, Looks::of_calls(4), Looks::of_layouts(0.001), Looks::of_layouts(1e-5)] {
            for alpha in [0.05, 0.01, 0.005, 0.001, 1e-5] {
                let spent: f64 = looks.all().map(|look| looks.spends(look, alpha)).sum();
                assert!((spent / alpha - 1.0).abs() < 1e-9, "{spent} of {alpha}");
            }
        }
    }

    #[test]
    fn eight_values_decide_only_where_the_error_rate_allows_it() {
        let first = |alpha| Looks::OF_PAIRS.spends(FIRST_LOOK, alpha);
        assert!(first(0.01) >= 2.0 / 256.0 && first(0.05) >= 2.0 / 256.0);
        assert!([first(0.009), first(0.001)].iter().all(|spent| *spent == 0.0));
    }

    #[test]
    fn a_stricter_level_takes_more_values_before_anything_is_decided() {
        let values = |looks: Looks, alpha| (8.0 * looks.delay(alpha)) as usize;
        assert_eq!([0.01, 0.001, 1e-4, 1e-5].map(|alpha| values(Looks::OF_PAIRS, alpha)), [8, 16, 32, 32]);
        assert_eq!([0.001, 1e-4, 1e-5].map(|alpha| values(Looks::of_layouts(alpha), alpha)), [16, 16, 32]);
    }

    #[test]
    fn what_is_not_a_look_counts_up_to_the_one_before() {
        let looks = Looks::OF_PAIRS;
        assert_eq!([7, 8, 15, 600].map(|values| looks.up_to(values)), [None, Some(8), Some(8), Some(512)]);
    }
}
