//! The result of a test, printed while other tests are still measured.

use super::figures::{Words, phrase, status, times};
use super::metrics;
use super::sections::failure;
use perfunit_model::format::{Glyphs, one_line};
use perfunit_model::{Metric, Outcome, Side, Verdict};
use perfunit_system::term::Tone;

/// The printed line of a test.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    pub word: &'static str,
    pub text: String,
}

/// Formats `Slower mycrate a::b  1.20 us -> 2.40 us  +100.0 % [+98.2 %, +101.9 %]`, or the failure of a test that fails
/// on head.
pub fn line(outcome: &Outcome, gates: &[Metric], glyphs: Glyphs) -> Line {
    let test = one_line(&outcome.test.to_string());
    if outcome.fails_only_on(Side::Head) {
        return Line { tone: Tone::Bad, word: "Failing", text: format!("{test}  {}", failure(outcome)) };
    }
    let tone = if outcome.verdict == Verdict::Faster { Tone::Good } else { Tone::Bad };
    let (word, _) = status(outcome.verdict, Words::of(gates));
    let time = outcome.measured.as_ref().map(|measured| {
        let [base, head] = times(measured, glyphs);
        format!("{base} {} {head}  {}", glyphs.arrow(), phrase(measured))
    });
    let parts: Vec<String> =
        [Some(test), time, metrics::changed_metrics(outcome, gates, glyphs)].into_iter().flatten().collect();
    Line { tone, word, text: parts.join("  ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{measured, outcome, unmeasured};
    use perfunit_model::{FailedOn, Failure, Reason};

    #[track_caller]
    fn check(outcome: &Outcome, gates: &[Metric], tone: Tone, word: &str, text: &str) {
        let line = line(outcome, gates, Glyphs::Ascii);
        assert_eq!((line.tone, line.word, line.text.as_str()), (tone, word, text));
    }

    #[test]
    fn a_line_has_name_times_change_and_interval() {
        let slower = outcome("a", Verdict::Slower, Some(measured(1000.0, 0.25)));
        let text = "mycrate a  1.00 us -> 1.25 us  +25.0 % [+24.0 %, +26.0 %]";
        check(&slower, &[Metric::Time], Tone::Bad, "Slower", text);
        check(&slower, &[Metric::Time, Metric::Allocations], Tone::Bad, "Worse", text);
        let faster = outcome("a", Verdict::Faster, Some(measured(1000.0, -0.5)));
        check(
            &faster,
            &[Metric::Time],
            Tone::Good,
            "Faster",
            "mycrate a  1.00 us -> 500 ns  -50.0 % [-51.0 %, -49.0 %]",
        );
    }

    #[test]
    fn a_test_that_fails_on_head_says_what_it_says() {
        let fails =
            Reason::Fails { side: FailedOn::Head, how: Failure::Said("left\nright".into()), intermittent: false };
        check(&unmeasured("a", Some(fails)), &[Metric::Time], Tone::Bad, "Failing", "mycrate a  left right");
    }
}
