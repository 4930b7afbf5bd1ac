//! The order of functions of both versions, and the gaps between them.

use super::anchor::STEP;
use super::blocks::{Blocks, Changed};
use crate::model::Sides;

/// A slot for a changed function begins at a multiple of this: a cache line, and all that code is aligned to.
pub(super) const LINE: u64 = 64;
/// Lines by which a changed function is moved at random, on both sides alike.
const MOST_LINES: u64 = 16;

/// What the linker is to do on each side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Symbols in the wanted order.
    pub order: Sides<Vec<String>>,
    /// The gaps named in it.
    pub gaps: Sides<Vec<Gap>>,
}

/// Bytes that nothing executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub name: String,
    pub align: u64,
    pub size: u64,
}

/// Lays the blocks out: what is common first, so that nothing in front of it differs; then a slot for each changed
/// function, as long on both sides; then the rest. With a seed the common functions and the slots come in a random
/// order, the same on both sides; without, in base's.
pub(super) fn plan(blocks: &Blocks, seed: Option<u64>) -> Plan {
    let mut random = seed.map(fastrand::Rng::with_seed);
    let mut common: Vec<usize> = (0..blocks.common.len()).collect();
    let mut changed: Vec<usize> = (0..blocks.changed.len()).collect();
    if let Some(random) = &mut random {
        random.shuffle(&mut common);
        random.shuffle(&mut changed);
    }
    let mut plan = Plan::default();
    for index in common {
        let names = &blocks.common[index].names;
        plan.order.base.push(names.base.clone());
        plan.order.head.push(names.head.clone());
    }
    for (number, index) in changed.into_iter().enumerate() {
        plan.add_slot(number, &blocks.changed[index], random.as_mut());
    }
    plan.order.base.extend(blocks.rest.base.iter().cloned());
    plan.order.head.extend(blocks.rest.head.iter().cloned());
    plan
}

impl Plan {
    fn add_slot(&mut self, number: usize, changed: &Changed, random: Option<&mut fastrand::Rng>) {
        let offsets = offsets(changed, random);
        let end = |offset: u64, size: u64| offset + size;
        let length =
            end(offsets.base, changed.sizes.base).max(end(offsets.head, changed.sizes.head)).next_multiple_of(LINE);
        let sides = [
            (&mut self.order.base, &mut self.gaps.base, &changed.names.base, offsets.base, changed.sizes.base),
            (&mut self.order.head, &mut self.gaps.head, &changed.names.head, offsets.head, changed.sizes.head),
        ];
        for (order, gaps, name, offset, size) in sides {
            let before = Gap { name: format!("perfunit_before_{number}"), align: LINE, size: offset };
            let after = Gap { name: format!("perfunit_after_{number}"), align: 1, size: length - offset - size };
            order.extend([before.name.clone(), name.clone()]);
            gaps.push(before);
            if after.size > 0 {
                order.push(after.name.clone());
                gaps.push(after);
            }
        }
    }
}

/// Where a changed function begins in its slot. Never at 0: a gap of no bytes might be left out.
fn offsets(changed: &Changed, random: Option<&mut fastrand::Rng>) -> Sides<u64> {
    let step = STEP.unsigned_abs();
    let mut drawn = Sides { base: 0, head: 0 };
    if let Some(random) = random {
        let mut draw = || random.u64(0..MOST_LINES) * LINE + random.u64(0..LINE / step) * step;
        drawn.base = draw();
        // Without an anchor the place of the loops is part of the answer: it has to vary on each side by itself.
        drawn.head = if changed.anchor.shift.is_some() { drawn.base } else { draw() };
    }
    let shift = changed.anchor.shift.unwrap_or(0);
    let room = |needed: i64| needed.max(0).unsigned_abs().next_multiple_of(LINE);
    let first = step + room(-shift);
    Sides { base: first + drawn.base, head: (first + drawn.head).checked_add_signed(shift).unwrap_or(first) }
}

/// Bytes of text that gaps can add at most, on either side.
pub(super) fn most_gaps(blocks: &Blocks) -> u64 {
    let each = |changed: &Changed| {
        let shift = changed.anchor.shift.unwrap_or(0).unsigned_abs();
        changed.sizes.base.abs_diff(changed.sizes.head) + 2 * shift + (MOST_LINES + 4) * LINE
    };
    blocks.changed.iter().map(each).sum()
}
