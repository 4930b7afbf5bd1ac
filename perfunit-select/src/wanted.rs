//! Which tests the user wants.

use perfunit_model::{Ignored, TargetKind};
use perfunit_project::cargo::{Package, Target, Workspace};
use perfunit_project::config::{Rules, Terms};
use serde::{Deserialize, Serialize};

/// All that decides which tests are taken, besides the change.
pub struct Wanted<'a> {
    /// Whether head is the user's tree as it is.
    pub is_head_live: bool,
    pub scope: &'a Scope,
    pub filter: &'a Filter,
    pub rules: &'a Rules,
    /// Take all tests in scope, whether the change reaches them or not.
    pub all_tests: bool,
    /// The terms of a test of which nothing else is said.
    pub terms: Terms,
}

impl Wanted<'_> {
    /// Adds the targets that a run takes on request only: doc tests, and benchmarks where `has_benches` finds some.
    pub fn complete(&self, workspace: &mut Workspace, has_benches: &dyn Fn(&Package, &Target) -> bool) {
        if self.scope.asks_for(TargetKind::Doctest) {
            workspace.add_doctests();
        }
        if self.scope.asks_for(TargetKind::Bench) {
            let all = self.scope.targets.contains(&(TargetKind::Bench, None));
            workspace.add_benches(all, has_benches);
        }
    }
}

/// Cargo's package and target selection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// `-p`; empty for cargo's default.
    pub packages: Vec<String>,
    pub workspace: bool,
    pub exclude: Vec<String>,
    /// The kinds and names that were asked for; empty for all.
    pub targets: Vec<(TargetKind, Option<String>)>,
}

impl Scope {
    /// Doc tests and benchmarks are measured on request only.
    pub fn asks_for(&self, wanted: TargetKind) -> bool {
        self.targets.iter().any(|(kind, _)| *kind == wanted)
    }

    /// True if nothing of the workspace was left out.
    pub fn is_everything(&self) -> bool {
        self.workspace && self.exclude.is_empty() && self.targets.is_empty()
    }
}

/// Test names to take.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Filter {
    /// Take tests that contain one of these; all if empty.
    pub names: Vec<String>,
    /// Of those, tests that one of these filtersets takes; all if empty.
    pub expressions: Vec<String>,
    /// The names must be equal, not contained.
    pub exact: bool,
    /// Leave out tests that contain one of these.
    pub skip: Vec<String>,
    pub ignored: Ignored,
}

impl Filter {
    /// True if the name passes.
    pub fn takes(&self, name: &str) -> bool {
        let is = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.names.is_empty() || self.names.iter().any(is)) && !self.skip.iter().any(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_substrings_or_whole_names() {
        let filter = |exact| Filter {
            names: vec!["a::b".to_owned()],
            exact,
            skip: vec!["slow".to_owned()],
            ..Filter::default()
        };
        assert!(filter(false).takes("x::a::bc"));
        assert!(!filter(false).takes("a::b_slow"));
        assert!(filter(true).takes("a::b") && !filter(true).takes("a::bc"));
        assert!(Filter::default().takes("anything"));
    }
}
