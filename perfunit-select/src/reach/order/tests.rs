use super::super::graph::Files;
use super::super::names::index;
use super::*;
use crate::source::{FileChange, FileInTarget, diff};

/// Checks the reasons of the tests, in order, after `src/lib.rs` changes from `base` to `head`.
#[track_caller]
fn check(base: &str, head: &str, tests: &[&str], expected: &[&str]) {
    let path = "src/lib.rs".to_owned();
    let change = FileChange { path: path.clone(), base: Some(base.into()), head: Some(head.into()) };
    let index = index(&[(path.clone(), String::new(), head.into())]);
    let files: Files = [(path, FileInTarget::default())].into();
    let sources: Vec<_> = tests.iter().map(|name| TestSource { name, kind: TargetKind::Lib, files: &files }).collect();
    let ranked = order(&sources, &index, &diff(&[change], &|_| false));
    let nearest = |ranked: &Ranked| ranked.nearest.as_ref().map_or(UNKNOWN.to_owned(), ToString::to_string);
    let found: Vec<String> =
        ranked.iter().map(|ranked| format!("{} {}", tests[ranked.test], nearest(ranked))).collect();
    assert_eq!(found, expected);
}

const UNKNOWN: &str = "is led to no change";

#[test]
fn direct_tests_come_before_indirect_ones() {
    let head = "fn leaf() { 2 }\nfn inner() { leaf() }\nfn outer() { inner() }
        #[test] fn far() { outer() }
        #[test] fn none() { other() }
        #[test] fn near() { assert_eq!(leaf(), 2) }
        #[test] fn middle() { inner() }";
    check(
        &head.replace("leaf() { 2 }", "leaf() { 1 }"),
        head,
        &["far", "none", "near", "middle"],
        &[
            "near names changed leaf (src/lib.rs:1)",
            "middle calls changed leaf (src/lib.rs:1) through inner",
            "far calls changed leaf (src/lib.rs:1) through outer, inner",
            &format!("none {UNKNOWN}"),
        ],
    );
}

#[test]
fn a_common_method_counts_only_beside_its_type() {
    let head = "impl A { fn new() -> A { A(2) } }\nimpl B { fn new() -> B { B } }
        #[test] fn of_b() { B::new() }
        #[test] fn of_a() { A::new() }";
    check(
        &head.replace("A(2)", "A(1)"),
        head,
        &["of_b", "of_a"],
        &["of_a names changed A::new (src/lib.rs:1)", &format!("of_b {UNKNOWN}")],
    );
}

#[test]
fn an_implementation_of_a_trait_is_used_with_its_type() {
    let head = "impl Display for A { fn fmt(&self) { 2 } }
        #[test] fn prints() { format!(\"{}\", A) }
        #[test] fn other() { B }";
    check(
        &head.replace('2', "1"),
        head,
        &["other", "prints"],
        &["prints uses A, of which fmt changed (src/lib.rs:1)", &format!("other {UNKNOWN}")],
    );
}

#[test]
fn several_changes_are_counted() {
    let head = "const N: u8 = 2;\nfn f() { 2 }\n#[test] fn both() { f(); N }";
    check(&head.replace('2', "1"), head, &["both"], &["both names changed f (src/lib.rs:2) and 1 more"]);
}

#[test]
fn generated_tests_go_by_their_macro_call() {
    let head = "fn f() { 2 }\nmacro_rules! make { ($n:ident) => { #[test] fn $n() { f() } } }\nmake!(one);";
    check(&head.replace('2', "1"), head, &["one"], &["one calls changed f (src/lib.rs:1) through make"]);
}

#[test]
fn recursion_ends() {
    let head = "fn a() { b(); 2 }\nfn b() { a() }\n#[test] fn t() { b() }";
    check(&head.replace('2', "1"), head, &["t"], &["t calls changed a (src/lib.rs:1) through b"]);
}

#[test]
fn changed_test_code_gives_no_rank() {
    let head = "#[cfg(test)] mod tests { fn help() { 2 } #[test] fn t() { help() } }";
    check(&head.replace('2', "1"), head, &["tests::t"], &[&format!("tests::t {UNKNOWN}")]);
}

#[test]
fn helpers_of_integration_tests_are_no_code_under_test() {
    let files = |path: &str| -> Files { [(path.to_owned(), FileInTarget::default())].into() };
    let (test_files, lib_files) = (files("tests/it.rs"), files("src/lib.rs"));
    let text = |value: u8| format!("fn help() {{ {value} }}\n#[test] fn t() {{ help() }}").into_bytes();
    let is_led_there = |kind, files: &Files| {
        let path = files.keys().next().unwrap().clone();
        let change = FileChange { path: path.clone(), base: Some(text(1)), head: Some(text(2)) };
        let index = index(&[(path, String::new(), text(2))]);
        order(&[TestSource { name: "t", kind, files }], &index, &diff(&[change], &|_| false))[0].nearest.is_some()
    };
    assert!(!is_led_there(TargetKind::Test, &test_files));
    assert!(is_led_there(TargetKind::Lib, &lib_files));
}

#[test]
fn changes_that_no_names_lead_to_are_unreached() {
    let head = "const WIDTH: usize = 2;\nstruct Row([u8; WIDTH]);\nfn row() -> Row { Row([0; 2]) }\nfn vowel() { 2 }
        fn vowels() { vowel() }
        #[test] fn of_rows() { row() }
        #[test] fn of_vowels() { vowels() }
        #[test] fn of_none() { other() }";
    let path = "src/lib.rs".to_owned();
    let base = head.replace("= 2", "= 1").replace("vowel() { 2 }", "vowel() { 1 }");
    let change = FileChange { path: path.clone(), base: Some(base.into()), head: Some(head.into()) };
    let (index, diff) = (index(&[(path.clone(), String::new(), head.into())]), diff(&[change], &|_| false));
    let files: Files = [(path, FileInTarget::default())].into();
    let missed = |name: &str| {
        let items = unreached(TestSource { name, kind: TargetKind::Lib, files: &files }, &index, &diff);
        items.into_iter().map(|item| item.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(missed("of_rows"), ["vowel"]);
    assert_eq!(missed("of_vowels"), ["WIDTH"]);
    assert!(missed("of_none").is_empty());
}
