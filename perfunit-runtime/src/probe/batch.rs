//! Batches: which figures are recorded when, and what the tool reads of each batch.

use super::arena::Tree;
use super::{cost, home, place, ticks};
use crate::tree::{Header, NO_BATCH};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

impl Tree {
    /// Measures the cost of the probes for the header, if any probe was executed.
    pub fn measure_costs(&self) {
        let Some(costs) = cost::measure_costs() else { return };
        let Header { inside, outside, counting, again, .. } = self.header;
        let ticks = [costs.inside, costs.outside, costs.counting, costs.again];
        for (field, ticks) in [inside, outside, counting, again].into_iter().zip(ticks) {
            field.store(ticks.to_bits(), Relaxed);
        }
    }

    /// Returns whether no batch has been recorded yet.
    pub fn is_empty(&self) -> bool {
        self.header.batches.load(Relaxed) == 0
    }

    /// Begins recording. Only this thread discards earlier ticks; other threads compare with the beginning.
    pub fn begin_batch(&'static self) {
        // The thread needs a root, to which time outside of any probe belongs.
        home::settle_in(self);
        self.header.begun.store(ticks::now(), Relaxed);
    }

    /// Ends recording and writes the batch's figures to row `index`. Ticks that other running threads have not passed
    /// on since their last probe are not included.
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

/// Returns the growth of a sum since the previous call.
fn since(sum: &AtomicU64, before: &AtomicU64) -> u64 {
    let now = sum.load(Relaxed);
    now.wrapping_sub(before.swap(now, Relaxed))
}
