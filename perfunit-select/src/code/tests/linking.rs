//! Several objects: C, constructors, collected sections, duplicates.

use super::support::{between, c, changed_by, changed_code, programs, rust, rust_with, same};
use crate::code::compare::NotFound;
use crate::code::{Code, What, compare_symbols};
use perfunit_model::Side;

/// Calls a function of another object.
const CALLER: &str = r#"
    unsafe extern "C" { safe fn helper(x: i32) -> i32; }
    #[test] fn calls() { assert_ne!(helper(std::hint::black_box(1)), 0); }
    #[test] fn does_not() { assert_ne!(std::hint::black_box(1), 0); }
"#;

const TESTS: [&str; 2] = ["calls", "does_not"];

#[test]
fn a_c_function_is_compared_like_any_other() {
    let caller = rust(CALLER);
    let [base, head] = ["41", "42"].map(|n| c(&format!("int helper(int x) {{ return x * {n}; }}")));
    let comparison = between(&[&caller, &base], &[&caller, &head], &TESTS);
    changed_by(&comparison, "calls", &[("helper", What::Code)]);
    same(&comparison, "does_not");
    same(&between(&[&caller, &base], &[&caller, &base], &TESTS), "calls");
}

#[test]
fn a_c_file_is_one_atom_and_all_its_functions_are_watched() {
    let caller = rust(CALLER);
    let file = |n: u32| c(&format!("int before(int x) {{ return x / {n}; }} int helper(int x) {{ return x * 41; }}"));
    let comparison = between(&[&caller, &file(8)], &[&caller, &file(1000)], &TESTS);
    let changed = changed_code(&comparison, "calls");
    assert!(changed.frontier[0].symbols.head.contains("helper"), "{changed:?}");
    assert!(changed.frontier[0].symbols.base.contains("before"), "{changed:?}");
}

#[test]
fn without_a_definition_the_name_is_all_there_is() {
    let caller = rust(CALLER);
    let other = rust(&CALLER.replace("helper", "another"));
    same(&between(&[&caller], &[&caller], &TESTS), "calls");
    let comparison = between(&[&caller], &[&other], &TESTS);
    assert_eq!(changed_code(&comparison, "calls").path, ["calls"]);
}

#[test]
fn the_first_strong_definition_counts() {
    let caller = rust(CALLER);
    let strong = |n: u32| c(&format!("int helper(int x) {{ return x * {n}; }}"));
    let weak = |n: u32| c(&format!("__attribute__((weak)) int helper(int x) {{ return x * {n}; }}"));
    let comparison = between(&[&caller, &weak(1), &strong(2)], &[&caller, &weak(3), &strong(2)], &TESTS);
    same(&comparison, "calls");
    let comparison = between(&[&caller, &strong(2), &strong(5)], &[&caller, &strong(2), &strong(6)], &TESTS);
    same(&comparison, "calls");
    let comparison = between(&[&caller, &weak(1), &strong(2)], &[&caller, &weak(1), &strong(4)], &TESTS);
    changed_by(&comparison, "calls", &[("helper", What::Code)]);
}

#[test]
fn a_tentative_definition_is_a_mutable_static() {
    let caller = rust(CALLER);
    let file =
        |size: u32| c(&format!("__attribute__((common)) int room[{size}]; int helper(int x) {{ return room[x]; }}"));
    same(&between(&[&caller, &file(10)], &[&caller, &file(10)], &TESTS), "calls");
    let comparison = between(&[&caller, &file(10)], &[&caller, &file(20)], &TESTS);
    changed_by(&comparison, "calls", &[("helper", What::Data("room".to_owned()))]);
}

