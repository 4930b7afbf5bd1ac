//! Assignment of machine-code functions to functions of the source.

use super::profile::{Call, Counted};
use perfunit_model::Function;
use perfunit_select::code::{Inlining, Operations, Origin};
use rustc_demangle::demangle;
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Owner of a function's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The function with this key.
    Function(u64),
    /// The function with this key, which contains the closure.
    Closure(u64),
    /// The test.
    Test,
    /// The caller, for code of std, of unchanged dependencies and of libc.
    Caller,
}

/// A function of the source.
#[derive(Debug, Clone)]
struct Written {
    first: usize,
    last: usize,
    /// Key of the function; `None` for a test.
    key: Option<u64>,
}

/// Functions of the source, as far as they are distinguished.
#[derive(Debug, Default)]
pub struct Owners {
    /// Folder of the build that corresponds to the repository.
    root: PathBuf,
    /// Functions by file of the build, outer ones first.
    written: BTreeMap<PathBuf, Vec<Written>>,
    /// Crates with functions that are distinguished although their places in the sources are unknown, with their
    /// packages.
    crates: BTreeMap<String, String>,
    /// Functions by key.
    functions: BTreeMap<u64, Function>,
}

impl Owners {
    /// Creates the owners for a build in this folder, which corresponds to the repository.
    pub fn below(root: PathBuf) -> Self {
        Self { root, ..Self::default() }
    }

    /// Adds a function of a file of the build.
    pub fn add(&mut self, file: &Path, lines: std::ops::RangeInclusive<usize>, key: u64, function: Function) {
        let written = Written { first: *lines.start(), last: *lines.end(), key: Some(key) };
        self.written.entry(file.to_owned()).or_default().push(written);
        self.functions.insert(key, function);
    }

    /// Adds the function of a test.
    pub fn add_test(&mut self, file: &Path, lines: std::ops::RangeInclusive<usize>) {
        let written = Written { first: *lines.start(), last: *lines.end(), key: None };
        self.written.entry(file.to_owned()).or_default().push(written);
    }

    /// Adds the crate of a package: of the workspace, for code that its macros write, or of a changed dependency.
    pub fn add_crate(&mut self, package: &str) {
        self.crates.insert(package.replace('-', "_"), package.to_owned());
    }

    /// Returns the functions found so far by key.
    pub fn into_functions(self) -> BTreeMap<u64, Function> {
        self.functions
    }

    /// Returns the owner of a function that debug information describes.
    pub fn of_origin(&mut self, origin: &Origin) -> Owner {
        let is_closure = origin.name.starts_with('{');
        let of = |key: u64| if is_closure { Owner::Closure(key) } else { Owner::Function(key) };
        if let Some(functions) = self.written.get(&origin.file) {
            let around = functions.iter().filter(|it| (it.first..=it.last).contains(&origin.line));
            // The innermost function begins last.
            if let Some(written) = around.max_by_key(|it| it.first) {
                return written.key.map_or(Owner::Test, of);
            }
        }
        self.of_name(&origin.symbol, &origin.file, origin.line).map_or(Owner::Caller, of)
    }

    /// Returns the owner of a function of which only the symbol is known.
    pub fn of_symbol(&mut self, symbol: &str) -> Owner {
        let is_closure = demangle(symbol).to_string().contains("{closure");
        match self.of_name(symbol, Path::new(""), 0) {
            Some(key) if is_closure => Owner::Closure(key),
            Some(key) => Owner::Function(key),
            None => Owner::Caller,
        }
    }

    fn of_name(&mut self, symbol: &str, file: &Path, line: usize) -> Option<u64> {
        let full = demangle(symbol).to_string();
        if of_closure(&full).is_some() {
            // std's code around a closure has no owner of its own. The linker merges such code of different functions.
            return None;
        }
        let package = self.crates.get(home(&full)?)?.clone();
        let name = readable(&format!("{:#}", demangle(symbol)));
        let mut hasher = SipHasher13::new();
        hasher.write(package.as_bytes());
        hasher.write(name.as_bytes());
        let key = hasher.finish();
        let file = file.strip_prefix(&self.root).unwrap_or(file).to_string_lossy().into_owned();
        self.functions.entry(key).or_insert_with(|| Function { package, file, line, name });
        Some(key)
    }
}

