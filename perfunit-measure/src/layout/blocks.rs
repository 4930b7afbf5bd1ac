//! Pairs of functions that correspond to each other in both versions.

use super::image::{Function, Image};
use super::loops::Anchor;
use super::loops::{Loop, loops};
use object::Architecture;
use perfunit_build::{ALIGNMENT, can_decode, code_unit};
use perfunit_model::{Side, Sides};
use perfunit_select::code::stable_name;
use std::collections::{BTreeMap, BTreeSet};

/// The functions of two executables, classified by what both versions have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    /// Functions with the same size in both versions and with loops at the same offsets, sorted by base's addresses.
    pub common: Vec<Common>,
    /// Functions with a different size in head, or with loops at different offsets.
    pub changed: Vec<Changed>,
    /// Functions that only one version has. Functions that share their name with another one are excluded, because the
    /// linker cannot tell them apart.
    pub single: Sides<Vec<Single>>,
    /// Changed functions that the linker did not place as planned.
    pub given_up: Vec<Sides<String>>,
}

/// The functions with loops that do not lie at the same place in both versions.
#[derive(Debug, Default)]
pub struct Unplaced {
    /// The symbol names of the functions, including aliases.
    pub names: Sides<BTreeSet<String>>,
    /// True if drawn layouts place the loops of all these functions at arbitrary offsets.
    pub are_free: bool,
}

/// A function that only one version has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Single {
    pub name: String,
    pub size: u64,
    /// The function can begin at multiples of this number of bytes.
    pub step: u64,
    /// True if drawn layouts place its loops at arbitrary offsets.
    pub is_free: bool,
}

/// A function that takes the same space in both versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Common {
    pub names: Sides<String>,
    /// The number of functions with this name.
    pub copies: usize,
}

/// A function with different lengths or loop offsets in both versions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub names: Sides<String>,
    pub sizes: Sides<u64>,
    /// The function can begin at multiples of this number of bytes.
    pub step: u64,
    /// True if drawn layouts place its loops at arbitrary offsets.
    pub is_free: bool,
    pub anchor: Anchor,
}

impl Changed {
    /// Returns whether all of its loops can lie at base's addresses.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchor.shift.is_some() && self.anchor.left == 0
    }

    /// Returns whether the anchor keeps the function at multiples of the alignment.
    fn is_aligned(&self) -> bool {
        self.anchor.shift.is_none_or(|shift| shift.unsigned_abs().is_multiple_of(ALIGNMENT))
    }
}

impl Blocks {
    /// Pairs the functions of both versions by symbol name, or else by readable name if that name is unique on each side.
    pub fn of(images: &Sides<Image>) -> Self {
        let by_name = images.as_ref().map(by_name);
        let mut blocks = Self::default();
        let mut single: Sides<Vec<&Function>> = Sides::default();
        for (name, base) in &by_name.base {
            match by_name.head.get(name) {
                Some(head) => blocks.pair(images, base, head),
                None => single.base.extend(only(base)),
            }
        }
        let others = by_name.head.iter().filter(|(name, _)| !by_name.base.contains_key(*name));
        single.head.extend(others.filter_map(|(_, head)| only(head)));
        let readable = single.as_ref().map(|functions| by_readable_name(functions));
        let mut paired: Sides<BTreeSet<&str>> = Sides::default();
        for (name, base) in &readable.base {
            if let (Some(base), Some(Some(head))) = (base, readable.head.get(name)) {
                paired.base.insert(&base.name);
                paired.head.insert(&head.name);
                blocks.pair(images, &[base], &[head]);
            }
        }
        let left = |side: Side| -> Vec<Single> {
            let (image, paired) = (images.get(side), paired.get(side));
            let left = single.get(side).iter().filter(|function| !paired.contains(function.name.as_str()));
            left.map(|function| Single {
                name: function.name.clone(),
                size: function.size,
                step: step(image, &loops_of(image, function)),
                is_free: can_decode(image.architecture),
            })
            .collect()
        };
        blocks.single = Sides { base: left(Side::Base), head: left(Side::Head) };
        let places: BTreeMap<&str, u64> =
            images.base.functions.iter().rev().map(|function| (function.name.as_str(), function.address)).collect();
        let place = |name: &String| places.get(name.as_str()).copied();
        blocks.common.sort_by_key(|common| place(&common.names.base));
        blocks.changed.sort_by_key(|changed| place(&changed.names.base));
        blocks
    }

