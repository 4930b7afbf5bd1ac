//! Finds the tests that can start programs, by searching calls of functions that start a program.

use super::digest::{Hash, Table, hash};
use super::program::Program;
use super::reach::{Goals, leading_to, startup};
use perfunit_model::guesses::C_STARTERS;
use std::collections::BTreeSet;

/// Returns the tests with code that leads to a function that starts a program.
pub fn starting(program: &Program, tests: &BTreeSet<String>) -> BTreeSet<String> {
    leading(program, tests, is_starter)
}

/// Returns the tests that can start their own program, in which any test may run.
pub fn restarting(program: &Program, tests: &BTreeSet<String>) -> BTreeSet<String> {
    leading(program, &leading(program, tests, is_own_path), is_starter)
}

/// Returns the tests with code that leads to such a library function: all of them if code that runs before does.
fn leading(program: &Program, tests: &BTreeSet<String>, is_wanted: fn(&str) -> bool) -> BTreeSet<String> {
    let goals = Goals { names: program.names_outside(is_wanted), ..Goals::default() };
    let leads = leading_to(program, &goals);
    if startup(program).iter().any(|atom| leads[*atom as usize]) {
        return tests.clone();
    }
    let wanted: Table<Hash, &String> = tests.iter().map(|name| (hash(name.as_bytes()), name)).collect();
    let found = program.descriptors().filter_map(|(name, descriptor)| {
        let name = wanted.get(&name)?;
        program.functions_in(descriptor).iter().any(|atom| leads[*atom as usize]).then(|| (*name).clone())
    });
    found.collect()
}

/// Checks for std's functions that return the path of the current program, in both manglings.
fn is_own_path(name: &str) -> bool {
    name.contains("3env") && (name.contains("11current_exe") || name.contains("4args") || name.contains("7args_os"))
}

/// Checks for functions of the C library that start programs, and for those of std's `Command` in both manglings.
fn is_starter(name: &str) -> bool {
    C_STARTERS.contains(&name) || (name.contains("7process") && name.contains("7Command"))
}
