//! Which function of the source a function of the machine code is.

use perfunit_model::Function;
use perfunit_select::code::Origin;
use rustc_demangle::demangle;
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// Whose a function's instructions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This function's, by its key.
    Function(u64),
    /// This function's, in which it is a closure.
    Closure(u64),
    /// The test's.
    Test,
    /// Its caller's: code of std, of a dependency that did not change, of libc.
    Caller,
}

/// A function of the source.
#[derive(Debug, Clone)]
struct Written {
    first: usize,
    last: usize,
    /// Its key; `None` for a test.
    key: Option<u64>,
}

/// The functions of the source, as far as they are told apart.
#[derive(Debug, Default)]
pub struct Owners {
    /// The folder of the build that stands for the repository.
    root: PathBuf,
    /// By file of the build, outer ones first.
    written: BTreeMap<PathBuf, Vec<Written>>,
    /// Crates whose functions are told apart although nobody knows where they are written, with their packages.
    crates: BTreeMap<String, String>,
    /// The functions by their keys.
    functions: BTreeMap<u64, Function>,
}

impl Owners {
    /// Of a build in this folder, which stands for the repository.
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

    /// Adds the crate of a package: of the workspace, for what its macros write, or of a dependency that changed.
    pub fn add_crate(&mut self, package: &str) {
        self.crates.insert(package.replace('-', "_"), package.to_owned());
    }

    /// The functions found so far, by their keys.
    pub fn into_functions(self) -> BTreeMap<u64, Function> {
        self.functions
    }

    /// Whose a function is that debug information describes.
    pub fn of_origin(&mut self, origin: &Origin) -> Owner {
        let is_closure = origin.name.starts_with('{');
        let of = |key: u64| if is_closure { Owner::Closure(key) } else { Owner::Function(key) };
        if let Some(functions) = self.written.get(&origin.file) {
            let around = functions.iter().filter(|it| (it.first..=it.last).contains(&origin.line));
            // The innermost begins last.
            if let Some(written) = around.max_by_key(|it| it.first) {
                return written.key.map_or(Owner::Test, of);
            }
        }
        self.of_name(&origin.symbol, &origin.file, origin.line).map_or(Owner::Caller, of)
    }

    /// Whose a function is of which only the linker's name is known.
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
            // std's code around a closure, which stands for itself. The linker folds those of different functions.
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

/// Returns the function with the closure in `<a::b::{closure#0} as core::ops::function::FnOnce<()>>::call_once`, the shim by
/// which a closure is called.
fn of_closure(name: &str) -> Option<&str> {
    let (own_type, _) = name.strip_prefix('<')?.split_once(" as ")?;
    let (function, closure) = own_type.rsplit_once("::{")?;
    // No bracket may be open where the name is cut; the arrow of a function's type is not one.
    let closed = function.matches('>').count() - function.matches("->").count();
    let is_whole = closure.ends_with('}') && function.matches('<').count() == closed;
    is_whole.then_some(function)
}

/// The crate that a function is from: the first name of its path, which a hash follows or which ends at `::`.
fn home(full: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = full.split(|c: char| !is_name(c)).filter(|name| !name.is_empty());
    // `<&mut [u8] as base64[1f]::Write>::write`: what is no crate is followed by something else.
    let follows = |name: &&str| {
        let end = name.as_ptr() as usize - full.as_ptr() as usize + name.len();
        full[end..].starts_with('[') || full[end..].starts_with("::")
    };
    names.find(follows)
}

/// Returns the name without type arguments and without closures in it, below its crate: `a::B<u8>::d::{closure#0}` is
/// `B::d`. What std makes of a closure is called like the function that the closure is in.
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
}
