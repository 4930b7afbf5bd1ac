//! The file in which a process with probes leaves its calling-context tree: what the tool asks for, and what it gets.
//!
//! ```text
//! Header | keys: [u64; keys] | nodes: [Node; capacity] | rows: [[Figures; capacity]; rows]
//! ```
//!
//! Each part begins on a page of memory; [`Layout`] says where. The tool makes the file as long as [`Layout::bytes`],
//! filled with zeros and sparse (a memfd), and writes the header's request and the keys. The process fills in the rest and
//! touches only pages of nodes that it uses.
//!
//! A *node* is a site (a function with a probe) in the context of its callers; node 0 is none, and each thread has a root of
//! its own with key 0. A site that is active already has no second node below its first: where it is called again, calls and
//! times go to the node that is there, so that recursion makes the tree no deeper. Hence a node's self time is exact
//! whatever the recursion, and its total counts outermost activations only.
//!
//! Nothing is counted but between the beginning and the end of a batch. A node's own fields are sums over all recorded
//! batches; row `i` has its calls, repeats, recursions and self ticks in batch `i` alone. Batches are those of the shared page,
//! in their order.
//!
//! All times are in *ticks*, of which [`Header::ticks_per_second`] make a second. The figures contain the probes' own cost:
//! a call adds [`Header::inside`] to its own self time and [`Header::outside`] to its caller's. A function that calls itself
//! stays in its node, so that call reads no clock and adds only [`Header::again`].
//!
//! Every field is an atomic, written without order while threads run: read it after the process has ended. If `used` is 0
//! then, the process had no use for a tree or took this for none. A child that the test forks, and that starts no program,
//! writes where its parent writes: sums of both may lose some of either.

use crate::page::PAGE;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the file: refuses a tool of another version. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_7472_0003;

/// [`Header::begun`] between batches.
pub const NO_BATCH: u64 = u64::MAX;
/// [`Node::shortest`] of a node whose activations all began or ended outside of batches.
pub const NEVER: u64 = u64::MAX;

/// What a probe does.
///
/// Timing and counting probes are not meant to meet in one process. If they do, ticks since the thread's last clock reading
/// go to the node that is current at the next one, which may be a counting one; calls are right.
pub mod mode {
    /// Not yet looked up; treated as [`INACTIVE`] in a request.
    pub const UNRESOLVED: u32 = 0;
    /// Nothing.
    pub const INACTIVE: u32 = 1;
    /// Counts calls and knows their context; reads no clock.
    pub const COUNTING: u32 = 2;
    /// Takes times, too.
    pub const TIMING: u32 = 3;
}

/// Begins the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`]; written by the tool, like all fields up to `rows`.
    pub magic: AtomicU64,
    /// One of [`mode`], of the sites that are not listed.
    pub default_mode: AtomicU32,
    /// One of [`mode`], of the sites whose keys are listed.
    pub listed_mode: AtomicU32,
    /// Keys in the list, which is sorted, the smallest first.
    pub keys: AtomicU32,
    /// Nodes that fit the file, node 0 included; at most [`MOST_NODES`].
    pub capacity: AtomicU32,
    /// Rows that fit the file. Later batches have none.
    pub rows: AtomicU32,
    /// Nodes in use, node 0 included. May exceed `capacity` by a few when that was reached.
    pub used: AtomicU32,
    /// Calls whose context found no room: their time is their caller's, and they are counted nowhere else.
    pub overflow: AtomicU64,
    /// When the running batch began, ticks; [`NO_BATCH`] between batches.
    pub begun: AtomicU64,
    /// Ticks in a second, as the bits of an f64; 0 before the end of the first batch.
    pub ticks_per_second: AtomicU64,
    /// What a timing probe adds to the self time of its own function, ticks a call, as the bits of an f64. This and the next
    /// two were measured before the first batch, or behind a single long call; 0 if no probe was met until then.
    pub inside: AtomicU64,
    /// What a timing probe adds to the self time of its caller, ticks a call, as the bits of an f64.
    pub outside: AtomicU64,
    /// What a counting probe costs, ticks a call, as the bits of an f64.
    pub counting: AtomicU64,
    /// What a probe of either kind costs where a function calls itself, ticks a call, as the bits of an f64.
    pub again: AtomicU64,
    /// Batches recorded.
    pub batches: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
}

