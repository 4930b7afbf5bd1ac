//! Functions that are the same although their keys are not: moved to another file, or below a changed `impl` header.

use perfunit_model::{Function, Sides};
use std::collections::BTreeMap;

/// Functions of both versions by the keys of their sites.
type Known = BTreeMap<u64, Function>;

/// Head's keys of functions that base knows by another key, with that. Of one name on both sides, in one package, and only
/// if there is no other such: first by the name with its modules, then by that of type and function.
pub fn renamed(known: &Sides<Known>) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    for name in [whole_name, short_name] {
        let gone =
            by_name(&known.base, |key| !known.head.contains_key(&key) && !found.values().any(|old| *old == key), name);
        let new = by_name(&known.head, |key| !known.base.contains_key(&key) && !found.contains_key(&key), name);
        for (name, old) in &gone {
            if let ([old], Some([new])) = (&old[..], new.get(name).map(Vec::as_slice)) {
                found.insert(*new, *old);
            }
        }
    }
    found
}

fn by_name(
    known: &Known,
    takes: impl Fn(u64) -> bool,
    name: fn(&Function) -> &str,
) -> BTreeMap<(&str, &str), Vec<u64>> {
    let mut found = BTreeMap::<_, Vec<u64>>::new();
    for (key, function) in known.iter().filter(|(key, _)| takes(**key)) {
        found.entry((function.package.as_str(), name(function))).or_default().push(*key);
    }
    found
}

fn whole_name(function: &Function) -> &str {
    &function.name
}

fn short_name(function: &Function) -> &str {
    let parts = function.name.rmatch_indices("::").nth(1);
    parts.map_or(&function.name, |(at, separator)| &function.name[at + separator.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(functions: &[(u64, &str)]) -> Known {
        let function = |name: &str| Function {
            package: "p".to_owned(),
            file: "src/lib.rs".to_owned(),
            line: 1,
            name: name.to_owned(),
        };
        functions.iter().map(|(key, name)| (*key, function(name))).collect()
    }

    #[track_caller]
    fn check(base: &[(u64, &str)], head: &[(u64, &str)], expected: &[(u64, u64)]) {
        let found = renamed(&Sides { base: known(base), head: known(head) });
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_has_another_key_is_known_by_its_name() {
        check(&[(1, "a::T::f"), (2, "g")], &[(3, "a::T::f"), (2, "g")], &[(3, 1)]);
        // Moved to another module.
        check(&[(1, "a::T::f")], &[(3, "b::c::T::f")], &[(3, 1)]);
        check(&[(1, "a::T::f"), (2, "b::T::f")], &[(3, "a::T::f"), (4, "c::T::f")], &[(3, 1), (4, 2)]);
    }

    #[test]
    fn of_several_with_one_name_none_is_known() {
        check(&[(1, "T::f"), (2, "T::f")], &[(3, "T::f"), (4, "T::f")], &[]);
        check(&[(1, "T::f")], &[(1, "T::f"), (3, "T::f")], &[]);
        check(&[(1, "T::f")], &[(3, "T::g")], &[]);
    }
}
