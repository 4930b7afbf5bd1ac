//! The tree's file in this process: the request, room for nodes, and the figures of a batch.

use super::cost::Costs;
use super::{home, ticks};
use crate::sys;
use crate::tree::{mode, Figures, Header, Layout, Node, MAGIC, MOST_NODES, NEVER, NO_BATCH};
use std::slice::from_raw_parts;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A mapped tree.
pub struct Tree {
    pub(super) header: &'static Header,
    /// The sites whose mode is the listed one, by key.
    keys: &'static [AtomicU64],
    pub(super) nodes: &'static [Node],
    pub(super) rows: &'static [Figures],
    /// The first root that no thread has; 0 for none.
    free: Mutex<u32>,
    /// How to measure what probes cost, from the first probe that is met. Named nowhere else: a program without probes is
    /// linked without what they need, in particular the memory of each of its threads.
    pub(super) measure: OnceLock<fn() -> Costs>,
    /// The two clocks when the serve began.
    opened: (Instant, u64),
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
        let opened = (Instant::now(), ticks::now());
        Self { header, keys, nodes, rows, free: Mutex::new(0), measure: OnceLock::new(), opened }
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

    /// Measures what the probes cost, for the header, if any was met.
    pub fn measure_costs(&self) {
        let Some(measure) = self.measure.get() else { return };
        let costs = measure();
        let fields = [&self.header.inside, &self.header.outside, &self.header.counting];
        for (field, ticks) in fields.into_iter().zip([costs.inside, costs.outside, costs.counting]) {
            field.store(ticks.to_bits(), Relaxed);
        }
    }

    /// Whether no batch has been recorded yet.
    pub fn is_empty(&self) -> bool {
        self.header.batches.load(Relaxed) == 0
    }

    /// From now on figures are taken. Only this thread is told to forget the ticks before; the others compare with the
    /// beginning.
    pub fn begin_batch(&'static self) {
        // Its root must be there: whatever runs outside of any probe is the root's.
        home::settle_in(self);
        self.header.begun.store(ticks::now(), Relaxed);
    }

    /// From now on no figures are taken; row `index` gets those of the batch. Other threads that still run keep what they
    /// have not passed on since their last probe.
    pub fn end_batch(&self, index: usize) {
        let now = ticks::now();
        home::pass_until(now);
        self.header.begun.store(NO_BATCH, Relaxed);
        let used = (self.header.used.load(Relaxed) as usize).min(self.nodes.len());
        let capacity = self.nodes.len();
        let row = self.rows.get(index * capacity..index * capacity + used).unwrap_or_default();
        for (figures, node) in row.iter().zip(self.nodes) {
            figures.calls.store(since(&node.calls, &node.calls_before), Relaxed);
            figures.self_ticks.store(since(&node.self_ticks, &node.self_before), Relaxed);
            figures.recursions.store(since(&node.recursions, &node.recursions_before), Relaxed);
        }
        self.header.batches.store(index as u32 + 1, Relaxed);
        let ticks = now.saturating_sub(self.opened.1);
        let per_second = ticks as f64 / self.opened.0.elapsed().as_secs_f64();
        self.header.ticks_per_second.store(per_second.to_bits(), Relaxed);
    }
}

/// What a sum has grown by since it was asked last.
fn since(sum: &AtomicU64, before: &AtomicU64) -> u64 {
    let now = sum.load(Relaxed);
    now.wrapping_sub(before.swap(now, Relaxed))
}