    fn pair(&mut self, images: &Sides<Image>, base: &[&Function], head: &[&Function]) {
        let names = Sides { base: base[0].name.clone(), head: head[0].name.clone() };
        let take_equal_room = base.iter().map(|function| function.size).eq(head.iter().map(|function| function.size));
        if take_equal_room && (base.len() > 1 || has_loops_alike(images, base[0], head[0])) {
            self.common.push(Common { names, copies: base.len() });
        } else if let ([base], [head]) = (base, head) {
            let sizes = Sides { base: base.size, head: head.size };
            let loops = Sides { base: loops_of(&images.base, base), head: loops_of(&images.head, head) };
            let step = step(&images.base, &loops.base).min(step(&images.head, &loops.head));
            let is_free = can_decode(images.base.architecture);
            let anchor =
                if is_free { Anchor::of(&loops.base, &loops.head, step.cast_signed()) } else { Anchor::default() };
            let mut changed = Changed { names, sizes, step, is_free, anchor };
            if changed.is_anchored() && changed.is_aligned() && keeps_alignment(&images.base) {
                changed.step = ALIGNMENT;
            }
            self.changed.push(changed);
        }
    }

    /// Returns the functions of each side that must begin at addresses that the linker does not choose: between multiples
    /// of the alignment.
    pub fn to_free(&self) -> Sides<BTreeSet<&str>> {
        self.own_names(|changed| changed.step < ALIGNMENT, |single| single.step < ALIGNMENT)
    }

    /// Restores the alignment of the functions that should have been freed but could not be.
    pub fn keep_aligned(&mut self, freed: &Sides<&BTreeSet<String>>) {
        let is_freed = |names: &Sides<String>| freed.base.contains(&names.base) && freed.head.contains(&names.head);
        let wanted = self.changed.iter_mut().filter(|changed| changed.step < ALIGNMENT);
        for changed in wanted.filter(|changed| !is_freed(&changed.names)) {
            (changed.step, changed.is_free) = (ALIGNMENT, false);
            if !changed.is_aligned() {
                changed.anchor = Anchor::default();
            }
        }
        for side in Side::BOTH {
            let freed = freed.get(side);
            let wanted = self.single.get_mut(side).iter_mut().filter(|single| single.step < ALIGNMENT);
            for single in wanted.filter(|single| !freed.contains(&single.name)) {
                (single.step, single.is_free) = (ALIGNMENT, false);
            }
        }
    }

    /// Gives up pairs that the linker does not place as planned.
    pub fn give_up(&mut self, base_names: &BTreeSet<String>) {
        let given_up = self.changed.extract_if(.., |changed| base_names.contains(&changed.names.base));
        self.given_up.extend(given_up.map(|changed| changed.names));
    }

