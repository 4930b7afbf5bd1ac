//! Plots of the page: the common axis, bars of intervals, the strip of changes and the densities of times.

use super::percent;
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{Change, Measured, Mode, Run, Sample, Side, Verdict};
use std::fmt::Write;

/// Margin at both ends, as a fraction of the shown range.
const MARGIN: f64 = 0.06;

/// A range of figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Returns an axis that includes all finite figures with a margin; `None` if there are none.
    pub fn around(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let finite = figures.into_iter().filter(|figure| figure.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)));
        if low > high {
            return None;
        }
        let width = high - low;
        // A single figure is shown in the middle.
        let room = if width > 0.0 { MARGIN * width } else { (low.abs() * MARGIN).max(f64::MIN_POSITIVE.sqrt()) };
        Some(Self { low: low - room, high: high + room })
    }

    /// Returns the position of a figure in per cent of the width. Figures beyond an end are placed at it.
    pub fn place(&self, figure: f64) -> f64 {
        (100.0 * (figure - self.low) / (self.high - self.low)).clamp(0.0, 100.0)
    }

    /// Returns true if a figure lies on the axis.
    pub fn holds(&self, figure: f64) -> bool {
        (self.low..=self.high).contains(&figure)
    }

    /// Returns round figures at equal distances: at most `most` of them, and at least two where possible.
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

/// A scale that is linear up to the threshold and logarithmic beyond, so that +0.3 % and +300 % are both readable.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The change at which the logarithmic part begins, as a fraction of base.
    even: f64,
    /// The change at the right end; the left end is its negative.
    reach: f64,
}

impl Scale {
    /// Returns a scale wide enough for all estimates of a run.
    pub fn of(run: &Run) -> Self {
        let even = run.threshold.fraction();
        let sizes = run.outcomes.iter().filter_map(|outcome| outcome.measured.as_ref());
        let sizes = sizes.map(|measured| measured.change.estimate.abs()).filter(|size| size.is_finite());
        Self { even, reach: 1.3 * sizes.fold(2.0 * even, f64::max) }
    }

    /// Returns the distance of the threshold from the middle, in per cent of the whole width.
    pub fn threshold(&self) -> f64 {
        self.place(self.even) - 50.0
    }

    /// Returns the position of a change in per cent of the width.
    fn place(&self, change: f64) -> f64 {
        let bent = |change: f64| (change.abs() / self.even).ln_1p().copysign(change);
        (50.0 + 50.0 * bent(change) / bent(self.reach)).clamp(0.0, 100.0)
    }

    /// Draws the interval of one test. The figures next to it state the same.
    pub fn bar(&self, measured: &Measured) -> Markup {
        let change = measured.change;
        let [low, estimate, high] = [change.low, change.estimate, change.high].map(|change| self.place(change));
        html! {
            @if [change.low, change.estimate, change.high].iter().all(|x| x.is_finite()) {
                div.iv aria-hidden="true" {
                    i style={ "left:" (percent(low)) ";width:" (percent(high - low)) } {}
                    b style={ "left:" (percent(estimate)) } {}
                }
            }
        }
    }
}

/// Maximum number of labels below the strip; more do not fit on a phone.
const STRIP_TICKS: usize = 5;
/// Height of one dot in px, within the limits below.
const STEP: f64 = 7.0;
/// Minimum and maximum height of all dots, px.
const HEIGHTS: (f64, f64) = (56.0, 150.0);
/// Height of the labels, px.
const STRIP_FOOT: f64 = 22.0;
/// Fraction of estimates on either side that may lie beyond the axis. These are drawn at its end.
const STRAY: f64 = 0.05;

