//! Announces verdicts while other tests are still measured, each once it is final.

use perfunit_model::{Outcome, Side, TestId};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Receives each test that got slower or faster or newly fails.
pub type Announce<'a> = &'a dyn Fn(&Outcome);

/// The receiver of announcements, and the tests announced so far.
pub struct News<'a> {
    announce: Announce<'a>,
    announced: RefCell<BTreeSet<TestId>>,
}

impl<'a> News<'a> {
    pub fn new(announce: Announce<'a>) -> Self {
        Self { announce, announced: RefCell::default() }
    }

    /// Returns true if the outcome deserves a line and has none yet.
    pub fn are_new(&self, outcome: &Outcome) -> bool {
        let is_changed = outcome.verdict.is_change();
        (is_changed || outcome.fails_only_on(Side::Head)) && !self.announced.borrow().contains(&outcome.test)
    }

    /// Announces a final outcome.
    pub fn announce(&self, outcome: &Outcome) {
        if self.are_new(outcome) {
            self.announced.borrow_mut().insert(outcome.test.clone());
            (self.announce)(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{FailedOn, Failure, Reason, TargetId, TargetKind, Verdict};
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
