//! Which tests can start programs: from where in a program a function is reached that starts another one.

use super::digest::{Hash, Table, hash};
use super::program::{Program, Reached};
use std::collections::BTreeSet;

/// Of these tests those whose code leads to a function that starts a program.
pub fn starting(program: &Program, tests: &BTreeSet<String>) -> BTreeSet<String> {
    let starters = program.names_outside(is_starter);
    let leads = leading_to(program, &starters);
    let wanted: Table<Hash, &String> = tests.iter().map(|name| (hash(name.as_bytes()), name)).collect();
    let found = program.descriptors().filter_map(|(name, descriptor)| {
        let name = wanted.get(&name)?;
        program.functions_in(descriptor).iter().any(|atom| leads[*atom as usize]).then(|| (*name).clone())
    });
    found.collect()
}

/// By atom: whether one of these names is reached from it.
fn leading_to(program: &Program, names: &BTreeSet<Hash>) -> Vec<bool> {
    let count = program.node_count();
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
    let mut leads = vec![false; count as usize];
    let mut queue = Vec::new();
    for atom in 0..count {
        for target in program.targets(atom) {
            match target {
                Reached::Atom { atom: target, .. } => sources[target as usize].push(atom),
                Reached::Outside { name, .. } if names.contains(&name) && !leads[atom as usize] => {
                    leads[atom as usize] = true;
                    queue.push(atom);
                }
                Reached::Outside { .. } => {}
            }
        }
    }
    while let Some(atom) = queue.pop() {
        for source in &sources[atom as usize] {
            if !std::mem::replace(&mut leads[*source as usize], true) {
                queue.push(*source);
            }
        }
    }
    leads
}

/// Functions of the C library that start programs, and those of std's `Command` in both manglings.
fn is_starter(name: &str) -> bool {
    const C: [&str; 13] = [
        "execl",
        "execle",
        "execlp",
        "execv",
        "execve",
        "execveat",
        "execvp",
        "execvpe",
        "fexecve",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "system",
    ];
    C.contains(&name) || (name.contains("7process") && name.contains("7Command"))
}
