//! The tree's file in this process: the request, and room for nodes and for the figures of batches.

use super::ticks;
use crate::sys::{self, Moment};
use crate::tree::{mode, Figures, Header, Layout, Node, MAGIC, MOST_NODES, NEVER, NO_BATCH};
use std::slice::from_raw_parts;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// A mapped tree.
pub struct Tree {
    pub(super) header: &'static Header,
    /// The sites whose mode is the listed one, by key.
    keys: &'static [AtomicU64],
    pub(super) nodes: &'static [Node],
    pub(super) rows: &'static [Figures],
    /// The first root that no thread has; 0 for none.
    free: Mutex<u32>,
    /// The two clocks when the serve began.
    pub(super) opened: (Moment, u64),
}

/// Adds without a locked instruction: nobody else writes the field.
#[inline(always)]
pub fn bump(field: &AtomicU64, by: u64) {
    field.store(field.load(Relaxed).wrapping_add(by), Relaxed);
}

impl Tree {
    /// Maps the file and closes its descriptor; `None` if it is no tree of this version.
    pub fn open(descriptor: i32) -> Option<Self> {
        let header = sys::map_file(descriptor, Layout::KEYS)?.cast::<Header>();
        // SAFETY: the mapping is never unmapped, as long as we asked for and page-aligned; atomics of any bits are valid.
        let header = unsafe { &*header };
        if header.magic.load(Relaxed) != MAGIC {
            return None;
        }
        let layout = Layout {
            keys: header.keys.load(Relaxed),
            capacity: header.capacity.load(Relaxed).min(MOST_NODES),
            rows: header.rows.load(Relaxed),
        };
        // The header a second time: only now is it known how long the file is.
        let file = sys::map_file(descriptor, layout.bytes())?.cast::<u8>();
        sys::close_file(descriptor);
        // SAFETY: as above; the layout says where the parts are, aligned to pages, and the tool made the file as long as it
        // says.
        let (keys, nodes, rows) = unsafe {
            (
                from_raw_parts(file.add(Layout::KEYS).cast(), layout.keys as usize),
                from_raw_parts(file.add(layout.nodes()).cast(), layout.capacity as usize),
                from_raw_parts(file.add(layout.row(0)).cast(), layout.rows as usize * layout.capacity as usize),
            )
        };
        Some(Self::of(header, keys, nodes, rows))
    }

    /// A tree in memory that is all zeros but for the request.
    pub(super) fn of(
        header: &'static Header,
        keys: &'static [AtomicU64],
        nodes: &'static [Node],
        rows: &'static [Figures],
    ) -> Self {
        header.used.store(1, Relaxed);
        header.begun.store(NO_BATCH, Relaxed);
        let opened = (Moment::now(), ticks::now());
        Self { header, keys, nodes, rows, free: Mutex::new(0), opened }
    }

    /// What a site is asked to do.
    pub(super) fn mode_of(&self, key: u64) -> u32 {
        let listed = self.keys.binary_search_by_key(&key, |listed| listed.load(Relaxed)).is_ok();
        let mode = if listed { &self.header.listed_mode } else { &self.header.default_mode };
        match mode.load(Relaxed) {
            active @ (mode::COUNTING | mode::TIMING) => active,
            _ => mode::INACTIVE,
        }
    }

    /// A child of node `from`; `None` if there is no room.
    pub(super) fn add(&self, from: u32, key: u64) -> Option<u32> {
        let caller = &self.nodes[from as usize];
        let index = self.take(key)?;
        let node = &self.nodes[index as usize];
        node.parent.store(from, Relaxed);
        node.root.store(caller.root.load(Relaxed), Relaxed);
        node.next.store(caller.first.load(Relaxed), Relaxed);
        caller.first.store(index, Relaxed);
        Some(index)
    }

    /// A root: one that an ended thread left, so that threads which come and go do not fill the tree, else a new one.
    pub(super) fn root(&self) -> Option<u32> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if *free != 0 {
            let root = *free;
            *free = self.nodes[root as usize].next.swap(0, Relaxed);
            return Some(root);
        }
        let root = self.take(0)?;
        self.nodes[root as usize].root.store(root, Relaxed);
        Some(root)
    }

    /// Leaves a root to the next thread.
    pub(super) fn give_back(&self, root: u32) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.nodes[root as usize].next.store(*free, Relaxed);
        *free = root;
    }

    fn take(&self, key: u64) -> Option<u32> {
        let used = &self.header.used;
        // Asked first, so that the number does not grow for ever in a full tree.
        let is_full = |used: u32| used as usize >= self.nodes.len();
        let index = if is_full(used.load(Relaxed)) { u32::MAX } else { used.fetch_add(1, Relaxed) };
        if is_full(index) {
            self.header.overflow.fetch_add(1, Relaxed);
            return None;
        }
        let node = &self.nodes[index as usize];
        node.key.store(key, Relaxed);
        node.shortest.store(NEVER, Relaxed);
        Some(index)
    }
}
