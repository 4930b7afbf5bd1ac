use super::*;

#[track_caller]
fn check(base: &str, head: &str, expected: &[&str]) {
    check_files(&[("src/lib.rs", base, head)], expected);
}

#[track_caller]
fn check_files(files: &[(&str, &str, &str)], expected: &[&str]) {
    let some = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    let changes: Vec<_> = files
        .iter()
        .map(|(path, base, head)| FileChange { path: (*path).to_owned(), base: some(base), head: some(head) })
        .collect();
    let found: Vec<String> = diff(&changes, &|_| false)
        .items
        .iter()
        .map(|item| {
            let from = item.from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
            format!("{:?} {:?} {}:{}{from}", item.change, item.kind, item.name, item.line)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn comments_documentation_and_formatting_are_no_change() {
    check(
        "//! A.\nfn f(a: u8) -> u8 { a }\n",
        "//! B.\n\n/// F.\nfn f(\n    a: u8,\n) -> u8 {\n    // a\n    a\n}\n",
        &[],
    );
}

#[test]
fn a_file_without_a_change_is_irrelevant() {
    let change =
        FileChange { path: "src/a.rs".into(), base: Some(b"fn f() {}".into()), head: Some(b"// a\nfn f() {}".into()) };
    let diff = diff(&[change], &|_| false);
    assert!(diff.is_empty());
    assert_eq!(diff.irrelevant, [("src/a.rs".to_owned(), Irrelevance::OnlyCommentsOrFormatting)]);
}

#[test]
fn a_shift_and_another_order_are_no_change() {
    check("fn f() {}\nfn g() {}", "\n\nfn g() {}\nfn f() {}", &[]);
    check("use a::{b, c};\nuse d::e;", "use a::b;\nuse a::c;\nuse d::{self, e};", &["Added Use d:3"]);
}

#[test]
fn changed_added_and_removed_items_are_named() {
    check(
        "const A: u8 = 1;\nfn f() {}\nfn g() {}",
        "const A: u8 = 2;\nfn f() {}\nstruct S;",
        &["Changed Const A:1", "Added Type S:3", "Removed Function g:3"],
    );
}

#[test]
fn a_renamed_local_is_a_change() {
    check("fn f() -> u8 { let a = 1; a }", "fn f() -> u8 { let b = 1; b }", &["Changed Function f:1"]);
}

#[test]
fn an_attribute_is_a_change() {
    check("fn f() {}", "#[inline]\nfn f() {}", &["Changed Function f:2"]);
    check("fn f() {}", "#![no_std]\nfn f() {}", &["Added Attributes #![..]:1"]);
}

#[test]
fn a_method_changes_alone() {
    check(
        "mod m { impl S { fn a(&self) {}\n fn b(&self) {} } }",
        "mod m { impl S { fn a(&self) {}\n fn b(&self) { self.a() } } }",
        &["Changed Method m::S::b:2"],
    );
    check("trait T { fn a() {} }", "trait T { fn a() { f() } }", &["Changed Method T::a:1"]);
}

#[test]
fn a_changed_impl_header_stands_for_what_is_inside() {
    check("impl<A> S<A> { fn f() {} }", "impl<A: Copy> S<A> { fn f() {} }", &["Changed Impl S:1"]);
    check(
        "impl<A> S<A> { fn f() {}\n fn g() {} }",
        "impl<A: Copy> S<A> { fn f() {}\n fn g() { f() } }",
        &["Changed Impl S:1", "Changed Method S::g:2"],
    );
}

#[test]
fn impl_blocks_of_one_type_are_told_apart() {
    check(
        "impl From<u8> for S { fn from(a: u8) -> S { S(1) } }\nimpl From<u16> for S { fn from(a: u16) -> S { S(2) } }",
        "impl From<u16> for S { fn from(a: u16) -> S { S(3) } }\nimpl From<u8> for S { fn from(a: u8) -> S { S(1) } }",
        &["Changed Method S::from:1"],
    );
    check("impl S { fn f() {} }\nimpl S { fn g() {} }", "impl S { fn g() {}\nfn f() {} }", &[]);
}

#[test]
fn swapped_bodies_are_changes() {
    check(
        "impl S<u8> { fn f() { a() } }\nimpl S<u16> { fn f() { b() } }",
        "impl S<u8> { fn f() { b() } }\nimpl S<u16> { fn f() { a() } }",
        &["Changed Method S::f:1", "Changed Method S::f:2"],
    );
    check(
        "impl S<u8> { fn f() { a() } }\nimpl S<u16> { fn g() { b() } }",
        "impl S<u8> { fn g() { b() } }\nimpl S<u16> { fn f() { a() } }",
        &["Changed Method S::g:1", "Changed Method S::f:2"],
    );
}

#[test]
fn variants_of_one_name_match_by_content() {
    check(
        "#[cfg(unix)] fn f() { a() }\n#[cfg(windows)] fn f() { b() }",
        "#[cfg(windows)] fn f() { c() }\n#[cfg(unix)] fn f() { a() }",
        &["Changed Function f:1"],
    );
}

#[test]
fn a_moved_item_is_one_entry() {
    check_files(
        &[("src/a.rs", "fn f() { 1 }\nfn g() {}", "fn g() {}"), ("src/b.rs", "fn h() {}", "fn h() {}\nfn f() { 1 }")],
        &["Moved Function f:2 from src/a.rs"],
    );
    check("fn f() {}", "mod m { fn f() {} }", &["Added Module m:1", "Moved Function m::f:1"]);
}

#[test]
fn a_module_made_a_file_only_moves_its_items() {
    check_files(
        &[("src/a.rs", "", "fn f() {}"), ("src/lib.rs", "mod a { fn f() {} }", "mod a;")],
        &["Moved Function f:1 from src/lib.rs"],
    );
}

#[test]
fn a_method_of_another_type_has_not_moved() {
    check_files(
        &[
            ("a.rs", "impl A { fn new() -> Self { Self } }", "impl A {}"),
            ("b.rs", "impl B {}", "impl B { fn new() -> Self { Self } }"),
        ],
        &["Removed Method A::new:1", "Added Method B::new:1"],
    );
}

#[test]
fn macros_are_items() {
    check("macro_rules! m { () => { 1 } }", "macro_rules! m { () => { 2 } }", &["Changed Macro m:1"]);
    check("t!(a, 1);\nt!(b, 2);", "t!(b, 2);\nt!(a, 3);", &["Changed MacroCall t:2"]);
    check(
        "proptest! { #[test] fn a(x in 0..9) { f(x) }\n #[test] fn b(x in 0..9) { g(x) } }",
        "proptest! { #[test] fn a(x in 0..9) { f(x) }\n #[test] fn b(x in 0..8) { g(x) } }",
        &["Changed Function b:2"],
    );
}

#[test]
fn test_code_is_marked() {
    let change = FileChange {
        path: "src/lib.rs".into(),
        base: Some(b"#[cfg(test)] mod t { fn h() { 1 } #[test] fn a() { h() } }".into()),
        head: Some(b"#[cfg(test)] mod t { fn h() { 2 } #[test] fn a() { h(); h() } } ".into()),
    };
    let marks: Vec<_> = diff(&[change], &|_| false).items.iter().map(|item| (item.test_only, item.is_test)).collect();
    assert_eq!(marks, [(true, true), (true, false)]);
}

#[test]
fn what_does_not_parse_is_compared_by_tokens_then_bytes() {
    check("fn f( { }", "fn f( {\n}", &["Changed Other lib.rs:1"]);
    check("fn f() {}", "fn f() }", &["Changed Other lib.rs:1"]);
    check("fn f = 1", "fn f = /* one */ 1", &[]);
    check("fn f = 1", "fn f = 2", &["Changed Other lib.rs:1"]);
}

#[test]
fn a_build_script_is_an_input() {
    let change = |path: &str, head: &str| FileChange {
        path: path.into(),
        base: Some(b"fn main() {}".into()),
        head: Some(head.into()),
    };
    let script = diff(&[change("a/build.rs", "fn main() { f() }")], &|_| false);
    assert_eq!(script.inputs, [ChangedInput { path: "a/build.rs".into(), kind: InputKind::BuildScript }]);
    assert!(diff(&[change("build.rs", "// a\nfn main() {}")], &|_| false).is_empty());
    assert_eq!(diff(&[change("src/build.rs", "fn main() { f() }")], &|_| false).items.len(), 1);
}

#[test]
fn what_stands_below_another_condition_is_changed() {
    let modules = |first: &str, second: &str| {
        format!("#[cfg({first})]\nmod m {{\nfn f() {{ 1 }}\n}}\n#[cfg({second})]\nmod m {{\nfn f() {{ 2 }}\n}}")
    };
    let swapped = ["Changed Function m::f:3", "Changed Function m::f:7"];
    check(&modules("a", "not(a)"), &modules("not(a)", "a"), &swapped);
    // The order of the two does not matter; another condition is one of the module.
    check(
        "#[cfg(a)] mod m { fn f() { 1 } impl S {} } #[cfg(b)] mod m { fn f() { 2 } impl S {} }",
        "#[cfg(b)] mod m { fn f() { 2 } impl S {} } #[cfg(a)] mod m { fn f() { 1 } impl S {} }",
        &[],
    );
    check(&modules("a", "not(a)"), &modules("b", "not(a)"), &["Changed Module m:2"]);
    // A changed test does not represent changed code.
    check(
        &format!("{}\n#[cfg(test)]\nmod tests {{}}", modules("a", "b")),
        &format!("{}\n#[cfg(all(test, a))]\nmod tests {{}}", modules("b", "a")),
        &[swapped[0], swapped[1], "Changed Module tests:10"],
    );
    check(
        "#[pymethods] impl S { fn f() {} }\nimpl S { fn g() {} }",
        "#[pymethods] impl S { fn g() {} }\nimpl S { fn f() {} }",
        &["Changed Method S::g:1", "Changed Method S::f:2"],
    );
}

#[test]
fn functions_in_another_part_of_a_macro_call_are_changed() {
    let branches = |one: u8, other: u8| {
        format!("cfg_if! {{ if #[cfg(a)] {{\nfn f() {{ {one} }}\n}} else {{\nfn f() {{ {other} }}\n}} }}")
    };
    check(&branches(1, 2), &branches(2, 1), &["Changed Function f:2", "Changed Function f:4"]);
    check(
        "m! { impl A { fn f() {} }\nimpl B { fn g() {} } }",
        "m! { impl A { fn g() {} }\nimpl B { fn f() {} } }",
        &["Changed Function g:1", "Changed Function f:2"],
    );
}

#[test]
fn another_order_of_macros_is_a_change_where_it_can_mean_another_one() {
    let (f, g) = ("fn f() -> u8 { n!() }", "fn g() -> u8 { n!() }");
    let (one, two) = ("macro_rules! n { () => { 1 } }", "macro_rules! n { () => { 2 } }");
    let (base, head) = ([one, f, two, g].join("\n"), [one, two, f, g].join("\n"));
    check(&base, &head, &["Changed Macro n:1", "Changed Macro n:2", "Changed Function f:3", "Changed Function g:4"]);
    let modules = ["#[macro_use] mod a;", "#[macro_use] mod b;"];
    check(&modules.join("\n"), &[modules[1], modules[0]].join("\n"), &["Changed Module b:1", "Changed Module a:2"]);
    // Items that call no macro may be anywhere.
    check(&[one, f, "fn h() {}"].join("\n"), &["fn h() {}", one, f].join("\n"), &[]);
}
