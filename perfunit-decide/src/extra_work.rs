//! The extra work of head, as a term of another power in addition to constants, factors and logarithms.
//!
//! Both versions run on the same inputs. A property of the input other than its length that affects base's work also
//! affects head's, so base's work at a length explains head's work better than the length does. The model is
//! `head - base = c + f base + a n^p`, fitted by weighted least squares.

use super::location::Interval;
use super::power::{not_rejected, powers};
use perfunit_model::Sides;

/// Least difference between the exponent of the added term and base's.
const LEAST_ADDED: f64 = 0.5;
/// Least ratio of the sum of squared errors of a constant and a factor alone to that of the best fit.
const LEAST_WORSE: f64 = 5.0;
/// The same least ratio for laws without another power.
const LEAST_WORSE_OTHERS: f64 = 2.0;
/// Largest part of base's own varying work that head may have lost while base's work still serves to explain head's.
const MOST_LOST: f64 = 0.25;
/// Smallest relative error of a count, because no law is exact.
const LEAST_ERROR: f64 = 0.003;
/// Steps between the exponents that base's work may have.
const STEP: f64 = 0.25;

/// The work of both versions at one length, in basic blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkAt {
    pub length: f64,
    pub work: Sides<f64>,
}

/// A term that is present in head's work and absent from base's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtraWork {
    pub exponent: Interval,
    /// Work of the term at the largest length, in basic blocks.
    pub work: f64,
}

/// Returns the added term of another power, if nothing else explains the difference. `likely` is the largest exponent
/// that base's work is likely to have.
pub fn find_extra_work(steps: &[WorkAt], base: Interval, likely: f64) -> Option<ExtraWork> {
    let difference = Difference::of(steps);
    let fits: Vec<(f64, Fit)> = powers()
        .map(|power| (power, difference.with(&|at| difference.part(at).powf(power))))
        .filter(|(_, fit)| fit.slope > 0.0)
        .collect();
    let larger = fits.iter().filter(|(power, _)| *power >= base.estimate + LEAST_ADDED);
    let (power, best) = larger.copied().min_by(|(_, a), (_, b)| a.error.total_cmp(&b.error))?;
    let limit = not_rejected(1.0, steps.len().saturating_sub(4).max(1) as f64)?;
    if difference.without().error < limit.max(LEAST_WORSE) * best.error {
        return None;
    }
    let factor = difference.factor(&|at| difference.part(at).powf(power));
    // If head lacks the varying part of base's work, that work is weak evidence for base's law, so the whole interval
    // counts.
    let highest = if factor < -MOST_LOST { base.high } else { likely };
    if difference.otherwise(base.estimate, highest) < limit.max(LEAST_WORSE_OTHERS) * best.error {
        return None;
    }
    let inside = || fits.iter().filter(|(_, fit)| fit.error <= limit * best.error).map(|(power, _)| *power);
    let exponent =
        Interval { estimate: power, low: inside().fold(power, f64::min), high: inside().fold(power, f64::max) };
    Some(ExtraWork { exponent, work: best.slope })
}

/// Fit of a term to the difference, in addition to a constant and a factor.
#[derive(Debug, Clone, Copy)]
struct Fit {
    /// Sum of squared errors relative to head's work.
    error: f64,
    /// Coefficient of the term.
    slope: f64,
}

/// Head's work minus base's, at all lengths.
struct Difference<'a> {
    steps: &'a [WorkAt],
    largest: f64,
}

impl<'a> Difference<'a> {
    fn of(steps: &'a [WorkAt]) -> Self {
        Self { steps, largest: steps.iter().map(|at| at.length).fold(1.0, f64::max) }
    }

    /// Returns the length relative to the largest length.
    fn part(&self, at: &WorkAt) -> f64 {
        at.length / self.largest
    }

    fn with(&self, term: &dyn Fn(&WorkAt) -> f64) -> Fit {
        self.fit(&[&|_| 1.0, &|at| at.work.base, term])
    }

    fn without(&self) -> Fit {
        self.fit(&[&|_| 1.0, &|at| at.work.base])
    }

    /// Returns the factor of base's work in the difference, next to this term.
    fn factor(&self, term: &dyn Fn(&WorkAt) -> f64) -> f64 {
        self.fit(&[&|_| 1.0, term, &|at| at.work.base]).slope
    }

    /// Fits the terms to the difference; the slope is that of the last term.
    fn fit(&self, terms: &[&dyn Fn(&WorkAt) -> f64]) -> Fit {
        let column = |of: &dyn Fn(&WorkAt) -> f64| -> Vec<f64> {
            self.steps.iter().map(|at| of(at) / at.work.head.max(1.0)).collect()
        };
        let mut rest = column(&|at| at.work.head - at.work.base);
        let mut perpendicular = Perpendicular::default();
        let slope = terms.iter().fold(0.0, |_, term| perpendicular.take(column(term), &mut rest));
        Fit { error: product(&rest, &rest) + self.steps.len() as f64 * LEAST_ERROR * LEAST_ERROR, slope }
    }

    /// Returns the least error of the laws without another power: a logarithm, and a jump at some length, for base's
    /// work itself and for the laws that base's work may follow.
    fn otherwise(&self, lowest: f64, highest: f64) -> f64 {
        let logarithm = self.with(&|at| at.length.ln()).error;
        let mut least = logarithm.min(self.of_law(&|at| at.work.base));
        let mut power = lowest;
        loop {
            let law = |at: &WorkAt| self.part(at).powf(power);
            least = least.min(self.with(&law).error).min(self.of_law(&law));
            if power >= highest {
                return least;
            }
            power = (power + STEP).min(highest);
        }
    }

    fn of_law(&self, law: &dyn Fn(&WorkAt) -> f64) -> f64 {
        let mut least = self.with(&|at| law(at) * at.length.ln()).error;
        for (before, from) in self.steps.iter().zip(self.steps.iter().skip(1)) {
            for start in [0.0, law(before), law(from)] {
                let begins = |at: &WorkAt| if at.length >= from.length { law(at) - start } else { 0.0 };
                least = least.min(self.with(&begins).error);
            }
        }
        least
    }
}

/// Columns that are perpendicular to each other.
#[derive(Debug, Default)]
struct Perpendicular {
    columns: Vec<Vec<f64>>,
}

/// Largest part of the square of a column that counts as rounding, if the other columns explain the rest.
const NOTHING_LEFT: f64 = 1e-8;

impl Perpendicular {
    /// Removes the part of `rest` that this column explains and the others do not, and returns the coefficient of the
    /// column.
    fn take(&mut self, mut column: Vec<f64>, rest: &mut [f64]) -> f64 {
        let whole = product(&column, &column);
        for _ in 0..2 {
            for other in &self.columns {
                let times = product(&column, other);
                subtract(&mut column, times, other);
            }
        }
        let square = product(&column, &column);
        if square <= NOTHING_LEFT * whole {
            return 0.0;
        }
        let times = product(rest, &column) / square;
        subtract(rest, times, &column);
        self.columns.push(column.iter().map(|value| value / square.sqrt()).collect());
        times
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn subtract(from: &mut [f64], times: f64, column: &[f64]) {
    for (value, of_column) in from.iter_mut().zip(column) {
        *value -= times * of_column;
    }
}
