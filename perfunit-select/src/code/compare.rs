//! The answer for each test.

use super::digest::{Hash, Table, hash};
use super::names::entered;
use super::pairs::{Node, Pair, Pairs};
use super::program::Program;
use super::trace::{Touched, Trace};
use perfunit_model::{Side, Sides};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the comparison of two programs says about each test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// By the test's name; every test that was asked for.
    pub tests: BTreeMap<String, Code>,
}

/// What machine code says about a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// Whatever the test does, it executes the same code on the same data.
    Same,
    /// It can reach code or data that differs.
    Changed(Changed),
    /// It was not found in the program: it has to count as changed.
    Unknown { why: NotFound },
}

/// How a test can come upon a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Where its execution can first differ, nearest first. Not executing any of it means not to have changed.
    pub frontier: Vec<Arc<ChangedCode>>,
    /// A shortest way to the first: the test, then functions by name. The test alone if its own body differs.
    pub path: Vec<String>,
}

/// A function where the execution of the two versions can begin to differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedCode {
    pub name: String,
    /// As the linker knows it. Passing any of these places means that the difference was reached; a side where there are
    /// none cannot be watched, and then the difference counts as reached.
    pub symbols: Sides<BTreeSet<String>>,
    pub what: What,
}

/// What differs about a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Its own instructions, or what they refer to.
    Code,
    /// Data of this name that it refers to: a table, a string, a static.
    Data(String),
    /// It is there in head only.
    Added,
    /// It is there in base only.
    Removed,
}

/// In which objects nothing of a test was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    In(Side),
    Anywhere,
}

/// Compares what each test can reach in both programs.
pub fn compare(programs: &Sides<Program>, tests: &BTreeSet<String>) -> Comparison {
    let wanted: Table<Hash, &str> = tests.iter().map(|name| (hash(name.as_bytes()), name.as_str())).collect();
    let functions = programs.as_ref().map(|program| functions_of_tests(program, &wanted));
    let mut comparer = Comparer::new(programs);
    let mut roots: BTreeMap<&str, Result<Vec<Node>, NotFound>> = BTreeMap::new();
    for name in tests {
        roots.insert(name, comparer.roots(functions.as_ref().map(|found| found.get(name.as_str()))));
    }
    Comparison { tests: comparer.finish(roots) }
}

/// The same for what begins at global symbols, such as `main` of the package's binaries: all that either side defines,
/// taken together.
pub fn compare_symbols(programs: &Sides<Program>, symbols: &[&str]) -> Code {
    let mut comparer = Comparer::new(programs);
    let Sides { base, head } = programs;
    let is_defined = |symbol: &&&str| base.definition(symbol).or(head.definition(symbol)).is_some();
    let defined: Vec<&&str> = symbols.iter().filter(is_defined).collect();
    let found = programs.as_ref().map(|program| {
        let atoms: Option<Vec<u32>> = defined.iter().map(|symbol| program.definition(symbol)).collect();
        atoms.filter(|atoms| !atoms.is_empty())
    });
    let roots = comparer.roots(found.as_ref().map(Option::as_ref));
    let name = symbols.first().copied().unwrap_or_default();
    let mut answers = comparer.finish(BTreeMap::from([(name, roots)]));
    answers.remove(name).unwrap_or(Code::Unknown { why: NotFound::Anywhere })
}

/// What libtest calls for each test. A descriptor also holds line numbers and flags; they are not compared.
fn functions_of_tests<'a>(program: &Program, wanted: &Table<Hash, &'a str>) -> BTreeMap<&'a str, Vec<u32>> {
    let mut functions: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (hash, descriptor) in program.descriptors() {
        if let Some(name) = wanted.get(&hash) {
            functions.entry(name).or_default().extend(program.functions_in(descriptor));
        }
    }
    functions.retain(|_, found| !found.is_empty());
    functions
}

struct Comparer<'a> {
    pairs: Pairs<'a>,
    /// What runs in every test.
    startup: Vec<Node>,
}