/// Renders the picture with its caption; nothing if the estimates are not known.
pub fn changes(measured: &Measured, verdict: Verdict) -> Markup {
    let estimates: Vec<f64> = measured.sample.estimates.iter().copied().filter(|x| x.is_finite()).collect();
    let Some(axis) = axis(&estimates, measured).filter(|_| !estimates.is_empty()) else { return Markup::default() };
    let height = (estimates.len() as f64 * STEP).clamp(HEIGHTS.0, HEIGHTS.1);
    let change = measured.change;
    let (low, high) = (axis.place(change.low), axis.place(change.high));
    html! {
        figure {
            svg.plot role="img" aria-label=(description(&estimates, measured)) width="100%" height=(height + STRIP_FOOT) {
                @if low.is_finite() && high.is_finite() {
                    rect.band x=(percent(low)) y="0" width=(percent(high - low)) height=(height) {}
                }
                (upright(&axis, -measured.threshold, height, "limit"))
                (upright(&axis, measured.threshold, height, "limit"))
                (upright(&axis, 0.0, height, "zero"))
                (upright(&axis, change.estimate, height, mark(verdict)))
                (dots(&axis, &estimates, height))
                (strip_foot(&axis, height))
            }
            figcaption { (caption(&axis, &estimates, measured)) }
        }
    }
}

/// Returns the axis. It always includes zero, the interval, and the threshold if a change nearly reached it.
fn axis(estimates: &[f64], measured: &Measured) -> Option<Axis> {
    let Change { estimate, low, high } = measured.change;
    let mut sorted = estimates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let stray = (sorted.len() as f64 * STRAY) as usize;
    let kept = sorted.get(stray..sorted.len() - stray).unwrap_or_default().iter().copied();
    let passed = measured.threshold.copysign(estimate);
    Axis::around(kept.chain([0.0, low, high, estimate, passed]))
}

/// Renders a vertical line, unless it lies outside.
fn upright(axis: &Axis, at: f64, height: f64, class: &str) -> Markup {
    let x = percent(axis.place(at));
    html! {
        @if axis.holds(at) {
            line class=(class) x1=(x) x2=(x) y1="0" y2=(height) {}
        }
    }
}

fn dots(axis: &Axis, estimates: &[f64], height: f64) -> Markup {
    let step = height / estimates.len() as f64;
    let radius = if step < 4.0 { 2 } else { 3 };
    html! {
        @for (index, estimate) in estimates.iter().enumerate() {
            @let stray = (!axis.holds(*estimate)).then_some("stray");
            @let y = format!("{:.1}", (index as f64 + 0.5) * step);
            circle class=[stray] cx=(percent(axis.place(*estimate))) cy=(y) r=(radius) {}
        }
    }
}

fn strip_foot(axis: &Axis, height: f64) -> Markup {
    let ticks = axis.ticks(STRIP_TICKS);
    let step = ticks.get(1).map_or(1.0, |second| second - ticks[0]);
    html! {
        line.axis x1="0" x2="100%" y1=(height) y2=(height) {}
        @for tick in ticks {
            text x=(percent(axis.place(tick))) y=(height + STRIP_FOOT - 5.0) { (tick_label(tick, step)) }
        }
    }
}

/// Formats a percentage with as many decimals as neighboring labels need to differ.
pub fn tick_label(fraction: f64, step: f64) -> String {
    let decimals = (-(step * 100.0 * 1.0001).log10().floor()).clamp(0.0, 6.0) as usize;
    // Steps of 2.5 need one more decimal.
    let exact = |decimals: usize| {
        let power = 10f64.powf(decimals as f64);
        ((step * 100.0 * power).round() - step * 100.0 * power).abs() < 1e-6
    };
    let decimals = if exact(decimals) { decimals } else { decimals + 1 };
    let value = fraction * 100.0;
    if value.abs() < step { "0 %".to_owned() } else { format!("{value:+.decimals$} %") }
}

/// Returns the class of the line at the estimate.
fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "mark slower",
        Verdict::Faster => "mark faster",
        _ => "mark",
    }
}

/// Names what one estimate comes from.
pub fn unit(measured: &Measured) -> &'static str {
    match measured.layouts {
        0 | 1 if measured.sample.estimates.len() > measured.pairs => "group of calls",
        0 | 1 => "pair",
        _ => "layout",
    }
}

