//! `--engine callgrind`: responsible functions by instructions.

use crate::support::{Project, skipped};
use serde_json::Value;
use std::process::Command;

/// Functions that are all inlined, and a loop that is not unrolled because its numbers are opaque.
pub const LIBRARY: &str = r"//! Mixing.

use std::hint::black_box;

#[inline(never)]
pub fn mix(numbers: &[u64]) -> u64 {
    let first = twist(numbers, 1);
    first ^ fold(numbers)
}

#[inline(always)]
fn twist(numbers: &[u64], seed: u64) -> u64 {
    let mut state = seed;
    for number in black_box(numbers) {
        state = step(state, *number);
    }
    state
}

#[inline(always)]
const fn step(state: u64, number: u64) -> u64 {
    (state ^ number).rotate_left(5)
}

#[inline(always)]
fn fold(numbers: &[u64]) -> u64 {
    numbers.iter().map(|number| black_box(*number) * 3).fold(0, |sum, number| sum ^ number)
}

macro_rules! doubled {
    ($name:ident) => {
        #[inline(always)]
        pub fn $name(numbers: &[u64]) -> u64 {
            numbers.iter().map(|number| black_box(number << 1)).max().unwrap_or(0)
        }
    };
}

doubled!(largest);

#[cfg(test)]
mod tests {
    #[test]
    fn mixes() {
        let numbers: Vec<u64> = (0..500).collect();
        assert!(super::mix(&numbers) > 0);
        assert_eq!(super::largest(&numbers), 998);
    }
}
";

/// A replacement in the library, at its first occurrence.
type Edit = (&'static str, &'static str);

const MORE_IN_A_COPY: Edit = (
    "numbers.iter().map(|number| black_box(*number)",
    "numbers.iter().chain(numbers).chain(numbers).chain(numbers).map(|number| black_box(*number)",
);
const OFTENER: Edit =
    ("first ^ fold(numbers)", "first ^ fold(numbers) ^ twist(numbers, first) ^ twist(numbers, 3) ^ twist(numbers, 5)");
/// A longer chain, in which each link waits for the previous one.
const MORE_IN_A_CONSTANT_FUNCTION: Edit = (
    "(state ^ number).rotate_left(5)",
    "((state ^ number).rotate_left(5).swap_bytes().wrapping_mul(7) | 1).wrapping_sub(number >> 3)",
);
const MORE_IN_A_MACRO: Edit = (
    "numbers.iter().map(|number| black_box(number << 1))",
    "numbers.iter().chain(numbers).chain(numbers).chain(numbers).map(|number| black_box(number << 1))",
);
/// The replacements.
pub const EDITS: [Edit; 4] = [MORE_IN_A_COPY, OFTENER, MORE_IN_A_CONSTANT_FUNCTION, MORE_IN_A_MACRO];

/// Returns whether valgrind is installed. If not, reports the test as skipped.
pub fn has_valgrind() -> bool {
    let is_installed = Command::new("valgrind").arg("--version").output().is_ok();
    if !is_installed {
        skipped("valgrind is not installed");
    }
    is_installed
}

/// Returns name and kind of the first responsible function after a replacement, and the whole explanation.
fn responsible(edit: Edit) -> Option<(String, String, Value)> {
    responsible_in(LIBRARY, edit)
}

fn responsible_in(library: &str, (from, to): Edit) -> Option<(String, String, Value)> {
    let project = Project::library(library, &library.replacen(from, to, 1)).with_natural_layout();
    let run = project.diff(&["--explain", "always", "--engine", "callgrind"]);
    if !has_valgrind() {
        // A missing but requested engine is an error before anything is built.
        assert!(run.expect(102).stderr.contains("--engine callgrind needs valgrind"));
        return None;
    }
    let found = run.expect(100).json()["tests"][0]["explanation"].clone();
    assert_eq!((&found["engine"], &found["unit"]), (&"callgrind".into(), &"instructions".into()), "{found:#}");
    let first = &found["responsible"][0];
    let share = first["share"].as_f64().unwrap_or_else(|| panic!("{found:#}"));
    assert!((0.7..1.3).contains(&share), "{found:#}");
    let function = &found["functions"][first["function"].as_u64().unwrap() as usize];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Some((text(&function["name"]), text(&first["kind"]), found))
}

#[track_caller]
fn check(edit: Edit, name: &str, kind: &str) {
    if let Some((found_name, found_kind, found)) = responsible(edit) {
        assert_eq!((found_name.as_str(), found_kind.as_str()), (name, kind), "{found:#}");
    }
}

#[test]
fn an_inlined_function_that_executes_more_is_responsible() {
    check(MORE_IN_A_COPY, "fold", "own");
}

#[test]
fn the_caller_that_calls_an_inlined_helper_more_often_is_responsible() {
    check(OFTENER, "mix", "calls");
}

#[test]
fn a_constant_function_which_no_probe_can_time_is_found() {
    check(MORE_IN_A_CONSTANT_FUNCTION, "step", "own");
}

#[test]
fn a_function_that_a_macro_wrote_is_found_by_its_name() {
    check(MORE_IN_A_MACRO, "largest", "own");
}

#[test]
fn a_test_that_cannot_run_in_parallel_with_itself_is_counted_sequentially() {
    let exclusive = LIBRARY
        .replace(
            "let numbers: Vec<u64> = (0..500).collect();",
            r#"let manifest = std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        manifest.try_lock().expect("another process holds the lock");
        let numbers: Vec<u64> = (0..20_000).collect();"#,
        )
        .replace("998", "39_998");
    if let Some((name, kind, found)) = responsible_in(&exclusive, OFTENER) {
        assert_eq!((name.as_str(), kind.as_str()), ("mix", "calls"), "{found:#}");
    }
}

#[test]
fn calls_of_inlined_functions_are_counted() {
    let Some((_, _, found)) = responsible(OFTENER) else {
        return;
    };
    let calls = |name: &str| {
        let functions = found["functions"].as_array().unwrap();
        let index = functions.iter().position(|function| function["name"] == name).unwrap() as u64;
        let nodes = found["nodes"].as_array().unwrap().iter().filter(|node| node["function"] == index);
        let sum = nodes.fold([0.0, 0.0], |sum, node| {
            [sum[0] + node["calls"]["base"].as_f64().unwrap(), sum[1] + node["calls"]["head"].as_f64().unwrap()]
        });
        sum.map(|calls: f64| calls.round() as u64)
    };
    assert_eq!(calls("mix"), [1, 1]);
    assert_eq!(calls("twist"), [1, 4]);
    assert_eq!(calls("fold"), [1, 1]);
}
