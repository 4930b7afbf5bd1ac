//! What is said of a test while others are still measured.

use super::figures::{Words, phrase, status};
use super::format::one_line;
use crate::model::{Measured, Metric, TestId, Verdict};
use crate::system::term::Tone;

/// A status word and a line for a test that got slower or faster; nothing for others.
pub fn verdict(
    test: &TestId,
    verdict: Verdict,
    measured: &Measured,
    gates: &[Metric],
) -> Option<(Tone, &'static str, String)> {
    let tone = match verdict {
        Verdict::Slower => Tone::Bad,
        Verdict::Faster => Tone::Good,
        _ => return None,
    };
    let (word, _) = status(verdict, Words::of(gates));
    Some((tone, word, format!("{} {}", one_line(&test.to_string()), phrase(measured))))
}
