//! The attempts to measure a test, in order: with base's test code on both versions, then with head's.
//!
//! The first attempt that measures the test decides. [`Fallback::after`] decides if head's test code is tried after
//! base's, and [`Fallback::decide`] which outcome the test has. Both attempts use the data files of the version that
//! has the test code; [`may_be_for_other_data`] decides if the data files of the other version are tried.

use perfunit_model::{Outcome, Reason, Side, TargetKind, TestCodeItem, TestId, Verdict};
use perfunit_select::Names;

/// The outcome of a test unless it is measured with head's test code.
#[derive(Debug, Clone, PartialEq)]
pub struct Fallback {
    /// The outcome with base's test code, if only a measurement can replace it.
    outcome: Option<Outcome>,
    /// The reason for a test that does not pass on base with head's test code.
    pub reason: Reason,
}

impl Fallback {
    /// The fallback of a test that is not in base.
    pub const OF_NEW_TEST: Self = Self { outcome: None, reason: Reason::New };

    /// Returns the fallback of a test that ended like this with base's test code, or `None` if this outcome is final.
    /// `new_code` returns the changed item of the test's own code that may be the cause.
    pub fn after(first: &Outcome, new_code: impl FnOnce() -> Option<TestCodeItem>) -> Option<Self> {
        let by_new_code = |outcome| Some(Self { outcome, reason: Reason::TestChanged { item: new_code()? } });
        match &first.reason {
            Some(reason) if lacks_common_code(reason) => Some(Self { outcome: None, reason: reason.clone() }),
            Some(reason) if reason.is_unaffected() => by_new_code(None),
            _ if is_failed(first) => {
                let holds = first.measured.is_some() || fails_on_base(first);
                by_new_code(holds.then(|| first.clone()))
            }
            _ => None,
        }
    }

    /// Returns the outcome of the test after its attempt with head's test code.
    pub fn decide(self, second: Outcome) -> Outcome {
        match self.outcome {
            _ if second.measured.is_some() => second,
            Some(first) => first,
            None if second.verdict == Verdict::NotMeasured && fails_on_base(&second) => {
                Outcome { reason: Some(self.reason), ..second }
            }
            None => second,
        }
    }
}

/// Returns true if head's list of tests has a more specific reason for excluding a test than base's, other than that
/// the versions have no common test code.
pub fn says_more(first: &Outcome, second: &Outcome) -> bool {
    let lacks_code = |outcome: &Outcome| outcome.reason.as_ref().is_some_and(lacks_common_code);
    lacks_code(first) && !lacks_code(second) && second.reason != Some(Reason::Removed)
}

/// Returns true if a test has no code that both versions can run, which other test code may change.
pub fn lacks_common_code(reason: &Reason) -> bool {
    matches!(reason, Reason::New | Reason::TestChanged { .. })
}

/// Returns the changed item of a test's own code, if head still has the test.
pub fn new_code(test: &TestId, names: &Names<'_>) -> Option<TestCodeItem> {
    let is_there = test.target.kind == TargetKind::Bench || names.test(Side::Head, test).is_some();
    if is_there { names.changed_code(test) } else { None }
}

/// Returns true if a test fails on one version only, whose data files it did not use. It may pass with them.
pub fn may_be_for_other_data(reason: &Reason, data: Side) -> bool {
    matches!(reason, Reason::Fails { .. }) && reason.failing_side() == Some(data.other())
}

/// Returns true if a test always fails or times out on head, where its code may be outdated or wrong.
fn is_failed(outcome: &Outcome) -> bool {
    let always_fails = |reason: &Reason| reason.always_fails_on().is_some();
    let bound = outcome.measured.as_ref().and_then(|measured| measured.bound.as_ref());
    match outcome.verdict {
        Verdict::NotMeasured => outcome.reason.as_ref().is_some_and(always_fails),
        Verdict::Slower => bound.is_some_and(|bound| bound.limit_ns.is_some()),
        _ => false,
    }
}