/// Returns the function that contains the closure in `<a::b::{closure#0} as
/// core::ops::function::FnOnce<()>>::call_once`, the shim through which a closure is called.
fn of_closure(name: &str) -> Option<&str> {
    let (own_type, _) = name.strip_prefix('<')?.split_once(" as ")?;
    let (function, closure) = own_type.rsplit_once("::{")?;
    // All brackets must be closed where the name is cut; the arrow of a function's type is not a bracket.
    let closed = function.matches('>').count() - function.matches("->").count();
    let is_whole = closure.ends_with('}') && function.matches('<').count() == closed;
    is_whole.then_some(function)
}

/// Returns the crate of a function: the first name in its path that is followed by a hash or `::`.
fn home(full: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = full.split(|c: char| !is_name(c)).filter(|name| !name.is_empty());
    // In `<&mut [u8] as base64[1f]::Write>::write`, names other than the crate are followed by other characters.
    let follows = |name: &&str| {
        let end = name.as_ptr() as usize - full.as_ptr() as usize + name.len();
        full[end..].starts_with('[') || full[end..].starts_with("::")
    };
    names.find(follows)
}

/// Returns the name without crate, type arguments and closures: `a::B<u8>::d::{closure#0}` is `B::d`. Code that std
/// generates for a closure has the name of the function that contains the closure.
pub fn readable(name: &str) -> String {
    if let Some(inside) = of_closure(name) {
        return readable(inside);
    }
    let mut plain = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for c in name.chars() {
        // An argument list follows a name or `::`; a `<` elsewhere begins a type.
        let opens = c == '<' && (before.is_alphanumeric() || before == '_' || before == ':');
        if opens || (c == '<' && depth > 0) {
            depth += 1;
        } else if c == '>' && depth > 0 && before != '-' {
            depth -= 1;
        } else if depth == 0 {
            plain.push(c);
        }
        before = c;
    }
    let plain = plain.split("::{").next().unwrap_or_default().trim_end_matches("::").to_owned();
    plain.split_once("::").filter(|_| !plain.starts_with('<')).map_or(plain.clone(), |(_, rest)| rest.to_owned())
}

/// An entry into a stretch.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Address and frame of the origin; `None` for the function's caller.
    from: Option<(u64, usize)>,
    /// Number of times that it was taken.
    count: u64,
}

/// Kind of an instruction: two are of one kind if they do the same for the same line of the same inlined copy.
type Kind = (usize, u64);

/// Places of a function's instructions.
pub(super) struct Places<'a> {
    /// Returns the innermost frame of an instruction.
    pub frame_of: &'a dyn Fn(u64) -> usize,
    /// Returns the kind of an instruction, if known.
    pub kind_of: &'a dyn Fn(u64) -> Option<Kind>,
    /// The enclosing frame of each frame; the first frame is the function itself, which is not inlined.
    pub callers: &'a [usize],
}

/// Returns the number of entries of each frame.
pub(super) fn entries(counted: &Counted, places: &Places<'_>) -> Vec<u64> {
    let mut entered = vec![0; places.callers.len()];
    if places.callers.len() < 2 {
        return entered;
    }
    let mut arriving: BTreeMap<u64, Vec<Way>> = BTreeMap::new();
    for jump in &counted.jumps {
        let from = Some((jump.from, (places.frame_of)(jump.from)));
        arriving.entry(jump.to).or_default().push(Way { from, count: jump.count });
    }
    let leaving: BTreeSet<u64> = counted.jumps.iter().map(|jump| jump.from).collect();
    let mut stretch = Stretch::default();
    let mut before: Option<(u64, u64)> = None;
    for (address, count) in &counted.instructions {
        let begins =
            before.is_none_or(|(at, times)| leaving.contains(&at) || times != *count || arriving.contains_key(address));
        if begins {
            stretch.close(places, &mut entered);
            let mut ways = arriving.get(address).cloned().unwrap_or_default();
            let jumped: u64 = ways.iter().map(|way| way.count).sum();
            let from = before.map(|(at, _)| (at, (places.frame_of)(at)));
            ways.push(Way { from, count: count.saturating_sub(jumped) });
            stretch = Stretch { ways, instructions: Vec::new() };
        }
        stretch.instructions.push(*address);
        before = Some((*address, *count));
    }
    stretch.close(places, &mut entered);
    entered
}

