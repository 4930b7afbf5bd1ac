//! Finds the frontiers that a test can reach, and the code that touches them.

use super::pairs::{Node, Pairs};
use std::collections::BTreeMap;

/// Walks over the explored pairs, once per root.
#[derive(Debug)]
pub(super) struct Trace<'a> {
    pairs: &'a Pairs<'a>,
    /// True for each node that can reach a frontier.
    leads: Vec<bool>,
    /// For every frontier that is data: the code that reaches it through data only.
    owners: BTreeMap<Node, Vec<Node>>,
    /// For each node, the last walk that visited it, and the node it came from.
    seen: Vec<(u32, Option<Node>)>,
    walk: u32,
}

/// A frontier that a root reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touched {
    pub frontier: Node,
    /// Code that touches the frontier when executed: the frontier itself or, for data, code that refers to it. `None`
    /// if there is no such code.
    pub by: Option<Node>,
}

impl<'a> Trace<'a> {
    pub fn new(pairs: &'a Pairs<'a>) -> Self {
        let sources = Sources::of(pairs);
        let frontiers: Vec<Node> = (0..pairs.len() as Node).filter(|node| pairs.is_frontier(*node)).collect();
        let mut leads = vec![false; pairs.len()];
        for frontier in &frontiers {
            leads[*frontier as usize] = true;
        }
        let mut queue = frontiers.clone();
        while let Some(node) = queue.pop() {
            for source in sources.of_node(node) {
                if !std::mem::replace(&mut leads[*source as usize], true) {
                    queue.push(*source);
                }
            }
        }
        let data = frontiers.into_iter().filter(|node| !pairs.is_code(*node));
        let owners = data.map(|node| (node, owners(pairs, &sources, node))).collect();
        Self { pairs, leads, owners, seen: vec![(0, None); pairs.len()], walk: 0 }
    }

    /// Returns the frontiers that are reachable from these nodes, nearest first.
    pub fn from(&mut self, roots: &[Node]) -> Vec<Touched> {
        self.walk += 1;
        let mut queue = Vec::new();
        for root in roots {
            self.enqueue(*root, None, &mut queue);
        }
        let mut next = 0;
        while let Some(node) = queue.get(next).copied() {
            next += 1;
            for target in self.pairs.targets(node) {
                self.enqueue(*target, Some(node), &mut queue);
            }
        }
        let frontiers = queue.into_iter().filter(|node| self.pairs.is_frontier(*node));
        frontiers.flat_map(|frontier| self.find_touched(frontier)).collect()
    }

    fn enqueue(&mut self, node: Node, from: Option<Node>, queue: &mut Vec<Node>) {
        let seen = &mut self.seen[node as usize];
        if self.leads[node as usize] && seen.0 != self.walk {
            *seen = (self.walk, from);
            queue.push(node);
        }
    }

    fn find_touched(&self, frontier: Node) -> Vec<Touched> {
        let Some(owners) = self.owners.get(&frontier) else {
            return vec![Touched { frontier, by: Some(frontier) }];
        };
        let reached = owners.iter().filter(|owner| self.seen[**owner as usize].0 == self.walk);
        let by: Vec<Touched> = reached.map(|owner| Touched { frontier, by: Some(*owner) }).collect();
        if by.is_empty() { vec![Touched { frontier, by: None }] } else { by }
    }

    /// Returns a shortest path of the last walk to a node, starting with the root.
    pub fn path_to(&self, node: Node) -> Vec<Node> {
        let mut path = vec![node];
        while let Some(from) = path.last().and_then(|node| self.seen[*node as usize].1) {
            path.push(from);
        }
        path.reverse();
        path
    }
}

/// Returns the code that reaches a node through data only.
fn owners(pairs: &Pairs<'_>, sources: &Sources, node: Node) -> Vec<Node> {
    let mut seen = std::collections::BTreeSet::from([node]);
    let mut queue = vec![node];
    while let Some(node) = queue.pop() {
        for source in sources.of_node(node) {
            if seen.insert(*source) && !pairs.is_code(*source) {
                queue.push(*source);
            }
        }
    }
    seen.into_iter().filter(|node| pairs.is_code(*node)).collect()
}

/// Reversed edges of the pairs.
struct Sources {
    ends: Vec<u32>,
    sources: Vec<Node>,
}

impl Sources {
    fn of(pairs: &Pairs<'_>) -> Self {
        let nodes = 0..pairs.len() as Node;
        let mut ends = vec![0_u32; pairs.len()];
        for target in nodes.clone().flat_map(|node| pairs.targets(node)) {
            ends[*target as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        // Fill from the back, so that `next` ends with the starts.
        let mut next = ends.clone();
        let mut sources = vec![0; total as usize];
        for node in nodes {
            for target in pairs.targets(node) {
                next[*target as usize] -= 1;
                sources[next[*target as usize] as usize] = node;
            }
        }
        Self { ends, sources }
    }

    fn of_node(&self, node: Node) -> &[Node] {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.sources[start as usize..self.ends[node as usize] as usize]
    }
}
