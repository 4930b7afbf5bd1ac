//! What was denied and could not be looked at, in words: a run that found nothing there has not passed.

use super::rendering::Rendering;
use super::screen::Screen;
use super::style::{BAD, Text};
use perfunit_model::format::{count, one_line};
use perfunit_model::{Denied, Run, Undecided};
use std::collections::BTreeMap;

/// A line for each; tests with the same reason share one.
pub fn lines(run: &Run, denied: Denied) -> Vec<String> {
    let (mut lines, mut tests): (Vec<String>, BTreeMap<String, usize>) = Default::default();
    for undecided in denied.undecided(run) {
        match undecided {
            Undecided::Test { .. } | Undecided::Growth { .. } => *tests.entry(undecided.to_string()).or_default() += 1,
            _ => lines.push(one_line(&undecided.to_string())),
        }
    }
    lines.extend(tests.into_iter().map(|(why, tests)| format!("{} ({})", one_line(&why), count(tests, "test"))));
    lines
}

/// Below the summary for the terminal.
pub fn text(run: &Run, rendering: &Rendering) -> String {
    let mut screen = Screen::new(rendering.text.width, rendering.text.glyphs());
    for line in lines(run, rendering.denied) {
        screen.status("Undecided", BAD, &Text::plain(line));
    }
    screen.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;
    use perfunit_model::{Growth, NotCounted, samples};

    #[test]
    fn what_was_denied_and_not_looked_at_is_said_below_the_summary() {
        let not_counted = ["a", "b"].map(|name| (samples::test(name), NotCounted::OwnHarness)).to_vec();
        let growth = Some(Growth { not_counted, ..Growth::default() });
        let run = Run { growth, ..samples::run(Vec::new()) };
        let text = |denied| without_escapes(&text(&run, &Rendering { denied, ..Rendering::default() }));
        assert_eq!(text(Denied::default()), "");
        assert_eq!(
            text(Denied { growth: true, ..Denied::default() }),
            "   Undecided  how work grows is not known: its harness is its own (2 tests)\n"
        );
    }
}
