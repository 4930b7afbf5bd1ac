//! What changed besides the functions that are timed, and how much of a difference it can be behind.
//!
//! A responsible function with unchanged source was made slower by something else: a dependency, a setting, code of the project
//! without a probe. Which of these it was the figures cannot tell; which of them can reach the function, the packages can.

use super::assemble::Known;
use super::attribution::{Attribution, Part};
use crate::measure::ROOT;
use crate::model::{Cause, Changed, Explanation, Function, Side};
use std::collections::BTreeSet;

/// What can be behind less than this part of the test's difference is not named.
const LEAST_SHARE: f64 = 0.05;

/// What changed, whoever is explained.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Everything that can be behind the time of functions that did not change.
    pub suspects: Vec<Suspect>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    pub changed: Changed,
    /// The packages whose functions it can reach.
    pub packages: BTreeSet<String>,
    /// File and name, if it is a function of the workspace: where that has a probe it is attributed by itself.
    pub function: Option<(String, String)>,
}

impl Suspect {
    /// Whether it is code of the workspace's members.
    fn is_own_code(&self) -> bool {
        matches!(self.changed, Changed::Code { .. })
    }
}

/// Adds the causes to an explanation, those that can be behind the largest part first, and whether code of the project
/// changed at all.
pub fn add_causes(explanation: &mut Explanation, attribution: &Attribution, known: &Known<'_>, facts: &Facts) {
    let package = &known.test.target.package;
    let reaching: Vec<&Suspect> = facts.suspects.iter().filter(|suspect| suspect.packages.contains(package)).collect();
    explanation.code_changed = Some(reaching.iter().any(|suspect| suspect.is_own_code()));
    if !attribution.whole.is_certain() {
        return;
    }
    let parts = unchanged(attribution, known);
    let share = |suspect: &Suspect| -> f64 {
        parts.iter().filter(|part| suspect.packages.contains(part.package)).map(|part| part.share).sum()
    };
    let causes = reaching
        .into_iter()
        .filter(|suspect| !is_timed(suspect, known))
        .map(|suspect| Cause { changed: suspect.changed.clone(), share: share(suspect) });
    explanation.causes = causes.filter(|cause| cause.share >= LEAST_SHARE).collect();
    explanation.causes.sort_by(|a, b| b.share.total_cmp(&a.share));
}

/// What is attributed to an unchanged function.
struct Unchanged<'a> {
    package: &'a str,
    /// Of the test's difference.
    share: f64,
}

/// What is certainly attributed to functions whose source is the same, and of the test, whose code both versions share.
fn unchanged<'a>(attribution: &Attribution, known: &'a Known<'_>) -> Vec<Unchanged<'a>> {
    let certain = attribution.parts.iter().filter(|part| part.change.is_certain());
    certain
        .filter_map(|part| {
            let package = package_of(part, known)?;
            Some(Unchanged { package, share: attribution.share(part) })
        })
        .collect()
}

/// The package of a function, unless its source changed.
fn package_of<'a>(part: &Part, known: &'a Known<'_>) -> Option<&'a str> {
    if part.key == ROOT {
        return Some(&known.test.target.package);
    }
    let functions = known.functions;
    let function = functions.head.get(&part.key).or_else(|| functions.base.get(&part.key))?;
    (known.changed)(function).is_none().then_some(&function.package)
}

/// Whether it is a function with a probe.
fn is_timed(suspect: &Suspect, known: &Known<'_>) -> bool {
    let Some((file, name)) = &suspect.function else { return false };
    let is = |function: &Function| function.file == *file && is_end(&function.name, name);
    Side::BOTH.iter().any(|side| known.functions.get(*side).values().any(is))
}