fn description(estimates: &[f64], measured: &Measured) -> String {
    let mut sorted = estimates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [least, most] = [sorted[0], sorted[sorted.len() - 1]].map(format::percent);
    let Change { estimate, low, high } = measured.change;
    let [estimate, low, high] = [estimate, low, high].map(format::percent);
    format!(
        "Change by {}: {} from {least} to {most}; together {estimate}, interval {low} to {high}; threshold {}.",
        unit(measured),
        format::count(estimates.len(), "estimate"),
        format::threshold(measured.threshold)
    )
}

fn caption(axis: &Axis, estimates: &[f64], measured: &Measured) -> String {
    let unit = unit(measured);
    let stray = estimates.iter().filter(|estimate| !axis.holds(**estimate)).count();
    let stray = if stray > 0 { format!(" {stray} beyond the ends, drawn hollow.") } else { String::new() };
    format!(
        "One dot for each {unit}, the first measured at the top. Band: interval; bold line: estimate; dashed: threshold ({}).{stray}",
        format::threshold(measured.threshold)
    )
}

/// Maximum number of labels below the picture.
const TIME_TICKS: usize = 4;
/// Heights in px: the name of a side, its density, and both together.
const NAME: f64 = 16.0;
const HILL: f64 = 34.0;
const ROW: f64 = 64.0;
/// Height of the labels, px.
const TIME_FOOT: f64 = 22.0;
/// The picture ends before the slowest 5 %, which other load on the machine dominates. The table includes them.
const LAST: usize = Sample::QUANTILES - 2;
/// Indices of quartiles and median among the quantiles.
const QUARTER: usize = 5;
const HALF: usize = 10;
const THREE_QUARTERS: usize = 15;
/// Minimum width of a bin, as a fraction of the picture: equal quantiles would make it infinitely high.
const NARROWEST: f64 = 0.008;

/// Renders the picture, and the table with the same figures.
pub fn times(measured: &Measured) -> Markup {
    let batches = &measured.sample.batches;
    let known = Side::BOTH.into_iter().all(|side| {
        let quantiles = batches.get(side);
        quantiles.len() == Sample::QUANTILES && quantiles.iter().all(|ns| ns.is_finite())
    });
    let shown = Side::BOTH.into_iter().flat_map(|side| batches.get(side).iter().take(LAST + 1).copied());
    let Some(axis) = Axis::around(shown).filter(|_| known) else { return Markup::default() };
    let (of, caption) = match measured.mode {
        Mode::Steady => ("runs, by batches", "Time of a run in a batch"),
        Mode::FirstCall | Mode::Cold => ("first calls", "Time of a first call"),
        Mode::Process => ("whole processes", "Time of a process"),
    };
    let label = format!("Time of {of}, on base and on head. The table below has the figures.");
    let tallest = Side::BOTH.into_iter().flat_map(|side| densities(batches.get(side), &axis)).fold(0.0, f64::max);
    html! {
        figure {
            svg.plot role="img" aria-label=(label) width="100%" height=(2.0 * ROW + TIME_FOOT) {
                @for side in Side::BOTH {
                    (hill_row(side, batches.get(side), &axis, tallest))
                }
                (time_foot(&axis))
            }
            figcaption {
                "Hill: where the batches lie; bar: the middle half of them; bold line: the median. "
                "The slowest 5 % are not drawn."
            }
        }
        (time_table(measured, caption))
    }
}

/// Returns the density of batches between neighboring shown quantiles, in batches per width.
fn densities<'a>(quantiles: &'a [f64], axis: &'a Axis) -> impl Iterator<Item = f64> + 'a {
    quantiles[..=LAST].windows(2).map(|ends| {
        let width = (axis.place(ends[1]) - axis.place(ends[0])) / 100.0;
        1.0 / width.max(NARROWEST)
    })
}

