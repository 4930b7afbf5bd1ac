//! Counted metrics: no estimate, they differ or they do not.
//!
//! Readings of both sides are counterparts: the n-th call of base and the n-th of head, with the same random numbers. So a
//! body whose work differs from call to call can still be seen to do the same on both sides; how much more it does on one
//! of them cannot.

use crate::model::MetricVerdict;

/// When a counted difference counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactRule {
    /// The smallest change that counts, as a fraction of base.
    pub threshold: f64,
    /// The smallest difference that counts, in units of the metric.
    pub least: f64,
    /// Readings that differ by no more than this are equal, as a fraction of the larger: 0, or what the counter is off.
    pub resolution: f64,
}

/// Judges readings of base and of head, the same number of each; `None` without any.
///
/// - each reading equal to its counterpart: `Same`;
/// - else, on either side one that differs from the others: `Varies`;
/// - else, a difference at or beyond both thresholds: `More` or `Less`;
/// - else `ChangedBelowThreshold`.
pub fn exact(rule: &ExactRule, base: &[f64], head: &[f64]) -> Option<MetricVerdict> {
    if base.is_empty() || base.len() != head.len() {
        return None;
    }
    let equal = |a: f64, b: f64| (a - b).abs() <= rule.resolution * a.abs().max(b.abs());
    if base.iter().zip(head).all(|(base, head)| equal(*base, *head)) {
        return Some(MetricVerdict::Same);
    }
    let varies = |readings: &[f64]| readings.iter().any(|reading| !equal(*reading, readings[0]));
    if varies(base) || varies(head) {
        return Some(MetricVerdict::Varies);
    }
    let difference = head[0] - base[0];
    if difference.abs() < rule.least || difference.abs() < rule.threshold * base[0] {
        return Some(MetricVerdict::ChangedBelowThreshold);
    }
    Some(if difference > 0.0 { MetricVerdict::More } else { MetricVerdict::Less })
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
