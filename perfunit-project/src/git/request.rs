//! The two versions as typed on the command line.

use perfunit_model::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What the user asked to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// `[BASE] [--head HEAD]`, also `BASE...HEAD`: the merge base of the two against head, where absent parts are chosen.
    Against {
        /// The branch or commit whose merge base with head is the base; none: see the `default` module.
        base: Option<String>,
        /// The commit under test; none: the working tree.
        head: Option<String>,
    },
    /// `BASE..HEAD`: exactly this commit as base.
    Range {
        /// The commit compared against.
        base: String,
        /// The commit under test; none: the working tree.
        head: Option<String>,
    },
}

impl Default for Request {
    /// As if nothing was typed.
    fn default() -> Self {
        Self::Against { base: None, head: None }
    }
}

impl Request {
    /// Whether head is the working tree.
    pub fn is_head_live(&self) -> bool {
        matches!(self, Request::Against { head: None, .. } | Request::Range { head: None, .. })
    }

    /// Exactly this commit as base, against the same head.
    #[must_use]
    pub fn since(&self, base: &str) -> Request {
        let (Request::Against { head, .. } | Request::Range { head, .. }) = self;
        Request::Range { base: base.to_owned(), head: head.clone() }
    }

    /// Reads the positional argument and `--head`. As in git, an end left out of a range is `HEAD`.
    pub fn parse(base: Option<&str>, head: Option<&str>) -> Result<Request> {
        let range = base.and_then(|base| {
            let symmetric = base.split_once("...").map(|ends| (ends, true));
            symmetric.or_else(|| base.split_once("..").map(|ends| (ends, false)))
        });
        match (range, head) {
            (_, Some("")) => Err(Error::usage("--head needs a revision")),
            (Some(_), Some(_)) => Err(Error::usage("a range names both versions")
                .hint("leave out --head, or write BASE instead of BASE..HEAD")),
            (Some(((base, head), true)), None) => Ok(Request::Against { base: Some(end(base)), head: Some(end(head)) }),
            (Some(((base, head), false)), None) => Ok(Request::Range { base: end(base), head: Some(end(head)) }),
            (None, _) if base == Some("") => Err(Error::usage("the version to compare with is empty")),
            (None, _) => Ok(Request::Against { base: base.map(str::to_owned), head: head.map(str::to_owned) }),
        }
    }
}

fn end(revision: &str) -> String {
    if revision.is_empty() { "HEAD".to_owned() } else { revision.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: Option<&str>, head: Option<&str>, expected: &str) {
        let shown = match Request::parse(base, head) {
            Ok(Request::Against { base, head }) => format!("{} against {}", show(head), show(base)),
            Ok(Request::Range { base, head }) => format!("exactly {base} to {}", show(head)),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(shown, expected);
    }

    fn show(revision: Option<String>) -> String {
        revision.unwrap_or_else(|| "?".to_owned())
    }

    #[test]
    fn absent_parts_are_left_to_the_choice() {
        check(None, None, "? against ?");
        check(Some("main"), None, "? against main");
        check(None, Some("v2"), "v2 against ?");
        check(Some("main"), Some("v2"), "v2 against main");
    }

    #[test]
    fn two_dots_are_exact_and_three_mean_the_merge_base() {
        check(Some("a..b"), None, "exactly a to b");
        check(Some("a...b"), None, "b against a");
    }

    #[test]
    fn another_base_has_the_same_head() {
        let since = |request: Request| request.since("c");
        let live = since(Request::default());
        assert!(live.is_head_live() && live == Request::Range { base: "c".to_owned(), head: None });
        let commit = since(Request::parse(Some("a..b"), None).unwrap());
        assert!(
            !commit.is_head_live() && commit == Request::Range { base: "c".to_owned(), head: Some("b".to_owned()) }
        );
    }

    #[test]
    fn an_open_end_is_head() {
        check(Some("a.."), None, "exactly a to HEAD");
        check(Some("...b"), None, "b against HEAD");
    }

    #[test]
    fn contradictions_are_usage_errors() {
        check(Some("a..b"), Some("c"), "a range names both versions");
        check(Some(""), None, "the version to compare with is empty");
        check(None, Some(""), "--head needs a revision");
    }
}