/// Instructions that are executed one after the other.
#[derive(Default)]
struct Stretch {
    ways: Vec<Way>,
    instructions: Vec<u64>,
}

impl Stretch {
    fn close(&mut self, places: &Places<'_>, entered: &mut [u64]) {
        let frames = |address: u64| outwards((places.frame_of)(address), places.callers);
        let touched: BTreeSet<usize> = self.instructions.iter().flat_map(|address| frames(*address)).collect();
        let Some(first) = self.instructions.first() else { return };
        for frame in touched {
            let is_outside = |way: &&Way| {
                let from = way.from.map(|(_, from)| from);
                way.count > 0 && from.is_none_or(|from| outwards(from, places.callers).all(|other| other != frame))
            };
            let ways: Vec<&Way> = self.ways.iter().filter(is_outside).collect();
            let is_loop = ways.iter().any(|way| way.from.is_some_and(|(from, _)| from >= *first));
            let times = if is_loop { self.turns(frame, places) } else { 1 };
            entered[frame] += times * ways.iter().map(|way| way.count).sum::<u64>();
        }
    }

    /// Returns how many turns of a loop around a frame the stretch contains: the number of instructions of most kinds.
    fn turns(&self, frame: usize, places: &Places<'_>) -> u64 {
        let mut of_kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        let own = self.instructions.iter().filter(|address| (places.frame_of)(**address) == frame);
        own.filter_map(|address| (places.kind_of)(*address)).for_each(|kind| *of_kinds.entry(kind).or_default() += 1);
        let mut frequent: BTreeMap<u64, usize> = BTreeMap::new();
        for count in of_kinds.values() {
            *frequent.entry(*count).or_default() += 1;
        }
        // Of equally frequent numbers the smaller one, because the maximum is the last.
        frequent.iter().rev().max_by_key(|(_, kinds)| **kinds).map_or(1, |(count, _)| *count)
    }
}

/// Iterates over a copy and the enclosing copies, without the function itself.
fn outwards(frame: usize, callers: &[usize]) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(frame), |frame| Some(callers[*frame])).take_while(|frame| *frame != 0)
}

/// An executable with the owners of its functions.
pub struct Code {
    /// Path of the executable, as callgrind writes it.
    object: String,
    inlining: Rc<Inlining>,
    operations: Rc<Operations>,
    /// Owners by origin of the debug information.
    of_origin: Vec<Owner>,
    owners: Owners,
}

impl Code {
    /// Determines the owner of each origin.
    pub fn new(object: String, inlining: Rc<Inlining>, operations: Rc<Operations>, mut owners: Owners) -> Self {
        let of_origin = inlining.origins.iter().map(|origin| owners.of_origin(origin)).collect();
        Self { object, inlining, operations, of_origin, owners }
    }

    /// Returns the functions that were found by key.
    pub fn functions(self) -> std::collections::BTreeMap<u64, perfunit_model::Function> {
        self.owners.into_functions()
    }
}

/// A function of the source in a function of the machine code: the function itself, or an inlined copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub owner: Owner,
    /// Index of the part that it is inlined into; the first part refers to itself.
    pub caller: usize,
    /// Number of times that execution entered it; 0 for the first part, because its calls are counted.
    pub entries: u64,
    pub own: u64,
}

/// A function of the machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grouped {
    /// Parts; the first is the function itself, and callers come before their inlined copies. Code that belongs to its
    /// caller has no part, unless it is the first.
    pub parts: Vec<Part>,
    /// Calls of each part.
    pub calls: Vec<(usize, Call)>,
}

