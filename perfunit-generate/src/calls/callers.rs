//! Callers of a function that must not be called directly.

use super::functions::Callable;
use super::maker::Maker;
use std::collections::BTreeSet;

/// Longest chain of callers.
const LONGEST_WAY: usize = 4;
const MOST: usize = 4;

/// Returns callers that accept any arguments, nearest first. Calls are recognized by name only, so a trial must show
/// that the function is executed.
pub fn callers<'m>(maker: &'m Maker<'_>, callable: &Callable) -> Vec<&'m Callable> {
    let index = maker.names.index;
    let mut seen = BTreeSet::from([callable.id]);
    let mut front = vec![callable.id];
    let mut found: Vec<&Callable> = Vec::new();
    for _ in 0..LONGEST_WAY {
        let idents: BTreeSet<&str> = front.iter().map(|id| index.functions[*id].ident.as_str()).collect();
        let mut next: Vec<usize> = (0..index.functions.len())
            .filter(|id| !seen.contains(id) && !index.functions[*id].is_test)
            .filter(|id| maker.invariants.is_named_in(*id, &idents))
            .collect();
        next.sort_by_key(|id| index.functions[*id].module != index.functions[callable.id].module);
        seen.extend(&next);
        for id in &next {
            let caller = &maker.callables[*id];
            if !caller.is_unsafe && !maker.invariants.may_break(caller) {
                found.push(caller);
            }
        }
        if found.len() >= MOST || next.is_empty() {
            break;
        }
        front = next;
    }
    found.truncate(MOST);
    found
}
