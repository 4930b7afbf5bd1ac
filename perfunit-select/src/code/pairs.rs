//! The pairs of atoms that two programs reach in step, from pairs of roots.
//!
//! A pair is equal if its atoms have equal identities and refer to equal things at equal places; then what they refer to
//! is paired, in order. Any other pair is a frontier. Every pair is looked at once, whatever number of tests reaches it.

use super::digest::Table;
use super::program::{Program, Reached};
use super::unit::Kind;
use perfunit_model::Sides;

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