    /// Returns the functions with loops that do not lie where the other version has them, in executables that were linked
    /// by a plan. They are few, so that decoding the code of each is affordable.
    pub fn find_unplaced(&self, linked: &Sides<Image>) -> Unplaced {
        let placed = self.find_placed(linked);
        let free = self.own_names(|changed| changed.is_free, |single| single.is_free);
        let of_side = |side: Side| -> Vec<&Function> {
            let (image, placed) = (linked.get(side), placed.get(side));
            let given_up: BTreeSet<&str> = self.given_up.iter().map(|names| names.get(side).as_str()).collect();
            let is_unplaced = |function: &&Function| {
                let name = function.name.as_str();
                given_up.contains(name) || !placed.contains(name) && has_loops(image, function)
            };
            image.functions.iter().filter(is_unplaced).collect()
        };
        let unplaced = Sides { base: of_side(Side::Base), head: of_side(Side::Head) };
        let are_free =
            |side: Side| unplaced.get(side).iter().all(|function| free.get(side).contains(function.name.as_str()));
        let are_free = Side::BOTH.into_iter().all(are_free);
        let names = |side: Side| -> BTreeSet<String> {
            let functions = unplaced.get(side).iter();
            functions.flat_map(|function| linked.get(side).names(function)).cloned().collect()
        };
        Unplaced { names: Sides { base: names(Side::Base), head: names(Side::Head) }, are_free }
    }

    /// Returns the names, on each side, of the changed and the single functions that satisfy these conditions.
    fn own_names(&self, changed: fn(&Changed) -> bool, single: fn(&Single) -> bool) -> Sides<BTreeSet<&str>> {
        let of_side = |side: Side| {
            let changed = self.changed.iter().filter(|one| changed(one)).map(|one| &one.names.get(side)[..]);
            let singles = self.single.get(side).iter().filter(|one| single(one)).map(|one| &one.name[..]);
            changed.chain(singles).collect()
        };
        Sides { base: of_side(Side::Base), head: of_side(Side::Head) }
    }

    /// Returns the functions with their loops at the same place in both versions.
    fn find_placed(&self, linked: &Sides<Image>) -> Sides<BTreeSet<&str>> {
        let addresses = linked.as_ref().map(Image::addresses);
        let by_name = linked.as_ref().map(by_name);
        let lies_alike = |common: &&Common| {
            let (base, head) = (common.names.base.as_str(), common.names.head.as_str());
            let addresses = Sides { base: addresses.base.get(base), head: addresses.head.get(head) };
            let (Some(base), Some(head)) = (by_name.base.get(base), by_name.head.get(head)) else { return false };
            addresses.base == addresses.head && base.iter().zip(head).all(|(base, head)| is_alike(linked, base, head))
        };
        let changed = self.changed.iter().filter(|changed| changed.is_anchored()).map(|changed| &changed.names);
        let common = self.common.iter().filter(lies_alike).map(|common| &common.names);
        let mut placed: Sides<BTreeSet<&str>> = Sides::default();
        for names in changed.chain(common) {
            placed.base.insert(&names.base);
            placed.head.insert(&names.head);
        }
        placed
    }
}

/// Returns whether a function of equal size in both versions has its loops at the same offsets. Assumes that it has if
/// the code cannot be decoded.
fn has_loops_alike(images: &Sides<Image>, base: &Function, head: &Function) -> bool {
    let places = |image: &Image, function: &Function| -> Vec<(u64, u64)> {
        loops_of(image, function).iter().map(|each| (each.start, each.end)).collect()
    };
    !can_decode(images.base.architecture)
        || images.base.code(base) == images.head.code(head)
        || places(&images.base, base) == places(&images.head, head)
}

/// Returns whether two functions at equal addresses of linked executables have their loops at the same offsets. Unchanged
/// code has equal bytes there.
fn is_alike(linked: &Sides<Image>, base: &Function, head: &Function) -> bool {
    linked.base.code(base) == linked.head.code(head)
        || can_decode(linked.base.architecture) && has_loops_alike(linked, base, head)
}

/// Returns whether a function has loops, which are the only code that needs a common place. Assumes that it has if the
/// code cannot be decoded.
fn has_loops(image: &Image, function: &Function) -> bool {
    !can_decode(image.architecture) || !loops_of(image, function).is_empty()
}

/// Returns the loops of a function; none if the code cannot be decoded.
pub(super) fn loops_of(image: &Image, function: &Function) -> Vec<Loop> {
    loops(image.architecture, image.code(function))
}

/// Returns whether compilers align functions for this processor. On aarch64 they begin at any instruction, unless the
/// project names a processor.
fn keeps_alignment(image: &Image) -> bool {
    image.architecture != Architecture::Aarch64
}

