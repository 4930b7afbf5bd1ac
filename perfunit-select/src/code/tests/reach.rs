//! Tests that can reach given functions.

use super::support::{c, programs, rust};
use crate::code::{Unit, reach};
use perfunit_model::Sides;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A function called by one test, one that another test calls through a table, and one that no test calls.
const THREE: &str = r"
#[unsafe(no_mangle)] #[inline(never)] fn direct(x: u64) -> u64 { (0..x).fold(1, |a, b| a ^ b.rotate_left(3)) }
#[unsafe(no_mangle)] #[inline(never)] fn in_table(x: u64) -> u64 { (0..x).fold(2, |a, b| a ^ b.rotate_left(5)) }
#[unsafe(no_mangle)] #[inline(never)] fn of_nobody(x: u64) -> u64 { (0..x).fold(3, |a, b| a ^ b.rotate_left(7)) }
static TABLE: [fn(u64) -> u64; 1] = [in_table];

mod tests {
    use std::hint::black_box;
    #[test] fn one() { assert_ne!(super::direct(black_box(9)), 0); }
    #[test] fn two() { assert_ne!(super::TABLE[black_box(0)](9), 0); }
    #[test] fn three() { assert_ne!(black_box(3), 0); }
}
";

/// Checks which tests of `THREE` can reach these functions.
#[track_caller]
fn check(units: [&[&Arc<Unit>]; 2], functions: [&[&str]; 2], expected: &[&str]) {
    let of_side = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let functions = Sides { base: of_side(functions[0]), head: of_side(functions[1]) };
    let reach = reach(&programs(units[0], units[1]), &functions);
    let tests = ["tests::one", "tests::two", "tests::three"];
    assert_eq!(tests.into_iter().filter(|test| reach.may(test)).collect::<Vec<_>>(), expected);
    assert!(reach.may("tests::unknown"), "of what is not found nothing is known");
}

const ALL: [&str; 3] = ["tests::one", "tests::two", "tests::three"];

#[test]
fn only_who_refers_to_a_function_can_come_by_it() {
    let unit = rust(THREE);
    let both: [&[&Arc<Unit>]; 2] = [&[&unit], &[&unit]];
    check(both, [&["direct"], &["direct"]], &["tests::one"]);
    // Through data, and on one side only.
    check(both, [&[], &["in_table"]], &["tests::two"]);
    check(both, [&["direct"], &["in_table"]], &["tests::one", "tests::two"]);
    check(both, [&[], &[]], &[]);
}

#[test]
fn what_no_test_is_seen_to_reach_may_be_reached_by_all() {
    let unit = rust(THREE);
    check([&[&unit], &[&unit]], [&[], &["of_nobody"]], &ALL);
}

#[test]
fn what_runs_before_every_test_is_reached_by_all() {
    let unit = rust(THREE);
    let early = c("int ready; __attribute__((constructor)) void prepare(void) { ready = 1; }");
    check([&[&unit], &[&unit, &early]], [&[], &["prepare"]], &ALL);
}

#[test]
fn code_of_the_toolchain_is_reached_by_who_refers_to_more_of_it_than_before() {
    let base = rust(THREE);
    let more = r#"unsafe extern "C" { safe fn sorts_it(x: u64) -> u64; }
        #[unsafe(no_mangle)] #[inline(never)] fn direct(x: u64) -> u64 { sorts_it(x)"#;
    let old =
        "#[unsafe(no_mangle)] #[inline(never)] fn direct(x: u64) -> u64 { (0..x).fold(1, |a, b| a ^ b.rotate_left(3))";
    assert!(THREE.contains(old));
    let head = rust(&THREE.replace(old, more));
    // A function that `sorts_it` calls leads to it, but that call is unknown.
    check([&[&base], &[&head]], [&[], &["partition"]], &["tests::one"]);
    // If both sides have the function, its callers are unknown.
    check([&[&base], &[&head]], [&["partition"], &["partition"]], &ALL);
    check([&[&base], &[&base]], [&[], &["partition"]], &ALL);
}
