//! Finds the code of source functions: whether anything refers to it, and from which changed functions it is reachable.
//!
//! A function is identified by names in its symbol. Too many symbols may count as its code, never too few. Code that
//! the compiler has inlined into callers has no symbol.

use super::digest::Hash;
use super::names;
use super::program::Program;
use super::reach::{Forward, leading_to_each, sources};
use super::unit::Kind;
use perfunit_model::Sides;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// Name of a source function as it occurs in a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName<'a> {
    pub ident: &'a str,
    /// Enclosing types or traits, one of which is also in the symbol; empty if there are none.
    pub around: Vec<&'a str>,
}

impl SourceName<'_> {
    /// Checks whether a symbol with these words, which include the function's name, may belong to the function or to a
    /// closure in it.
    fn may_be(&self, words: &BTreeSet<&str>) -> bool {
        self.around.is_empty() || self.around.iter().any(|name| words.contains(name))
    }
}

/// Index of functions by name.
struct Finder<'a> {
    wanted: &'a [SourceName<'a>],
    by_ident: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Finder<'a> {
    fn new(wanted: &'a [SourceName<'a>]) -> Self {
        let mut by_ident: HashMap<&str, Vec<usize>> = HashMap::new();
        wanted.iter().enumerate().for_each(|(index, name)| by_ident.entry(name.ident).or_default().push(index));
        Self { wanted, by_ident }
    }

    fn of(&self, symbol: &str) -> Vec<usize> {
        // Symbols contain names verbatim in every mangling scheme. Searching for a few names is faster than demangling.
        const FEW: usize = 16;
        if self.by_ident.len() <= FEW && !self.by_ident.keys().any(|ident| symbol.contains(ident)) {
            return Vec::new();
        }
        let readable = names::stable(symbol);
        let words: BTreeSet<&str> = readable.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let named = words.iter().filter_map(|word| self.by_ident.get(word)).flatten().copied();
        named.filter(|index| self.wanted[*index].may_be(&words)).collect()
    }
}

/// Returns the indices of the functions that a symbol, or a closure in it, may belong to.
pub fn named_by(symbol: &str, wanted: &[SourceName<'_>]) -> Vec<usize> {
    Finder::new(wanted).of(symbol)
}

/// Facts about the machine code of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCode {
    /// True if a test, or code that runs before tests, refers to its code.
    pub is_reached: bool,
    /// Indices of the `places` from which its code is reachable.
    pub behind: Vec<usize>,
    /// True if its code differs between the versions, but nothing refers to it.
    pub is_aside: bool,
    /// True if only closures in it are among the `places`: runs that execute none of these may execute the function.
    pub differs_in_closures: bool,
}

/// Examines the code of each function in head's program. `places` are the symbols of functions at which the two
/// versions can start to differ.
pub fn functions(
    programs: &Sides<Program>,
    wanted: &[SourceName<'_>],
    places: &[&BTreeSet<String>],
) -> Vec<FunctionCode> {
    let program = &programs.head;
    let mut found = vec![FunctionCode::default(); wanted.len()];
    if wanted.is_empty() {
        return found;
    }
    let mut by_symbol: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, symbols) in places.iter().enumerate() {
        symbols.iter().for_each(|symbol| by_symbol.entry(symbol).or_default().push(place));
    }
    let finder = Finder::new(wanted);
    let mut atoms: Vec<Vec<u32>> = vec![Vec::new(); wanted.len()];
    // For each function, whether a place is its own code, and whether one is a closure's.
    let mut differs = vec![(false, false); wanted.len()];
    let mut begins = vec![Vec::new(); places.len()];
    let reached = Forward::of(program, &program.starts());
    for atom in (0..program.node_count()).filter(|atom| reached.holds(*atom) && program.kind(*atom) == Kind::Code) {
        for symbol in program.symbols(atom) {
            let at = by_symbol.get(symbol);
            at.into_iter().flatten().for_each(|place| begins[*place].push(atom));
            for index in finder.of(symbol) {
                atoms[index].push(atom);
                if at.is_some() {
                    let (own, closures) = &mut differs[index];
                    *if names::is_closure(symbol) { closures } else { own } = true;
                }
            }
        }
    }
    let sources = sources(program);
    for (found, atoms) in found.chunks_mut(MASK).zip(atoms.chunks(MASK)) {
        let leads = leading_to_each(&sources, atoms);
        for (bit, (found, atoms)) in found.iter_mut().zip(atoms).enumerate() {
            found.is_reached = !atoms.is_empty();
            let is_before = |place: &usize| begins[*place].iter().any(|atom| leads[*atom as usize] >> bit & 1 == 1);
            found.behind = (0..places.len()).filter(is_before).collect();
        }
    }
    for (found, (own, closures)) in found.iter_mut().zip(differs) {
        found.differs_in_closures = closures && !own;
    }
    let all = programs.as_ref().map(|program| identities(program, wanted));
    for (found, (base, head)) in found.iter_mut().zip(all.base.iter().zip(&all.head)) {
        found.is_aside = !found.is_reached && base != head;
    }
    found
}

/// Returns the identities of all code of each function, referenced or not.
fn identities(program: &Program, wanted: &[SourceName<'_>]) -> Vec<BTreeSet<Hash>> {
    let finder = Finder::new(wanted);
    let mut found = vec![BTreeSet::new(); wanted.len()];
    for atom in (0..program.node_count()).filter(|atom| program.kind(*atom) == Kind::Code) {
        for symbol in program.symbols(atom) {
            finder.of(symbol).into_iter().for_each(|index| found[index].extend([program.identity(atom).0]));
        }
    }
    found
}

/// Number of functions to search in one walk.
const MASK: usize = u64::BITS as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_by_its_name_and_by_what_is_around_it() {
        let check = |ident: &str, around: &[&str], symbol: &str, expected: bool| {
            let wanted = [SourceName { ident, around: around.to_vec() }];
            assert_eq!(Finder::new(&wanted).of(symbol) == [0], expected, "{ident} {symbol}");
            // If many names are wanted, symbols are demangled.
            let others: Vec<String> = (0..20).map(|n| format!("other{n}")).collect();
            let others = others.iter().map(|ident| SourceName { ident, around: Vec::new() });
            let wanted: Vec<SourceName<'_>> = wanted.into_iter().chain(others).collect();
            assert_eq!(Finder::new(&wanted).of(symbol) == [0], expected, "{ident} {symbol}");
        };
        check("foo", &[], "_RNvCs1234_7mycrate3foo", true);
        check("fo", &[], "_RNvCs1234_7mycrate3foo", false);
        check("foo", &[], "_ZN7mycrate3foo28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", true);
        check(
            "next",
            &["Steps", "Iterator"],
            "_ZN49_$LT$a..Steps$u20$as$u20$core..iter..Iterator$GT$4next17h0123456789abcdefE",
            true,
        );
        check("next", &["Others"], "_ZN7mycrate5Steps4next17h0123456789abcdefE", false);
    }

    #[test]
    fn each_goal_has_a_bit_in_all_that_leads_to_it() {
        // 0 -> 1 -> 2, 3 -> 1, 2 -> 0
        let sources = [vec![2], vec![0, 3], vec![1], vec![]];
        assert_eq!(leading_to_each(&sources, &[vec![2], vec![3], vec![]]), [1, 1, 1, 3]);
    }
}