/// Returns the step between the addresses at which a function must be able to begin. Where functions are aligned, the
/// offsets of aligned loops stay multiples of the alignment; other loops move by each byte in front of them.
fn step(image: &Image, loops: &[Loop]) -> u64 {
    let is_aligned = keeps_alignment(image) && loops.iter().all(|each| each.start.is_multiple_of(ALIGNMENT));
    code_unit(image.architecture).filter(|_| !is_aligned).unwrap_or(ALIGNMENT)
}

fn only<'a>(functions: &[&'a Function]) -> Option<&'a Function> {
    if let [function] = functions { Some(function) } else { None }
}

fn by_name(image: &Image) -> BTreeMap<&str, Vec<&Function>> {
    let mut functions: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
    for function in &image.functions {
        functions.entry(&function.name).or_default().push(function);
    }
    functions
}

/// Maps readable names to functions; `None` if several functions share the name, because an item in front of another item
/// of the same name changes the latter's symbol.
fn by_readable_name<'a>(functions: &[&'a Function]) -> BTreeMap<String, Option<&'a Function>> {
    let mut found: BTreeMap<String, Option<&Function>> = BTreeMap::new();
    for function in functions {
        let name = stable_name(&function.name).into_owned();
        found.entry(name).and_modify(|known| *known = None).or_insert(Some(function));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `dec edi`, `jne` back to it, `ret`.
    const LOOP: [u8; 5] = [0xff, 0xcf, 0x75, 0xfc, 0xc3];
    /// The same behind two bytes that do nothing.
    const LATER: [u8; 7] = [0x66, 0x90, 0xff, 0xcf, 0x75, 0xfc, 0xc3];
    const STRAIGHT: [u8; 7] = [0x66, 0x90, 0x66, 0x90, 0x66, 0x90, 0xc3];
    /// A loop of other instructions, `inc edi` twice, with only the `ret` behind it.
    const OTHER: [u8; 7] = [0xff, 0xc7, 0xff, 0xc7, 0x75, 0xfa, 0xc3];

    type Code<'a> = (&'a str, &'a [u8]);

    /// Checks the names of the functions without a common place, base's and then head's, if both versions lie at these
    /// addresses.
    #[track_caller]
    fn check(base: &[Code<'_>], head: &[Code<'_>], expected: [&[&str]; 2]) {
        let images = Sides { base: Image::with(base, 0x1000), head: Image::with(head, 0x1000) };
        let unplaced = Blocks::of(&images).find_unplaced(&images).names;
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
        assert_eq!([names(&unplaced.base), names(&unplaced.head)], expected.map(<[&str]>::to_vec));
    }

    #[test]
    fn what_is_the_same_has_its_place_and_what_has_no_loops_needs_none() {
        check(&[("a", &LOOP), ("b", &STRAIGHT)], &[("a", &LOOP), ("b", &STRAIGHT)], [&[], &[]]);
        check(&[("a", &LOOP), ("gone", &STRAIGHT)], &[("a", &LOOP), ("new", &STRAIGHT)], [&[], &[]]);
    }

    #[test]
    fn a_loop_that_one_version_has_alone_or_otherwise_has_no_common_place() {
        check(&[("a", &LOOP)], &[("a", &LOOP), ("new", &LATER)], [&[], &["new"]]);
        check(&[("a", &LOOP)], &[("a", &OTHER)], [&["a"], &["a"]]);
    }

    #[test]
    fn equal_size_is_not_enough_if_the_loops_lie_elsewhere() {
        // The loops differ by two bytes: a function that may begin at any byte compensates that, multiples of 16 do not.
        let padded = [LOOP.as_slice(), &[0x66, 0x90]].concat();
        let (base, head): ([Code<'_>; 1], [Code<'_>; 1]) = ([("a", &padded)], [("a", &LATER)]);
        check(&base, &head, [&[], &[]]);
        let images = Sides { base: Image::with(&base, 0x1000), head: Image::with(&head, 0x1000) };
        let mut blocks = Blocks::of(&images);
        let names = |blocks: &Blocks| blocks.to_free().map(|names| names.len());
        assert_eq!((blocks.changed[0].anchor.shift, names(&blocks)), (Some(-2), Sides { base: 1, head: 1 }));
        blocks.keep_aligned(&Sides { base: &BTreeSet::new(), head: &BTreeSet::from(["a".to_owned()]) });
        assert_eq!((blocks.changed[0].anchor.shift, names(&blocks)), (None, Sides { base: 0, head: 0 }));
        let unplaced = blocks.find_unplaced(&images);
        let a = BTreeSet::from(["a".to_owned()]);
        assert_eq!((unplaced.names, unplaced.are_free), (Sides { base: a.clone(), head: a }, false));
        check(&[("a", &LATER)], &[("a", &LATER)], [&[], &[]]);
    }

    #[test]
    fn functions_of_aarch64_begin_at_any_instruction() {
        let [nop, decrement, back, ret] =
            [0xd503_201f_u32, 0x7100_0400, 0x54ff_ffe1, 0xd65f_03c0].map(u32::to_le_bytes);
        let image = |code: &[[u8; 4]]| {
            let mut image = Image::with(&[("a", &code.concat())], 0x1000);
            image.architecture = Architecture::Aarch64;
            image
        };
        let images = Sides { base: image(&[decrement, back, ret]), head: image(&[nop, decrement, back, ret]) };
        let mut blocks = Blocks::of(&images);
        let Changed { step, is_free, anchor, .. } = &blocks.changed[0];
        assert_eq!((*step, *is_free, anchor), (4, true, &Anchor { shift: Some(-4), held: 1, left: 0 }));
        assert!(blocks.find_unplaced(&images).names.base.is_empty());
        // Where the alignment stays, no multiple of 16 keeps the loop in place.
        blocks.keep_aligned(&Sides { base: &BTreeSet::new(), head: &BTreeSet::new() });
        assert_eq!((blocks.changed[0].step, blocks.changed[0].anchor.shift), (ALIGNMENT, None));
        // A function in one version alone is drawn like all others.
        let mut single = Sides { base: image(&[ret]), head: image(&[ret]) };
        single.head.functions.clear();
        assert_eq!(Blocks::of(&single).single.base[0].step, 4);
        // Thunks of linkers have the same name and code in both versions.
        let common = Sides { base: image(&[decrement, back, ret]), head: image(&[decrement, back, ret]) };
        assert_eq!(Blocks::of(&common).common.len(), 1);
    }

    #[test]
    fn functions_of_one_name_count_where_the_linker_puts_them() {
        let twice: [Code<'_>; 2] = [("a", &LOOP), ("a", &LOOP)];
        check(&twice, &twice, [&[], &[]]);
        // The code in front of the second function is longer.
        let head: [Code<'_>; 3] = [("a", &LOOP), ("new", &STRAIGHT), ("a", &LOOP)];
        check(&twice, &head, [&["a"], &["a"]]);
        // One of the two functions has a different length, and the names do not say which.
        check(&twice, &[("a", &LOOP), ("a", &LATER)], [&["a"], &["a"]]);
    }

    #[test]
    fn what_the_linker_did_not_place_as_told_has_no_common_place() {
        let code: [Code<'_>; 1] = [("a", &STRAIGHT)];
        let images = Sides { base: Image::with(&code, 0x1000), head: Image::with(&[("a", &STRAIGHT[2..])], 0x1000) };
        let mut blocks = Blocks::of(&images);
        assert!(blocks.find_unplaced(&images).names.base.is_empty());
        blocks.give_up(&["a".to_owned()].into());
        assert_eq!(blocks.find_unplaced(&images).names.map(|names| names.len()), Sides { base: 1, head: 1 });
    }
}
