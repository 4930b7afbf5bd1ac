//! Decides the same pairs of tests by other rules, given as much wall time as our verdicts took.
//!
//! Mann-Whitney, Welch's t and the overlap of intervals look at the times of the processes of the recorded lockstep
//! pairs. They and the plain mean also look at processes that ran one after the other, as in Peass.

use super::recording::Recorded;
use super::trial::Trial;
use perfunit_decide as decide;
use perfunit_decide::Estimate;
use perfunit_measure::RecordedPair;
use perfunit_model::{Cell, Change, Compared, DecisionRule, Processes, Share, Sides, Tally, Terms, Verdict};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// Minimum number of processes a side for all rules.
const FEWEST: usize = 8;

/// The direction of a change that a rule claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    Slower,
    Faster,
}

/// A decision rule: takes the times of base's and head's processes, the level, and the expected effect.
type Decide = fn(&Sides<Vec<f64>>, f64, f64) -> Option<Claim>;

/// Returns the verdicts of all rules, ours first, on all kinds of work at one effect; empty if no sequential processes
/// were recorded.
pub fn rules(terms: &Terms, effect: f64, cells: &[Cell], changed: &[&Recorded], equal: &[&Recorded]) -> Vec<Compared> {
    if changed.iter().all(|recorded| recorded.sequential.is_empty()) {
        return Vec::new();
    }
    let mut compared = vec![Compared {
        rule: DecisionRule::Ours,
        processes: Processes::Lockstep,
        found: cells.iter().fold(Share::default(), |sum, cell| sum.and(cell.changed.found())),
        false_alarms: cells.iter().fold(Share::default(), |sum, cell| sum.and(cell.equal.false_alarms())),
    }];
    let classical: [(DecisionRule, Decide); 3] = [
        (DecisionRule::MannWhitney, by_ranks),
        (DecisionRule::WelchT, by_means),
        (DecisionRule::IntervalOverlap, by_intervals),
    ];
    let both = [Processes::Lockstep, Processes::Sequential].into_iter();
    let all = both.flat_map(|processes| classical.map(|(rule, decide)| (rule, processes, decide)));
    for (rule, processes, decide) in
        all.chain([(DecisionRule::PlainMean, Processes::Sequential, by_plain_mean as Decide)])
    {
        let mut row = Compared { rule, processes, found: Share::default(), false_alarms: Share::default() };
        for ((cell, changed), equal) in cells.iter().zip(changed).zip(equal) {
            let seconds = seconds_per_verdict(&cell.changed.and(&cell.equal));
            let claims = |recorded| claims(recorded, processes, seconds, |times| decide(times, terms.alpha, effect));
            for claim in claims(changed) {
                row.found.add(claim == Some(Claim::Slower));
            }
            for claim in claims(equal) {
                row.false_alarms.add(claim.is_some());
            }
        }
        compared.push(row);
    }
    compared
}

fn seconds_per_verdict(tally: &Tally) -> f64 {
    tally.seconds / tally.experiments.max(1) as f64
}

/// Returns a rule's claims about consecutive, disjoint stretches of this many seconds.
fn claims(
    recorded: &Recorded,
    processes: Processes,
    seconds: f64,
    decide: impl Fn(&Sides<Vec<f64>>) -> Option<Claim>,
) -> Vec<Option<Claim>> {
    let (visits, times): (_, fn(&RecordedPair) -> Sides<f64>) = match processes {
        Processes::Lockstep => (&recorded.pairs, |pair| pair.ns),
        Processes::Sequential => (&recorded.sequential, |pair| pair.mean_ns),
    };
    let stretches = visits.iter().flat_map(|pairs| stretches(pairs, seconds));
    stretches
        .map(|pairs| {
            let times = || pairs.iter().map(times);
            decide(&Sides { base: times().map(|ns| ns.base).collect(), head: times().map(|ns| ns.head).collect() })
        })
        .collect()
}

/// Splits pairs into stretches. The rest at the end is too short and does not count.
fn stretches(pairs: &[RecordedPair], seconds: f64) -> Vec<&[RecordedPair]> {
    let (mut stretches, mut start, mut sum) = (Vec::new(), 0, 0.0);
    for (index, pair) in pairs.iter().enumerate() {
        sum += pair.seconds;
        if sum >= seconds && index + 1 - start >= FEWEST {
            stretches.push(&pairs[start..=index]);
            (start, sum) = (index + 1, 0.0);
        }
    }
    stretches
}

