//! Accepted losses: a test is judged by what goes beyond its own. Pure.
//!
//! Pairs are judged relative to what was accepted; in the end their figures are made relative to base again.

use super::subject::Ended;
use perfunit_model::{AcceptedLoss, Change};

/// The end of a test with figures relative to base.
pub fn relative_to_base(mut end: Ended, accepted: Option<&AcceptedLoss>) -> Ended {
    let (Some(accepted), Ok(figures)) = (accepted, &mut end.result) else { return end };
    if accepted.mode != figures.measured.mode {
        return end;
    }
    if figures.measured.bound.is_some() {
        // Single calls tell of base and head, and more than what was accepted.
        return end;
    }
    let ratio = 1.0 + accepted.loss;
    let of_base = |change: f64| (1.0 + change) * ratio - 1.0;
    let measured = &mut figures.measured;
    let Change { estimate, low, high } = measured.change;
    measured.change = Change { estimate: of_base(estimate), low: of_base(low), high: of_base(high) };
    measured.sample.estimates.iter_mut().for_each(|estimate| *estimate = of_base(*estimate));
    end
}

#[cfg(test)]
mod tests {
    use super::super::confirmed::tests::figures;
    use super::super::subject::Figures;
    use super::*;
    use perfunit_model::{Bound, Mode, Sides, Verdict};

    fn accepted(loss: f64, mode: Mode) -> AcceptedLoss {
        let (test, reason, date) = Default::default();
        AcceptedLoss { test, loss, mode, reason, date }
    }

    fn ended(figures: Figures) -> Ended {
        Ended { result: Ok(figures), reason: None, capture: None }
    }

    #[test]
    fn what_is_reported_is_relative_to_base() {
        let (figures, loss) = (figures(Verdict::Same, 0.0), accepted(0.5, Mode::Steady));
        let reported = relative_to_base(ended(figures.clone()), Some(&loss)).result.unwrap();
        assert_eq!(reported.verdict, Verdict::Same);
        assert!((reported.measured.change.estimate - 0.5).abs() < 1e-12, "{reported:?}");
        assert!(reported.measured.change.low < 0.5 && reported.measured.change.high > 0.5);
        assert_eq!(relative_to_base(ended(figures.clone()), None), ended(figures.clone()));
        // What was accepted of first calls says nothing of later ones.
        let of_first = accepted(0.5, Mode::FirstCall);
        assert_eq!(
            relative_to_base(ended(figures.clone()), Some(&of_first)).result.unwrap().measured,
            figures.measured
        );
    }

    #[test]
    fn what_single_calls_say_is_relative_to_base_already() {
        let mut figures = figures(Verdict::Slower, 19.0);
        figures.measured.bound = Some(Bound { ratio: 20.0, limit_ns: None, calls: Sides { base: 62, head: 2 } });
        let reported = relative_to_base(ended(figures.clone()), Some(&accepted(2.0, Mode::Steady)));
        assert_eq!(reported, ended(figures));
    }
}