pub(super) fn group(counted: &Counted, code: &mut Code) -> Grouped {
    let mut parts = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut of_address: HashMap<u64, usize> = HashMap::new();
    let is_ours = counted.object == code.object;
    let from = counted.instructions.keys().copied();
    let addresses = from.chain(counted.calls.iter().map(|call| call.at)).chain(counted.jumps.iter().map(|it| it.from));
    for address in addresses {
        if of_address.contains_key(&address) {
            continue;
        }
        let innermost = if is_ours { code.inlining.innermost(address) } else { None };
        let place = match innermost {
            Some(frame) => place(frame, code, &mut parts, &mut places),
            None => symbols_part(&counted.symbol, code, &mut parts),
        };
        of_address.insert(address, place);
    }
    if parts.is_empty() {
        symbols_part(&counted.symbol, code, &mut parts);
    }
    let callers: Vec<usize> = parts.iter().map(|part| part.caller).collect();
    let frame_of = |address: u64| of_address.get(&address).copied().unwrap_or(0);
    let kind_of = |address: u64| Some((code.inlining.innermost(address)?, code.operations.at(address)?));
    let entered = entries(counted, &Places { frame_of: &frame_of, kind_of: &kind_of, callers: &callers });
    for (part, entered) in parts.iter_mut().zip(entered) {
        part.entries = entered;
    }
    for (address, cost) in &counted.costs {
        parts[frame_of(*address)].own += cost;
    }
    let calls = counted.calls.iter().map(|call| (frame_of(call.at), *call)).collect();
    Grouped { parts, calls }
}

/// Returns the part of a frame of the debug information, and creates it if it is new.
fn place(frame: usize, code: &Code, parts: &mut Vec<Part>, places: &mut HashMap<usize, usize>) -> usize {
    if let Some(place) = places.get(&frame) {
        return *place;
    }
    let found = &code.inlining.frames[frame];
    let owner = code.of_origin[found.origin];
    let caller = found.caller.map(|caller| place(caller, code, parts, places));
    let at = match caller {
        Some(caller) if owner == Owner::Caller => caller,
        // If functions were merged at one place, the first one owns the code.
        None if !parts.is_empty() => 0,
        caller => {
            parts.push(Part { owner, caller: caller.unwrap_or(0), entries: 0, own: 0 });
            parts.len() - 1
        }
    };
    places.insert(frame, at);
    at
}