fn hill_row(side: Side, quantiles: &[f64], axis: &Axis, tallest: f64) -> Markup {
    let top = side.index() as f64 * ROW;
    let ground = top + NAME + HILL;
    let [low, middle, high] = [QUARTER, HALF, THREE_QUARTERS].map(|index| axis.place(quantiles[index]));
    let name = side.to_string();
    html! {
        // A nested picture, so that its width of 1000 units stretches to the whole width.
        svg y=(top + NAME) width="100%" height=(HILL) viewBox="0 0 1000 100" preserveAspectRatio="none" {
            path.hill.(name) d=(hill(quantiles, axis, tallest)) {}
        }
        rect.bar.(name) x=(percent(low)) y=(ground) width=(percent(high - low)) height="5" {}
        line.median.(name) x1=(percent(middle)) x2=(percent(middle)) y1=(top + NAME) y2=(ground + 7.0) {}
        text.side x="0" y=(top + NAME - 4.0) { (name) }
    }
}

/// Returns the path of a histogram with steps of equal area in a box of 1000 by 100.
fn hill(quantiles: &[f64], axis: &Axis, tallest: f64) -> String {
    let x = |index: usize| (10.0 * axis.place(quantiles[index])).round();
    let mut path = format!("M{} 100", x(0));
    for (index, density) in densities(quantiles, axis).enumerate() {
        let y = (100.0 * (1.0 - density / tallest)).round();
        // As wide as the width used for its density.
        let right = x(index + 1).max(x(index) + 1.0);
        // Writing into a string cannot fail.
        let _ = write!(path, "V{y}H{right}");
    }
    path + "V100Z"
}

fn time_foot(axis: &Axis) -> Markup {
    html! {
        line.axis x1="0" x2="100%" y1=(2.0 * ROW) y2=(2.0 * ROW) {}
        @for tick in axis.ticks(TIME_TICKS) {
            text x=(percent(axis.place(tick))) y=(2.0 * ROW + TIME_FOOT - 5.0) { (format::duration(tick, Glyphs::Unicode)) }
        }
    }
}