/// Most nodes of a tree: the other bits of an index are taken.
pub const MOST_NODES: u32 = 1 << 30;

/// A site in the context of its callers.
///
/// The first 64 bytes, a line of the cache, are all that a call usually touches.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Node {
    /// The site's; 0 in a thread's root.
    pub key: AtomicU64,
    /// Index of the caller's node; 0 in a thread's root.
    pub parent: AtomicU32,
    /// The process's own: index of the node that this one called last.
    pub hot: AtomicU32,
    /// Calls other than `repeats`. A future counts once, in the context of its first poll; its ticks are in the contexts that
    /// poll it.
    pub calls: AtomicU64,
    /// Ticks in this context outside of its children; those of a root are its thread's outside of any probe.
    pub self_ticks: AtomicU64,
    /// Ticks of outermost activations that ended in a batch, from the batch's beginning on. Each poll of a future is one.
    pub total_ticks: AtomicU64,
    /// The shortest of them, ticks, or [`NEVER`]. 0 in nodes that were never used.
    pub shortest: AtomicU64,
    /// Sum of their squares, ticks squared as the bits of an f64.
    pub squares: AtomicU64,
    /// The process's own: when the outermost activation began, ticks; 0 if there is none.
    pub started: AtomicU64,
    /// Index of the thread's root. A root serves one thread after another.
    pub root: AtomicU32,
    /// Index of the first child, the others follow by `next`; 0 for none.
    pub first: AtomicU32,
    /// Index of the caller's next child; 0 for none. Of a root that no thread has: the next such root.
    pub next: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
    /// The process's own: `calls` at the end of the last batch.
    pub calls_before: AtomicU64,
    /// The process's own: `self_ticks` at the end of the last batch.
    pub self_before: AtomicU64,
    /// Of `calls`, those that came from a node below this one and not from its caller.
    pub recursions: AtomicU64,
    /// The process's own: `recursions` at the end of the last batch.
    pub recursions_before: AtomicU64,
    /// Calls that the function made of itself, without another node in between. They read no clock.
    pub repeats: AtomicU64,
    /// The process's own: `repeats` at the end of the last batch.
    pub repeats_before: AtomicU64,
}

/// What a node did in one batch.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Figures {
    /// As in [`Node::calls`].
    pub calls: AtomicU64,
    /// As in [`Node::self_ticks`].
    pub self_ticks: AtomicU64,
    /// As in [`Node::recursions`].
    pub recursions: AtomicU64,
    /// As in [`Node::repeats`].
    pub repeats: AtomicU64,
}

/// Where the parts of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// [`Header::keys`].
    pub keys: u32,
    /// [`Header::capacity`].
    pub capacity: u32,
    /// [`Header::rows`].
    pub rows: u32,
}

impl Layout {
    /// Offset of the first key, bytes.
    pub const KEYS: usize = PAGE;

    /// Offset of node 0, bytes.
    pub const fn nodes(self) -> usize {
        (Self::KEYS + self.keys as usize * size_of::<u64>()).next_multiple_of(PAGE)
    }

    /// Offset of a row's figures of node 0, bytes; those of node `i` are `i` times the size of [`Figures`] further on.
    pub const fn row(self, index: usize) -> usize {
        let rows = (self.nodes() + self.capacity as usize * size_of::<Node>()).next_multiple_of(PAGE);
        rows + index * self.capacity as usize * size_of::<Figures>()
    }

    /// Length of the file, bytes.
    pub const fn bytes(self) -> usize {
        self.row(self.rows as usize)
    }
}

const _: () = assert!(size_of::<Header>() <= Layout::KEYS && size_of::<Node>() == 128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_page_by_page() {
        let layout = Layout { keys: 513, capacity: 100, rows: 3 };
        assert_eq!(layout.nodes(), 3 * PAGE);
        assert_eq!(layout.row(0), 7 * PAGE);
        assert_eq!(layout.row(1), 7 * PAGE + 3200);
        assert_eq!(layout.bytes(), 7 * PAGE + 9600);
        assert_eq!(Layout { keys: 0, ..layout }.nodes(), PAGE);
    }

    #[test]
    fn a_call_touches_one_line_of_its_node() {
        assert_eq!(std::mem::offset_of!(Node, root), 64);
        assert_eq!(std::mem::align_of::<Node>(), 64);
    }
}