#[test]
fn a_constructor_runs_in_every_test() {
    let caller = rust(CALLER);
    let constructor = |n: u32| {
        c(&format!(
            "int ready; int helper(int x) {{ return x + 1; }}
            __attribute__((constructor)) static void prepare(void) {{ ready = {n}; }}"
        ))
    };
    let none = c("int ready; int helper(int x) { return x + 1; }");
    let comparison = between(&[&caller, &constructor(1)], &[&caller, &constructor(2)], &TESTS);
    assert_eq!(changed_code(&comparison, "does_not").frontier[0].name, "prepare");
    let comparison = between(&[&caller, &none], &[&caller, &constructor(1)], &TESTS);
    let added = &changed_code(&comparison, "does_not").frontier[0];
    assert_eq!(added.what, What::Added);
    assert!(added.symbols.head.contains("prepare") && added.symbols.base.is_empty(), "{added:?}");
    same(&between(&[&caller, &constructor(1)], &[&caller, &constructor(1)], &TESTS), "does_not");
}

/// Statics in one section that are found by its bounds, as with the crate linkme.
const COLLECTED: &str = r#"
    type Step = fn(u32) -> u32;
    unsafe extern "C" { #[link_name = "__start_steps"] static START: Step; #[link_name = "__stop_steps"] static STOP: Step; }
    #[inline(never)] fn double(x: u32) -> u32 { x * 2 }
    #[inline(never)] fn triple(x: u32) -> u32 { x * 3 }
    #[used] #[unsafe(link_section = "steps")] static ONE: Step = double;
    // more
    #[inline(never)] fn all(mut x: u32) -> u32 {
        let (mut at, end) = (&raw const START, &raw const STOP);
        while at < end { unsafe { x = (*at)(x); at = at.add(1); } }
        x
    }
    #[test] fn runs_all() { assert_ne!(all(std::hint::black_box(1)), 0); }
    #[test] fn runs_none() { assert_ne!(std::hint::black_box(1), 0); }
"#;

#[test]
fn sections_with_bounds_are_followed_to_all_their_members() {
    let tests = ["runs_all", "runs_none"];
    let base = rust(COLLECTED);
    let edited = rust(&COLLECTED.replace("x * 2", "x * 5"));
    let comparison = between(&[&base], &[&edited], &tests);
    changed_by(&comparison, "runs_all", &[("story::double", What::Code)]);
    same(&comparison, "runs_none");
    let more = r#"#[used] #[unsafe(link_section = "steps")] static TWO: Step = triple;"#;
    let comparison = between(&[&base], &[&rust(&COLLECTED.replace("// more", more))], &tests);
    assert!(changed_code(&comparison, "runs_all").frontier.iter().any(|code| code.name == "story::all"));
    same(&comparison, "runs_none");
    same(&between(&[&base], &[&base], &tests), "runs_all");
}

#[test]
fn a_rust_crate_is_found_by_symbol_whatever_object_it_is_in() {
    let library = |n: u32| {
        let source =
            format!("#[unsafe(no_mangle)] pub extern \"C\" fn helper(x: i32) -> i32 {{ x.wrapping_mul({n}) }}");
        rust_with(&source, &["--crate-type=lib"])
    };
    let caller = rust(CALLER);
    let comparison = between(&[&caller, &library(40)], &[&caller, &library(50)], &TESTS);
    changed_by(&comparison, "calls", &[("helper", What::Code)]);
    same(&between(&[&caller, &library(40)], &[&caller, &library(40)], &TESTS), "calls");
}

#[test]
fn a_program_is_compared_from_its_main() {
    let program = |n: u32| {
        let source = format!("fn main() {{ std::process::exit({n}); }}");
        rust_with(&source, &["--crate-type=bin"])
    };
    assert_eq!(compare_symbols(&programs(&[&program(1)], &[&program(1)]), &["main"]), Code::Same);
    let Code::Changed(changed) = compare_symbols(&programs(&[&program(1)], &[&program(2)]), &["main"]) else {
        panic!()
    };
    assert_eq!(changed.frontier[0].name, "story::main");
    let unknown = compare_symbols(&programs(&[&program(1)], &[]), &["main"]);
    assert_eq!(unknown, Code::Unknown { why: NotFound::In(Side::Head) });
}
