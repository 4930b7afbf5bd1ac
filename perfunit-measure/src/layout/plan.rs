//! The order of functions of both versions, and the gaps between them.

use super::LINE;
use super::blocks::{Blocks, Changed, Single};
use perfunit_build::ALIGNMENT;
use perfunit_model::Sides;

/// The number of cache lines by which a changed function moves at random, equally on both sides.
const MOST_LINES: u64 = 16;

/// The instructions for the linker on each side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The symbols in the planned order.
    pub order: Sides<Vec<String>>,
    /// The gaps that `order` names.
    pub gaps: Sides<Vec<Gap>>,
}

/// Bytes that are never executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub name: String,
    pub align: u64,
    pub size: u64,
}

/// Lays out the blocks: common functions first, so that the code in front of them is equal; then a slot of equal length
/// on both sides for each changed function and for each function that one side lacks. A seed draws a random order of the
/// common functions and of the slots, the same on both sides; without a seed they are in base's order.
///
/// Functions that share their name are not in the order. The linker places them behind the ordered ones in input order,
/// which is the same on both sides, whereas it would sort equal names in any case.
pub(super) fn plan(blocks: &Blocks, seed: Option<u64>) -> Plan {
    let mut random = seed.map(fastrand::Rng::with_seed);
    let mut common: Vec<usize> = (0..blocks.common.len()).collect();
    let mut changed: Vec<usize> = (0..blocks.changed.len()).collect();
    if let Some(random) = &mut random {
        random.shuffle(&mut common);
        random.shuffle(&mut changed);
    }
    let mut plan = Plan::default();
    for index in common.into_iter().filter(|index| blocks.common[*index].copies == 1) {
        let names = &blocks.common[index].names;
        plan.order.base.push(names.base.clone());
        plan.order.head.push(names.head.clone());
    }
    for (number, index) in changed.into_iter().enumerate() {
        plan.add_slot(number, &blocks.changed[index], random.as_mut());
    }
    let Sides { base, head } = &blocks.single;
    for (number, single) in base.iter().enumerate() {
        let (mut own, mut other) = plan.lists();
        add_single(&format!("perfunit_gone_{number}"), single, random.as_mut(), &mut own, &mut other);
    }
    for (number, single) in head.iter().enumerate() {
        let (mut other, mut own) = plan.lists();
        add_single(&format!("perfunit_new_{number}"), single, random.as_mut(), &mut own, &mut other);
    }
    plan
}

impl Plan {
    fn lists(&mut self) -> (Lists<'_>, Lists<'_>) {
        let Self { order, gaps } = self;
        let base = Lists { order: &mut order.base, gaps: &mut gaps.base };
        (base, Lists { order: &mut order.head, gaps: &mut gaps.head })
    }

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

/// Order and gaps of one side.
struct Lists<'a> {
    order: &'a mut Vec<String>,
    gaps: &'a mut Vec<Gap>,
}

/// Adds a function to the side that has it, and a gap of the same length to the other side.
fn add_single(
    gap: &str,
    single: &Single,
    random: Option<&mut fastrand::Rng>,
    own: &mut Lists<'_>,
    other: &mut Lists<'_>,
) {
    let start = LINE + random.map_or(0, |random| drawn_offset(single.step, random));
    let end = start + single.size;
    let length = end.next_multiple_of(LINE);
    let fill = |name: &str, align, size| Gap { name: name.to_owned(), align, size };
    own.order.extend([gap.to_owned(), single.name.clone()]);
    own.gaps.push(fill(gap, LINE, start));
    if length > end {
        let after = format!("{gap}_end");
        own.gaps.push(fill(&after, 1, length - end));
        own.order.push(after);
    }
    other.order.push(gap.to_owned());
    other.gaps.push(fill(gap, LINE, length));
}

/// Returns the offset of a changed function in its slot on each side. The offset is never 0, because a linker might leave
/// out an empty gap.
fn offsets(changed: &Changed, random: Option<&mut fastrand::Rng>) -> Sides<u64> {
    let mut drawn = Sides { base: 0, head: 0 };
    if let Some(random) = random {
        if changed.anchor.shift.is_some() {
            // Loops that the anchor does not hold must occur at all offsets.
            let step = if changed.is_anchored() { ALIGNMENT } else { changed.step };
            drawn.base = drawn_offset(step, random);
            drawn.head = drawn.base;
        } else {
            // Without an anchor the place of the loops is part of the result, so it must vary independently on each side.
            drawn.base = drawn_offset(changed.step, random);
            drawn.head = drawn_offset(changed.step, random);
        }
    }
    let shift = changed.anchor.shift.unwrap_or(0);
    let room = |needed: i64| needed.max(0).unsigned_abs().next_multiple_of(LINE);
    let first = LINE + room(-shift);
    Sides { base: first + drawn.base, head: (first + drawn.head).checked_add_signed(shift).unwrap_or(first) }
}

fn drawn_offset(step: u64, random: &mut fastrand::Rng) -> u64 {
    random.u64(0..MOST_LINES) * LINE + random.u64(0..LINE / step) * step
}

