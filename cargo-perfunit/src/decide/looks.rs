//! After how many values to look: 8, 16, 32 and so on up to the last.

use super::family::effort;

/// The fewest values that an interval is made of.
pub const FIRST_LOOK: usize = 8;
/// Pairs on one layout after which a test goes on over drawn ones, if these decide in any case: they say how noisy it is.
pub const BEFORE_LAYOUTS: usize = FIRST_LOOK;

/// Most layouts at the level of a few tests.
const MOST_LAYOUTS: f64 = 64.0;

/// The planned looks. A look in between would spend alpha that nobody has set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    last: usize,
    /// Whether the median may say what the trimmed mean cannot: the place of code can make values of two groups.
    by_median: bool,
}

impl Looks {
    /// At pairs on one layout.
    pub const OF_PAIRS: Self = Self { last: 512, by_median: false };

    /// At layouts, where a change is claimed at this level: the stricter, the more of them.
    pub fn of_layouts(alpha_of_change: f64) -> Self {
        Self { last: (MOST_LAYOUTS * effort(alpha_of_change)).round() as usize, by_median: true }
    }

    /// Whether the median is looked at, too.
    pub fn by_median(self) -> bool {
        self.by_median
    }

    /// Values of the last one.
    pub fn last(self) -> usize {
        self.last
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.all().count()
    }

    /// Whether one comes after so many values.
    pub fn contains(self, values: usize) -> bool {
        self.all().any(|look| look == values)
    }

    /// The last one that so many values reach.
    pub fn up_to(self, values: usize) -> Option<usize> {
        self.all().take_while(|look| *look <= values).last()
    }

    /// Ascending. One that would come shortly before the last is left out: it would cost as much and tell no more.
    pub fn all(self) -> impl Iterator<Item = usize> {
        let doubled = std::iter::successors(Some(FIRST_LOOK), |look| Some(2 * look));
        doubled.take_while(move |look| look + look / 2 < self.last).chain([self.last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(last: usize, expected: &[usize]) {
        let looks = Looks { last, by_median: false };
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
    fn a_stricter_level_has_more_layouts() {
        let last = |tests: f64| Looks::of_layouts(0.01 / tests).last();
        assert_eq!((last(1.0), last(10.0)), (64, 64));
        assert!(64 < last(30.0) && last(30.0) < last(1000.0) && last(1000.0) < 128);
    }

    #[test]
    fn what_is_not_a_look_counts_up_to_the_one_before() {
        let looks = Looks::OF_PAIRS;
        assert_eq!([7, 8, 15, 600].map(|values| looks.up_to(values)), [None, Some(8), Some(8), Some(512)]);
    }
}
