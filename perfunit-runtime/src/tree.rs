//! The file in which a process with probes records its calling-context tree: the request of the tool and the result.
//!
//! ```text
//! Header | keys: [u64; keys] | nodes: [Node; capacity] | rows: [[Figures; capacity]; rows]
//! ```
//!
//! Each part begins on a page of memory; [`Layout`] has the offsets. The tool creates a sparse file of
//! [`Layout::bytes`] zeros (a memfd) and writes the request in the header and the keys. The process writes the rest and
//! touches only pages of nodes that it uses.
//!
//! A *node* is a site (a function with a probe) in the context of its callers. Node 0 means "none", and each thread has
//! a root with key 0. An active site gets no second node below its first: calls and times of a recursive call go to the
//! existing node, so that recursion does not deepen the tree. A node's self time is therefore exact for any recursion,
//! and its total counts outermost activations only.
//!
//! Only what happens between the beginning and the end of a batch counts. A node's own fields are sums over all
//! recorded batches; row `i` has its calls, repeats, recursions and self ticks in batch `i` alone. Batches are those of
//! the shared page, in the same order.
//!
//! All times are in *ticks*, [`Header::ticks_per_second`] of which make a second. The figures contain the cost of the
//! probes: a call adds [`Header::inside`] to its own self time and [`Header::outside`] to its caller's. A function that
//! calls itself stays in its node; this call reads no clock and adds only [`Header::again`].
//!
//! Every field is an atomic, written without ordering while threads run, so read the file after the process has ended.
//! If `used` is 0 then, the process wrote no tree. A child that the test forks, and that starts no program, writes to
//! the same file as its parent; sums may then lose parts of either.

use crate::page::PAGE;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the file, by which versions of the tool and the runtime are matched. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_7472_0003;

/// Value of [`Header::begun`] between batches.
pub const NO_BATCH: u64 = u64::MAX;
/// Value of [`Node::shortest`] if all activations of the node began or ended outside of batches.
pub const NEVER: u64 = u64::MAX;

/// Mode of a probe.
///
/// Timing and counting probes are not meant to be mixed in one process. If they are, the ticks since the thread's last
/// clock reading go to the node that is current at the next reading, which may be a counting one; calls stay correct.
pub mod mode {
    /// The mode is not looked up yet; treated as [`INACTIVE`] in a request.
    pub const UNRESOLVED: u32 = 0;
    /// The probe does nothing.
    pub const INACTIVE: u32 = 1;
    /// The probe counts calls by context and reads no clock.
    pub const COUNTING: u32 = 2;
    /// The probe counts calls and takes times.
    pub const TIMING: u32 = 3;
}

/// Header of the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`]; written by the tool, like all fields up to `rows`.
    pub magic: AtomicU64,
    /// A value of [`mode`], for sites that are not listed.
    pub default_mode: AtomicU32,
    /// A value of [`mode`], for listed sites.
    pub listed_mode: AtomicU32,
    /// Number of listed keys, which are sorted in ascending order.
    pub keys: AtomicU32,
    /// Number of nodes that fit the file, including node 0; at most [`MOST_NODES`].
    pub capacity: AtomicU32,
    /// Number of rows that fit the file. Later batches have no row.
    pub rows: AtomicU32,
    /// Number of nodes in use, including node 0. May exceed `capacity` slightly once the file is full.
    pub used: AtomicU32,
    /// Number of calls in contexts that did not fit. Their time counts as their caller's, and they are counted nowhere
    /// else.
    pub overflow: AtomicU64,
    /// Time at which the running batch began, ticks; [`NO_BATCH`] between batches.
    pub begun: AtomicU64,
    /// Number of ticks in a second, as the bits of an f64; 0 before the end of the first batch.
    pub ticks_per_second: AtomicU64,
    /// Ticks that a call of a timing probe adds to the self time of its own function, as the bits of an f64. This field
    /// and the next two are measured before the first batch, or after a single long call; 0 if no probe was executed
    /// until then.
    pub inside: AtomicU64,
    /// Ticks that a call of a timing probe adds to the self time of its caller, as the bits of an f64.
    pub outside: AtomicU64,
    /// Ticks that a call of a counting probe costs, as the bits of an f64.
    pub counting: AtomicU64,
    /// Ticks that a call of either probe costs where a function calls itself, as the bits of an f64.
    pub again: AtomicU64,
    /// Number of recorded batches.
    pub batches: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
}

