//! Merges of files: the code of one version with the test code of another.

use super::splice;

#[track_caller]
fn check(code: &str, tests: &str, expected: &str) {
    assert_eq!(splice(code, tests).as_deref(), Some(expected));
}

#[track_caller]
fn check_untouched(code: &str, tests: &str) {
    assert_eq!(splice(code, tests), None);
}

#[test]
fn a_changed_inline_test_module_is_exchanged_where_it_was() {
    check(
        "//! Docs.\nfn f() { new() }\n\n#[cfg(test)]\nmod tests {\n    fn new() {}\n}\n\nfn last() {}\n",
        "//! Docs.\nfn f() { old() }\n\n/// Old tests.\n#[cfg(test)]\nmod tests {\n    fn old() {} // old\n}\n",
        "//! Docs.\nfn f() { new() }\n\n/// Old tests.\n#[cfg(test)]\nmod tests {\n    fn old() {} // old\n}\n\nfn last() {}\n",
    );
}

#[test]
fn files_that_differ_in_test_code_only_become_the_same() {
    let tests = "// One comment.\nfn f() {}\n#[cfg(test)]\nmod tests { fn old() {} }\n";
    check("fn f() {}\n\n#[cfg(test)]\nmod tests { fn new() {} }\n", tests, tests);
}

#[test]
fn nothing_is_touched_for_comments_and_white_space() {
    check_untouched(
        "fn f() { 2 }\n#[cfg(test)] mod tests { /* new */ fn t() {} }",
        "fn f() { 1 }\n#[cfg(test)]\nmod tests {\n    // Old.\n    fn t() {}\n}",
    );
}

#[test]
fn test_functions_helpers_and_imports_outside_of_a_test_module_count_too() {
    check(
        "#[cfg(test)]\nuse a::New;\nfn f() { 2 }\n#[test]\nfn t() { new() }\n#[cfg(test)]\nfn helper() { 2 }\n",
        "#[cfg(test)]\nuse a::Old;\nfn f() { 1 }\n#[test]\nfn t() { old() }\n#[cfg(test)]\nfn helper() { 1 }\n",
        "\nfn f() { 2 }\n#[cfg(test)]\nuse a::Old;\n\n#[test]\nfn t() { old() }\n#[cfg(test)]\nfn helper() { 1 }\n",
    );
}

#[test]
fn an_added_item_follows_its_neighbour_and_a_removed_one_goes() {
    check(
        "#[cfg(test)]\nmacro_rules! m { () => {} }\nfn f() { 2 }\n#[cfg(test)]\nmod new {}\n",
        "#[cfg(test)]\nmacro_rules! m { () => {} }\n#[cfg(test)]\nmod old {}\nfn f() { 1 }\n",
        "#[cfg(test)]\nmacro_rules! m { () => {} }\n\n#[cfg(test)]\nmod old {}\nfn f() { 2 }\n\n",
    );
}

#[test]
fn code_without_tests_gets_them_at_its_end() {
    check(
        "fn f() { 2 } // last",
        "fn f() { 1 }\n#[cfg(test)]\nmod tests;\n",
        "fn f() { 2 } // last\n#[cfg(test)]\nmod tests;\n",
    );
    check("fn f() { 2 }\n#[cfg(test)]\nmod tests;\n", "fn f() { 1 }\n", "fn f() { 2 }\n\n");
}

#[test]
fn tests_stay_inside_their_inline_module() {
    check(
        "mod a { mod b { fn f() { 2 } #[test] fn t() { new() } } }\nmod c { fn g() { 2 } }",
        "mod a { mod b { fn f() { 1 } #[test] fn t() { old() } } }\nmod c { #[test] fn u() {} }",
        "mod a { mod b { fn f() { 2 } #[test] fn t() { old() } } }\nmod c { fn g() { 2 } \n#[test] fn u() {}\n}",
    );
}

#[test]
fn a_test_only_method_of_an_impl_block_is_test_code() {
    check(
        "impl A { fn f() { 2 } #[cfg(test)] fn peek() { new() } }",
        "impl A { fn f() { 1 } #[cfg(test)] fn peek() { old() } }",
        "impl A { fn f() { 2 } #[cfg(test)] fn peek() { old() } }",
    );
}

#[test]
fn a_condition_that_implies_test_is_enough_and_another_is_not() {
    check(
        "fn f() { 2 }\n#[cfg(all(test, feature = \"x\"))] mod tests { fn new() {} }",
        "fn f() { 1 }\n#[cfg(all(test, feature = \"x\"))] mod tests { fn old() {} }",
        "fn f() { 2 }\n#[cfg(all(test, feature = \"x\"))] mod tests { fn old() {} }",
    );
    check_untouched(
        "fn f() { 2 }\n#[cfg(any(test, feature = \"x\"))] mod tests { fn new() {} }",
        "fn f() { 1 }\n#[cfg(any(test, feature = \"x\"))] mod tests { fn old() {} }",
    );
}

#[test]
fn a_macro_call_of_tests_is_test_code_and_one_of_code_is_not() {
    check(
        "fn f() { 2 }\nproptest! { #[test] fn t(x in 0..2) { f() } }",
        "fn f() { 1 }\nproptest! { #[test] fn t(x in 0..1) { f() } }",
        "fn f() { 2 }\nproptest! { #[test] fn t(x in 0..1) { f() } }",
    );
    check_untouched("lazy! { fn f() { 2 } }", "lazy! { fn f() { 1 } }");
}

#[test]
fn a_module_that_only_one_side_has_is_left_alone() {
    check_untouched("fn f() { 2 }\nmod new { #[test] fn t() {} }", "fn f() { 1 }");
    check_untouched("fn f() { 2 }", "fn f() { 1 }\nmod old { #[test] fn t() {} }");
}

#[test]
fn scripts_marks_and_wide_characters_do_not_shift_the_cut() {
    check(
        "\u{feff}#!/usr/bin/env run\nconst A: &str = \"äöü🦀\"; #[test] fn t() { new() } fn f() { 2 }",
        "const A: &str = \"äöü🦀\"; /* ß */ #[test] fn t() { old(\"é\") } fn f() { 1 }",
        "\u{feff}#!/usr/bin/env run\nconst A: &str = \"äöü🦀\"; #[test] fn t() { old(\"é\") } fn f() { 2 }",
    );
}

#[test]
fn what_does_not_parse_is_left_alone() {
    check_untouched("fn f( {", "#[test] fn t() {}");
    check_untouched("#[test] fn t() {}", "fn f( {");
}
