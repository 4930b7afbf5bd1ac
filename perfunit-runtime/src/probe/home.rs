//! A thread's root in the tree: had from its first active probe to its end, then left to another thread.

use super::arena::Tree;
use super::place::{end_all, THREAD};
use super::process::tree;
use super::{lookup, ticks};
use std::cell::OnceCell;

thread_local! {
    /// What the thread gives back when it ends. Calls do not touch it: it has a destructor.
    static HOME: OnceCell<Home> = const { OnceCell::new() };
}

/// The tree that a thread has, and its root there.
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
                // A thread that was ended from outside has left nothing.
                end_all(thread, nodes, lookup::path(nodes, current), now);
            }
        });
        self.tree.give_back(self.root);
    }
}

/// Gives this thread a root in the process's tree; false if there is none, or if the thread is about to end.
#[cold]
pub fn settle() -> bool {
    matches!(tree(), Ok(Some(tree)) if settle_in(tree))
}

/// Gives this thread a root in a tree unless it has one; false if there is no room, or if the thread is about to end.
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

/// A new node for a site that this context calls for the first time.
#[cold]
pub fn add(from: u32, key: u64) -> Option<u32> {
    HOME.try_with(|home| home.get().and_then(|home| home.tree.add(from, key))).ok()?
}
