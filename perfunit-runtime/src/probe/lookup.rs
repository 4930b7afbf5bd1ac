//! Which node a site has below another one.

use crate::tree::Node;
use std::iter::successors;
use std::sync::atomic::Ordering::Relaxed;

/// The node of a site that is called from node `from`: the node itself, a child, or an ancestor, which makes a call of
/// something active already no context of its own. `None` if the site has none of them.
///
/// Ancestors are asked last and are far; as the last node called they are at hand the next time.
pub fn find(nodes: &[Node], from: u32, key: u64) -> Option<u32> {
    let caller = &nodes[from as usize];
    if caller.key.load(Relaxed) == key {
        // Stays out of `hot`, which is what a recursive function calls besides itself, unless that is nothing.
        if caller.hot.load(Relaxed) == 0 {
            caller.hot.store(from, Relaxed);
        }
        return Some(from);
    }
    let has_key = |index: &u32| nodes[*index as usize].key.load(Relaxed) == key;
    let found = child(nodes, caller, key).or_else(|| path(nodes, from).find(has_key))?;
    caller.hot.store(found, Relaxed);
    Some(found)
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
