//! The tree of this process: whether it has one is known when the page is mapped.

use super::arena::Tree;
use crate::page::SERVE_VARIABLE;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

/// Empty until it is known whether there is one.
static TREE: OnceLock<Option<Tree>> = OnceLock::new();
/// True once it is known that the process will serve.
static WILL_SERVE: AtomicBool = AtomicBool::new(false);

/// Maps the tree that the tool shares, or, without a descriptor, switches all probes off. The first call counts.
pub fn open(descriptor: Option<i32>) -> Option<&'static Tree> {
    TREE.get_or_init(|| descriptor.and_then(Tree::open)).as_ref()
}

/// The tree; `Err` as long as the process may yet get one: the test's own probe is met before the page is mapped.
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

/// The request has not been read yet.
pub struct NotYet;
