//! Functions of both versions that belong together.

use super::image::{Function, Image};
use super::loops::Anchor;
use super::loops::{Loop, loops};
use object::Architecture;
use perfunit_build::ALIGNMENT;
use perfunit_model::{Side, Sides};
use perfunit_select::code::stable_name;
use std::collections::{BTreeMap, BTreeSet};

/// The functions of two executables, sorted out.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    /// Of one size in both versions and with loops at the same places, by base's addresses.
    pub common: Vec<Common>,
    /// Of another size in head, or with loops at other places.
    pub changed: Vec<Changed>,
    /// Functions that only one version has. Several functions of one name are not among them: the linker cannot tell them
    /// apart.
    pub single: Sides<Vec<Single>>,
    /// Changed functions that the linker did not place as wanted.
    pub given_up: Vec<Sides<String>>,
}

/// The functions with loops that have no common place in both versions.
#[derive(Debug, Default)]
pub struct Unplaced {
    /// As the linker knows them, by all of their names.
    pub names: Sides<BTreeSet<String>>,
    /// Whether drawn layouts put the loops of all of them anywhere.
    pub are_free: bool,
}

/// A function that only one version has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Single {
    pub name: String,
    pub size: u64,
    /// It can begin at multiples of this.
    pub step: u64,
    /// Whether drawn layouts put its loops anywhere.
    pub is_free: bool,
}

/// A function that takes the same room in both versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Common {
    pub names: Sides<String>,
    /// Functions of this name.
    pub copies: usize,
}

/// A function of two lengths, or with loops at two places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub names: Sides<String>,
    pub sizes: Sides<u64>,
    /// It can begin at multiples of this.
    pub step: u64,
    /// Whether drawn layouts put its loops anywhere.
    pub is_free: bool,
    pub anchor: Anchor,
}

impl Changed {
    /// Whether all of its loops can lie where base's do.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchor.shift.is_some() && self.anchor.left == 0
    }

    /// Whether its anchor leaves it at multiples of its alignment.
    fn is_aligned(&self) -> bool {
        self.anchor.shift.is_none_or(|shift| shift.unsigned_abs().is_multiple_of(ALIGNMENT))
    }
}

