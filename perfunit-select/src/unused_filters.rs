//! Finds filters that match no test. They usually contain a typo and are always reported.

use super::scope::{Filter, Scope};
use super::target_selection::TargetSelection;
use perfunit_model::suggest;
use perfunit_model::{Among, Generated, TargetId, TestId, Unused, Warning};
use std::collections::BTreeSet;

/// Returns a warning for each unused filter. `found` are all tests of the built targets; `calls` says whether generated
/// workloads are compared too.
pub fn unused_filters(
    selected: &TargetSelection,
    scope: &Scope,
    found: &BTreeSet<&TestId>,
    calls: Generated,
) -> Vec<Warning> {
    let found: Vec<&TestId> = found.iter().copied().collect();
    if found.is_empty() {
        return Vec::new();
    }
    let among = Among { tests: found.len(), only_reached: !is_built(selected) };
    let mut unused = names(&selected.rules.filter, &found, among);
    let idle = selected.rules.idle(&found, calls).into_iter();
    unused.extend(idle.map(|(text, from)| Unused::Filterset { text, from, among }));
    // The tests of targets that were not built are unknown.
    if !among.only_reached && scope.is_everything() {
        unused.extend(selected.rules.useless(&found, calls));
    }
    unused.into_iter().map(Warning::Unused).collect()
}

/// Checks whether every target of the workspace with tests was built.
fn is_built(selected: &TargetSelection) -> bool {
    let members = selected.workspace.members();
    let tested: BTreeSet<&TargetId> =
        members.flat_map(|package| &package.targets).filter(|target| target.tested).map(|target| &target.id).collect();
    tested.iter().all(|target| selected.targets.contains_key(*target) || selected.without_tests.contains(*target))
}

/// Returns the names from the command line that match no test.
fn names(filter: &Filter, tests: &[&TestId], among: Among) -> Vec<Unused> {
    let idle = filter.names.iter().filter(|name| {
        let alone = Filter { names: vec![(*name).clone()], exact: filter.exact, ..Filter::default() };
        !tests.iter().any(|test| alone.takes(&test.name))
    });
    let unused = |name: &String| {
        let near = suggest::near(name, tests.iter().map(|test| test.name.as_str()), "::");
        let near = near.into_iter().map(str::to_owned).collect();
        Unused::Name { name: name.clone(), exact: filter.exact, near, among }
    };
    idle.map(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::TargetKind;

    #[test]
    fn names_that_no_test_has_are_told_with_near_ones() {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let tests =
            ["parser::long", "parser::short"].map(|name| TestId { target: target.clone(), name: name.to_owned() });
        let tests: Vec<&TestId> = tests.iter().collect();
        let check = |name: &str, exact, only_reached, expected: &[&str]| {
            let filter = Filter { names: vec![name.to_owned()], exact, ..Filter::default() };
            let unused = names(&filter, &tests, Among { tests: 2, only_reached });
            assert_eq!(unused.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        };
        check("long", false, false, &[]);
        check("long", true, false, &["no tests are called `long`: did you mean parser::long?"]);
        check(
            "lonng",
            false,
            true,
            &["no tests in the targets that the change can reach match `lonng`: did you mean parser::long?"],
        );
        check("xyz", false, false, &["no tests match `xyz`"]);
    }
}