/// Returns the largest number of bytes that gaps can add to the code of either side.
pub(super) fn most_gaps(blocks: &Blocks) -> u64 {
    let each = |changed: &Changed| {
        let shift = changed.anchor.shift.unwrap_or(0).unsigned_abs();
        changed.sizes.base.abs_diff(changed.sizes.head) + 2 * shift + (MOST_LINES + 4) * LINE
    };
    let single = |single: &Single| single.size + (MOST_LINES + 3) * LINE;
    let Sides { base, head } = &blocks.single;
    blocks.changed.iter().map(each).sum::<u64>() + base.iter().chain(head).map(single).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Common;
    use super::super::loops::Anchor;
    use super::*;

    fn names(name: &str) -> Sides<String> {
        Sides { base: format!("{name}_base"), head: format!("{name}_head") }
    }

    fn blocks(shift: Option<i64>) -> Blocks {
        let common = |name: &str| Common { names: names(name), copies: 1 };
        let sizes = Sides { base: 100, head: 230 };
        let anchor = Anchor { shift, held: 1, left: 0 };
        let gone = Single { name: "gone".to_owned(), size: 70, step: 16, is_free: true };
        Blocks {
            common: ["a", "b", "c", "d", "e", "f"].map(common).into(),
            changed: vec![Changed { names: names("edited"), sizes, step: 16, is_free: true, anchor }],
            single: Sides { base: vec![gone], head: Vec::new() },
            given_up: Vec::new(),
        }
    }

    /// Returns the offset of the changed function in its slot, and the length of the slot.
    fn slot(gaps: &[Gap], size: u64) -> (u64, u64) {
        let after = gaps.get(1).map_or(0, |gap| gap.size);
        (gaps[0].size, gaps[0].size + size + after)
    }

    #[track_caller]
    fn check(shift: i64, seed: Option<u64>) {
        let plan = plan(&blocks(Some(shift)), seed);
        let (base, head) = (slot(&plan.gaps.base, 100), slot(&plan.gaps.head, 230));
        assert_eq!(head.0.cast_signed() - base.0.cast_signed(), shift);
        assert_eq!(base.1, head.1, "what follows lies at equal addresses");
        assert!(base.0 > 0 && head.0 > 0 && base.1 % LINE == 0);
        assert!(base.1 <= most_gaps(&blocks(Some(shift))) + 230);
    }

    #[test]
    fn a_changed_function_is_shifted_in_a_slot_as_long_on_both_sides() {
        for shift in [0, 16, -16, 64, -240, 1600, 2, -7] {
            check(shift, None);
            (0..50).for_each(|seed| check(shift, Some(seed)));
        }
    }

    #[test]
    fn a_drawn_offset_is_any_multiple_of_the_step_in_a_line() {
        for step in [1, 4, 16] {
            let mut random = fastrand::Rng::with_seed(7);
            let offsets: std::collections::BTreeSet<u64> =
                (0..5000).map(|_| drawn_offset(step, &mut random) % LINE).collect();
            assert!(offsets.into_iter().eq((0..LINE).step_by(step as usize)));
        }
    }

    #[test]
    fn without_a_seed_base_s_order_is_kept() {
        let plan = plan(&blocks(Some(0)), None);
        let expected = "a_base b_base c_base d_base e_base f_base perfunit_before_0 edited_base perfunit_after_0 \
                        perfunit_gone_0 gone perfunit_gone_0_end";
        assert_eq!(plan.order.base.join(" "), expected);
        assert!(plan.order.head.ends_with(&["perfunit_gone_0".to_owned()]));
        let gone =
            |gaps: &[Gap]| -> u64 { gaps.iter().filter(|gap| gap.name.contains("gone")).map(|gap| gap.size).sum() };
        assert_eq!(gone(&plan.gaps.base) + 70, gone(&plan.gaps.head));
    }

    #[test]
    fn a_seed_draws_one_order_for_both_sides() {
        let drawn = |seed| {
            let Plan { order, .. } = plan(&blocks(Some(0)), Some(seed));
            let stem = |names: &[String], end: &str| -> Vec<String> {
                names.iter().filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect()
            };
            (stem(&order.base, "_base"), stem(&order.head, "_head"))
        };
        let all: Vec<_> = (0..8).map(drawn).collect();
        assert!(all.iter().all(|(base, head)| base == head && base.len() == 7));
        assert!(all.iter().any(|(order, _)| *order != all[0].0));
        assert_eq!(drawn(3), drawn(3));
    }

    #[test]
    fn without_an_anchor_each_side_has_a_place_of_its_own() {
        let distances = (0..20).map(|seed| {
            let plan = plan(&blocks(None), Some(seed));
            plan.gaps.head[0].size.cast_signed() - plan.gaps.base[0].size.cast_signed()
        });
        assert!(distances.collect::<std::collections::BTreeSet<_>>().len() > 5);
    }

    #[test]
    fn what_one_side_lacks_moves_from_layout_to_layout_and_nothing_behind_it() {
        let start = |seed| {
            let plan = plan(&blocks(Some(0)), Some(seed));
            let named = |gaps: &[Gap]| -> Vec<u64> {
                gaps.iter().filter(|gap| gap.name.contains("gone")).map(|gap| gap.size).collect()
            };
            let (own, other) = (named(&plan.gaps.base), named(&plan.gaps.head));
            assert_eq!(own.iter().sum::<u64>() + 70, other.iter().sum::<u64>());
            own[0]
        };
        assert!((0..20).map(start).collect::<std::collections::BTreeSet<_>>().len() > 5);
    }
}