impl Blocks {
    /// Pairs the functions of both versions: by name, else by what people would call them, if only one has that name.
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
                step: step(&loops_of(image, function)),
                is_free: can_decode(image),
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
            let step = step(&loops.base).min(step(&loops.head));
            let is_free = can_decode(&images.base);
            let anchor =
                if is_free { Anchor::of(&loops.base, &loops.head, step.cast_signed()) } else { Anchor::default() };
            let mut changed = Changed { names, sizes, step, is_free, anchor };
            if changed.is_anchored() && changed.is_aligned() {
                changed.step = ALIGNMENT;
            }
            self.changed.push(changed);
        }
    }

    /// The functions that have to begin at other bytes than the linker puts them at, of each side.
    pub fn to_free(&self) -> Sides<BTreeSet<&str>> {
        self.own_names(|changed| changed.step < ALIGNMENT, |single| single.step < ALIGNMENT)
    }

    /// Keeps the alignment of what was to be freed and could not be.
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

    /// Gives up pairs that the linker does not place as wanted.
    pub fn give_up(&mut self, base_names: &BTreeSet<String>) {
        let given_up = self.changed.extract_if(.., |changed| base_names.contains(&changed.names.base));
        self.given_up.extend(given_up.map(|changed| changed.names));
    }

    /// The functions with loops that do not lie where the other version has them, in these executables that were linked as
    /// planned. They are few: of each the code is decoded.
    pub fn unplaced(&self, linked: &Sides<Image>) -> Unplaced {
        let placed = self.placed(linked);
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

    /// Names on each side of the functions that changed or that one version lacks, as far as they are wanted.
    fn own_names(&self, changed: fn(&Changed) -> bool, single: fn(&Single) -> bool) -> Sides<BTreeSet<&str>> {
        let of_side = |side: Side| {
            let changed = self.changed.iter().filter(|one| changed(one)).map(|one| &one.names.get(side)[..]);
            let singles = self.single.get(side).iter().filter(|one| single(one)).map(|one| &one.name[..]);
            changed.chain(singles).collect()
        };
        Sides { base: of_side(Side::Base), head: of_side(Side::Head) }
    }

    /// The functions that lie where they should, as far as their loops are concerned.
    fn placed(&self, linked: &Sides<Image>) -> Sides<BTreeSet<&str>> {
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

/// Whether a function of equal size in both versions has its loops at the same places in it, as far as can be told.
fn has_loops_alike(images: &Sides<Image>, base: &Function, head: &Function) -> bool {
    let places = |image: &Image, function: &Function| -> Vec<(u64, u64)> {
        loops_of(image, function).iter().map(|each| (each.start, each.end)).collect()
    };
    !can_decode(&images.base)
        || images.base.code(base) == images.head.code(head)
        || places(&images.base, base) == places(&images.head, head)
}

/// The same of executables whose functions lie at the same addresses, so that code which did not change is the same bytes.
fn is_alike(linked: &Sides<Image>, base: &Function, head: &Function) -> bool {
    linked.base.code(base) == linked.head.code(head) || can_decode(&linked.base) && has_loops_alike(linked, base, head)
}

/// Whether a function has loops, as far as can be told: their place is what matters.
fn has_loops(image: &Image, function: &Function) -> bool {
    !can_decode(image) || !loops_of(image, function).is_empty()
}

/// The loops of a function, as far as we can decode it.
pub(super) fn loops_of(image: &Image, function: &Function) -> Vec<Loop> {
    if can_decode(image) { loops(image.code(function)) } else { Vec::new() }
}

fn can_decode(image: &Image) -> bool {
    image.architecture == Architecture::X86_64
}

/// Where a function has to be able to begin. Loops that are aligned themselves move with it; others are moved by each byte
/// in front of them.
fn step(loops: &[Loop]) -> u64 {
    if loops.iter().all(|each| each.start.is_multiple_of(ALIGNMENT)) { ALIGNMENT } else { 1 }
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

/// None where several functions have the name: an item in front of another of the same name renames it.
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
    /// A loop of other instructions, `inc edi` twice, behind which nothing is left of it.
    const OTHER: [u8; 7] = [0xff, 0xc7, 0xff, 0xc7, 0x75, 0xfa, 0xc3];

    type Code<'a> = (&'a str, &'a [u8]);

    /// Names of what has no common place if both versions lie as they are here, in pairs of base and head.
    #[track_caller]
    fn check(base: &[Code<'_>], head: &[Code<'_>], expected: [&[&str]; 2]) {
        let images = Sides { base: Image::with(base, 0x1000), head: Image::with(head, 0x1000) };
        let unplaced = Blocks::of(&images).unplaced(&images).names;
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
        // By two bytes: put right if the function may begin at any byte, and by no multiple of 16.
        let padded = [LOOP.as_slice(), &[0x66, 0x90]].concat();
        let (base, head): ([Code<'_>; 1], [Code<'_>; 1]) = ([("a", &padded)], [("a", &LATER)]);
        check(&base, &head, [&[], &[]]);
        let images = Sides { base: Image::with(&base, 0x1000), head: Image::with(&head, 0x1000) };
        let mut blocks = Blocks::of(&images);
        let names = |blocks: &Blocks| blocks.to_free().map(|names| names.len());
        assert_eq!((blocks.changed[0].anchor.shift, names(&blocks)), (Some(-2), Sides { base: 1, head: 1 }));
        blocks.keep_aligned(&Sides { base: &BTreeSet::new(), head: &BTreeSet::from(["a".to_owned()]) });
        assert_eq!((blocks.changed[0].anchor.shift, names(&blocks)), (None, Sides { base: 0, head: 0 }));
        let unplaced = blocks.unplaced(&images);
        let a = BTreeSet::from(["a".to_owned()]);
        assert_eq!((unplaced.names, unplaced.are_free), (Sides { base: a.clone(), head: a }, false));
        check(&[("a", &LATER)], &[("a", &LATER)], [&[], &[]]);
    }

    #[test]
    fn functions_of_one_name_count_where_the_linker_puts_them() {
        let twice: [Code<'_>; 2] = [("a", &LOOP), ("a", &LOOP)];
        check(&twice, &twice, [&[], &[]]);
        // What stands in front of the second one is longer.
        let head: [Code<'_>; 3] = [("a", &LOOP), ("new", &STRAIGHT), ("a", &LOOP)];
        check(&twice, &head, [&["a"], &["a"]]);
        // One of them has another length, and which is which nobody knows.
        check(&twice, &[("a", &LOOP), ("a", &LATER)], [&["a"], &["a"]]);
    }

    #[test]
    fn what_the_linker_did_not_place_as_told_has_no_common_place() {
        let code: [Code<'_>; 1] = [("a", &STRAIGHT)];
        let images = Sides { base: Image::with(&code, 0x1000), head: Image::with(&[("a", &STRAIGHT[2..])], 0x1000) };
        let mut blocks = Blocks::of(&images);
        assert!(blocks.unplaced(&images).names.base.is_empty());
        blocks.give_up(&["a".to_owned()].into());
        assert_eq!(blocks.unplaced(&images).names.map(|names| names.len()), Sides { base: 1, head: 1 });
    }
}
