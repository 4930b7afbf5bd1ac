//! Pairs that fail although the pilot passed: a few are left out, which a note says; more are the reason why the test
//! cannot be measured.

use super::lockstep::PairEnd;
use perfunit_model::{FailedOn, Failure, Note, Reason, Side};
use perfunit_runtime::page::state;
use std::time::Duration;

/// Pairs that may fail before a test counts as not measurable in its mode, and which part of many.
const BORNE: usize = 2;
const BORNE_PART: f64 = 0.02;

/// The failed pairs of a test.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// Why each of them failed, as far as its processes say.
    reasons: Vec<Option<Reason>>,
}

impl Failures {
    /// Adds a pair to so many complete ones; with one too many, why the test cannot be measured.
    pub fn add(&mut self, pair: &PairEnd, timeout: Duration, complete: usize) -> Option<Reason> {
        self.reasons.push(reason(pair, timeout));
        let failed = self.reasons.len();
        // Each of those that do not end takes the whole limit.
        let is_dear = self.reasons.iter().flatten().any(|reason| matches!(reason, Reason::TimedOut { .. }));
        let is_rare = !is_dear && failed as f64 <= BORNE_PART * (failed + complete) as f64;
        (failed > BORNE && !is_rare).then(|| self.first_known())
    }

    /// The note that so many complete pairs are not all; `None` if they are.
    pub fn note(&self, complete: usize) -> Option<Note> {
        let failed = self.reasons.len();
        (failed > 0).then(|| Note::FailedPairs { failed, pairs: failed + complete, why: self.first_known() })
    }

    fn first_known(&self) -> Reason {
        let unknown = Reason::Fails { side: FailedOn::Both, how: Failure::Unfinished, intermittent: true };
        self.reasons.iter().flatten().next().cloned().unwrap_or(unknown)
    }
}

fn reason(pair: &PairEnd, timeout: Duration) -> Option<Reason> {
    if let Some(side) = pair.timed_out {
        return Some(Reason::timed_out(side.into(), timeout));
    }
    Side::BOTH.into_iter().find_map(|side| {
        let end = pair.sides.get(side);
        let ended_badly = end.status.is_some() && end.state != state::DONE;
        ended_badly.then(|| Reason::Fails { side: side.into(), how: end.failure(), intermittent: true })
    })
}

#[cfg(test)]
mod tests {
    use super::super::lockstep::{Shape, SideEnd};
    use super::*;
    use perfunit_model::Sides;

    #[test]
    fn of_many_pairs_a_part_may_fail() {
        let end = SideEnd { state: state::FAILED_FIRST, ..SideEnd::default() };
        let shape = Shape { repetitions: 1, batches: 1, warm: 0 };
        let (sides, starter, took) = (Sides { base: end.clone(), head: end }, Side::Base, Duration::ZERO);
        let failing = PairEnd { sides, shape, starter, timed_out: None, took };
        let borne = |pair: &PairEnd, complete: usize| {
            let mut failures = Failures::default();
            (1..20).find(|_| failures.add(pair, Duration::from_secs(1), complete).is_some())
        };
        assert_eq!((borne(&failing, 8), borne(&failing, 140), borne(&failing, 512)), (Some(3), Some(3), Some(11)));
        assert_eq!(borne(&PairEnd { timed_out: Some(Side::Head), ..failing }, 512), Some(3));
    }

    #[test]
    fn a_note_counts_failed_pairs_and_has_the_first_known_cause() {
        let how = Failure::Said("it is full".to_owned());
        let fails = Reason::Fails { side: FailedOn::Head, how, intermittent: true };
        let note = |reasons| Failures { reasons }.note(8);
        assert_eq!(note(vec![]), None);
        let expected = Note::FailedPairs { failed: 2, pairs: 10, why: fails.clone() };
        assert_eq!(note(vec![None, Some(fails)]), Some(expected));
    }
}