/// Returns the part of the function itself, if only its symbol is known.
fn symbols_part(symbol: &str, code: &mut Code, parts: &mut Vec<Part>) -> usize {
    if parts.is_empty() {
        let owner = code.owners.of_symbol(symbol);
        parts.push(Part { owner, caller: 0, entries: 0, own: 0 });
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Function {
        Function { package: "p".into(), file: "src/lib.rs".into(), line: 1, name: name.into() }
    }

    fn owners() -> Owners {
        let mut owners = Owners::default();
        let file = Path::new("/tree/src/lib.rs");
        owners.add(file, 1..=20, 7, function("outer"));
        owners.add(file, 5..=8, 8, function("outer::inner"));
        owners.add_test(file, 30..=40);
        owners.add_crate("my-crate");
        owners
    }

    #[track_caller]
    fn check(file: &str, line: usize, name: &str, symbol: &str, expected: Owner) {
        let origin = Origin { symbol: symbol.into(), name: name.into(), file: file.into(), line };
        assert_eq!(owners().of_origin(&origin), expected);
    }

    #[test]
    fn the_innermost_function_around_a_line_owns_what_begins_there() {
        check("/tree/src/lib.rs", 1, "outer", "", Owner::Function(7));
        check("/tree/src/lib.rs", 5, "inner", "", Owner::Function(8));
        check("/tree/src/lib.rs", 10, "{closure#0}", "", Owner::Closure(7));
        check("/tree/src/lib.rs", 31, "body", "", Owner::Test);
        check("/rustc/1/library/core/src/iter.rs", 5, "fold<u8>", "_RNvCs1_4core4fold", Owner::Caller);
    }

    #[test]
    fn what_no_line_tells_is_known_by_its_name_if_its_crate_counts() {
        let mut owners = owners();
        // my_crate::parse, and core::parse.
        assert!(matches!(owners.of_symbol("_RNvCs1_8my_crate5parse"), Owner::Function(_)));
        assert_eq!(owners.of_symbol("_RNvCs1_4core5parse"), Owner::Caller);
        assert_eq!(owners.of_symbol("malloc"), Owner::Caller);
        let functions = owners.into_functions();
        let found: Vec<_> = functions.values().map(|it| (it.package.as_str(), it.name.as_str())).collect();
        assert!(found.contains(&("my-crate", "parse")), "{found:?}");
    }

    #[test]
    fn names_are_short_and_crates_are_found_behind_types() {
        assert_eq!(home("<&mut [u8] as base64[1f]::Write>::write"), Some("base64"));
        assert_eq!(home("core::ptr::drop_in_place::<my_crate::A>"), Some("core"));
        assert_eq!(home("malloc"), None);
        assert_eq!(readable("my_crate::a::B<u8>::c::<u16>::{closure#0}"), "a::B::c");
        assert_eq!(readable("<my_crate::B<u8> as core::Clone>::clone"), "<my_crate::B as core::Clone>::clone");
        assert_eq!(readable("<my_crate::B<u8> as my_crate::C>::d::{closure#0}"), "<my_crate::B as my_crate::C>::d");
    }

    #[test]
    fn the_shim_of_a_closure_has_a_whole_name_and_is_not_a_function_of_the_project() {
        let shim = |path: &str| format!("<{path} as core::ops::function::FnOnce<()>>::call_once");
        for (path, name) in [
            ("constants::tests::match_length::{closure#0}", "tests::match_length"),
            ("my_crate::a::B<fn() -> u8>::c::{closure#1}", "a::B::c"),
            ("&my_crate::d::{closure#0}", "d"),
        ] {
            assert_eq!(readable(&shim(path)), name);
        }
        assert_eq!(of_closure("<my_crate::B<my_crate::f::{closure#0}> as my_crate::C>::d"), None);
        assert_eq!(
            readable("<my_crate::B<my_crate::f::{closure#0}> as my_crate::C>::d"),
            "<my_crate::B as my_crate::C>::d"
        );
        // <my_crate::f::{closure#0} as core::ops::function::FnOnce<()>>::call_once
        let symbol = "_RNvYNCNvCs1_8my_crate1f0INtNtNtC4core3ops8function6FnOnceuE9call_once";
        assert!(demangle(symbol).to_string().contains("{closure#0} as core"), "{}", demangle(symbol));
        assert_eq!(owners().of_symbol(symbol), Owner::Caller);
    }

    mod entries {
        use super::super::*;
        use crate::instructions::profile::Jump;

        /// Checks instructions given as (frame, executions), at addresses 0, 1, 2 and so on.
        #[track_caller]
        fn check(instructions: &[(usize, u64)], jumps: &[(u64, u64, u64)], callers: &[usize], expected: &[u64]) {
            let counted = Counted {
                instructions: (0..).zip(instructions.iter().map(|(_, count)| *count)).collect(),
                jumps: jumps.iter().map(|&(from, to, count)| Jump { from, to, count }).collect(),
                ..Counted::default()
            };
            let frame_of = |address: u64| instructions.get(address as usize).map_or(0, |(frame, _)| *frame);
            // All instructions of a frame do the same.
            let kind_of = |address: u64| Some((frame_of(address), 0));
            assert_eq!(entries(&counted, &Places { frame_of: &frame_of, kind_of: &kind_of, callers }), expected);
        }

        #[test]
        fn a_copy_is_entered_once_however_its_instructions_are_mixed() {
            check(&[(0, 1), (1, 1), (0, 1), (1, 1), (0, 1)], &[], &[0, 0], &[0, 1]);
        }

        #[test]
        fn a_loop_around_a_copy_enters_it_at_each_turn() {
            check(&[(0, 1), (1, 10), (0, 10), (0, 1)], &[(2, 1, 9)], &[0, 0], &[0, 10]);
        }

        #[test]
        fn several_turns_of_a_loop_in_one_stretch_are_several_entries() {
            check(&[(0, 1), (1, 5), (0, 5), (1, 5), (0, 5), (0, 1)], &[(4, 1, 4)], &[0, 0], &[0, 10]);
        }

        #[test]
        fn a_loop_inside_of_a_copy_does_not() {
            check(&[(0, 1), (1, 1), (1, 10), (1, 10), (0, 1)], &[(3, 2, 9)], &[0, 0], &[0, 1]);
        }

        #[test]
        fn what_is_jumped_over_is_not_entered() {
            check(&[(0, 10), (1, 4), (0, 10)], &[(0, 2, 6)], &[0, 0], &[0, 4]);
        }

        #[test]
        fn a_copy_in_a_copy_is_entered_with_it_or_by_its_loop() {
            check(&[(0, 2), (2, 2), (1, 2), (0, 2)], &[], &[0, 0, 1], &[0, 2, 2]);
            check(&[(0, 2), (1, 2), (2, 8), (1, 8), (0, 2)], &[(3, 2, 6)], &[0, 0, 1], &[0, 2, 8]);
        }
    }
}
