//! What changed besides the functions that are timed, and how much of a difference it can be behind.
//!
//! A responsible function with unchanged source was made slower by something else: a dependency, a setting, code of the project
//! without a probe. Which of these it was the figures cannot tell; which of them can reach the function, the packages can.

use super::assemble::{Known, OfTest, function_of};
use super::attribution::{Attribution, Part};
use perfunit_measure::ROOT;
use perfunit_model::{Cause, ChangeKind, Changed, CodeChange, Explanation, Function, Side};
use std::borrow::Cow;
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
    /// Where it is, if it is an item of a member.
    pub place: Option<ItemPlace>,
}

/// An item of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPlace {
    pub file: String,
    /// Inline modules, type or trait, and name.
    pub name: String,
    /// What other code calls it.
    pub ident: String,
    /// A function with a probe is attributed by itself.
    pub is_function: bool,
}

/// What is the likelier cause comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// The source of a slower or faster function names it.
    Named,
    SameFile,
    Elsewhere,
    /// Elsewhere, and in one version only.
    NewOrGone,
}

impl Suspect {
    /// Whether it is code of the workspace's members.
    fn is_own_code(&self) -> bool {
        matches!(self.changed, Changed::Code(_))
    }

    /// How near it is to functions that it can reach.
    fn nearness(&self, reached: &[&Unchanged<'_>]) -> Nearness {
        let Some(place) = &self.place else { return Nearness::Elsewhere };
        if reached.iter().any(|part| part.names.binary_search(&place.ident).is_ok()) {
            return Nearness::Named;
        }
        if reached.iter().any(|part| part.file == Some(place.file.as_str())) {
            return Nearness::SameFile;
        }
        match &self.changed {
            // Who uses it now, or did, has changed, too.
            Changed::Code(CodeChange {
                change: ChangeKind::Added | ChangeKind::Removed | ChangeKind::Moved, ..
            }) => Nearness::NewOrGone,
            _ => Nearness::Elsewhere,
        }
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
    let of_test = (known.of_test)();
    let parts = unchanged(attribution, known, of_test.as_ref());
    let causes = reaching.into_iter().filter(|suspect| !is_timed(suspect, known)).map(|suspect| {
        let reached: Vec<_> = parts.iter().filter(|part| suspect.packages.contains(part.package)).collect();
        let share = reached.iter().map(|part| part.share).sum();
        (Cause { changed: suspect.changed.clone(), share }, suspect.nearness(&reached))
    });
    let mut causes: Vec<_> = causes.filter(|(cause, _)| cause.share >= LEAST_SHARE).collect();
    causes.sort_by(|(a, near), (b, nearer)| b.share.total_cmp(&a.share).then(near.cmp(nearer)));
    explanation.causes = causes.into_iter().map(|(cause, _)| cause).collect();
}

/// What is attributed to an unchanged function.
struct Unchanged<'a> {
    package: &'a str,
    /// `None` for a test that is not found.
    file: Option<&'a str>,
    /// In its source, sorted.
    names: Cow<'a, [String]>,
    /// Of the test's difference.
    share: f64,
}

/// What is certainly attributed to functions whose source is the same, and of the test, whose code both versions share.
fn unchanged<'a>(attribution: &Attribution, known: &'a Known<'_>, of_test: Option<&'a OfTest>) -> Vec<Unchanged<'a>> {
    let certain = attribution.parts.iter().filter(|part| part.change.is_certain());
    certain
        .filter_map(|part| {
            let share = attribution.share(part);
            if part.key == ROOT {
                let file = of_test.map(|test| test.file.as_str());
                let names = Cow::Borrowed(of_test.map_or(&[][..], |test| &test.names));
                return Some(Unchanged { package: &known.test.target.package, file, names, share });
            }
            let function = unchanged_function(part, known)?;
            let names = Cow::Owned((known.names)(function));
            Some(Unchanged { package: &function.package, file: Some(&function.file), names, share })
        })
        .collect()
}

/// The function, unless its source changed.
fn unchanged_function<'a>(part: &Part, known: &'a Known<'_>) -> Option<&'a Function> {
    let function = function_of(known.functions, part.key)?;
    (known.changed)(function).is_none().then_some(function)
}

