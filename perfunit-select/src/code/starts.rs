//! Which tests can start programs: from where in a program a function is reached that starts another one.

use super::digest::{Hash, Table, hash};
use super::program::Program;
use super::reach::{Goals, leading_to};
use perfunit_model::guesses::C_STARTERS;
use std::collections::BTreeSet;

/// Of these tests those whose code leads to a function that starts a program.
pub fn starting(program: &Program, tests: &BTreeSet<String>) -> BTreeSet<String> {
    leading(program, tests, is_starter)
}

/// Of these tests those that can start their own program, in which any test may be run.
pub fn restarting(program: &Program, tests: &BTreeSet<String>) -> BTreeSet<String> {
    leading(program, &leading(program, tests, is_own_path), is_starter)
}

/// Of these tests those whose code leads to such a function of a library.
fn leading(program: &Program, tests: &BTreeSet<String>, is_wanted: fn(&str) -> bool) -> BTreeSet<String> {
    let goals = Goals { names: program.names_outside(is_wanted), ..Goals::default() };
    let leads = leading_to(program, &goals);
    let wanted: Table<Hash, &String> = tests.iter().map(|name| (hash(name.as_bytes()), name)).collect();
    let found = program.descriptors().filter_map(|(name, descriptor)| {
        let name = wanted.get(&name)?;
        program.functions_in(descriptor).iter().any(|atom| leads[*atom as usize]).then(|| (*name).clone())
    });
    found.collect()
}

/// std's functions that tell where the program lies, in both manglings.
fn is_own_path(name: &str) -> bool {
    name.contains("3env") && (name.contains("11current_exe") || name.contains("4args") || name.contains("7args_os"))
}

/// Functions of the C library that start programs, and those of std's `Command` in both manglings.
fn is_starter(name: &str) -> bool {
    C_STARTERS.contains(&name) || (name.contains("7process") && name.contains("7Command"))
}
