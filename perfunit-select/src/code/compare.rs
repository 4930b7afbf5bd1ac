//! The answer for each test.

use super::digest::{Hash, Table, hash};
use super::inlining::UnreadableExecutable;
use super::names::entered;
use super::program::{Program, Reached};
use super::trace::{Touched, Trace};
use super::unit::Kind;
use iced_x86::{Code as Operation, Decoder, DecoderOptions};
use object::{Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
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

/// rustc writes into it where a debugger finds its printers, if there is debug information.
const ENTRY: &str = "main";

/// The functions of one executable that another has with other instructions, by the linker's names; or why they cannot
/// be compared. Operands are not looked at: in them are the places of other things.
pub fn unlike(executable: &[u8], other: &[u8]) -> Result<Vec<String>, UnreadableExecutable> {
    let (ours, others) = (shapes(executable)?, shapes(other)?);
    let differs = |(name, shape): (&String, &Shape)| others.get(name).is_some_and(|other| other != shape);
    Ok(ours.iter().filter(|(name, shape)| differs((name, shape))).map(|(name, _)| name.clone()).collect())
}

/// Whether two executables hold the same machine code at the same addresses.
pub fn is_same_code(executable: &[u8], other: &[u8]) -> Result<bool, UnreadableExecutable> {
    let (one, two) = (object::File::parse(executable)?, object::File::parse(other)?);
    Ok(code_sections(&one)? == code_sections(&two)?)
}

fn code_sections<'data>(file: &object::File<'data>) -> Result<Vec<(u64, &'data [u8])>, UnreadableExecutable> {
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Ok(code.map(|section| Ok((section.address(), section.data()?))).collect::<object::Result<_>>()?)
}

/// A function's bytes, less what the linker fills in.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Operations(Vec<Operation>),
    /// Of a processor whose instructions we do not decode.
    Size(u64),
    /// Several functions have this name.
    Ambiguous,
}

fn shapes(executable: &[u8]) -> Result<BTreeMap<String, Shape>, UnreadableExecutable> {
    let file = object::File::parse(executable)?;
    let mut shapes = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let Ok(name) = symbol.name() else { continue };
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let Some(section) = section.filter(|_| name != ENTRY) else { continue };
        let shape = match section.data_range(symbol.address(), symbol.size()) {
            Ok(Some(bytes)) if file.architecture() == Architecture::X86_64 => Shape::Operations(operations(bytes)),
            _ => Shape::Size(symbol.size()),
        };
        shapes.entry(name.to_owned()).and_modify(|known| *known = Shape::Ambiguous).or_insert(shape);
    }
    Ok(shapes)
}

fn operations(code: &[u8]) -> Vec<Operation> {
    Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter().map(|instruction| instruction.code()).collect()
}

/// The number of a pair in its graph.
pub(super) type Node = u32;

/// An atom of each side; none on a side where the counterpart is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair(pub Sides<Option<u32>>);

/// Pairs and what they lead to.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    pub programs: &'a Sides<Program>,
    nodes: Vec<Pair>,
    known: Table<u64, Node>,
    /// Where the targets of each pair end; frontiers have none.
    ends: Vec<u32>,
    targets: Vec<Node>,
    frontier: Vec<bool>,
}

impl<'a> Pairs<'a> {
    pub fn new(programs: &'a Sides<Program>) -> Self {
        let (nodes, ends, targets, frontier) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { programs, nodes, known: Table::default(), ends, targets, frontier }
    }

    /// The node of a pair, which is new until [`explore`](Self::explore).
    pub fn node(&mut self, base: Option<u32>, head: Option<u32>) -> Node {
        let key = |atom: Option<u32>| u64::from(atom.map_or(u32::MAX, |atom| atom));
        let nodes = &mut self.nodes;
        *self.known.entry(key(base) << 32 | key(head)).or_insert_with(|| {
            nodes.push(Pair(Sides { base, head }));
            nodes.len() as u32 - 1
        })
    }

    /// The nodes of two lists, taken in step; what one has more has no counterpart.
    pub fn in_step(&mut self, base: &[u32], head: &[u32]) -> Vec<Node> {
        let longer = base.len().max(head.len());
        (0..longer).map(|at| self.node(base.get(at).copied(), head.get(at).copied())).collect()
    }

    /// Follows all pairs to the end.
    pub fn explore(&mut self) {
        while let Some(pair) = self.nodes.get(self.ends.len()).copied() {
            let start = self.targets.len();
            let is_equal = self.follow(pair);
            if !is_equal {
                self.targets.truncate(start);
            }
            self.frontier.push(!is_equal);
            self.ends.push(self.targets.len() as u32);
        }
    }

    /// Adds what an equal pair leads to; false if it is not equal, and then what was added means nothing.
    fn follow(&mut self, pair: Pair) -> bool {
        let Pair(Sides { base: Some(base), head: Some(head) }) = pair else { return false };
        let Sides { base: of_base, head: of_head } = self.programs;
        if of_base.identity(base) != of_head.identity(head) {
            return false;
        }
        let (mut in_base, mut in_head) = (of_base.targets(base), of_head.targets(head));
        loop {
            match (in_base.next(), in_head.next()) {
                (None, None) => return true,
                (
                    Some(Reached::Atom { atom: base, offset: at_base }),
                    Some(Reached::Atom { atom: head, offset: at_head }),
                ) => {
                    // In different atoms, places cannot be compared; that pair will be a frontier of its own.
                    if at_base != at_head && of_base.identity(base) == of_head.identity(head) {
                        return false;
                    }
                    let node = self.node(Some(base), Some(head));
                    self.targets.push(node);
                }
                (Some(base), Some(head)) if base == head && matches!(base, Reached::Outside { .. }) => {}
                _ => return false,
            }
        }
    }

    pub fn pair(&self, node: Node) -> Pair {
        self.nodes[node as usize]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_frontier(&self, node: Node) -> bool {
        self.frontier[node as usize]
    }

    /// What an equal pair leads to, in order.
    pub fn targets(&self, node: Node) -> &[Node] {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.targets[start as usize..self.ends[node as usize] as usize]
    }

    /// True if an execution can be in this pair, as opposed to reading it.
    pub fn is_code(&self, node: Node) -> bool {
        let Pair(Sides { base, head }) = self.pair(node);
        let is_code = |program: &Program, atom: Option<u32>| atom.is_some_and(|atom| program.kind(atom) == Kind::Code);
        is_code(&self.programs.base, base) || is_code(&self.programs.head, head)
    }

    /// What people call the pair: by head's name, if it has one.
    pub fn name(&self, node: Node) -> Option<String> {
        let Pair(Sides { base, head }) = self.pair(node);
        let name = |program: &Program, atom: Option<u32>| program.readable_name(atom?);
        name(&self.programs.head, head).or_else(|| name(&self.programs.base, base))
    }
}
