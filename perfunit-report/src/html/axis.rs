//! A line that figures lie on: which ones, where, and what is written below.

/// Left free at both ends, as a part of what is shown.
const MARGIN: f64 = 0.06;

/// From one figure to a larger one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// One that shows all finite figures, with some room; `None` if there are none.
    pub fn around(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let finite = figures.into_iter().filter(|figure| figure.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)));
        if low > high {
            return None;
        }
        let width = high - low;
        // A single figure stands in the middle of something.
        let room = if width > 0.0 { MARGIN * width } else { (low.abs() * MARGIN).max(f64::MIN_POSITIVE.sqrt()) };
        Some(Self { low: low - room, high: high + room })
    }

    /// Where a figure lies, in per cent of the width from the left; those beyond an end lie on it.
    pub fn place(&self, figure: f64) -> f64 {
        (100.0 * (figure - self.low) / (self.high - self.low)).clamp(0.0, 100.0)
    }

    /// Whether a figure is shown where it belongs.
    pub fn holds(&self, figure: f64) -> bool {
        (self.low..=self.high).contains(&figure)
    }

    /// Round figures at equal distances, at most `most` of them and at least two where that can be.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let smallest = (self.high - self.low) / most as f64;
        let power = 10f64.powf(smallest.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0, 20.0].map(|step| step * power);
        let between = |step: f64| {
            let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
            (first, (last - first + 1.0).max(0.0) as usize)
        };
        let Some(step) = steps.into_iter().find(|step| between(*step).1 <= most) else { return Vec::new() };
        let (first, count) = between(step);
        (0..count).map(|index| (first + index as f64) * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_figures_are_inside_with_some_room() {
        let axis = Axis::around([3.0, 1.0, f64::NAN, 2.0]).unwrap();
        assert!(axis.place(1.0) > 4.0 && axis.place(3.0) < 96.0);
        assert!((axis.place(2.0) - 50.0).abs() < 1e-9);
        assert!(axis.holds(3.0) && !axis.holds(3.2));
        assert!(axis.place(-9.0) <= 0.0 && axis.place(9.0) >= 100.0);
    }

    #[test]
    fn one_figure_is_enough_and_none_is_not() {
        for figure in [0.0, 5.0, -1e-3] {
            let place = Axis::around([figure]).unwrap().place(figure);
            assert!((place - 50.0).abs() < 1e-6, "{figure}: {place}");
        }
        assert_eq!(Axis::around([f64::NAN, f64::INFINITY]), None);
    }

    #[test]
    fn ticks_are_round_and_not_too_many() {
        assert_eq!(Axis { low: -0.3, high: 10.4 }.ticks(6), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis { low: 101.0, high: 149.0 }.ticks(5), [110.0, 120.0, 130.0, 140.0]);
        for (low, high) in [(0.0, 1.0), (-0.31, 0.02), (1e-9, 3e-9), (999.0, 1001.0), (5.0, 7e6)] {
            let ticks = Axis { low, high }.ticks(5);
            assert!((2..=5).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            let room = 1e-9 * (high - low);
            assert!(ticks.iter().all(|tick| *tick >= low - room && *tick <= high + room), "{ticks:?}");
        }
    }
}
