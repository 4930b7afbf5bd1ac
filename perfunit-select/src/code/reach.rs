//! Finds the tests that can reach given functions, by walking each side's references.
//!
//! Unknown cases count as reached: a test that is not found, a function in the executable that no test is seen to
//! reach, and code of the toolchain's own libraries.

use super::digest::{Hash, Table, hash};
use super::program::{Program, Reached};
use perfunit_model::Sides;
use std::collections::BTreeSet;

/// The tests that can reach some of the functions.
#[derive(Debug, Default)]
pub struct Reach {
    /// Result by the hash of the test's name; `None` if all tests can.
    tests: Option<Table<Hash, bool>>,
}

impl Reach {
    /// Creates a result for tests with unknown code, which can reach everything.
    pub fn of_all() -> Self {
        Self { tests: None }
    }

    /// Checks whether a test can reach any of the functions on either side.
    pub fn may(&self, test: &str) -> bool {
        self.tests.as_ref().is_none_or(|tests| tests.get(&hash(test.as_bytes())).copied().unwrap_or(true))
    }
}

/// Finds the tests that can reach some of these functions, given by each side's symbols.
pub fn reach(programs: &Sides<Program>, functions: &Sides<BTreeSet<String>>) -> Reach {
    let reached = programs.as_ref().map(|program| Forward::of(program, &every_root(program)));
    let (base, head) = (&programs.base, &programs.head);
    let found = [
        leads(base, &functions.base, &functions.head, (&reached.base, &reached.head)),
        leads(head, &functions.head, &functions.base, (&reached.head, &reached.base)),
    ];
    let mut tests: Table<Hash, bool> = Table::default();
    for (program, leads) in [base, head].into_iter().zip(found) {
        let Some(leads) = leads else { return Reach::of_all() };
        if startup(program).iter().any(|atom| leads[*atom as usize]) {
            return Reach::of_all();
        }
        for (name, descriptor) in program.descriptors() {
            *tests.entry(name).or_default() |= leads[descriptor as usize];
        }
    }
    Reach { tests: Some(tests) }
}

/// Checks for each atom whether it reaches some of the functions. Returns `None` if that is unknown.
fn leads(
    program: &Program,
    functions: &BTreeSet<String>,
    of_other_side: &BTreeSet<String>,
    (reached, reached_on_other_side): (&Forward, &Forward),
) -> Option<Vec<bool>> {
    let mut goals = Goals::default();
    let mut is_new_outside = false;
    for function in functions {
        let atoms = program.atoms_named(function);
        if atoms.is_empty() {
            if of_other_side.contains(function) {
                return None;
            }
            is_new_outside = true;
        } else if !atoms.iter().any(|atom| reached.atoms[*atom as usize]) {
            return None;
        }
        goals.atoms.extend(atoms);
    }
    if is_new_outside {
        // A library function that only one side has is there because of a name that only this side refers to.
        goals.names.extend(reached.names.difference(&reached_on_other_side.names));
        if goals.names.is_empty() {
            return None;
        }
    }
    Some(leading_to(program, &goals))
}

/// Returns the atoms that run before or independently of tests.
pub(super) fn startup(program: &Program) -> Vec<u32> {
    program.constructors().into_iter().chain(program.called_from_outside().into_values()).collect()
}

/// Returns all known entry points.
fn every_root(program: &Program) -> Vec<u32> {
    let tests = program.descriptors().map(|(_, descriptor)| descriptor);
    tests.chain(startup(program)).collect()
}

impl Program {
    /// Returns all known entry points, including `main` of a custom harness.
    pub(super) fn starts(&self) -> Vec<u32> {
        every_root(self).into_iter().chain(self.definition("main")).collect()
    }
}

/// Atoms that are reachable from some roots.
pub(super) struct Forward {
    atoms: Vec<bool>,
    /// Names that the link does not define.
    names: BTreeSet<Hash>,
}

impl Forward {
    pub fn of(program: &Program, roots: &[u32]) -> Self {
        let mut reached = Self { atoms: vec![false; program.node_count() as usize], names: BTreeSet::new() };
        let mut queue = Vec::new();
        let add = |atom: u32, atoms: &mut Vec<bool>| {
            let is_new = !std::mem::replace(&mut atoms[atom as usize], true);
            is_new.then_some(atom)
        };
        queue.extend(roots.iter().filter_map(|root| add(*root, &mut reached.atoms)));
        while let Some(atom) = queue.pop() {
            for target in program.targets(atom) {
                match target {
                    Reached::Atom { atom, .. } => queue.extend(add(atom, &mut reached.atoms)),
                    Reached::Outside { name, .. } => {
                        reached.names.insert(name);
                    }
                }
            }
        }
        reached
    }

    pub fn holds(&self, atom: u32) -> bool {
        self.atoms[atom as usize]
    }
}

/// Targets of a search.
#[derive(Debug, Default)]
pub(super) struct Goals {
    pub atoms: BTreeSet<u32>,
    /// Names that the link does not define.
    pub names: BTreeSet<Hash>,
}

/// Checks for each atom whether it reaches a goal.
pub(super) fn leading_to(program: &Program, goals: &Goals) -> Vec<bool> {
    let is_goal = |target: Reached| matches!(target, Reached::Outside { name, .. } if goals.names.contains(&name));
    let names_one = |atom| !goals.names.is_empty() && program.targets(atom).any(is_goal);
    let is_one = |atom: &u32| goals.atoms.contains(atom) || names_one(*atom);
    let starts: Vec<u32> = (0..program.node_count()).filter(is_one).collect();
    leading_to_each(&sources(program), &[starts]).into_iter().map(|bits| bits != 0).collect()
}

/// Returns for each atom the atoms that refer to it.
pub(super) fn sources(program: &Program) -> Vec<Vec<u32>> {
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); program.node_count() as usize];
    for atom in 0..program.node_count() {
        for target in program.targets(atom) {
            if let Reached::Atom { atom: target, .. } = target {
                sources[target as usize].push(atom);
            }
        }
    }
    sources
}

/// Returns for each atom the goals that it reaches, one bit per goal.
pub(super) fn leading_to_each(sources: &[Vec<u32>], goals: &[Vec<u32>]) -> Vec<u64> {
    let mut leads = vec![0_u64; sources.len()];
    let mut queue = Vec::new();
    for (bit, atoms) in goals.iter().enumerate() {
        for atom in atoms {
            leads[*atom as usize] |= 1 << bit;
            queue.push(*atom);
        }
    }
    while let Some(atom) = queue.pop() {
        let bits = leads[atom as usize];
        for source in &sources[atom as usize] {
            let known = &mut leads[*source as usize];
            if *known | bits != *known {
                *known |= bits;
                queue.push(*source);
            }
        }
    }
    leads
}
