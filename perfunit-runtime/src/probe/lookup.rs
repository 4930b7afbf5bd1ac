//! Which node a site has below another one.

use crate::tree::Node;
use std::cell::Cell;
use std::iter::successors;
use std::sync::atomic::Ordering::Relaxed;

/// Calls that a thread remembers.
const RECENT: usize = 512;
/// Multiplied with it, every bit of a number moves the highest ones.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where calls led lately that did not lead where their caller's last one did. Without it, three hundred callees in turn were
/// seen to cost 700 to 3,400 ns a call.
pub struct Recent([Cell<Call>; RECENT]);

/// A call from a node led to another one.
#[derive(Clone, Copy)]
struct Call {
    from: u32,
    to: u32,
}

impl Recent {
    pub const fn new() -> Self {
        // The value of each element.
        #[allow(clippy::declare_interior_mutable_const, clippy::allow_attributes_without_reason)]
        const NONE: Cell<Call> = Cell::new(Call { from: 0, to: 0 });
        Self([NONE; RECENT])
    }

    /// Where a call from node `from` led. It may have been one of another site; node 0 if nothing is known.
    #[inline(always)]
    pub fn led(&self, from: u32, key: u64) -> u32 {
        let call = self.place(from, key).get();
        if call.from == from {
            call.to
        } else {
            0
        }
    }

    /// Remembers that a call of a site from node `from` led to node `to`.
    pub fn remember(&self, from: u32, key: u64, to: u32) {
        self.place(from, key).set(Call { from, to });
    }

    #[inline(always)]
    fn place(&self, from: u32, key: u64) -> &Cell<Call> {
        let place = (key ^ u64::from(from)).wrapping_mul(SPREAD) >> (u64::BITS - RECENT.trailing_zeros());
        &self.0[place as usize]
    }
}

/// The node of a site that is called from node `from`: a child, the node itself or an ancestor, which makes a call of
/// something active already no context of its own. `None` if the site has none of them.
#[inline(never)]
pub fn find(nodes: &[Node], from: u32, key: u64) -> Option<u32> {
    let has_key = |index: &u32| nodes[*index as usize].key.load(Relaxed) == key;
    child(nodes, &nodes[from as usize], key).or_else(|| path(nodes, from).find(has_key))
}

/// A child, which is put first: of hundreds, a few are called most.
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

/// A node and its ancestors, the thread's root at the end.
pub fn path(nodes: &[Node], from: u32) -> impl Iterator<Item = u32> + '_ {
    let parent = |index: &u32| Some(nodes[*index as usize].parent.load(Relaxed)).filter(|parent| *parent != 0);
    successors(Some(from), parent)
}
