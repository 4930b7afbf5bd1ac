//! The estimates behind an interval, dot by dot, in the order in which they were measured.

use super::axis::Axis;
use super::percent;
use maud::{Markup, html};
use perfunit_model::format;
use perfunit_model::{Change, Measured, Verdict};

/// Most figures below the line; more do not fit on a telephone.
const TICKS: usize = 5;
/// Height that a dot takes of its own, px, within the limits below.
const STEP: f64 = 7.0;
/// The least and the most that all dots take, px.
const HEIGHTS: (f64, f64) = (56.0, 150.0);
/// Height of the line of figures, px.
const FOOT: f64 = 22.0;
/// The farthest estimates that the line is made for, as a part of all on either side; what lies beyond is drawn at its end.
const STRAY: f64 = 0.05;

/// The picture with its caption; nothing if the estimates are not known.
pub fn picture(measured: &Measured, verdict: Verdict) -> Markup {
    let estimates: Vec<f64> = measured.sample.estimates.iter().copied().filter(|x| x.is_finite()).collect();
    let Some(axis) = axis(&estimates, measured).filter(|_| !estimates.is_empty()) else { return Markup::default() };
    let height = (estimates.len() as f64 * STEP).clamp(HEIGHTS.0, HEIGHTS.1);
    let change = measured.change;
    let (low, high) = (axis.place(change.low), axis.place(change.high));
    html! {
        figure {
            svg.plot role="img" aria-label=(description(&estimates, measured)) width="100%" height=(height + FOOT) {
                @if low.is_finite() && high.is_finite() {
                    rect.band x=(percent(low)) y="0" width=(percent(high - low)) height=(height) {}
                }
                (upright(&axis, -measured.threshold, height, "limit"))
                (upright(&axis, measured.threshold, height, "limit"))
                (upright(&axis, 0.0, height, "zero"))
                (upright(&axis, change.estimate, height, mark(verdict)))
                (dots(&axis, &estimates, height))
                (foot(&axis, height))
            }
            figcaption { (caption(&axis, &estimates, measured)) }
        }
    }
}

/// Zero, the interval, and the threshold where it was passed or nearly so, are always shown.
fn axis(estimates: &[f64], measured: &Measured) -> Option<Axis> {
    let Change { estimate, low, high } = measured.change;
    let mut sorted = estimates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let stray = (sorted.len() as f64 * STRAY) as usize;
    let kept = sorted.get(stray..sorted.len() - stray).unwrap_or_default().iter().copied();
    let passed = measured.threshold.copysign(estimate);
    Axis::around(kept.chain([0.0, low, high, estimate, passed]))
}

/// A line from top to bottom, unless it would lie outside.
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

fn foot(axis: &Axis, height: f64) -> Markup {
    let ticks = axis.ticks(TICKS);
    let step = ticks.get(1).map_or(1.0, |second| second - ticks[0]);
    html! {
        line.axis x1="0" x2="100%" y1=(height) y2=(height) {}
        @for tick in ticks {
            text x=(percent(axis.place(tick))) y=(height + FOOT - 5.0) { (tick_label(tick, step)) }
        }
    }
}

/// A percentage with as many decimals as its neighbours need to differ.
pub fn tick_label(fraction: f64, step: f64) -> String {
    let decimals = (-(step * 100.0 * 1.0001).log10().floor()).clamp(0.0, 6.0) as usize;
    // Of steps of 2.5 the next digit counts, too.
    let exact = |decimals: usize| {
        let power = 10f64.powf(decimals as f64);
        ((step * 100.0 * power).round() - step * 100.0 * power).abs() < 1e-6
    };
    let decimals = if exact(decimals) { decimals } else { decimals + 1 };
    let value = fraction * 100.0;
    if value.abs() < step { "0 %".to_owned() } else { format!("{value:+.decimals$} %") }
}

/// The class of the line at the estimate.
fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "mark slower",
        Verdict::Faster => "mark faster",
        _ => "mark",
    }
}

/// What one estimate stands for.
fn unit(measured: &Measured) -> &'static str {
    if measured.layouts > 1 { "layout" } else { "pair" }
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

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::measured;

    fn drawn(estimates: &[f64], change: f64) -> String {
        let mut measured = measured(1e3, change);
        measured.sample.estimates = estimates.to_vec();
        picture(&measured, Verdict::Slower).0
    }

    #[test]
    fn each_estimate_is_a_dot_between_the_ends() {
        let picture = drawn(&[0.29, 0.31, f64::NAN, 0.30], 0.30);
        assert_eq!(picture.matches("<circle").count(), 3);
        assert!(picture.contains("3 estimates from +29.0 % to +31.0 %; together +30.0 %, interval +29.0 % to +31.0 %"));
        // Zero and the threshold of 10 % on the right are there, the one on the left is too far away.
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
}