/// Largest number of nodes in a tree; the other bits of an index are in use.
pub const MOST_NODES: u32 = 1 << 30;

/// A site in the context of its callers.
///
/// A call usually touches only the first 64 bytes, which are one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Node {
    /// Key of the site; 0 in a thread's root.
    pub key: AtomicU64,
    /// Index of the caller's node; 0 in a thread's root.
    pub parent: AtomicU32,
    /// Index of the node that this one called last. Used by the process only.
    pub hot: AtomicU32,
    /// Number of calls other than `repeats`. A future counts once, in the context of its first poll; its ticks count in
    /// the contexts that poll it.
    pub calls: AtomicU64,
    /// Ticks in this context outside of its children. In a root: ticks of the thread outside of any probe.
    pub self_ticks: AtomicU64,
    /// Ticks of outermost activations that ended in a batch, counted from the batch's beginning. Each poll of a future
    /// is an activation.
    pub total_ticks: AtomicU64,
    /// Ticks of the shortest of these activations, or [`NEVER`]; 0 in nodes that were never used.
    pub shortest: AtomicU64,
    /// Sum of the squared ticks of these activations, as the bits of an f64.
    pub squares: AtomicU64,
    /// Time at which the outermost activation began, ticks; 0 if there is none. Used by the process only.
    pub started: AtomicU64,
    /// Index of the thread's root. A root serves one thread after another.
    pub root: AtomicU32,
    /// Index of the first child; `next` leads to the others. 0 for none.
    pub first: AtomicU32,
    /// Index of the caller's next child; 0 for none. In a root without a thread: the next such root.
    pub next: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
    /// Value of `calls` at the end of the last batch. Used by the process only.
    pub calls_before: AtomicU64,
    /// Value of `self_ticks` at the end of the last batch. Used by the process only.
    pub self_before: AtomicU64,
    /// Number of `calls` that came from a node below this one and not from its caller.
    pub recursions: AtomicU64,
    /// Value of `recursions` at the end of the last batch. Used by the process only.
    pub recursions_before: AtomicU64,
    /// Number of direct recursive calls, without another node in between. They read no clock.
    pub repeats: AtomicU64,
    /// Value of `repeats` at the end of the last batch. Used by the process only.
    pub repeats_before: AtomicU64,
}

/// Figures of a node in one batch.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Figures {
    /// See [`Node::calls`].
    pub calls: AtomicU64,
    /// See [`Node::self_ticks`].
    pub self_ticks: AtomicU64,
    /// See [`Node::recursions`].
    pub recursions: AtomicU64,
    /// See [`Node::repeats`].
    pub repeats: AtomicU64,
}

/// Sizes of a file's parts, from which their offsets follow.
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
    /// Offset of the first key, in bytes.
    pub const KEYS: usize = PAGE;

    /// Returns the offset of node 0, in bytes.
    pub const fn nodes(self) -> usize {
        (Self::KEYS + self.keys as usize * size_of::<u64>()).next_multiple_of(PAGE)
    }

    /// Returns the offset of node 0's figures in a row, in bytes. Those of node `i` are `i` times the size of
    /// [`Figures`] further on.
    pub const fn row(self, index: usize) -> usize {
        let rows = (self.nodes() + self.capacity as usize * size_of::<Node>()).next_multiple_of(PAGE);
        rows + index * self.capacity as usize * size_of::<Figures>()
    }

    /// Returns the length of the file in bytes.
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