fn by_ranks(times: &Sides<Vec<f64>>, alpha: f64, _: f64) -> Option<Claim> {
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (of_base, p_value) = mannwhitneyu(&times.base, &times.head, method, Alternative::TwoSided).ok()?;
    // Expected number of pairs with the larger time on base if nothing changed.
    let without_change = (times.base.len() * times.head.len()) as f64 / 2.0;
    (p_value <= alpha).then(|| direction(without_change - of_base))
}

fn by_means(times: &Sides<Vec<f64>>, alpha: f64, _: f64) -> Option<Claim> {
    let welch = decide::welch(&times.base, &times.head)?;
    (welch.p_value <= alpha).then(|| direction(welch.t))
}

fn by_intervals(times: &Sides<Vec<f64>>, alpha: f64, _: f64) -> Option<Claim> {
    let (base, head) = (decide::mean_interval(&times.base, alpha)?, decide::mean_interval(&times.head, alpha)?);
    (base.high < head.low || head.high < base.low).then(|| direction(head.estimate - base.estimate))
}

/// Claims a change if the means differ by more than half of the effect. This is an upper bound on accuracy, because the
/// effect is not known in practice.
fn by_plain_mean(times: &Sides<Vec<f64>>, _: f64, effect: f64) -> Option<Claim> {
    let mean = times.as_ref().map(|times| decide::trimmed_mean(times, 0.0));
    let change = mean.head / mean.base - 1.0;
    (change.abs() >= effect / 2.0).then(|| direction(change))
}

fn direction(difference: f64) -> Claim {
    if difference > 0.0 { Claim::Slower } else { Claim::Faster }
}

/// Level of the interval around a change measured over all pairs.
const CHANGE_ALPHA: f64 = 0.05;

/// Returns the results of the rule with this threshold on one kind of work, for changed and for equal tests.
pub fn cell(terms: &Terms, threshold: f64, changed: &Recorded, equal: &Recorded) -> Cell {
    Cell {
        workload: changed.workload.to_owned(),
        change: change(&changed.pairs),
        equal_change: change(&equal.pairs),
        changed: tally(terms, threshold, &changed.pairs),
        equal: tally(terms, threshold, &equal.pairs),
    }
}

/// Counts consecutive verdicts, each beginning after the last one's final pair. Verdicts do not span the break between
/// two visits; a verdict that a break interrupts does not count.
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

/// Returns the change over all pairs, which should match the numbers of operations.
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
        (0..pairs).map(|index| pair(change, 0.01, index)).collect()
    }

    fn record(change: f64) -> Recorded {
        let pairs = vec![visit(change, 64)];
        Recorded { workload: "add", operations: 315, sequential: pairs.clone(), pairs }
    }

    #[test]
    fn every_rule_finds_what_is_far_outside_of_the_noise() {
        let (changed, equal) = (record(0.05), record(0.0));
        let cell = cell(&TERMS, 0.045, &changed, &equal);
        let rules = rules(&TERMS, 0.05, &[cell], &[&changed], &[&equal]);
        assert_eq!(rules.len(), 8);
        for rule in rules {
            assert!(rule.found.of > 0 && rule.found.count == rule.found.of, "{rule:?}");
            assert!(rule.false_alarms.of > 0 && rule.false_alarms.count == 0, "{rule:?}");
        }
    }

    #[test]
    fn every_rule_knows_the_direction() {
        let numbers = |from: i32| -> Vec<f64> { (from..from + 10).map(f64::from).collect() };
        let times = Sides { base: numbers(1), head: numbers(21) };
        let swapped = Sides { base: times.head.clone(), head: times.base.clone() };
        for decide in [by_ranks, by_means, by_intervals, by_plain_mean] {
            assert_eq!(decide(&times, 0.01, 0.05), Some(Claim::Slower));
            assert_eq!(decide(&swapped, 0.01, 0.05), Some(Claim::Faster));
            assert_eq!(decide(&Sides { base: times.base.clone(), head: times.base.clone() }, 0.01, 0.05), None);
        }
    }

    #[test]
    fn stretches_are_as_long_as_a_verdict_and_disjoint() {
        let pairs = visit(0.0, 35);
        let lengths: Vec<usize> = stretches(&pairs, 0.0999).iter().map(|pairs| pairs.len()).collect();
        assert_eq!(lengths, [10, 10, 10]);
        assert_eq!(stretches(&pairs, 0.0)[0].len(), FEWEST);
    }

    #[test]
    fn without_sequential_processes_there_is_no_comparison() {
        let without = Recorded { sequential: Vec::new(), ..record(0.05) };
        assert_eq!(rules(&TERMS, 0.05, &[], &[&without], &[&without]), []);
    }

    mod tally {
        use super::super::*;
        use super::{TERMS, pair};

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
}
