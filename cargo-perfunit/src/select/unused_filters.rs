//! Filters that match no test: a typing error more often than not, and never silent.

use super::selected::Selected;
use super::wanted::{Filter, Scope};
use crate::model::{TargetId, TestId};
use crate::system::suggest;
use std::collections::BTreeSet;

/// Says so of each; `found` are all tests of the targets that were built.
pub fn unused_filters(selected: &Selected, scope: &Scope, found: &BTreeSet<&TestId>) -> Vec<String> {
    let found: Vec<&TestId> = found.iter().copied().collect();
    if found.is_empty() {
        return Vec::new();
    }
    let place = if is_built(selected) { "" } else { " in the targets that the change can reach" };
    let mut warnings = names(&selected.rules.filter, &found, place);
    let idle = selected.rules.idle(&found).into_iter();
    warnings.extend(idle.map(|filter| format!("{filter} matches none of the {} tests found{place}", found.len())));
    // Of tests that were not built nothing is known.
    if is_built(selected) && scope.is_everything() {
        warnings.extend(selected.rules.useless(&found));
    }
    warnings
}

/// True if every target with tests of the workspace was built.
fn is_built(selected: &Selected) -> bool {
    let members = selected.workspace.packages.iter().filter(|package| package.member);
    let tested: BTreeSet<&TargetId> =
        members.flat_map(|package| &package.targets).filter(|target| target.tested).map(|target| &target.id).collect();
    tested.iter().all(|target| selected.targets.contains_key(*target))
}

/// Names of the command line that no test has.
fn names(filter: &Filter, tests: &[&TestId], place: &str) -> Vec<String> {
    let idle = filter.names.iter().filter(|name| {
        let alone = Filter { names: vec![(*name).clone()], exact: filter.exact, ..Filter::default() };
        !tests.iter().any(|test| alone.takes(&test.name))
    });
    let warning = |name: &String| {
        let what = if filter.exact { format!("is called `{name}`") } else { format!("has `{name}` in its name") };
        let near = suggest::near(name, tests.iter().map(|test| test.name.as_str()), "::");
        let hint = suggest::hint(&near).map_or_else(String::new, |hint| format!(": {hint}"));
        format!("no test found{place} {what}{hint}")
    };
    idle.map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TargetKind;

    #[test]
    fn names_that_no_test_has_are_told_with_near_ones() {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let tests =
            ["parser::long", "parser::short"].map(|name| TestId { target: target.clone(), name: name.to_owned() });
        let tests: Vec<&TestId> = tests.iter().collect();
        let filter = |name: &str, exact| Filter { names: vec![name.to_owned()], exact, ..Filter::default() };
        assert_eq!(names(&filter("long", false), &tests, ""), [""; 0]);
        assert_eq!(
            names(&filter("long", true), &tests, ""),
            ["no test found is called `long`: did you mean parser::long?"]
        );
        assert_eq!(
            names(&filter("lonng", false), &tests, " here"),
            ["no test found here has `lonng` in its name: did you mean parser::long?"]
        );
        assert_eq!(names(&filter("xyz", false), &tests, ""), ["no test found has `xyz` in its name"]);
    }
}
