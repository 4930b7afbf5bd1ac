//! The tree of this process, which is known once the page is mapped.

use super::arena::Tree;
use crate::page::SERVE_VARIABLE;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

/// Unset until it is known whether the process has a tree.
static TREE: OnceLock<Option<Tree>> = OnceLock::new();
/// True once it is known that the process will serve.
static WILL_SERVE: AtomicBool = AtomicBool::new(false);

/// Maps the tree that the tool shares. Without a descriptor, switches all probes off. Only the first call has an
/// effect.
pub fn open(descriptor: Option<i32>) -> Option<&'static Tree> {
    TREE.get_or_init(|| descriptor.and_then(Tree::open)).as_ref()
}

/// Returns the tree. Fails while the process may still get one, because the test's own probe runs before the page is
/// mapped.
pub fn tree() -> Result<Option<&'static Tree>, NotYet> {
    if let Some(tree) = TREE.get() {
        return Ok(tree.as_ref());
    }
    if WILL_SERVE.load(Relaxed) || std::env::var_os(SERVE_VARIABLE).is_some() {
        WILL_SERVE.store(true, Relaxed);
        return Err(NotYet);
    }
    Ok(open(None))
}

/// Error while the request has not been read.
pub struct NotYet;
