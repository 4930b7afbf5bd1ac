//! Cases with one function each, and all files of this repository.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

const PLACE: Place<'_> = Place { package: "p", path: "src/lib.rs" };

fn with_all(text: &str) -> Instrumented {
    instrument(text, &PLACE, &|_| true)
}

/// Returns the text with `@ ` for each probe.
fn mark_probes(instrumented: &Instrumented) -> String {
    let probes = instrumented.sites.iter().map(|site| attribute(site.key));
    probes.fold(instrumented.text.clone(), |text, probe| text.replacen(&probe, "@ ", 1))
}

#[track_caller]
fn check(source: &str, expected: &str) {
    let instrumented = with_all(source);
    assert_eq!(mark_probes(&instrumented), expected);
    assert_eq!(instrumented.left_out, []);
}

/// Checks that nothing is inserted and these functions are listed.
#[track_caller]
fn check_left_out(source: &str, expected: &[&str]) {
    let Instrumented { text, sites, left_out } = with_all(source);
    let found: Vec<String> = left_out.iter().map(|it| format!("{}:{} {}", it.name, it.line, it.why)).collect();
    assert_eq!(found, expected);
    assert_eq!((text.as_str(), sites), (source, Vec::new()));
}

#[track_caller]
fn check_names(source: &str, expected: &[&str]) {
    let sites = with_all(source).sites;
    let found: Vec<String> = sites.iter().map(|site| format!("{}:{}", site.name, site.line)).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_trivial(function: &str, expected: bool) {
    let found: Vec<bool> = with_all(&format!("impl S {{ {function} }}")).sites.iter().map(|it| it.trivial).collect();
    assert_eq!(found, [expected], "{function}");
}

fn keys(text: &str) -> Vec<u64> {
    with_all(text).sites.iter().map(|site| site.key).collect()
}

#[test]
fn a_probe_stands_behind_attributes_and_before_qualifiers() {
    check("fn f() {}", "@ fn f() {}");
    check("/// Docs.\n#[inline]\n// Why.\npub fn f() {}", "/// Docs.\n#[inline]\n// Why.\n@ pub fn f() {}");
    check(
        "#[must_use] pub unsafe extern \"C\" fn f() -> u8 { 1 }",
        "#[must_use] @ pub unsafe extern \"C\" fn f() -> u8 { 1 }",
    );
    check("pub async fn f() {}\nextern fn g() {}", "@ pub async fn f() {}\n@ extern fn g() {}");
}

#[test]
fn methods_and_default_methods_have_probes() {
    check("impl<T> S<T> { pub fn f<U>(&self) {} }", "impl<T> S<T> { @ pub fn f<U>(&self) {} }");
    check("impl T for S { default unsafe fn f() {} }", "impl T for S { @ default unsafe fn f() {} }");
    check("trait T { fn a(&self);\n fn b(&self) {} }", "trait T { fn a(&self);\n @ fn b(&self) {} }");
    check("#[pymethods] impl S { #[getter] fn f() {} }", "#[pymethods] impl S { #[getter] @ fn f() {} }");
}

#[test]
fn functions_inside_of_code_have_probes() {
    check("fn f() { fn g() {} g() }", "@ fn f() { @ fn g() {} g() }");
    check("const A: u8 = { fn a() { fn b() {} } 1 };", "const A: u8 = { @ fn a() { @ fn b() {} } 1 };");
    check("fn f() { || { impl S { fn g() {} } } }", "@ fn f() { || { impl S { @ fn g() {} } } }");
}

#[test]
fn all_other_bytes_stay() {
    check("\u{feff}#!/bin/rust ü\r\n\tfn ä() { \"ü\n\"; }\r\n", "\u{feff}#!/bin/rust ü\r\n\t@ fn ä() { \"ü\n\"; }\r\n");
    check(
        "const A: &str = r#\"fn f() {}\"#; /* ← */ fn g() {}",
        "const A: &str = r#\"fn f() {}\"#; /* ← */ @ fn g() {}",
    );
    check("#![allow(a)]\r\n\r\nfn f() {}", "#![allow(a)]\r\n\r\n@ fn f() {}");
}

#[test]
fn tests_are_neither_probed_nor_listed_but_their_helpers_are_probed() {
    check("#[test]\nfn t() { fn help() {} }", "#[test]\nfn t() { @ fn help() {} }");
    check("#[tokio::test] async fn t() {}\n#[bench] fn b() {}", "#[tokio::test] async fn t() {}\n#[bench] fn b() {}");
    check(
        "proptest! { #[test] fn t() {} }\nquickcheck! { fn u() {} }",
        "proptest! { #[test] fn t() {} }\nquickcheck! { fn u() {} }",
    );
    check(
        "macro_rules! m { ($t:ident) => { #[test] fn $t() {} } }",
        "macro_rules! m { ($t:ident) => { #[test] fn $t() {} } }",
    );
}

#[test]
fn functions_without_a_body_are_not_listed() {
    check(
        "extern \"C\" { fn f(a: u8, ...); }\ntrait T { fn g(); }",
        "extern \"C\" { fn f(a: u8, ...); }\ntrait T { fn g(); }",
    );
}

#[test]
fn const_functions_are_left_out() {
    check_left_out("impl S { pub const unsafe fn f() {} }", &["S::f:1 a const fn cannot read the clock"]);
    check_left_out("#[const_trait] trait T { fn f() {} }", &["T::f:1 a const fn cannot read the clock"]);
    check_left_out("impl const T for S { fn f() {} }", &["lib.rs:1 cannot be parsed"]);
}

#[test]
fn functions_without_a_body_of_their_own_kind_are_left_out() {
    check_left_out("#[naked] fn f() {}", &["f:1 a naked function has no Rust body"]);
    check_left_out("#[unsafe(naked)] extern \"C\" fn f() {}", &["f:1 a naked function has no Rust body"]);
    check_left_out("#[cfg_attr(a, unsafe(naked))] fn f() {}", &["f:1 a naked function has no Rust body"]);
    check_left_out("unsafe extern \"C\" fn f(a: u8, ...) {}", &["f:1 a function with variable arguments"]);
}

#[test]
fn the_main_function_is_left_out_and_a_function_of_that_name_is_not() {
    check_left_out("fn main() {}", &["main:1 the main function of a program"]);
    check_left_out("#[tokio::main]\nasync fn main() {}", &["main:2 the main function of a program"]);
    check("pub fn main() {}\nmod m { fn main() {} }", "@ pub fn main() {}\nmod m { @ fn main() {} }");
}

#[test]
fn what_the_compiler_calls_is_left_out() {
    check_left_out("#[proc_macro_derive(A)] pub fn f() {}", &["f:1 called by the compiler"]);
    check_left_out("#[panic_handler] fn f() -> ! { loop {} }", &["f:1 called by the compiler"]);
    check_left_out("unsafe impl GlobalAlloc for A { fn alloc() {} }", &["A::alloc:1 part of the memory allocator"]);
}

#[test]
fn an_async_function_below_an_attribute_macro_is_left_out() {
    let why = "an async fn that an attribute macro rewrites";
    check_left_out("#[async_recursion] async fn f() {}", &[&format!("f:1 {why}")]);
    check_left_out("#[async_trait] impl T for S { async fn f() {} }", &[&format!("S::f:1 {why}")]);
    check("#[async_trait] impl T for S { fn f() {} }", "#[async_trait] impl T for S { @ fn f() {} }");
    check("#[tracing::instrument] async fn f() {}", "#[tracing::instrument] @ async fn f() {}");
    check("#[inline] #[rustfmt::skip] async fn f() {}", "#[inline] #[rustfmt::skip] @ async fn f() {}");
}

#[test]
fn functions_that_cannot_name_the_probe_are_left_out() {
    let why = "f:1 below no_implicit_prelude, where probes cannot be named";
    check_left_out("#![no_implicit_prelude] fn f() {}", &[why]);
    check_left_out("#[no_implicit_prelude] mod m { impl S { fn f() {} } }", &[&format!("m::S::{why}")]);
}

#[test]
fn functions_written_by_macros_are_left_out() {
    check_left_out("mod m { lazy! { fn f() {} } }", &["m::f:1 written by a macro"]);
    check_left_out(
        "macro_rules! make {\n ($name:ident) => {\n  fn $name() {}\n  fn b() {}\n }\n}",
        &["make!::$name:3 written by a macro", "make!::b:4 written by a macro"],
    );
}

#[test]
fn a_file_that_does_not_parse_stays_as_it_is() {
    check_left_out("fn f( {}", &["lib.rs:1 cannot be parsed"]);
    check_left_out("gen fn f() {}", &["lib.rs:1 cannot be parsed"]);
}

#[test]
fn unwanted_functions_are_left_out() {
    let Instrumented { sites, left_out, .. } = instrument("fn f() {}\nfn g() { f(); f() }", &PLACE, &|_| false);
    assert_eq!(sites, []);
    assert_eq!(left_out.iter().map(|it| it.why).collect::<Vec<_>>(), [Unprobed::Trivial, Unprobed::Unwanted]);
    let instrumented = instrument("fn f() {}\nfn g() { f(); f() }", &PLACE, &|site| !site.trivial);
    assert_eq!(mark_probes(&instrumented), "fn f() {}\n@ fn g() { f(); f() }");
}

#[test]
fn names_are_those_of_items_and_of_functions_around() {
    check_names("mod a { mod b { impl<'a> S<'a> {\nfn r#fn() {} } } }", &["a::b::S::fn:2"]);
    check_names(
        "impl T for S { fn f() { fn g() { struct I; impl I { fn h() {} } } } }",
        &["S::f:1", "S::f::g:1", "S::f::g::I::h:1"],
    );
    let source = "mod m { fn a() {} impl S { fn b() {} } trait T { fn c() {} } }\nimpl From<u8> for &[S] { fn d() {} }";
    let items = crate::source::items(source.as_bytes()).unwrap();
    let of_items = items.into_iter().filter(|item| ["a", "b", "c", "d"].contains(&item.ident.as_str()));
    let of_items: Vec<_> =
        of_items.map(|it| (it.name, it.line, it.owner, it.implements, it.header, it.test_only)).collect();
    let sites = with_all(source).sites.into_iter();
    let sites: Vec<_> = sites.map(|it| (it.name, it.line, it.owner, it.implements, it.header, it.test_only)).collect();
    assert_eq!(sites, of_items);
}

#[test]
fn test_code_is_marked() {
    let of = |source| with_all(source).sites.iter().map(|site| site.test_only).collect::<Vec<_>>();
    assert_eq!(of("fn f() {}\n#[cfg(test)] mod tests { fn g() {} }"), [false, true]);
    assert_eq!(of("#[test] fn t() { fn g() {} }\n#[cfg(test)] impl S { fn h() {} }"), [true, true]);
    assert_eq!(of("#![cfg(test)]\nfn f() {}"), [true]);
}

#[test]
fn a_key_stays_when_lines_and_other_functions_change() {
    let before = keys("fn f() {}\nimpl A for S { fn g() { fn h() {} } }");
    let after = keys(
        "//! Docs.\n\nfn new() {}\nfn f() { 2 }\nimpl B for S { fn g() {} }\nimpl A for S {\n fn g() { fn h() {} } }",
    );
    assert_eq!(before, [after[1], after[3], after[4]]);
}

#[test]
fn keys_tell_equal_names_apart() {
    let all = |source| assert_eq!(keys(source).iter().collect::<BTreeSet<_>>().len(), keys(source).len(), "{source}");
    all("#[cfg(a)] fn f() {}\n#[cfg(not(a))] fn f() {}");
    all("impl From<u8> for S { fn from() {} }\nimpl From<u16> for S { fn from() {} }\nimpl S { fn from() {} }");
    all("impl A for S { fn f() { fn g() {} } }\nimpl B for S { fn f() { fn g() {} } }");
    all("impl S<u8> { fn f() {} }\nimpl S<u16> { fn f() {} }");
    let elsewhere = |package, path| instrument("fn f() {}", &Place { package, path }, &|_| true).sites[0].key;
    let places = [("p", "a.rs"), ("p", "b.rs"), ("q", "a.rs"), ("pa", ".rs")];
    assert_eq!(places.map(|(package, path)| elsewhere(package, path)).iter().collect::<BTreeSet<_>>().len(), 4);
}

#[test]
fn sites_can_be_kept() {
    let sites = with_all("impl T for S { fn f() {} }").sites;
    assert_eq!(serde_json::from_str::<Vec<Site>>(&serde_json::to_string(&sites).unwrap()).unwrap(), sites);
}

#[test]
fn accessors_and_constructors_are_trivial() {
    check_trivial("fn f(&self) -> &T { &self.a.b }", true);
    check_trivial("fn f(&mut self) {}", true);
    check_trivial("fn f(self) -> T { self.0 }", true);
    check_trivial("fn f(a: A, b: B) -> Self { Self { a, b, c: Some(1 << 10), d: [0, 1] } }", true);
    check_trivial("fn f(&self) -> usize { return self.len as usize + 1; }", true);
    check_trivial("fn f(&self) -> u8 { match self { A => 1, B(b) => b } }", true);
    check_trivial("fn f(&self) -> u8 { if let Some(a) = self.a { a } else { 0 } }", true);
    check_trivial("fn f(&self) -> u8 { self.bytes[0] }", true);
}

#[test]
fn calls_loops_macros_and_two_steps_are_not() {
    check_trivial("fn f(&self) -> usize { self.a.len() }", false);
    check_trivial("fn f(&self) -> usize { Self::count(1) }", false);
    check_trivial("fn f(&self) { loop {} }", false);
    check_trivial("fn f(&self) -> String { format!(\"a\") }", false);
    check_trivial("fn f(&self) -> u8 { self.a + self.b + 1 }", false);
    check_trivial("fn f(&self) -> u8 { if self.a == 1 { 2 } else { 3 } }", false);
    check_trivial("fn f(&self) -> u8 { match self.a { A if self.b => 2, _ => 3 } }", false);
    check_trivial("fn f(&self) -> impl Fn() { || 1 }", false);
    check_trivial("fn f(&self) -> [u8; 4096] { [0; 4096] }", false);
    check_trivial("async fn f(&self) -> u8 { 1 }", false);
    check_trivial("fn f(&self) { let a = 1; }", false);
}

#[test]
fn comparing_searching_and_matching_text_is_not_trivial() {
    check_trivial("fn f(&self, other: &Self) -> bool { self.a == other.a }", false);
    check_trivial("fn f(&self) -> bool { self.a == 1 }", true);
    check_trivial("fn f(&self, a: &str) -> u8 { self.map[a] }", false);
    check_trivial("fn f(a: &str) -> u8 { match a { \"a\" | \"b\" => 1, _ => 2 } }", false);
}

#[test]
fn what_drops_a_value_is_not_trivial() {
    check_trivial("fn f(self) {}", false);
    check_trivial("fn f(&mut self, a: A) { self.a = a }", false);
    check_trivial("fn f(&self, _: A) -> u8 { 1 }", false);
    check_trivial("fn f(&self, a: A) -> u8 { self.a }", false);
}

/// Lists the Rust files of this repository's workspace.
fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in perfunit_system::fs::list_dir(folder).unwrap() {
        let name = entry.file_name().unwrap_or_default();
        if entry.is_dir() && name != "target" && name != ".git" {
            files.append(&mut sources(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files
}

#[test]
fn every_file_of_this_repository_keeps_its_lines_and_its_meaning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut files, mut probes) = (0, 0);
    for path in sources(root) {
        // Tests of the attribute contain it already.
        if path.parent().is_some_and(|folder| folder.ends_with("tests/probe")) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Instrumented { text: instrumented, sites, left_out } = with_all(&text);
        if left_out.iter().any(|it| it.why == Unprobed::Unparsed && it.line == 1) {
            assert_eq!(instrumented, text);
            continue;
        }
        let place = path.display();
        assert_eq!(instrumented.lines().count(), text.lines().count(), "{place}");
        // The result can be parsed, and shifting lines keeps the functions the same.
        let shifted = format!("\n\n{}", instrumented.trim_start_matches('\u{feff}'));
        let known: Vec<u64> = sites.iter().map(|site| site.key).collect();
        assert_eq!(keys(&shifted), known, "{place}");
        assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), sites.len(), "{place}");
        let stripped = sites.iter().fold(instrumented, |text, site| text.replacen(&attribute(site.key), "", 1));
        assert!(stripped == text, "{place} has other text than the probes");
        (files, probes) = (files + 1, probes + sites.len());
    }
    assert!(files > 100 && probes > 1000, "{files} files with {probes} probes are not this repository");
}

#[test]
fn extents_reach_from_attributes_to_braces_and_have_the_keys_of_probes() {
    let text = "#[inline]\nfn f() {\n    fn g() {}\n}\n\n#[test]\nfn t() {\n}\n\nimpl S {\n    const fn c(&self) -> u8 { 1 }\n}\n";
    let found: Vec<_> =
        extents(text, &PLACE).into_iter().map(|it| (it.name, it.first, it.line, it.last, it.is_test)).collect();
    let expected = [("f", 1, 2, 4, false), ("f::g", 3, 3, 3, false), ("t", 6, 7, 8, true), ("S::c", 11, 11, 11, false)];
    assert_eq!(found, expected.map(|(name, first, line, last, is_test)| (name.to_owned(), first, line, last, is_test)));
    let probed = keys(text);
    let keys: Vec<u64> = extents(text, &PLACE).into_iter().map(|it| it.key).collect();
    assert!(probed.iter().all(|key| keys.contains(key)));
}
