//! Batches: between which moments figures are taken, and what the tool reads of each.

use super::arena::Tree;
use super::{cost, home, place, ticks};
use crate::tree::{Header, NO_BATCH};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

impl Tree {
    /// Measures what the probes cost, for the header, if any was met.
    pub fn measure_costs(&self) {
        let Some(costs) = cost::measured() else { return };
        let Header { inside, outside, counting, again, .. } = self.header;
        let ticks = [costs.inside, costs.outside, costs.counting, costs.again];
        for (field, ticks) in [inside, outside, counting, again].into_iter().zip(ticks) {
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
        place::pass_until(now);
        self.header.begun.store(NO_BATCH, Relaxed);
        let used = (self.header.used.load(Relaxed) as usize).min(self.nodes.len());
        let capacity = self.nodes.len();
        let row = self.rows.get(index * capacity..index * capacity + used).unwrap_or_default();
        for (figures, node) in row.iter().zip(self.nodes) {
            figures.calls.store(since(&node.calls, &node.calls_before), Relaxed);
            figures.self_ticks.store(since(&node.self_ticks, &node.self_before), Relaxed);
            figures.recursions.store(since(&node.recursions, &node.recursions_before), Relaxed);
            figures.repeats.store(since(&node.repeats, &node.repeats_before), Relaxed);
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
