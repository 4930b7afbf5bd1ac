//! Pairs that fail although the pilot passed: a few are left out, which a note says; more are the reason why the test
//! cannot be measured.

use super::lockstep::PairEnd;
use crate::model::{FailedOn, Failure, Note, Reason, Side};
use perfunit_runtime::page::state;
use std::time::Duration;

/// Pairs that may fail before a test counts as not measurable in its mode.
const BORNE: usize = 2;

/// The failed pairs of a test.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// Why each of them failed, as far as its processes say.
    reasons: Vec<Option<Reason>>,
}

impl Failures {
    /// Adds a pair; with one too many, why the test cannot be measured.
    pub fn add(&mut self, pair: &PairEnd, timeout: Duration) -> Option<Reason> {
        self.reasons.push(reason(pair, timeout));
        (self.reasons.len() > BORNE).then(|| self.first_known())
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
    use super::*;

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
