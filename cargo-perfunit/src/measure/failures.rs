//! Pairs that fail although the pilot passed: a few are left out, which a note says; more are the reason why the test
//! cannot be measured.

use super::lockstep::PairEnd;
use super::running::describe;
use crate::model::{Reason, Side};
use perfunit_runtime::page::state;
use std::time::Duration;

/// Pairs that may fail before a test counts as not measurable in its mode.
const BORNE: usize = 2;

/// The failed pairs of a test.
#[derive(Debug, Default)]
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
    pub fn note(&self, complete: usize) -> Option<String> {
        let failed = self.reasons.len();
        let verb = match failed {
            0 => return None,
            1 => "was",
            _ => "were",
        };
        let why = self.first_known().to_string();
        let why = why.lines().next().unwrap_or_default();
        Some(format!("{failed} of {} pairs failed and {verb} left out: {why}", failed + complete))
    }

    fn first_known(&self) -> Reason {
        let unknown = Reason::Fails {
            side: "either side, not always".to_owned(),
            detail: "its process did not finish".to_owned(),
        };
        self.reasons.iter().flatten().next().cloned().unwrap_or(unknown)
    }
}

fn reason(pair: &PairEnd, timeout: Duration) -> Option<Reason> {
    if let Some(side) = pair.timed_out {
        return Some(Reason::TimedOut { side: side.to_string(), seconds: timeout.as_secs_f64() });
    }
    Side::BOTH.into_iter().find_map(|side| {
        let end = pair.sides.get(side);
        let ended_badly = end.status.is_some() && end.state != state::DONE;
        ended_badly.then(|| {
            let detail = match end.child {
                _ if !end.message.is_empty() => end.message.clone(),
                Some(status) => describe(status),
                None => "passes once and not again".to_owned(),
            };
            Reason::Fails { side: format!("{side}, not always"), detail }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_failed_pairs_and_tells_the_first_cause() {
        let fails =
            |detail: &str| Some(Reason::Fails { side: "head, not always".to_owned(), detail: detail.to_owned() });
        let note = |reasons| Failures { reasons }.note(8);
        assert_eq!(note(vec![]), None);
        let one = "1 of 9 pairs failed and was left out: fails on head, not always: it is full";
        assert_eq!(note(vec![fails("it is full\nnote: run with ...")]).as_deref(), Some(one));
        let two = "2 of 10 pairs failed and were left out: fails on head, not always: it is full";
        assert_eq!(note(vec![None, fails("it is full")]).as_deref(), Some(two));
    }
}
