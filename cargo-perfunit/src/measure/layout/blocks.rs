//! Functions of both versions that belong together.

use super::LINE;
use super::anchor::Anchor;
use super::image::{Function, Image};
use super::loops::{Loop, loops};
use crate::model::{Side, Sides};
use crate::select::code::stable_name;
use object::Architecture;
use std::collections::{BTreeMap, BTreeSet};

/// All functions are aligned to so many bytes.
const SMALL_STEP: u64 = 16;

/// The functions of two executables, sorted out.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    /// Of one size in both versions, by base's addresses.
    pub common: Vec<Common>,
    /// Of another size in head.
    pub changed: Vec<Changed>,
    /// Functions that only one version has. Several functions of one name are not among them: the linker cannot tell them
    /// apart.
    pub single: Sides<Vec<Single>>,
    /// Whether the linker did not place some changed function as wanted.
    pub gave_up: bool,
}

/// A function that only one version has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Single {
    pub name: String,
    pub size: u64,
    /// It can begin at multiples of this.
    pub step: u64,
    pub has_loops: bool,
}

/// A function that takes the same room in both versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Common {
    pub names: Sides<String>,
    /// Functions of this name.
    pub copies: usize,
}

/// A function of two lengths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub names: Sides<String>,
    pub sizes: Sides<u64>,
    /// It can begin at multiples of this.
    pub step: u64,
    pub anchor: Anchor,
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
                step: step(function, function),
                has_loops: !can_decode(image) || !loops_of(image, function).is_empty(),
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
        if base.iter().map(|function| function.size).eq(head.iter().map(|function| function.size)) {
            self.common.push(Common { names, copies: base.len() });
        } else if let ([base], [head]) = (base, head) {
            let sizes = Sides { base: base.size, head: head.size };
            let step = step(base, head);
            let anchor = if can_decode(&images.base) {
                Anchor::of(&loops_of(&images.base, base), &loops_of(&images.head, head), step.cast_signed())
            } else {
                Anchor::default()
            };
            self.changed.push(Changed { names, sizes, step, anchor });
        }
    }

    /// Gives up pairs that the linker does not place as wanted.
    pub fn give_up(&mut self, base_names: &BTreeSet<String>) {
        self.changed.retain(|changed| !base_names.contains(&changed.names.base));
        self.gave_up |= !base_names.is_empty();
    }

    /// Whether all that changed lies where base's does, as far as that matters.
    pub fn are_anchored(&self) -> bool {
        let Sides { base, head } = &self.single;
        !self.gave_up
            && self.changed.iter().all(|changed| changed.anchor.shift.is_some() && changed.anchor.left == 0)
            && !base.iter().chain(head).any(|single| single.has_loops)
    }
}

/// The loops of a function, as far as we can decode it.
pub(super) fn loops_of(image: &Image, function: &Function) -> Vec<Loop> {
    if can_decode(image) { loops(image.code(function)) } else { Vec::new() }
}

fn can_decode(image: &Image) -> bool {
    image.architecture == Architecture::X86_64
}

/// What the linker has to align a function to, as far as its places tell: sections with aligned loops are aligned to
/// lines, others to 16 bytes.
fn step(base: &Function, head: &Function) -> u64 {
    let is_on_line = |function: &Function| function.address.is_multiple_of(LINE);
    if is_on_line(base) && is_on_line(head) { LINE } else { SMALL_STEP }
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
