//! A thread's root in the tree: assigned at its first active probe, and reused by another thread after its end.

use super::arena::Tree;
use super::place::{end_all, THREAD};
use super::process::tree;
use super::{lookup, ticks};
use std::cell::OnceCell;

thread_local! {
    /// Root that the thread returns when it ends. It has a destructor, so calls do not access it.
    static HOME: OnceCell<Home> = const { OnceCell::new() };
}

/// Tree and root of a thread.
struct Home {
    tree: &'static Tree,
    root: u32,
}

impl Drop for Home {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            let (nodes, current) = (thread.nodes.replace(&[]), thread.current.replace(0));
            if let Some(node) = nodes.get(current as usize) {
                let now = ticks::now();
                thread.pass(node, now);
                // Activations of a thread that was ended from outside were never left.
                end_all(thread, nodes, lookup::path(nodes, current), now);
            }
        });
        self.tree.give_back(self.root);
    }
}

/// Gives this thread a root in the process's tree. Returns false if there is no tree or if the thread is about to end.
#[cold]
pub fn settle() -> bool {
    matches!(tree(), Ok(Some(tree)) if settle_in(tree))
}

/// Gives this thread a root in a tree, unless it has one. Returns false if the tree is full or the thread is about to
/// end.
pub fn settle_in(tree: &'static Tree) -> bool {
    THREAD.with(|thread| {
        if thread.settling.replace(true) {
            return false;
        }
        let settled = HOME.try_with(|home| {
            if home.get().is_some() {
                return true;
            }
            let Some(root) = tree.root() else { return false };
            thread.begun.set(Some(&tree.header.begun));
            thread.nodes.set(tree.nodes);
            thread.current.set(root);
            thread.last.set(ticks::now());
            home.set(Home { tree, root }).is_ok()
        });
        thread.settling.set(false);
        settled.unwrap_or(false)
    })
}

/// Adds a node for a site that this context calls for the first time.
#[cold]
pub fn add(from: u32, key: u64) -> Option<u32> {
    HOME.try_with(|home| home.get().and_then(|home| home.tree.add(from, key))).ok()?
}
