//! Verdicts that are announced while others are still measured: each once, when nothing can change it any more.

use perfunit_model::{Outcome, Reason, Side, TargetKind, TestId, Verdict};
use perfunit_select::Names;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Hears of each test that got slower or faster, or that fails on head alone.
pub type Announce<'a> = &'a dyn Fn(&Outcome);

/// What is announced to whom, and what was.
pub struct News<'a> {
    announce: Announce<'a>,
    announced: RefCell<BTreeSet<TestId>>,
}

impl<'a> News<'a> {
    pub fn new(announce: Announce<'a>) -> Self {
        Self { announce, announced: RefCell::default() }
    }

    /// Whether this is worth a line that is not there yet.
    pub fn are_new(&self, outcome: &Outcome) -> bool {
        let is_changed = outcome.verdict.is_change();
        (is_changed || outcome.fails_only_on(Side::Head)) && !self.announced.borrow().contains(&outcome.test)
    }

    /// Announces an end that is final.
    pub fn announce(&self, outcome: &Outcome) {
        if self.are_new(outcome) {
            self.announced.borrow_mut().insert(outcome.test.clone());
            (self.announce)(outcome);
        }
    }
}

/// True for a test that fails or does not end on head, with code of its own that differs: that may be for old expectations or
/// a mistake in them, and head's test code may say something else.
pub fn may_be_for_old_code(outcome: &Outcome, names: &Names<'_>) -> bool {
    let fails = |reason: &Reason| reason.always_fails_on().is_some();
    let fails = outcome.verdict == Verdict::NotMeasured && outcome.reason.as_ref().is_some_and(fails);
    let bound = outcome.measured.as_ref().and_then(|measured| measured.bound.as_ref());
    let does_not_end = outcome.verdict == Verdict::Slower && bound.is_some_and(|bound| bound.limit_ns.is_some());
    (fails || does_not_end) && has_new_code(&outcome.test, names)
}

/// True for a test with code of its own that differs, and that is still there in head.
pub fn has_new_code(test: &TestId, names: &Names<'_>) -> bool {
    let is_there = test.target.kind == TargetKind::Bench || names.test(Side::Head, test).is_some();
    is_there && names.changed_code(test).is_some()
}

/// True for a test that fails on one side alone, and may not on that side's data files.
pub fn may_be_for_other_data(reason: &Reason, data: Side) -> bool {
    matches!(reason, Reason::Fails { .. }) && reason.failing_side() == Some(data.other())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{FailedOn, Failure, TargetId, TargetKind};
    use perfunit_select::not_measured;

    fn outcome(name: &str, verdict: Verdict, reason: Option<Reason>) -> Outcome {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let test = TestId { target, name: name.to_owned() };
        Outcome { verdict, reason, ..not_measured(test, Reason::New, None, None) }
    }

    #[test]
    fn what_changed_or_fails_on_head_is_announced_once() {
        let heard = RefCell::new(Vec::new());
        let hear = |outcome: &Outcome| heard.borrow_mut().push(outcome.test.name.clone());
        let news = News::new(&hear);
        let fails = |side, intermittent| Some(Reason::Fails { side, how: Failure::Said(String::new()), intermittent });
        for _ in 0..2 {
            news.announce(&outcome("slower", Verdict::Slower, None));
            news.announce(&outcome("faster", Verdict::Faster, None));
            news.announce(&outcome("fails", Verdict::NotMeasured, fails(FailedOn::Head, false)));
            news.announce(&outcome("fails now and then", Verdict::NotMeasured, fails(FailedOn::Head, true)));
            news.announce(&outcome("fails on both", Verdict::NotMeasured, fails(FailedOn::Both, false)));
            news.announce(&outcome("same", Verdict::Same, None));
            let seen = Verdict::Slower;
            news.announce(&outcome("probably slower", Verdict::Inconclusive, Some(Reason::Unconfirmed { seen })));
        }
        assert_eq!(*heard.borrow(), ["slower", "faster", "fails"]);
    }
}
