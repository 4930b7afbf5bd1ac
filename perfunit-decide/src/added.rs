//! What head does more than base, as a term of another power beside constants, factors and logarithms.
//!
//! Both do the same on the same inputs, so what decides about base's work besides lengths decides about head's: base's work
//! at a length explains it better than the length does. `head - base = c + f base + a n^p`, fitted by weighted least squares.

use super::location::Interval;
use super::power::{not_rejected, powers};
use perfunit_model::Sides;

/// The least difference between the exponent of what was added and base's.
const LEAST_ADDED: f64 = 0.5;
/// How much worse a constant and a factor alone explain the difference: sums of squared errors.
const LEAST_WORSE: f64 = 5.0;
/// The same of laws that are no other power.
const LEAST_WORSE_OTHERS: f64 = 2.0;
/// Base's own varying work that head may have lost while what explains it explains head's, too.
const MOST_LOST: f64 = 0.25;
/// Counts follow no law closer than this.
const LEAST_ERROR: f64 = 0.003;
/// Steps between exponents that base's work may have.
const STEP: f64 = 0.25;

/// The work of both versions at one length, basic blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkAt {
    pub length: f64,
    pub work: Sides<f64>,
}

/// A term that head's work has and base's has not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    pub exponent: Interval,
    /// At the largest length, basic blocks.
    pub work: f64,
}

/// The term of another power that was added, if nothing else explains the difference; `likely` is the largest exponent that
/// base's work is likely to have.
pub fn added(steps: &[WorkAt], base: Interval, likely: f64) -> Option<Added> {
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
    // Where head does not do what varies in base's work, that says little about the law that base follows.
    let highest = if factor < -MOST_LOST { base.high } else { likely };
    if difference.otherwise(base.estimate, highest) < limit.max(LEAST_WORSE_OTHERS) * best.error {
        return None;
    }
    let inside = || fits.iter().filter(|(_, fit)| fit.error <= limit * best.error).map(|(power, _)| *power);
    let exponent =
        Interval { estimate: power, low: inside().fold(power, f64::min), high: inside().fold(power, f64::max) };
    Some(Added { exponent, work: best.slope })
}

/// How well a term explains the difference beside a constant and a factor.
#[derive(Debug, Clone, Copy)]
struct Fit {
    /// Sum of squared errors, in head's work.
    error: f64,
    /// Of the term.
    slope: f64,
}

/// Head's work without base's, at all lengths.
struct Difference<'a> {
    steps: &'a [WorkAt],
    largest: f64,
}

impl<'a> Difference<'a> {
    fn of(steps: &'a [WorkAt]) -> Self {
        Self { steps, largest: steps.iter().map(|at| at.length).fold(1.0, f64::max) }
    }

    /// Relative to the largest length.
    fn part(&self, at: &WorkAt) -> f64 {
        at.length / self.largest
    }

    fn with(&self, term: &dyn Fn(&WorkAt) -> f64) -> Fit {
        self.fit(&[&|_| 1.0, &|at| at.work.base, term])
    }

    fn without(&self) -> Fit {
        self.fit(&[&|_| 1.0, &|at| at.work.base])
    }

    /// How often head does base's work more, beside this term.
    fn factor(&self, term: &dyn Fn(&WorkAt) -> f64) -> f64 {
        self.fit(&[&|_| 1.0, term, &|at| at.work.base]).slope
    }

    /// The slope is that of the last term.
    fn fit(&self, terms: &[&dyn Fn(&WorkAt) -> f64]) -> Fit {
        let column = |of: &dyn Fn(&WorkAt) -> f64| -> Vec<f64> {
            self.steps.iter().map(|at| of(at) / at.work.head.max(1.0)).collect()
        };
        let mut rest = column(&|at| at.work.head - at.work.base);
        let mut perpendicular = Perpendicular::default();
        let slope = terms.iter().fold(0.0, |_, term| perpendicular.take(column(term), &mut rest));
        Fit { error: product(&rest, &rest) + self.steps.len() as f64 * LEAST_ERROR * LEAST_ERROR, slope }
    }

    /// The least error of what is no other power: a logarithm, and what begins at some length, of base's work itself and of
    /// the laws that it may follow.
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

/// Columns of which each is perpendicular to the others.
#[derive(Debug, Default)]
struct Perpendicular {
    columns: Vec<Vec<f64>>,
}

/// What is left of a column that the others make up, of its square.
const NOTHING_LEFT: f64 = 1e-8;

impl Perpendicular {
    /// Takes out of `rest` what a column explains that the others do not, and says how often the column is in it.
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
