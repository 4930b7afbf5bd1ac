//! One process's call tree, as its probes left it: per run of the test body, probe cost subtracted.

use std::collections::BTreeMap;

/// The key of a tree's root: no function has it.
pub const ROOT: u64 = 0;
/// The key of what stands for all threads that a test started.
pub const THREADS: u64 = 1;

/// A function at one place of a process's call tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedNode {
    /// The site's key; [`ROOT`] and [`THREADS`] are none.
    pub key: u64,
    /// Index of the caller; the root is its own.
    pub parent: usize,
    /// Calls in one run.
    pub calls: f64,
    /// Those of them that it made itself, directly or by way of what it calls, while it was active.
    pub recursions: f64,
    /// Time in itself in one run, ns.
    pub self_cost: f64,
    /// What the probes took of that time, as far as the process could measure it, ns; `self_cost` is without it.
    pub probe_cost: f64,
}

impl RecordedNode {
    /// A node that nobody calls and that takes no time.
    pub fn root(key: u64) -> Self {
        Self { key, parent: 0, calls: 0.0, recursions: 0.0, self_cost: 0.0, probe_cost: 0.0 }
    }
}

/// A process's call tree: the root is the first, callers stand before what they call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    pub nodes: Vec<RecordedNode>,
}

impl Recorded {
    /// Gives nodes the keys of another version.
    pub fn rename(&mut self, keys: &BTreeMap<u64, u64>) {
        for node in &mut self.nodes {
            node.key = keys.get(&node.key).copied().unwrap_or(node.key);
        }
    }
}