fn time_table(measured: &Measured, caption: &str) -> Markup {
    let columns = [("fastest", 0), ("5 %", 1), ("median", HALF), ("95 %", LAST), ("slowest", Sample::QUANTILES - 1)];
    html! {
        div.scroll tabindex="0" role="group" aria-label="Times as figures" {
            table.figures {
                caption { (caption) }
                thead {
                    tr {
                        td {}
                        @for (name, _) in columns {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for side in Side::BOTH {
                        tr {
                            th scope="row" { (side.to_string()) }
                            @for (_, index) in columns {
                                td { (format::duration(measured.sample.batches.get(side)[index], Glyphs::Unicode)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{measured, outcome, run};
    use perfunit_model::{Sides, Verdict};

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

    #[test]
    fn the_line_is_symmetric_and_holds_all_estimates() {
        let outcomes = [0.004, -0.5, 49.0].map(|change| outcome("a", Verdict::Same, Some(measured(1e3, change))));
        let scale = Scale::of(&run(outcomes.to_vec()));
        assert!((scale.place(0.0) - 50.0).abs() < 1e-9);
        assert!((scale.place(0.1) - 50.0 - (50.0 - scale.place(-0.1))).abs() < 1e-9);
        let places = [-0.5, -0.1, 0.0, 0.004, 0.1, 49.0, 1e9].map(|change| scale.place(change));
        assert!(places.is_sorted() && places[5] < 100.0 && places[6] >= 100.0, "{places:?}");
        // Changes below the threshold are visible too.
        assert!(places[3] > 50.1 && scale.threshold() > 4.0, "{places:?}");
    }

    #[test]
    fn what_is_not_known_is_not_drawn() {
        assert!(Scale::of(&run(Vec::new())).bar(&measured(1e3, f64::NAN)).0.is_empty());
    }

    fn drawn(estimates: &[f64], change: f64) -> String {
        let mut measured = measured(1e3, change);
        measured.sample.estimates = estimates.to_vec();
        changes(&measured, Verdict::Slower).0
    }

    #[test]
    fn each_estimate_is_a_dot_between_the_ends() {
        let picture = drawn(&[0.29, 0.31, f64::NAN, 0.30], 0.30);
        assert_eq!(picture.matches("<circle").count(), 3);
        assert!(picture.contains("3 estimates from +29.0 % to +31.0 %; together +30.0 %, interval +29.0 % to +31.0 %"));
        // Zero and the threshold of 10 % on the right are shown; the one on the left is too far away.
        assert_eq!(picture.matches("class=\"zero\"").count(), 1);
        assert_eq!(picture.matches("class=\"limit\"").count(), 1);
        assert!(!picture.contains("hollow"));
    }

    #[test]
    fn a_stray_estimate_does_not_press_the_others_together() {
        let mut estimates = vec![0.3; 40];
        estimates[7] = 25.0;
        let picture = drawn(&estimates, 0.30);
        assert!(picture.contains("class=\"stray\" cx=\"100%\"") && picture.contains("1 beyond the ends"), "{picture}");
    }

    #[test]
    fn without_estimates_there_is_no_picture() {
        assert_eq!(drawn(&[], 0.3), "");
        assert_eq!(drawn(&[f64::NAN], 0.3), "");
    }

    #[test]
    fn figures_below_the_line_have_the_digits_that_they_need() {
        let labels = |ticks: [f64; 2]| ticks.map(|tick| tick_label(tick, (ticks[1] - ticks[0]).abs()));
        assert_eq!(labels([0.1, 0.2]), ["+10 %", "+20 %"]);
        assert_eq!(labels([0.0, 0.025]), ["0 %", "+2.5 %"]);
        assert_eq!(labels([-0.002, 0.0]), ["-0.2 %", "0 %"]);
        assert_eq!(labels([0.0, 0.002]), ["0 %", "+0.2 %"]);
        assert_eq!(labels([0.0, 0.0005]), ["0 %", "+0.05 %"]);
        assert_eq!(labels([0.0, 0.00025]), ["0 %", "+0.025 %"]);
    }

    fn even(from: f64, step: f64) -> Vec<f64> {
        (0..Sample::QUANTILES).map(|index| from + index as f64 * step).collect()
    }

    fn drawn_times(base: Vec<f64>, head: Vec<f64>) -> String {
        let mut measured = measured(1e3, 0.3);
        measured.sample.batches = Sides { base, head };
        times(&measured).0
    }

    #[test]
    fn evenly_spread_batches_make_a_plateau() {
        let axis = Axis::around([0.0, 19.0]).unwrap();
        let path = hill(&even(0.0, 1.0), &axis, densities(&even(0.0, 1.0), &axis).fold(0.0, f64::max));
        assert!(path.starts_with("M54 100V0H") && path.ends_with("V0H946V100Z"), "{path}");
        assert_eq!(path.matches("V0").count(), LAST);
    }

    #[test]
    fn equal_quantiles_are_high_and_not_infinite() {
        let same = vec![100.0; Sample::QUANTILES];
        let picture = drawn_times(same.clone(), even(200.0, 1.0));
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        assert!(!drawn_times(same.clone(), same).contains("NaN"));
    }

    #[test]
    fn the_table_has_what_the_picture_leaves_out() {
        let mut head = even(1_300.0, 1.0);
        head[20] = 9e6;
        let picture = drawn_times(even(1_000.0, 1.0), head);
        assert!(picture.contains("<td>9.00 ms</td>") && picture.contains("<td>1.01 µs</td>"), "{picture}");
        assert_eq!(picture.matches("class=\"hill").count(), 2);
    }

    #[test]
    fn without_batches_there_is_nothing() {
        assert_eq!(drawn_times(Vec::new(), Vec::new()), "");
        assert_eq!(drawn_times(even(1.0, 1.0), vec![f64::NAN; Sample::QUANTILES]), "");
    }
}
