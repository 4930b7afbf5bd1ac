//! Tests that pass on base and fail on head: worse news than any time, so it comes first.

use super::figures::Detail;
use super::screen::{INDENT, Screen};
use super::style::{BAD, DIM, STRONG, Text, test_id};
use perfunit_model::format::{count, limit, one_line};
use perfunit_model::{Outcome, Reason, Run, Side};

/// Tests named unless everything is asked for.
const NAMED: usize = 10;

/// `1 test passes on base and fails on head`; nothing if there is none.
pub fn headline(run: &Run) -> Option<String> {
    match run.failing(Side::Head).count() {
        0 => None,
        1 => Some("1 test passes on base and fails on head".to_owned()),
        tests => Some(format!("{} pass on base and fail on head", count(tests, "test"))),
    }
}

/// What the failure of a test says.
pub fn said(outcome: &Outcome) -> String {
    match &outcome.reason {
        Some(Reason::Fails { how, .. }) => one_line(&how.to_string()),
        Some(Reason::Crashes { how, .. }) => format!("exits or crashes the process: {}", one_line(&how.to_string())),
        Some(Reason::TimedOut { seconds, .. }) => format!("does not end within {} (--timeout)", limit(*seconds)),
        _ => String::new(),
    }
}

/// Whether it is one of them.
pub fn is_failing(outcome: &Outcome) -> bool {
    outcome.reason.as_ref().is_some_and(|reason| reason.failing_side() == Some(Side::Head))
}

/// Writes them, above everything that was measured.
pub fn write(run: &Run, detail: Detail, screen: &mut Screen) {
    let Some(headline) = headline(run) else { return };
    screen.status("Failing", BAD, &Text::new(STRONG, headline));
    let failing: Vec<&Outcome> = run.failing(Side::Head).collect();
    let shown = if detail == Detail::Full { failing.len() } else { NAMED };
    for outcome in failing.iter().take(shown) {
        screen.below(INDENT + 2, &test_id(&outcome.test).with(DIM, format!("  {}", said(outcome))));
    }
    screen.more(INDENT + 2, failing.len().saturating_sub(shown));
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::{run, unmeasured};
    use perfunit_model::{FailedOn, Failure};

    #[test]
    fn those_that_base_passes_are_named_and_no_others() {
        let fails = |side, intermittent| Reason::Fails { side, how: Failure::Said("left\nright".into()), intermittent };
        let how = Failure::Signal { number: 6, name: Some("SIGABRT".into()) };
        let crash = Reason::Crashes { side: FailedOn::Head, how, intermittent: false };
        let others = [fails(FailedOn::Base, false), fails(FailedOn::Both, false), fails(FailedOn::Head, true)];
        let mut outcomes: Vec<Outcome> = others.map(|reason| unmeasured("other", Some(reason))).to_vec();
        let check = |outcomes: &[Outcome], expected: &str| {
            let mut screen = Screen::new(0, Glyphs::Ascii);
            write(&run(outcomes.to_vec()), Detail::Brief, &mut screen);
            assert_eq!(without_escapes(&screen.finish()), expected);
        };
        check(&outcomes, "");
        outcomes.push(unmeasured("a", Some(fails(FailedOn::Head, false))));
        outcomes.push(unmeasured("b", Some(crash)));
        let expected = "     Failing  2 tests pass on base and fail on head
                mycrate a  left right
                mycrate b  exits or crashes the process: signal 6 (SIGABRT)
";
        check(&outcomes, expected);
    }
}
