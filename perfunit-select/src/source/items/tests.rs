use super::*;

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    let found: Vec<String> = items(source.as_bytes())
        .unwrap()
        .iter()
        .map(|item| {
            let mark = match (item.is_test, item.test_only) {
                (true, _) => " test",
                (false, true) => " test-only",
                (false, false) => "",
            };
            format!("{:?} {}:{}{mark}", item.kind, item.name, item.line)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn methods_are_named_by_type_and_module() {
    check(
        "mod parser {\n impl<'a> Parser<'a> {\n  const MAX: u8 = 1;\n  fn line(&self) {}\n }\n}",
        &["Module parser:1", "Impl parser::Parser:2", "Const parser::Parser::MAX:3", "Method parser::Parser::line:4"],
    );
}

#[test]
fn methods_of_traits_are_items() {
    check(
        "trait Shape { type Unit; fn area(&self) -> u8; fn twice(&self) -> u8 { 2 * self.area() } }\nimpl Shape for &[Square] {}",
        &["Trait Shape:1", "Type Shape::Unit:1", "Method Shape::area:1", "Method Shape::twice:1", "Impl Square:2"],
    );
}

#[test]
fn what_is_below_cfg_test_is_test_only() {
    check(
        "#[cfg(test)]\nmod tests {\n use super::*;\n fn helper() {}\n #[test]\n fn works() {}\n}\n#[cfg(test)] const N: u8 = 1;",
        &[
            "Module tests:2 test-only",
            "Use tests::*:3 test-only",
            "Function tests::helper:4 test-only",
            "Function tests::works:6 test",
            "Const N:8 test-only",
        ],
    );
}

#[test]
fn a_file_below_cfg_test_is_test_only() {
    check("#![cfg(test)]\nfn helper() {}", &["Attributes #![..]:1 test-only", "Function helper:2 test-only"]);
}

#[test]
fn every_imported_name_is_an_item() {
    check(
        "use ::std::{fmt::{self, Debug as D}, io::*};\nextern crate alloc;",
        &["Use fmt:1", "Use D:1", "Use *:1", "Use alloc:2"],
    );
}

#[test]
fn functions_in_a_macro_call_are_items() {
    check(
        "proptest! {\n #[test]\n fn a(x in 0..9) {}\n}\nquickcheck! { fn b(x: u8) -> bool { true } }\nbitflags! { struct F; }",
        &[
            "MacroCall proptest:1",
            "Function a:3 test",
            "MacroCall quickcheck:5",
            "Function b:5 test",
            "MacroCall bitflags:6",
        ],
    );
}

#[test]
fn a_macro_definition_is_one_item() {
    check("macro_rules! m { () => { fn f() {} } }", &["Macro m:1"]);
}

#[test]
fn what_is_no_rust_has_no_items() {
    assert_eq!(items(b"fn f( {"), None);
    assert_eq!(items(&[0xff, 0xfe]), None);
}

#[test]
fn the_work_of_a_test_is_without_its_ignore() {
    let workload = |source: &str| items(source.as_bytes()).unwrap()[0].workload.clone();
    assert_eq!(
        workload("#[test] fn f() { g() }"),
        workload("#[test]\n#[ignore = \"slow\"]\n#[cfg(unix)]\nfn f() { g() }")
    );
    assert_ne!(workload("#[rstest] #[case(1)] fn f() { g() }"), workload("#[rstest] #[case(2)] fn f() { g() }"));
    assert_eq!(workload("fn f() {}"), None);
}
