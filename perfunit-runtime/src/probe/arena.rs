//! The tree's file in this process: the request, the nodes, and the figures of batches.

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
    /// Keys of the sites that have the listed mode, sorted.
    keys: &'static [AtomicU64],
    pub(super) nodes: &'static [Node],
    pub(super) rows: &'static [Figures],
    /// First root without a thread; 0 for none.
    free: Mutex<u32>,
    /// Readings of both clocks at the beginning of the measurement.
    pub(super) opened: (Moment, u64),
}

/// Adds to a field without a locked instruction, because only this thread writes it.
#[inline(always)]
pub fn bump(field: &AtomicU64, by: u64) {
    field.store(field.load(Relaxed).wrapping_add(by), Relaxed);
}

impl Tree {
    /// Maps the file and closes its descriptor. Returns `None` if it is not a tree of this version.
    pub fn open(descriptor: i32) -> Option<Self> {
        let header = sys::map_file(descriptor, Layout::KEYS)?.cast::<Header>();
        // SAFETY: the mapping is never unmapped, has the requested length and is page-aligned; atomics may have any
        // bits.
        let header = unsafe { &*header };
        if header.magic.load(Relaxed) != MAGIC {
            return None;
        }
        let layout = Layout {
            keys: header.keys.load(Relaxed),
            capacity: header.capacity.load(Relaxed).min(MOST_NODES),
            rows: header.rows.load(Relaxed),
        };
        // Maps the file again, because only the header has its length.
        let file = sys::map_file(descriptor, layout.bytes())?.cast::<u8>();
        sys::close_file(descriptor);
        // SAFETY: see above; the layout has the page-aligned offsets of all parts, and the tool created the file with
        // its length.
        let (keys, nodes, rows) = unsafe {
            (
                from_raw_parts(file.add(Layout::KEYS).cast(), layout.keys as usize),
                from_raw_parts(file.add(layout.nodes()).cast(), layout.capacity as usize),
                from_raw_parts(file.add(layout.row(0)).cast(), layout.rows as usize * layout.capacity as usize),
            )
        };
        Some(Self::of(header, keys, nodes, rows))
    }

    /// Builds a tree in memory. All fields are zero, except the request.
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

    /// Returns the requested mode of a site.
    pub(super) fn mode_of(&self, key: u64) -> u32 {
        let listed = self.keys.binary_search_by_key(&key, |listed| listed.load(Relaxed)).is_ok();
        let mode = if listed { &self.header.listed_mode } else { &self.header.default_mode };
        match mode.load(Relaxed) {
            active @ (mode::COUNTING | mode::TIMING) => active,
            _ => mode::INACTIVE,
        }
    }

    /// Adds a child to node `from`. Returns `None` if the tree is full.
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

    /// Returns a root: one of an ended thread if possible, so that short-lived threads do not fill the tree, otherwise
    /// a new one.
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

    /// Returns a root for use by another thread.
    pub(super) fn give_back(&self, root: u32) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.nodes[root as usize].next.store(*free, Relaxed);
        *free = root;
    }

    fn take(&self, key: u64) -> Option<u32> {
        let used = &self.header.used;
        // Checked first, so that the count does not grow forever in a full tree.
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
