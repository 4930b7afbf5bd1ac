//! How long a run took in the batches of each side: where most of them lie, and how far they reach.

use super::axis::Axis;
use super::percent;
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{Measured, Mode, Sample, Side};
use std::fmt::Write;

/// Most figures below the line.
const TICKS: usize = 4;
/// Heights of the name of a side, of its hill, and of all that belongs to it, px.
const NAME: f64 = 16.0;
const HILL: f64 = 34.0;
const ROW: f64 = 64.0;
/// Height of the line of figures, px.
const FOOT: f64 = 22.0;
/// The picture ends here: the last 5 % are whatever else the machine did. The table below has them.
const LAST: usize = Sample::QUANTILES - 2;
/// Quarters and half, among the quantiles.
const QUARTER: usize = 5;
const HALF: usize = 10;
const THREE_QUARTERS: usize = 15;
/// A bin of the hill counts as at least so wide, as a part of the picture: equal quantiles would make it infinitely high.
const NARROWEST: f64 = 0.008;

/// The picture, and the table that says the same.
pub fn picture(measured: &Measured) -> Markup {
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
            svg.plot role="img" aria-label=(label) width="100%" height=(2.0 * ROW + FOOT) {
                @for side in Side::BOTH {
                    (row(side, batches.get(side), &axis, tallest))
                }
                (foot(&axis))
            }
            figcaption {
                "Hill: where the batches lie; bar: the middle half of them; bold line: the median. "
                "The slowest 5 % are not drawn."
            }
        }
        (table(measured, caption))
    }
}

/// How dense the batches lie between neighbouring quantiles that are shown, in batches per width.
fn densities<'a>(quantiles: &'a [f64], axis: &'a Axis) -> impl Iterator<Item = f64> + 'a {
    quantiles[..=LAST].windows(2).map(|ends| {
        let width = (axis.place(ends[1]) - axis.place(ends[0])) / 100.0;
        1.0 / width.max(NARROWEST)
    })
}

fn row(side: Side, quantiles: &[f64], axis: &Axis, tallest: f64) -> Markup {
    let top = side.index() as f64 * ROW;
    let ground = top + NAME + HILL;
    let [low, middle, high] = [QUARTER, HALF, THREE_QUARTERS].map(|index| axis.place(quantiles[index]));
    let name = side.to_string();
    html! {
        // Of its own, so that its width of 1000 becomes the picture's, whatever that is.
        svg y=(top + NAME) width="100%" height=(HILL) viewBox="0 0 1000 100" preserveAspectRatio="none" {
            path.hill.(name) d=(hill(quantiles, axis, tallest)) {}
        }
        rect.bar.(name) x=(percent(low)) y=(ground) width=(percent(high - low)) height="5" {}
        line.median.(name) x1=(percent(middle)) x2=(percent(middle)) y1=(top + NAME) y2=(ground + 7.0) {}
        text.side x="0" y=(top + NAME - 4.0) { (name) }
    }
}

/// Steps with equal areas in a box of 1000 by 100.
fn hill(quantiles: &[f64], axis: &Axis, tallest: f64) -> String {
    let x = |index: usize| (10.0 * axis.place(quantiles[index])).round();
    let mut path = format!("M{} 100", x(0));
    for (index, density) in densities(quantiles, axis).enumerate() {
        let y = (100.0 * (1.0 - density / tallest)).round();
        // At least as wide as it counts.
        let right = x(index + 1).max(x(index) + 1.0);
        // Writing into a string cannot fail.
        let _ = write!(path, "V{y}H{right}");
    }
    path + "V100Z"
}

fn foot(axis: &Axis) -> Markup {
    html! {
        line.axis x1="0" x2="100%" y1=(2.0 * ROW) y2=(2.0 * ROW) {}
        @for tick in axis.ticks(TICKS) {
            text x=(percent(axis.place(tick))) y=(2.0 * ROW + FOOT - 5.0) { (format::duration(tick, Glyphs::Unicode)) }
        }
    }
}

fn table(measured: &Measured, caption: &str) -> Markup {
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
    use perfunit_model::Sides;
    use perfunit_model::samples::measured;

    fn even(from: f64, step: f64) -> Vec<f64> {
        (0..Sample::QUANTILES).map(|index| from + index as f64 * step).collect()
    }

    fn drawn(base: Vec<f64>, head: Vec<f64>) -> String {
        let mut measured = measured(1e3, 0.3);
        measured.sample.batches = Sides { base, head };
        picture(&measured).0
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
        let picture = drawn(same.clone(), even(200.0, 1.0));
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        assert!(!drawn(same.clone(), same).contains("NaN"));
    }

    #[test]
    fn the_table_has_what_the_picture_leaves_out() {
        let mut head = even(1_300.0, 1.0);
        head[20] = 9e6;
        let picture = drawn(even(1_000.0, 1.0), head);
        assert!(picture.contains("<td>9.00 ms</td>") && picture.contains("<td>1.01 µs</td>"), "{picture}");
        assert_eq!(picture.matches("class=\"hill").count(), 2);
    }

    #[test]
    fn without_batches_there_is_nothing() {
        assert_eq!(drawn(Vec::new(), Vec::new()), "");
        assert_eq!(drawn(even(1.0, 1.0), vec![f64::NAN; Sample::QUANTILES]), "");
    }
}
