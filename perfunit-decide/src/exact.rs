//! Verdicts on counted metrics, which need no estimate: counts are equal or different.
//!
//! Readings of both sides are counterparts: the n-th call of base and the n-th of head, with the same random numbers.
//! If the work of a body differs from call to call, the readings still show whether both sides do the same work, and
//! whether one side always does about the same amount more.

use perfunit_model::MetricVerdict;

/// Conditions under which a counted difference is a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactRule {
    /// The smallest change that counts, as a fraction of base.
    pub threshold: f64,
    /// The smallest difference that counts, in units of the metric.
    pub least: f64,
    /// The error of the counter, as a fraction of the larger reading: readings that differ by no more than this are
    /// equal.
    pub resolution: f64,
}

/// Fewest counterparts that distinguish a difference from variation.
const FEWEST_VARYING: usize = 4;
/// Largest spread of the differences of counterparts, as a part of the smallest difference.
const STEADY_DIFFERENCE: f64 = 0.5;

/// Judges readings of base and of head, the same number of each; `None` without any.
///
/// - `Same` if each reading is equal to its counterpart;
/// - else `Varies` if the readings of either side differ from each other. Enough counterparts that agree are an
///   exception: all differences are below the limits, or all are beyond them, in one direction and of about the same
///   size;
/// - else `More` or `Less` for a difference at or beyond both limits;
/// - else `ChangedBelowThreshold`.
pub fn exact(rule: &ExactRule, base: &[f64], head: &[f64]) -> Option<MetricVerdict> {
    if base.is_empty() || base.len() != head.len() {
        return None;
    }
    let equal = |a: f64, b: f64| (a - b).abs() <= rule.resolution * a.abs().max(b.abs());
    let counterparts = || base.iter().copied().zip(head.iter().copied());
    if counterparts().all(|(base, head)| equal(base, head)) {
        return Some(MetricVerdict::Same);
    }
    let varies = |readings: &[f64]| readings.iter().any(|reading| !equal(*reading, readings[0]));
    let varies = varies(base) || varies(head);
    if varies && base.len() < FEWEST_VARYING {
        return Some(MetricVerdict::Varies);
    }
    // Returns a difference as a multiple of the limit.
    let in_limits = |(base, head): (f64, f64)| (head - base) / rule.least.max(rule.threshold * base);
    let (low, high) = counterparts()
        .map(in_limits)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), limits| (limits.min(low), limits.max(high)));
    let is_steady = !varies || high - low <= STEADY_DIFFERENCE * low.abs().min(high.abs());
    Some(match () {
        () if -1.0 < low && high < 1.0 => MetricVerdict::ChangedBelowThreshold,
        () if low >= 1.0 && is_steady => MetricVerdict::More,
        () if high <= -1.0 && is_steady => MetricVerdict::Less,
        () => MetricVerdict::Varies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: ExactRule = ExactRule { threshold: 0.01, least: 1.0, resolution: 0.0 };

    #[track_caller]
    fn check(rule: &ExactRule, base: &[f64], head: &[f64], expected: Option<MetricVerdict>) {
        assert_eq!(exact(rule, base, head), expected);
    }

    #[test]
    fn one_more_of_few_is_more_and_one_more_of_many_is_below_the_threshold() {
        check(&RULE, &[12.0; 5], &[13.0; 5], Some(MetricVerdict::More));
        check(&RULE, &[0.0; 5], &[1.0; 5], Some(MetricVerdict::More));
        check(&RULE, &[12.0; 5], &[0.0; 5], Some(MetricVerdict::Less));
        check(&RULE, &[100.0; 5], &[101.0; 5], Some(MetricVerdict::More));
        check(&RULE, &[101.0; 5], &[102.0; 5], Some(MetricVerdict::ChangedBelowThreshold));
        check(&RULE, &[7.0; 5], &[7.0; 5], Some(MetricVerdict::Same));
        check(&RULE, &[0.0; 5], &[0.0; 5], Some(MetricVerdict::Same));
    }

    #[test]
    fn fewer_than_the_least_are_none() {
        let rule = ExactRule { least: 4.0, ..RULE };
        check(&rule, &[0.0; 3], &[3.0; 3], Some(MetricVerdict::ChangedBelowThreshold));
        check(&rule, &[0.0; 3], &[4.0; 3], Some(MetricVerdict::More));
    }

    #[test]
    fn what_varies_is_the_same_only_call_by_call() {
        check(&RULE, &[10.0, 14.0, 9.0], &[10.0, 14.0, 9.0], Some(MetricVerdict::Same));
        check(&RULE, &[10.0, 14.0, 9.0], &[14.0, 10.0, 9.0], Some(MetricVerdict::Varies));
        check(&RULE, &[10.0, 10.0, 10.0], &[20.0, 20.0, 21.0], Some(MetricVerdict::Varies));
    }

    #[test]
    fn what_varies_alike_on_both_sides_shows_what_is_added() {
        let base = [7286.0, 7296.0, 7305.0, 7280.0];
        let more = base.map(|reading| reading + 400.0);
        check(&RULE, &base, &more, Some(MetricVerdict::More));
        check(&RULE, &more, &base, Some(MetricVerdict::Less));
        check(&RULE, &base[..3], &more[..3], Some(MetricVerdict::Varies));
        check(&RULE, &base, &base.map(|reading| reading + 40.0), Some(MetricVerdict::ChangedBelowThreshold));
        // The differences vary in size, then in sign.
        check(&RULE, &base, &[7700.0, 7900.0, 7705.0, 7680.0], Some(MetricVerdict::Varies));
        check(&RULE, &base, &[7700.0, 6900.0, 7705.0, 7680.0], Some(MetricVerdict::Varies));
    }

    #[test]
    fn a_counter_that_is_off_a_little_is_believed_no_further() {
        let rule = ExactRule { resolution: 0.001, ..RULE };
        check(&rule, &[10_000.0, 10_007.0], &[10_003.0, 9_999.0], Some(MetricVerdict::Same));
        check(&rule, &[10_000.0, 10_007.0], &[10_300.0, 10_295.0], Some(MetricVerdict::More));
        check(&rule, &[10_000.0, 10_007.0], &[10_050.0, 10_051.0], Some(MetricVerdict::ChangedBelowThreshold));
    }

    #[test]
    fn without_readings_there_is_nothing_to_say() {
        check(&RULE, &[], &[], None);
        check(&RULE, &[1.0], &[], None);
    }
}
