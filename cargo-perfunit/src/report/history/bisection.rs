//! Where a search for a commit ended, with a text to paste into an issue.

use super::{commit, entry, skipped};
use crate::model::{Bisection, Commit, Culprit};
use crate::report::format::{self, count, short_commit};
use crate::report::screen::{INDENT, Screen};
use crate::report::style::{BAD, DIM, STRONG, Text, WARN, test_id};
use crate::report::text::TextOptions;

/// For people.
pub fn text(bisection: &Bisection, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    let Bisection { test, good, bad, change, commits, culprit, skipped: left_out } = bisection;
    let [estimate, low, high] = [change.estimate, change.low, change.high].map(format::percent);
    let ends = format!("  {estimate} [{low}, {high}] from {} to {}", short_commit(&good.id), short_commit(&bad.id));
    screen.status("Test", STRONG, &test_id(test).and(ends));
    for (commit_left_out, why) in left_out {
        screen.status("Skipped", WARN, &commit(commit_left_out).with(DIM, format!("  {}", skipped(why))));
    }
    screen.bar();
    match culprit {
        Culprit::Commits { commits: named, test: found, several } => {
            if let [one] = &named[..] {
                screen.status("Commit", BAD, &commit(one));
            } else {
                screen.status("One of", BAD, &Text::plain("these; those before the last cannot be compared"));
                list(named, &mut screen);
            }
            screen.below(INDENT, &entry::line(found, options));
            if *several {
                let more = "other commits of the range made it slower, too: search on both sides of this one";
                screen.status("Note", WARN, &Text::plain(more));
            }
        }
        Culprit::Open(left) => {
            let text = format!("{} of {commits} left; the same command goes on", count(left.len(), "commit"));
            screen.status("Open", WARN, &Text::plain(text));
            list(left, &mut screen);
        }
        Culprit::Lost(left) => {
            let text = "no single commit: the change shows over all of these and not in one of them";
            screen.status("Not found", WARN, &Text::plain(text));
            list(left, &mut screen);
        }
    }
    screen.finish()
}

/// Commits shown of many.
const SHOWN: usize = 10;

fn list(commits: &[Commit], screen: &mut Screen) {
    for one in commits.iter().take(SHOWN) {
        screen.below(INDENT, &commit(one));
    }
    if commits.len() > SHOWN {
        screen.below(INDENT, &Text::new(DIM, format!("... and {} more", commits.len() - SHOWN)));
    }
}
