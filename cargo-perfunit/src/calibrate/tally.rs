//! Verdicts over consecutive, disjoint stretches of recorded pairs, counted.

use super::recording::Recorded;
use super::trial::Trial;
use perfunit_decide::Estimate;
use perfunit_measure::RecordedPair;
use perfunit_model::{Cell, Change, Tally, Terms, Verdict};

/// Level of the interval around a change that was measured over all pairs.
const CHANGE_ALPHA: f64 = 0.05;

/// What the rule with this threshold makes of one kind of work, where head does more and where it does as much.
pub fn cell(terms: &Terms, threshold: f64, changed: &Recorded, equal: &Recorded) -> Cell {
    Cell {
        workload: changed.workload.to_owned(),
        change: change(&changed.pairs),
        equal_change: change(&equal.pairs),
        changed: tally(terms, threshold, &changed.pairs),
        equal: tally(terms, threshold, &equal.pairs),
    }
}

/// Each verdict begins with the pair after the last one's. No verdict reaches over the break between two visits; the one
/// that a break cuts off does not count.
fn tally(terms: &Terms, threshold: f64, visits: &[Vec<RecordedPair>]) -> Tally {
    let mut tally = Tally::default();
    for pairs in visits {
        let mut trial = Trial::new(terms, threshold);
        for ended in pairs.iter().filter_map(|pair| trial.add(pair)) {
            let claims = matches!(ended.verdict, Verdict::Slower | Verdict::Faster | Verdict::ChangedBelowThreshold);
            tally.experiments += 1;
            tally.slower += usize::from(claims && ended.estimate > 0.0);
            tally.faster += usize::from(claims && ended.estimate <= 0.0);
            tally.inconclusive += usize::from(ended.verdict == Verdict::Inconclusive);
            tally.pairs += ended.pairs;
            tally.seconds += ended.seconds;
        }
    }
    tally
}

/// The change over all pairs, which should be what the numbers of operations say.
fn change(visits: &[Vec<RecordedPair>]) -> Option<Change> {
    let log_ratios: Vec<f64> = visits.iter().flatten().map(|pair| pair.log_ratio).collect();
    let interval = Estimate::of(&log_ratios)?.interval(CHANGE_ALPHA);
    Some(Change { estimate: interval.estimate.exp_m1(), low: interval.low.exp_m1(), high: interval.high.exp_m1() })
}

#[cfg(test)]
mod tests {
    use super::super::trial::tests::{TERMS, pair};
    use super::*;

    fn visit(change: f64, pairs: usize) -> Vec<RecordedPair> {
        (0..pairs).map(|index| pair(change, 0.001, index)).collect()
    }

    #[test]
    fn verdicts_are_disjoint_and_what_a_break_cuts_off_does_not_count() {
        // Flagged and confirmed takes 24 pairs: two verdicts of 60 pairs, one of 30, none of 20.
        let tally = tally(&TERMS, 0.1, &[visit(0.5, 60), visit(0.5, 30), visit(0.5, 20)]);
        assert_eq!((tally.experiments, tally.slower, tally.faster, tally.pairs), (3, 3, 0, 72));
        assert!((tally.seconds - 0.72).abs() < 1e-9);
    }

    #[test]
    fn a_change_below_the_threshold_is_found_and_an_equal_test_is_no_alarm() {
        let recorded = |change| Recorded {
            workload: "add",
            operations: 301,
            pairs: vec![visit(change, 64)],
            sequential: Vec::new(),
        };
        let cell = cell(&TERMS, 0.1, &recorded(0.02), &recorded(0.0));
        assert_eq!((cell.changed.found().count, cell.changed.found().of), (8, 8));
        assert_eq!((cell.equal.false_alarms().count, cell.equal.false_alarms().of), (0, 8));
        assert!((cell.change.unwrap().estimate - 0.02).abs() < 0.001);
    }

    #[test]
    fn the_wrong_direction_is_no_find_but_a_false_alarm() {
        let tally = tally(&TERMS, 0.1, &[visit(-0.5, 24)]);
        assert_eq!((tally.found().count, tally.false_alarms().count), (0, 1));
    }
}
