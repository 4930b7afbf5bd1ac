use super::super::names::index;
use super::*;
use crate::source::{FileChange, FileInTarget, diff};

const HEAD: &str = "
fn parse() { 1 }
#[cfg(test)]
mod tests {
    use super::*;
    const N: u8 = 1;
    struct Input { a: u8 }
    impl Input { fn new() -> Self { Self { a: N } } }
    fn help() -> Input { Input::new() }
    fn lonely() -> u8 { 1 }
    macro_rules! make { ($n:ident, $v:expr) => { #[test] fn $n() { parse($v) } } }
    make!(one, 1);
    make!(two, 2);
    #[test]
    fn plain() { parse() }
    #[test]
    fn helped() { parse(help()) }
}
";

/// Checks the results for all tests after a replacement in the text, with the original text as base.
#[track_caller]
fn check(from: &str, to: &str, expected: &[(&str, &str)]) {
    assert!(HEAD.contains(from));
    check_files("src/lib.rs", TargetKind::Lib, HEAD, &HEAD.replace(from, to), expected);
}

#[track_caller]
fn check_files(path: &str, kind: TargetKind, base: &str, head: &str, expected: &[(&str, &str)]) {
    let change = FileChange { path: path.to_owned(), base: Some(base.into()), head: Some(head.into()) };
    let diff = diff(&[change], &|_| false);
    let files: Files = [(path.to_owned(), FileInTarget::default())].into();
    let parse = |text: &str| index(&[(path.to_owned(), String::new(), text.into())]);
    let (base, head) = (parse(base), parse(head));
    let code = Sides { base: TestCode { index: &base, files: &files }, head: TestCode { index: &head, files: &files } };
    let found: Vec<(&str, String)> = ["tests::plain", "tests::helped", "tests::one", "tests::two", "in_folder"]
        .iter()
        .filter_map(|name| Some((*name, changed_test_code(name, kind, &code, &diff)?.to_string())))
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, item)| (*name, item.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn code_under_test_is_not_test_code() {
    check("fn parse() { 1 }", "fn parse() { 2 }", &[]);
}

#[test]
fn the_own_body_counts() {
    check("fn plain() { parse() }", "fn plain() { parse(); parse() }", &[("tests::plain", "plain")]);
    check("fn plain() { parse() }", "// Why.\nfn plain() {\n parse() }", &[]);
    check("fn plain()", "#[ignore] fn plain()", &[]);
}

#[test]
fn named_helpers_count_transitively() {
    check(
        "fn help() -> Input {",
        "fn help() -> Input { f();",
        &[("tests::helped", "helper tests::help (src/lib.rs:9)")],
    );
    check("const N: u8 = 1", "const N: u8 = 2", &[("tests::helped", "helper tests::N (src/lib.rs:6)")]);
    check("Self { a: N }", "Self { a: N + 1 }", &[("tests::helped", "helper tests::Input::new (src/lib.rs:8)")]);
}

#[test]
fn what_the_test_does_not_name_does_not_matter() {
    check("fn lonely() -> u8 { 1 }", "fn lonely() -> u8 { 2 }", &[]);
    check("fn lonely()", "fn added() {}\n fn lonely()", &[]);
    check("use super::*", "use super::parse", &[]);
    check("fn lonely() -> u8 { 1 }", "", &[]);
}

#[test]
fn generated_tests_go_by_their_macro() {
    check("make!(two, 2)", "make!(two, 3)", &[("tests::two", "call of tests::make! (src/lib.rs:13)")]);
    let changed = "macro tests::make! (src/lib.rs:11)";
    check("{ parse($v) }", "{ parse($v); }", &[("tests::one", changed), ("tests::two", changed)]);
}

#[test]
fn a_static_made_by_a_macro_counts() {
    let base =
        "lazy_static! { static ref DATA: Vec<u8> = vec![1]; }\nmade! { other }\n#[test] fn in_folder() { f(&DATA) }";
    let expected = [("in_folder", "call of lazy_static! (tests/it.rs:1)")];
    check_files("tests/it.rs", TargetKind::Test, base, &base.replace('1', "2"), &expected);
    check_files("tests/it.rs", TargetKind::Test, base, &base.replace("other", "another"), &[]);
}

#[test]
fn everything_in_an_integration_test_is_test_code() {
    let base = "fn help() { 1 }\n#[test] fn in_folder() { help() }";
    let head = base.replace('1', "2");
    check_files("tests/it.rs", TargetKind::Test, base, &head, &[("in_folder", "helper help (tests/it.rs:1)")]);
    check_files("src/lib.rs", TargetKind::Lib, base, &head, &[]);
}

#[test]
fn files_of_other_targets_do_not_matter() {
    let (base, head) = ("fn help() { 1 }", "fn help() { 2 }");
    let change = FileChange { path: "tests/b.rs".into(), base: Some(base.into()), head: Some(head.into()) };
    let index = index(&[("tests/a.rs".into(), String::new(), b"#[test] fn t() { help() }".into())]);
    let files: Files = [("tests/a.rs".to_owned(), FileInTarget::default())].into();
    let side = TestCode { index: &index, files: &files };
    let diff = diff(&[change], &|_| false);
    assert_eq!(changed_test_code("t", TargetKind::Test, &Sides { base: side, head: side }, &diff), None);
}