impl<'a> Comparer<'a> {
    /// Constructors run before every test, and std calls the allocator by name.
    fn new(programs: &'a Sides<Program>) -> Self {
        let mut pairs = Pairs::new(programs);
        let constructors = programs.as_ref().map(Program::constructors);
        let mut startup = pairs.in_step(&constructors.base, &constructors.head);
        let called = programs.as_ref().map(Program::called_from_outside);
        let names: BTreeSet<&str> = called.base.keys().chain(called.head.keys()).copied().collect();
        for name in names {
            startup.push(pairs.node(called.base.get(name).copied(), called.head.get(name).copied()));
        }
        Self { pairs, startup }
    }

    /// The pairs that a test begins with.
    fn roots(&mut self, functions: Sides<Option<&Vec<u32>>>) -> Result<Vec<Node>, NotFound> {
        match functions {
            Sides { base: Some(base), head: Some(head) } => Ok(self.pairs.in_step(base, head)),
            Sides { base: None, head: Some(_) } => Err(NotFound::In(Side::Base)),
            Sides { base: Some(_), head: None } => Err(NotFound::In(Side::Head)),
            Sides { base: None, head: None } => Err(NotFound::Anywhere),
        }
    }

    fn finish(mut self, roots: BTreeMap<&str, Result<Vec<Node>, NotFound>>) -> BTreeMap<String, Code> {
        self.pairs.explore();
        let mut answers = Answers { trace: Trace::new(&self.pairs), pairs: &self.pairs, described: BTreeMap::new() };
        let answer = |(name, roots): (&str, Result<Vec<Node>, NotFound>)| {
            let code = match roots {
                Ok(roots) => answers.of(name, &roots, &self.startup),
                Err(why) => Code::Unknown { why },
            };
            (name.to_owned(), code)
        };
        roots.into_iter().map(answer).collect()
    }
}

struct Answers<'a> {
    pairs: &'a Pairs<'a>,
    trace: Trace<'a>,
    /// Many tests share a frontier.
    described: BTreeMap<Touched, Arc<ChangedCode>>,
}

impl Answers<'_> {
    fn of(&mut self, name: &str, roots: &[Node], startup: &[Node]) -> Code {
        let touched = self.trace.from(&[roots, startup].concat());
        let Some(nearest) = touched.first() else { return Code::Same };
        // What libtest calls is a shim around the test, or the test itself in it: the test's name says it better.
        let way = self.trace.path_to(nearest.frontier);
        let functions = way.iter().filter(|node| self.pairs.is_code(**node) && !roots.contains(node));
        let names = functions.filter_map(|node| self.pairs.name(*node));
        let path = std::iter::once(name.to_owned()).chain(names).collect();
        Code::Changed(Changed { frontier: touched.iter().map(|touched| self.describe(*touched)).collect(), path })
    }

    fn describe(&mut self, touched: Touched) -> Arc<ChangedCode> {
        let pairs = self.pairs;
        let described = self.described.entry(touched);
        Arc::clone(described.or_insert_with(|| Arc::new(describe(pairs, touched))))
    }
}

fn describe(pairs: &Pairs<'_>, Touched { frontier, by }: Touched) -> ChangedCode {
    let own_name = |node: Node| pairs.name(node).unwrap_or_else(|| "a constant".to_owned());
    let what = match pairs.pair(frontier) {
        Pair(Sides { base: None, .. }) => What::Added,
        Pair(Sides { head: None, .. }) => What::Removed,
        _ if pairs.is_code(frontier) => What::Code,
        _ => What::Data(own_name(frontier)),
    };
    let Pair(atoms) = pairs.pair(by.unwrap_or(frontier));
    let symbols = |program: &Program, atom: Option<u32>| -> BTreeSet<String> {
        let Some(atom) = atom else { return BTreeSet::new() };
        // A list of constructors is not executed, but what it lists is.
        let places = if by.is_some() { vec![atom] } else { program.functions_in(atom) };
        places.iter().flat_map(|place| program.symbols(*place)).map(|symbol| entered(symbol).to_owned()).collect()
    };
    ChangedCode {
        name: own_name(by.unwrap_or(frontier)),
        symbols: Sides {
            base: symbols(&pairs.programs.base, atoms.base),
            head: symbols(&pairs.programs.head, atoms.head),
        },
        what,
    }
}
