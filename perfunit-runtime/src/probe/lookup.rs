//! Lookup of a site's node below another node.

use crate::tree::Node;
use std::cell::Cell;
use std::iter::successors;
use std::sync::atomic::Ordering::Relaxed;

/// Number of calls that a thread remembers.
const RECENT: usize = 512;
/// Factor that makes every bit of a number affect the highest bits of the product.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Cache of recent calls that led to another node than their caller's last call. Without it, 300 callees in turn cost
/// 700 to 3,400 ns per call.
pub struct Recent([Cell<Call>; RECENT]);

/// A call from one node to another.
#[derive(Clone, Copy)]
struct Call {
    from: u32,
    to: u32,
}

impl Recent {
    pub const fn new() -> Self {
        // Initial value of each element.
        #[allow(clippy::declare_interior_mutable_const, clippy::allow_attributes_without_reason)]
        const NONE: Cell<Call> = Cell::new(Call { from: 0, to: 0 });
        Self([NONE; RECENT])
    }

    /// Returns the node to which a call from node `from` led, or 0. The call may have been of another site.
    #[inline(always)]
    pub fn last_child(&self, from: u32, key: u64) -> u32 {
        let call = self.place(from, key).get();
        if call.from == from {
            call.to
        } else {
            0
        }
    }

    /// Records that a call of a site from node `from` led to node `to`.
    pub fn remember(&self, from: u32, key: u64, to: u32) {
        self.place(from, key).set(Call { from, to });
    }

    #[inline(always)]
    fn place(&self, from: u32, key: u64) -> &Cell<Call> {
        let place = (key ^ u64::from(from)).wrapping_mul(SPREAD) >> (u64::BITS - RECENT.trailing_zeros());
        &self.0[place as usize]
    }
}

/// Finds the node of a site that is called from node `from`: a child, the node itself, or an ancestor, because a call
/// of an active site gets no new context. Returns `None` if there is none.
#[inline(never)]
pub fn find(nodes: &[Node], from: u32, key: u64) -> Option<u32> {
    let has_key = |index: &u32| nodes[*index as usize].key.load(Relaxed) == key;
    child(nodes, &nodes[from as usize], key).or_else(|| path(nodes, from).find(has_key))
}

/// Finds a child and moves it to the front, because a few of hundreds of callees get most calls.
fn child(nodes: &[Node], caller: &Node, key: u64) -> Option<u32> {
    let first = caller.first.load(Relaxed);
    let mut before: Option<&Node> = None;
    let mut at = first;
    while at != 0 {
        let node = &nodes[at as usize];
        let next = node.next.load(Relaxed);
        if node.key.load(Relaxed) == key {
            if let Some(before) = before {
                before.next.store(next, Relaxed);
                node.next.store(first, Relaxed);
                caller.first.store(at, Relaxed);
            }
            return Some(at);
        }
        before = Some(node);
        at = next;
    }
    None
}

/// Iterates over a node and its ancestors, ending with the thread's root.
pub fn path(nodes: &[Node], from: u32) -> impl Iterator<Item = u32> + '_ {
    let parent = |index: &u32| Some(nodes[*index as usize].parent.load(Relaxed)).filter(|parent| *parent != 0);
    successors(Some(from), parent)
}
