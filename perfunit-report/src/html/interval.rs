//! A test's interval as a bar in its row, all rows on one line of figures.

use super::percent;
use maud::{Markup, html};
use perfunit_model::{Measured, Run};

/// Figures on a line that is even up to the threshold and logarithmic beyond, so that +0.3 % and +300 % can both be read.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Where it begins to be logarithmic, as a fraction of base.
    even: f64,
    /// The figure at the right end; minus that is at the left.
    reach: f64,
}

impl Scale {
    /// Wide enough for all estimates of a run.
    pub fn of(run: &Run) -> Self {
        let even = run.threshold.fraction();
        let sizes = run.outcomes.iter().filter_map(|outcome| outcome.measured.as_ref());
        let sizes = sizes.map(|measured| measured.change.estimate.abs()).filter(|size| size.is_finite());
        Self { even, reach: 1.3 * sizes.fold(2.0 * even, f64::max) }
    }

    /// Where the threshold lies right of the middle, in per cent of the whole width.
    pub fn threshold(&self) -> f64 {
        self.place(self.even) - 50.0
    }

    /// In per cent of the width from the left.
    fn place(&self, change: f64) -> f64 {
        let bent = |change: f64| (change.abs() / self.even).ln_1p().copysign(change);
        (50.0 + 50.0 * bent(change) / bent(self.reach)).clamp(0.0, 100.0)
    }

    /// Draws one test. Figures beside it say the same.
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

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Verdict;
    use perfunit_model::samples::{measured, outcome, run};

    #[test]
    fn the_line_is_symmetric_and_holds_all_estimates() {
        let outcomes = [0.004, -0.5, 49.0].map(|change| outcome("a", Verdict::Same, Some(measured(1e3, change))));
        let scale = Scale::of(&run(outcomes.to_vec()));
        assert!((scale.place(0.0) - 50.0).abs() < 1e-9);
        assert!((scale.place(0.1) - 50.0 - (50.0 - scale.place(-0.1))).abs() < 1e-9);
        let places = [-0.5, -0.1, 0.0, 0.004, 0.1, 49.0, 1e9].map(|change| scale.place(change));
        assert!(places.is_sorted() && places[5] < 100.0 && places[6] >= 100.0, "{places:?}");
        // What is below the threshold can be seen, too.
        assert!(places[3] > 50.1 && scale.threshold() > 4.0, "{places:?}");
    }

    #[test]
    fn what_is_not_known_is_not_drawn() {
        assert!(Scale::of(&run(Vec::new())).bar(&measured(1e3, f64::NAN)).0.is_empty());
    }
}
