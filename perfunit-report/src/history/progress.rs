//! How far a log is, in words.

use super::commit::{name, skipped};
use perfunit_model::format::{self, count};
use perfunit_model::{Commit, Joined, Skipped};
use std::time::Duration;

/// What is left of a log.
pub fn left(done: usize, of: usize, time: Option<Duration>) -> String {
    let time = time.map(|time| format!(", about {}", format::seconds(time))).unwrap_or_default();
    format!("{} of {of}{time}", count(of - done, "commit"))
}

/// What joining a file brought.
pub fn joined(joined: Joined) -> String {
    let Joined { new, same, contradictions, usable } = joined;
    let said = |n: usize, text: String| if n > 0 { text } else { String::new() };
    let useless = (new + same + contradictions).saturating_sub(usable);
    format!(
        "{}, {same} known before{}{}",
        count(new, "new result"),
        said(contradictions, format!(", {contradictions} with other figures than those that are here, which stay")),
        said(useless, format!("; {useless} were made with other options or another toolchain, and are not used now")),
    )
}

/// Which tests are compared next, over several commits.
pub fn anchoring(base: &Commit, head: &Commit, tests: usize) -> String {
    format!("{} directly, {} against {}", count(tests, "test"), name(head), name(base))
}

/// Why tests are not compared over several commits.
pub fn not_anchored(base: &Commit, head: &Commit, why: &Skipped) -> String {
    let [base, head] = [base, head].map(name);
    format!("{head} and {base} are not compared directly: {}", skipped(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_and_what_was_joined() {
        assert_eq!(left(3, 20, None), "17 commits of 20");
        assert_eq!(left(19, 20, Some(Duration::from_secs(90))), "1 commit of 20, about 1 min 30 s");
        assert_eq!(joined(Joined { new: 3, same: 1, contradictions: 0, usable: 4 }), "3 new results, 1 known before");
        assert_eq!(
            joined(Joined { new: 1, same: 0, contradictions: 2, usable: 1 }),
            "1 new result, 0 known before, 2 with other figures than those that are here, which stay; 2 were made with \
             other options or another toolchain, and are not used now"
        );
    }
}