/// Whether the name in a file is the end of one with its modules.
fn is_end(full: &str, name: &str) -> bool {
    full.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::assemble::told;
    use crate::explain::{Merged, attribute, differences};
    use crate::measure::{Recorded, RecordedNode};
    use crate::model::{Engine, Sides, Strategy, TargetId, TargetKind, TestId};
    use std::collections::BTreeMap;

    /// Own times on base and head by key: the test 0, `app::run` 2 calls `app::parse` 3 and `codec::read` 4.
    fn explained(times: [[f64; 2]; 4], changed: &str, facts: &Facts) -> Explanation {
        let tree = |side: usize| {
            let node = |key: u64, parent: usize, calls: f64, index: usize| RecordedNode {
                key,
                parent,
                calls,
                recursions: 0.0,
                self_cost: times[index][side],
            };
            Recorded { nodes: vec![node(ROOT, 0, 0.0, 0), node(2, 0, 1.0, 1), node(3, 1, 1.0, 2), node(4, 1, 1.0, 3)] }
        };
        let mut merged = Merged::default();
        (0..4).for_each(|_| merged.add(&Sides { base: tree(0), head: tree(1) }));
        let function = |package: &str, name: &str| Function {
            package: package.into(),
            file: format!("{package}/src/lib.rs"),
            line: 1,
            name: name.into(),
        };
        let functions = BTreeMap::from([
            (2, function("app", "run")),
            (3, function("app", "text::parse")),
            (4, function("codec", "read")),
        ]);
        let functions = Sides { base: functions.clone(), head: functions };
        let target = TargetId { package: "app".into(), kind: TargetKind::Lib, name: "app".into() };
        let test = TestId { target, name: "t".into() };
        let known = Known {
            test: &test,
            engine: Engine::Probes,
            strategy: Strategy::Complete,
            seconds: 0.0,
            plain_base_ns: Some(100.0),
            probe_cost: Sides { base: 0.0, head: 0.0 },
            functions: &functions,
            overflow: 0,
            without_probe: BTreeMap::new(),
            changed: &|function| (function.name == changed).then(|| "changed".to_owned()),
        };
        let attribution = attribute(&merged, 0.01).unwrap();
        let mut explanation = told(&merged, &differences(&merged, 0.01).unwrap(), &attribution, &known);
        add_causes(&mut explanation, &attribution, &known, facts);
        explanation
    }

    fn dependency(name: &str, packages: &[&str]) -> Suspect {
        let versions = |version: &str| vec![version.to_owned()];
        suspect(Changed::Dependency { package: name.into(), base: versions("1"), head: versions("2") }, packages)
    }

    fn suspect(changed: Changed, packages: &[&str]) -> Suspect {
        Suspect { changed, packages: packages.iter().map(ToString::to_string).collect(), function: None }
    }

    fn code(file: &str, name: &str) -> Suspect {
        let function = Some((file.to_owned(), name.to_owned()));
        Suspect { function, ..suspect(Changed::Code { item: format!("changed {name}") }, &["app"]) }
    }

    #[track_caller]
    fn check(explanation: &Explanation, expected: &[(&str, f64)]) {
        let found: Vec<_> = explanation.causes.iter().map(|cause| (cause.changed.to_string(), cause.share)).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((found, share), (name, expected)) in found.iter().zip(expected) {
            assert!(found == name && (share - expected).abs() < 1e-9, "{found} {share}");
        }
    }

    /// `read` pays 60 ns, `parse` 30 ns, the test 10 ns.
    const SLOWER: [[f64; 2]; 4] = [[10.0, 20.0], [5.0, 5.0], [10.0, 40.0], [10.0, 70.0]];

    #[test]
    fn a_dependency_can_be_behind_those_that_depend_on_it() {
        let facts = Facts { suspects: vec![dependency("memchr", &["app", "codec"]), dependency("serde", &["app"])] };
        let found = explained(SLOWER, "", &facts);
        check(&found, &[("memchr 1 -> 2", 1.0), ("serde 1 -> 2", 0.4)]);
        assert_eq!(found.code_changed, Some(false));
    }

    #[test]
    fn who_changed_pays_for_himself() {
        let facts = Facts { suspects: vec![dependency("memchr", &["app", "codec"]), code("app/src/lib.rs", "parse")] };
        let found = explained(SLOWER, "text::parse", &facts);
        check(&found, &[("memchr 1 -> 2", 0.7)]);
        assert_eq!(found.code_changed, Some(true));
    }

    #[test]
    fn code_without_a_probe_can_be_behind_it() {
        let facts = Facts { suspects: vec![code("app/src/lib.rs", "LIMIT"), code("app/src/other.rs", "parse")] };
        check(&explained(SLOWER, "", &facts), &[("changed LIMIT", 0.4), ("changed parse", 0.4)]);
    }

    #[test]
    fn what_cannot_reach_the_test_is_not_named() {
        let facts = Facts { suspects: vec![dependency("other", &["codec"])] };
        check(&explained(SLOWER, "", &facts), &[]);
    }

    #[test]
    fn without_a_difference_nothing_is_behind_it() {
        let facts = Facts { suspects: vec![dependency("memchr", &["app", "codec"])] };
        check(&explained([[10.0; 2]; 4], "", &facts), &[]);
    }
}