fn fails_on_base(outcome: &Outcome) -> bool {
    outcome.reason.as_ref().is_some_and(|reason| reason.fails_on(Side::Base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{self, unmeasured};
    use perfunit_model::{FailedOn, Failure};

    fn fails(side: FailedOn, intermittent: bool) -> Reason {
        Reason::Fails { side, how: Failure::Said(String::new()), intermittent }
    }

    fn item() -> TestCodeItem {
        TestCodeItem::Doctest("t".to_owned())
    }

    fn test_changed() -> Reason {
        Reason::TestChanged { item: item() }
    }

    /// Returns an outcome of a test that exceeds the limit on head.
    fn endless() -> Outcome {
        samples::outcome("t", Verdict::Slower, Some(samples::bounded(1e3, 9e3, Some(9e3))))
    }

    #[test]
    fn the_second_attempt_follows_what_other_test_code_may_change() {
        // An outcome with base's test code, with the expected fallback: its reason, and whether base's outcome stays
        // until the test is measured.
        let cases = [
            (unmeasured("t", Some(Reason::New)), Some((Reason::New, false))),
            (unmeasured("t", Some(test_changed())), Some((test_changed(), false))),
            (unmeasured("t", Some(Reason::SameCode)), Some((test_changed(), false))),
            (unmeasured("t", Some(fails(FailedOn::Head, false))), Some((test_changed(), false))),
            (unmeasured("t", Some(fails(FailedOn::Base, false))), Some((test_changed(), true))),
            (unmeasured("t", Some(fails(FailedOn::Both, false))), Some((test_changed(), true))),
            (endless(), Some((test_changed(), true))),
            (unmeasured("t", Some(fails(FailedOn::Head, true))), None),
            (unmeasured("t", Some(Reason::Removed)), None),
            (unmeasured("t", Some(Reason::Ignored)), None),
            (samples::outcome("t", Verdict::Slower, Some(samples::measured(1e3, 9.0))), None),
            (samples::outcome("t", Verdict::Same, Some(samples::measured(1e3, 0.0))), None),
        ];
        for (first, expected) in cases {
            let holds = |fallback: &Fallback| fallback.outcome.as_ref().is_some_and(|outcome| *outcome == first);
            let fallback = Fallback::after(&first, || Some(item()));
            let found = fallback.as_ref().map(|fallback| (fallback.reason.clone(), holds(fallback)));
            assert_eq!(found, expected, "{:?}", first.reason);
            // A test with the same code in both versions needs no other code.
            let needs_none = !first.reason.as_ref().is_some_and(lacks_common_code);
            assert!(!needs_none || Fallback::after(&first, || None).is_none(), "{:?}", first.reason);
        }
    }

    #[test]
    fn a_list_of_tests_says_more_with_a_reason_of_another_kind() {
        let says = |first, second| says_more(&unmeasured("t", Some(first)), &unmeasured("t", Some(second)));
        assert!(says(Reason::New, Reason::Ignored) && says(test_changed(), Reason::SameCode));
        assert!(!says(Reason::New, test_changed()) && !says(test_changed(), Reason::Removed));
        assert!(!says(Reason::Ignored, Reason::SameCode));
    }

    #[test]
    fn a_test_that_did_not_end_on_head_stays_slower_unless_its_new_code_is_measured() {
        let fallback = Fallback::after(&endless(), || Some(item())).unwrap();
        let same = samples::outcome("t", Verdict::Same, Some(samples::measured(1e3, 0.0)));
        assert_eq!(fallback.clone().decide(same).verdict, Verdict::Same);
        let second = unmeasured("t", Some(Reason::New));
        assert_eq!(fallback.decide(second.clone()).verdict, Verdict::Slower);
        assert_eq!(Fallback::OF_NEW_TEST.decide(second).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn a_new_test_that_fails_on_base_is_new_and_no_failure_of_base() {
        let decided = |reason| Fallback::OF_NEW_TEST.decide(unmeasured("t", Some(reason))).reason.unwrap();
        assert_eq!(decided(fails(FailedOn::Base, false)), Reason::New);
        assert_eq!(decided(fails(FailedOn::Both, false)), Reason::New);
        assert_eq!(decided(fails(FailedOn::Head, false)), fails(FailedOn::Head, false));
        assert_eq!(decided(Reason::Ignored), Reason::Ignored);
    }
}
