//! Compares two programs and returns a result for each test.

use super::digest::{Hash, Table, hash};
use super::names::entered_function;
use super::pairs::{Node, Pair, Pairs};
use super::program::Program;
use super::trace::{Touched, Trace};
use perfunit_model::{Side, Sides};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Result of comparing two programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Result for every requested test, by name.
    pub tests: BTreeMap<String, Code>,
}

/// Result for one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// The test executes the same code on the same data, whatever it does.
    Same,
    /// The test can reach code or data that differs.
    Changed(Changed),
    /// The test was not found in the program, and must count as changed.
    Unknown { why: NotFound },
}

/// Path from a test to a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Functions where its execution can first differ, nearest first. If it executes none of them, it has not changed.
    pub frontier: Vec<Arc<ChangedCode>>,
    /// A shortest path to the first of them: the test, then functions by name. Only the test if its own body differs.
    pub path: Vec<String>,
}

/// A function at which the execution of the two versions can start to differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedCode {
    pub name: String,
    /// Symbols of the function. Executing any of them means that the difference was reached. A side without symbols
    /// cannot be watched, and the difference then counts as reached.
    pub symbols: Sides<BTreeSet<String>>,
    pub what: What,
}

/// Kind of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Its own instructions, or their references.
    Code,
    /// Data of this name that it refers to: a table, a string, a static.
    Data(String),
    /// The function is new in head.
    Added,
    /// The function exists only in base.
    Removed,
}

/// Side on which a test was not found.
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

/// Compares what is reachable from all of these global symbols that either side defines, such as `main` of the
/// package's binaries.
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

/// Finds the functions that libtest calls for each test. A test descriptor also contains line numbers and flags, which
/// are not compared.
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
    /// Pairs that run in every test.
    startup: Vec<Node>,
}

impl<'a> Comparer<'a> {
    /// Creates the comparer. Constructors run before every test, and std calls the allocator by name.
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

    /// Returns the pairs at which a test starts.
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
    /// Shared, because many tests have the same frontier.
    described: BTreeMap<Touched, Arc<ChangedCode>>,
}

impl Answers<'_> {
    fn of(&mut self, name: &str, roots: &[Node], startup: &[Node]) -> Code {
        let touched = self.trace.from(&[roots, startup].concat());
        let Some(nearest) = touched.first() else { return Code::Same };
        // libtest calls a shim around the test, or the test itself. The test's name is the better description.
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
        // A list of constructors is not executed, but its entries are.
        let places = if by.is_some() { vec![atom] } else { program.functions_in(atom) };
        places
            .iter()
            .flat_map(|place| program.symbols(*place))
            .map(|symbol| entered_function(symbol).to_owned())
            .collect()
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
