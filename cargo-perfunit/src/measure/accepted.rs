//! Accepted losses: a test is judged by what goes beyond its own. Pure.
//!
//! Pairs are judged relative to what was accepted; in the end their figures are made relative to base again.

use super::subject::{Ended, Figures};
use crate::model::{AcceptedLoss, Change, Reason, Verdict};

/// The end of a test with figures relative to base.
pub fn relative_to_base(mut end: Ended, accepted: Option<&AcceptedLoss>) -> Ended {
    let (Some(accepted), Ok(figures)) = (accepted, &mut end.result) else { return end };
    if accepted.mode != figures.measured.mode {
        return end;
    }
    let ratio = 1.0 + accepted.loss;
    if figures.measured.bound.is_some() {
        if is_within(figures, ratio) {
            figures.verdict = Verdict::Inconclusive;
            end.reason = Some(Reason::TooNoisy);
        }
        return end;
    }
    let of_base = |change: f64| (1.0 + change) * ratio - 1.0;
    let measured = &mut figures.measured;
    let Change { estimate, low, high } = measured.change;
    measured.change = Change { estimate: of_base(estimate), low: of_base(low), high: of_base(high) };
    measured.sample.estimates.iter_mut().for_each(|estimate| *estimate = of_base(*estimate));
    end
}

/// Whether single calls, which say only how much slower a test is at least, say no more than what was accepted.
fn is_within(figures: &Figures, ratio: f64) -> bool {
    let measured = &figures.measured;
    figures.verdict == Verdict::Slower && 1.0 + measured.change.low < ratio * (1.0 + measured.threshold)
}

#[cfg(test)]
mod tests {
    use super::super::confirmed::tests::figures;
    use super::*;
    use crate::model::{Bound, Mode, Sides};

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
    fn single_calls_must_show_more_than_what_was_accepted() {
        let by_calls = |ratio: f64| {
            let mut figures = figures(Verdict::Slower, ratio - 1.0);
            figures.measured.change.low = ratio - 1.0;
            figures.measured.bound = Some(Bound { ratio, limit_ns: None, calls: Sides { base: 62, head: 2 } });
            relative_to_base(ended(figures), Some(&accepted(11.0, Mode::Steady)))
        };
        let within = by_calls(11.8);
        assert_eq!((within.result.unwrap().verdict, within.reason), (Verdict::Inconclusive, Some(Reason::TooNoisy)));
        assert_eq!(by_calls(20.0).result.unwrap().verdict, Verdict::Slower);
    }
}
