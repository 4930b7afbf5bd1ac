//! Pairs of atoms that two programs reach in step, starting from pairs of roots.
//!
//! A pair is equal if its atoms have equal identities and refer to equal targets at equal positions; then the targets
//! are paired in order. Any other pair is a frontier. Every pair is examined once, however many tests reach it.

use super::digest::Table;
use super::program::{Program, Reached};
use super::unit::Kind;
use perfunit_model::Sides;

/// Index of a pair in its graph.
pub(super) type Node = u32;

/// An atom of each side; `None` on a side without counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair(pub Sides<Option<u32>>);

/// Graph of pairs.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    pub programs: &'a Sides<Program>,
    nodes: Vec<Pair>,
    known: Table<u64, Node>,
    /// End of each pair's targets; frontiers have none.
    ends: Vec<u32>,
    targets: Vec<Node>,
    frontier: Vec<bool>,
}

impl<'a> Pairs<'a> {
    pub fn new(programs: &'a Sides<Program>) -> Self {
        let (nodes, ends, targets, frontier) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { programs, nodes, known: Table::default(), ends, targets, frontier }
    }

    /// Returns the node of a pair. A new node is examined by [`explore`](Self::explore).
    pub fn node(&mut self, base: Option<u32>, head: Option<u32>) -> Node {
        let key = |atom: Option<u32>| u64::from(atom.map_or(u32::MAX, |atom| atom));
        let nodes = &mut self.nodes;
        *self.known.entry(key(base) << 32 | key(head)).or_insert_with(|| {
            nodes.push(Pair(Sides { base, head }));
            nodes.len() as u32 - 1
        })
    }

    /// Returns the nodes of two lists in step. Surplus atoms have no counterpart.
    pub fn in_step(&mut self, base: &[u32], head: &[u32]) -> Vec<Node> {
        let longer = base.len().max(head.len());
        (0..longer).map(|at| self.node(base.get(at).copied(), head.get(at).copied())).collect()
    }

    /// Examines all pairs.
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

    /// Adds the targets of a pair. Returns false if the pair is not equal; the added targets are then invalid.
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
                    // Offsets into different atoms cannot be compared; that pair will be a frontier itself.
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

    /// Returns the targets of an equal pair, in order.
    pub fn targets(&self, node: Node) -> &[Node] {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.targets[start as usize..self.ends[node as usize] as usize]
    }

    /// Checks whether an execution can be in this pair, as opposed to reading it.
    pub fn is_code(&self, node: Node) -> bool {
        let Pair(Sides { base, head }) = self.pair(node);
        let is_code = |program: &Program, atom: Option<u32>| atom.is_some_and(|atom| program.kind(atom) == Kind::Code);
        is_code(&self.programs.base, base) || is_code(&self.programs.head, head)
    }

    /// Returns the pair's name for messages, preferably head's.
    pub fn name(&self, node: Node) -> Option<String> {
        let Pair(Sides { base, head }) = self.pair(node);
        let name = |program: &Program, atom: Option<u32>| program.readable_name(atom?);
        name(&self.programs.head, head).or_else(|| name(&self.programs.base, base))
    }
}