/// Whether it is a function with a probe.
fn is_timed(suspect: &Suspect, known: &Known<'_>) -> bool {
    let Some(place) = suspect.place.as_ref().filter(|place| place.is_function) else { return false };
    let is = |function: &Function| function.file == place.file && function.is_named(&place.name);
    Side::BOTH.iter().any(|side| known.functions.get(*side).values().any(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::{told, unless_contrary};
    use crate::{Merged, attribute, differences};
    use perfunit_measure::{Recorded, RecordedNode};
    use perfunit_model::{Engine, ExplanationNote, Sides, Strategy, TargetId, TargetKind, TestId};
    use std::collections::BTreeMap;

    /// Own times on base and head by key: the test 0, `app::run` 2 calls `app::parse` 3 and `codec::read` 4.
    fn explained(times: [[f64; 2]; 4], changed: &str, facts: &Facts) -> Explanation {
        let tree = |side: usize| {
            let node = |key: u64, parent: usize, calls: f64, index: usize| RecordedNode {
                parent,
                calls,
                self_cost: times[index][side],
                ..RecordedNode::root(key)
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
            changed: &|function| (function.name == changed).then_some(ChangeKind::Changed),
            names: &|function| if function.name == "run" { vec!["LIMIT".to_owned()] } else { Vec::new() },
            of_test: &|| Some(OfTest { file: "app/tests/t.rs".to_owned(), names: vec!["checked".to_owned()] }),
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
        Suspect { changed, packages: packages.iter().map(ToString::to_string).collect(), place: None }
    }

    fn code(file: &str, name: &str) -> Suspect {
        item(file, name, ChangeKind::Changed)
    }

    fn item(file: &str, name: &str, change: ChangeKind) -> Suspect {
        let is_function = name != "LIMIT";
        let place = Some(ItemPlace { file: file.into(), name: name.into(), ident: name.into(), is_function });
        let changed = CodeChange { change, item: name.into(), path: file.into(), line: 3 };
        Suspect { place, ..suspect(Changed::Code(changed), &["app"]) }
    }

    fn short(changed: &Changed) -> String {
        match changed {
            Changed::Dependency { package, .. } => package.clone(),
            Changed::Code(CodeChange { change, item, .. }) => format!("{change} {item}"),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(explanation: &Explanation, expected: &[(&str, f64)]) {
        let found: Vec<_> = explanation.causes.iter().map(|cause| (short(&cause.changed), cause.share)).collect();
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
        check(&found, &[("memchr", 1.0), ("serde", 0.4)]);
        assert_eq!(found.code_changed, Some(false));
    }

    #[test]
    fn who_changed_pays_for_himself() {
        let facts = Facts { suspects: vec![dependency("memchr", &["app", "codec"]), code("app/src/lib.rs", "parse")] };
        let found = explained(SLOWER, "text::parse", &facts);
        check(&found, &[("memchr", 0.7)]);
        assert_eq!(found.code_changed, Some(true));
    }

    #[test]
    fn code_without_a_probe_can_be_behind_it() {
        let facts = Facts { suspects: vec![code("app/src/lib.rs", "LIMIT"), code("app/src/other.rs", "parse")] };
        check(&explained(SLOWER, "", &facts), &[("changed LIMIT", 0.4), ("changed parse", 0.4)]);
    }

    /// The time of `run` and `parse` differs; `run` names `LIMIT`.
    #[test]
    fn the_likelier_cause_comes_first() {
        let item = |file: &str, name: &str, change| item(file, name, change);
        let suspects = vec![
            item("app/src/old.rs", "gone", ChangeKind::Removed),
            item("app/src/other.rs", "other", ChangeKind::Changed),
            item("app/src/lib.rs", "beside", ChangeKind::Removed),
            item("app/src/other.rs", "LIMIT", ChangeKind::Added),
        ];
        let times = [[10.0, 10.0], [5.0, 65.0], [10.0, 40.0], [10.0, 10.0]];
        let expected = [("added LIMIT", 1.0), ("removed beside", 1.0), ("changed other", 1.0), ("removed gone", 1.0)];
        check(&explained(times, "", &Facts { suspects }), &expected);
    }

    /// The time of the test differs, which names `checked`.
    #[test]
    fn what_the_test_names_comes_first_where_its_own_code_is_slower() {
        let suspects = vec![
            item("app/src/lib.rs", "LIMIT", ChangeKind::Changed),
            item("app/tests/t.rs", "beside", ChangeKind::Changed),
            item("app/src/other.rs", "checked", ChangeKind::Changed),
        ];
        let times = [[10.0, 70.0], [5.0, 5.0], [10.0, 10.0], [10.0, 10.0]];
        let expected = [("changed checked", 1.0), ("changed beside", 1.0), ("changed LIMIT", 1.0)];
        check(&explained(times, "", &Facts { suspects }), &expected);
    }

    #[test]
    fn a_difference_that_goes_the_other_way_explains_nothing() {
        let explanation =
            || explained(SLOWER, "text::parse", &Facts { suspects: vec![dependency("memchr", &["codec"])] });
        assert_eq!(unless_contrary(explanation(), 0.01), explanation());
        let contrary = unless_contrary(explanation(), -0.01);
        assert!(contrary.why_nobody().is_some() && !explanation().responsible.is_empty(), "{contrary:?}");
        assert!(matches!(contrary.notes[0], ExplanationNote::OtherWay { change, .. } if change > 1.0), "{contrary:?}");
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
