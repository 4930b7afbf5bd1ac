//! Links both versions of a target again with matched layouts, and reads the result from the linked executables.

use super::ORDERED;
use super::blocks::{Blocks, Unplaced, loops_of};
use super::data::{self, Comparison, Leaving};
use super::image::{Image, Section};
use super::linker_input::{gap_object, order_script};
use super::loops::common_loops;
use super::plan::{Plan, plan};
use perfunit_build::{Dialect, Extra, Freed, LinkRecord, Linker, Linkers, Position, Relink, Sample, free, relink};
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{LayoutMatch, MeasuringLinker, NoLayout, Side, Sides};
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The sections that a running program reads often, in the order in which lld places them at the requested addresses.
/// Data that leaves a section follows it, and all other sections follow all of these. Exception tables precede the code,
/// because the unwinder of static executables does not find them behind it.
const PINNED_BY_LLD: [&str; 13] = [
    ".gcc_except_table",
    ".rodata",
    ".eh_frame_hdr",
    ".eh_frame",
    ".text",
    ".plt",
    ".plt.sec",
    ".plt.got",
    ".data.rel.ro",
    ".got",
    ".got.plt",
    ".data",
    ".bss",
];
/// The same sections in the order of GNU ld's default script, which places other sections among them.
const PINNED_BY_GNU_LD: [&str; 14] = [
    ".plt",
    ".plt.got",
    ".plt.sec",
    ORDERED,
    ".text",
    ".rodata",
    ".eh_frame_hdr",
    ".eh_frame",
    ".gcc_except_table",
    ".data.rel.ro",
    ".got",
    ".got.plt",
    ".data",
    ".bss",
];
/// The alignment of pinned sections: the largest memory page of a supported kernel, so that no two sections share one.
const PAGE: u64 = 0x1_0000;
/// The address at which linkers place an executable that cannot be moved; the kernel may not allow mappings in front of
/// it.
const IMAGE_BASE: u64 = 0x40_0000;
/// The number of attempts to lay out the functions, each without the functions that the linker did not place as planned.
const REPAIRS: usize = 4;

/// Two executables that can be linked again with matched layouts.
#[derive(Debug)]
pub struct MatchedLayout {
    links: Sides<PathBuf>,
    /// The functions that may begin at any byte.
    freed: Sides<Freed>,
    /// The folder for lists of symbols and for objects with gaps.
    folder: PathBuf,
    blocks: Blocks,
    /// Other names of functions, which GNU ld may know them by.
    aliases: Sides<BTreeMap<String, Vec<String>>>,
    architecture: object::Architecture,
    linker: Linker,
    pins: Vec<(String, u64)>,
    position: Position,
    /// The data that prevents equal addresses.
    leaving: Sides<Leaving>,
    unplaced: Unplaced,
    /// The comparison of the data in the first layout, and the sections with data, which are the same in all layouts.
    data: Comparison,
    sections: Sides<Vec<Section>>,
}

/// The inputs of a layout.
#[derive(Debug, Clone, Copy)]
pub struct Natural<'a> {
    /// The executables that the project's linker made.
    pub executables: Sides<&'a Path>,
    /// The folders of their links.
    pub links: Sides<&'a Path>,
}

impl MatchedLayout {
    /// Links the first layout, in base's order, to `outputs`, with the first suitable linker. Leaves out functions that
    /// cannot be placed. Uses the position as built if a fixed one is not possible. Returns the reason if no layout is
    /// possible.
    pub fn prepare(
        natural: Natural<'_>,
        linkers: &Linkers,
        folder: &Path,
        outputs: Sides<&Path>,
        position: Position,
    ) -> Tried<(Self, LayoutMatch), NoLayout> {
        let images = read(natural.executables)?;
        let records = natural.links.try_map(|_, link| LinkRecord::load(link))?;
        if let Some(why) = records.base.incomplete().or(records.head.incomplete()) {
            return Err(Stop::Because(NoLayout::Incomplete { why: why.clone() }));
        }
        let are_by_lld = images.base.is_by_lld && images.head.is_by_lld;
        let programs = folder.join("linkers");
        let mut tried = Vec::new();
        for linker in linkers.candidates([&records.base, &records.head], are_by_lld, &programs)? {
            let name = linker.name.clone();
            tracing::debug!(linker = name, "layout");
            match apart(Self::by(linker, natural, &images, folder, outputs, position))? {
                Ok(prepared) => return Ok(prepared),
                Err(why) => {
                    // If a later linker succeeds, only the log says why this one was refused.
                    tracing::debug!(linker = name, %why, "layout refused");
                    tried.push((name, why));
                }
            }
        }
        Err(Stop::Because(NoLayout::NoLinker { tried, has_lld: are_by_lld || linkers.has_lld() }))
    }

    /// Links the first layout with this linker.
    fn by(
        linker: Linker,
        natural: Natural<'_>,
        built: &Sides<Image>,
        folder: &Path,
        outputs: Sides<&Path>,
        position: Position,
    ) -> Tried<(Self, LayoutMatch), NoLayout> {
        let is_as_built = linker.kind == MeasuringLinker::Project && !has_no_symbols(built);
        let ordered = if is_as_built { None } else { Some(in_its_own_order(&linker, natural, built, outputs)?) };
        let images = ordered.as_ref().unwrap_or(built);
        let mut blocks = Blocks::of(images);
        let freed = free_functions(natural.links, &mut blocks, folder, outputs)?;
        let mut this = Self {
            links: natural.links.map(Path::to_owned),
            freed,
            folder: folder.to_owned(),
            aliases: images.as_ref().map(Image::aliases),
            architecture: images.base.architecture,
            pins: pins(images, &blocks, position, linker.dialect()),
            blocks,
            linker,
            position,
            leaving: Sides::default(),
            unplaced: Unplaced::default(),
            data: Comparison::default(),
            sections: Sides::default(),
        };
        let mut prepared = apart(this.first(outputs))?;
        if prepared.is_err() && position != Position::AsBuilt {
            this.position = Position::AsBuilt;
            this.pins = self::pins(images, &this.blocks, this.position, this.linker.dialect());
            prepared = apart(this.first(outputs))?;
        }
        prepared.map(|figures| (this, figures)).map_err(Stop::Because)
    }

    /// Links the first layout repeatedly until all functions and data lie where planned.
    fn first(&mut self, outputs: Sides<&Path>) -> Tried<LayoutMatch, NoLayout> {
        for left in (0..REPAIRS).rev() {
            let linking = self.start_plan(&plan(&self.blocks, None), outputs.map(Path::to_owned), Map::Written);
            let maps = linking.outputs.as_ref().map(|output| self.map(output));
            let (images, took) = linking.finish()?;
            let data = self.compare_data(&images, &maps.try_map(|_, map| fs::read_to_string(&map))?);
            let misplaced = self.find_misplaced(&images);
            let leaving = &data.leaving;
            let is_in_place = leaving.base.is_empty() && leaving.head.is_empty();
            // Some data may still prevent equal addresses; the figures contain the amount at equal addresses.
            if misplaced.is_empty() && (is_in_place || left == 0) {
                self.unplaced = self.blocks.find_unplaced(&images);
                self.sections = images.as_ref().map(data::sections);
                self.data = data;
                return Ok(self.figures(&images, took));
            }
            self.blocks.give_up(&misplaced);
            for side in Side::BOTH {
                self.leaving.get_mut(side).extend(leaving.get(side));
            }
        }
        Err(Stop::Because(NoLayout::Disobeyed))
    }

    fn compare_data(&self, images: &Sides<Image>, maps: &Sides<String>) -> Comparison {
        data::compare(images, maps, self.linker.dialect())
    }

    /// Returns the functions that a single layout cannot judge.
    pub fn unplaced(&self) -> &Unplaced {
        &self.unplaced
    }

    /// Starts to link another layout, with the common functions and the slots of changed functions in an order drawn from
    /// `seed`.
    pub fn start(&self, seed: u64, outputs: Sides<PathBuf>) -> Linking {
        self.start_plan(&plan(&self.blocks, Some(seed)), outputs, Map::None)
    }

    /// Waits for a layout's links and reads the result.
    pub fn finish(&self, linking: Linking) -> Tried<LayoutMatch, NoLayout> {
        let (images, took) = linking.finish()?;
        if images.as_ref().map(data::sections) == self.sections {
            Ok(self.figures(&images, took))
        } else {
            Err(Stop::Because(NoLayout::Disobeyed))
        }
    }

    /// Starts the links of both sides in parallel, because a linker does not keep many cores busy for long.
    fn start_plan(&self, plan: &Plan, outputs: Sides<PathBuf>, map: Map) -> Linking {
        let started = Instant::now();
        let sides = Sides { base: Side::Base, head: Side::Head };
        let links = sides.map(|side| self.start_side(plan, side, outputs.get(side), map));
        Linking { links, outputs, started }
    }

    /// Starts the link of one side.
    fn start_side(&self, plan: &Plan, side: Side, output: &Path, map: Map) -> Tried<Relink, NoLayout> {
        let (order, gaps, leaving) = (plan.order.get(side), plan.gaps.get(side), self.leaving.get(side));
        let mut more: Vec<Extra> = Vec::new();
        if !gaps.is_empty() {
            let path = self.made_for(output, "gaps.o");
            fs::write(&path, gap_object(gaps, self.architecture).map_err(Stop::Because)?)?;
            more.push(Extra::Input(path));
        }
        let mut option = |text: &str| more.push(Extra::Option(text.into()));
        // Sections that become read-only after loading must be adjacent, which pins do not allow.
        option("-znorelro");
        self.pins.iter().for_each(|(name, start)| option(&format!("--section-start={name}={start:#x}")));
        let mut script = String::new();
        match self.linker.dialect() {
            Dialect::Lld => {
                let path = self.made_for(output, "order");
                fs::write(&path, order.join("\n"))?;
                more.push(option_with("--symbol-ordering-file=", &path));
                more.push(Extra::Option("--no-warn-symbol-ordering".into()));
            }
            Dialect::Gnu => script = order_script(order, gaps, self.aliases.get(side)),
        }
        script.push_str(&leaving.script());
        if !script.is_empty() {
            let path = self.made_for(output, "ld");
            fs::write(&path, script)?;
            more.push(option_with("-T", &path));
        }
        if map == Map::Written {
            more.push(option_with("-Map=", &self.map(output)));
        }
        relink(self.links.get(side), self.freed.get(side), output, self.position, &self.linker, &more)
    }

    /// Returns the path of an additional file of a link. Several links run at the same time, so each has its own files.
    fn made_for(&self, output: &Path, ending: &str) -> PathBuf {
        made_for(&self.folder, output, ending)
    }

    /// Returns the path of the linker's map.
    fn map(&self, output: &Path) -> PathBuf {
        self.made_for(output, "map")
    }

    /// Returns base's names of the changed functions that do not have the planned distance between both versions.
    fn find_misplaced(&self, linked: &Sides<Image>) -> BTreeSet<String> {
        let addresses = linked.as_ref().map(Image::addresses);
        let place = |side: Side, name: &str| -> Option<u64> { addresses.get(side).get(name)?.first().copied() };
        let is_placed = |names: &Sides<String>, shift: Option<i64>| {
            let (base, head) = (place(Side::Base, &names.base)?, place(Side::Head, &names.head)?);
            Some(base.checked_add_signed(shift.unwrap_or(0))? == head)
        };
        let changed = self.blocks.changed.iter();
        let misplaced = changed.filter(|changed| is_placed(&changed.names, changed.anchor.shift) != Some(true));
        misplaced.map(|changed| changed.names.base.clone()).collect()
    }

    /// Returns what the two linked executables actually have in common.
    fn figures(&self, linked: &Sides<Image>, took: Duration) -> LayoutMatch {
        let Self { blocks, data, .. } = self;
        let addresses = linked.as_ref().map(Image::addresses);
        let mut figures = LayoutMatch {
            changed: blocks.changed.len(),
            fixed_addresses: linked.base.has_fixed_addresses && linked.head.has_fixed_addresses,
            text_bytes: linked.base.size_of_code() + linked.head.size_of_code(),
            linker: self.linker.kind,
            link_seconds: took.as_secs_f64(),
            data: data.common,
            data_equal: data.equal,
            ..LayoutMatch::default()
        };
        for common in &blocks.common {
            figures.common += common.copies;
            let base = addresses.base.get(common.names.base.as_str());
            if base.is_some() && base == addresses.head.get(common.names.head.as_str()) {
                figures.equal += common.copies;
            }
        }
        let functions = linked.as_ref().map(|image| {
            image.functions.iter().map(|function| (function.name.as_str(), function)).collect::<BTreeMap<_, _>>()
        });
        for changed in &blocks.changed {
            let base = functions.base.get(changed.names.base.as_str());
            let (Some(base), Some(head)) = (base, functions.head.get(changed.names.head.as_str())) else { continue };
            let loops = Sides { base: loops_of(&linked.base, base), head: loops_of(&linked.head, head) };
            let pairs = common_loops(&loops.base, &loops.head);
            let is_held = |base_start: u64, head_start: u64| base.address + base_start == head.address + head_start;
            figures.loops += loops.base.len();
            figures.held += pairs.iter().filter(|(one, two)| is_held(one.start, two.start)).count();
            figures.anchored += usize::from(changed.anchor.shift.is_some());
        }
        figures
    }
}

/// Returns the path of a file that belongs to the link of `output`, directly in the folder of all layouts.
fn made_for(folder: &Path, output: &Path, ending: &str) -> PathBuf {
    let name = output.strip_prefix(folder).unwrap_or(output).to_string_lossy().replace('/', "-");
    folder.join(format!("{name}.{ending}"))
}

/// Prepares link inputs in which the functions that need it can begin at any byte.
fn free_functions(
    links: Sides<&Path>,
    blocks: &mut Blocks,
    folder: &Path,
    outputs: Sides<&Path>,
) -> Result<Sides<Freed>> {
    let wanted = blocks.to_free();
    let freed = links.try_map(|side, link| match wanted.get(side) {
        none if none.is_empty() => Ok(Freed::default()),
        wanted => free(link, wanted, &made_for(folder, outputs.get(side), "inputs")),
    })?;
    blocks.keep_aligned(&freed.as_ref().map(|freed| &freed.functions));
    Ok(freed)
}

/// Links an executable matched with itself in a folder; returns the linker that can do that.
pub fn try_layout(sample: &Sample, linkers: &Linkers, folder: &Path) -> Tried<MeasuringLinker, NoLayout> {
    let (executable, link) = (sample.executable.as_path(), sample.link.as_path());
    let natural =
        Natural { executables: Sides { base: executable, head: executable }, links: Sides { base: link, head: link } };
    let outputs = Sides { base: folder.join("base"), head: folder.join("head") };
    let outputs = outputs.as_ref().map(PathBuf::as_path);
    let (_, layout) = MatchedLayout::prepare(natural, linkers, folder, outputs, Position::AsBuilt)?;
    Ok(layout.linker)
}

/// The running links of a layout.
pub struct Linking {
    links: Sides<Tried<Relink, NoLayout>>,
    outputs: Sides<PathBuf>,
    started: Instant,
}

/// The choice whether the linker writes a map, which takes a third of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Map {
    Written,
    None,
}

impl Linking {
    /// Waits for both links even if one of them fails, and reads their outputs; returns the images and the link time.
    fn finish(self) -> Tried<(Sides<Image>, Duration), NoLayout> {
        let ends = [self.links.base, self.links.head].map(|link| link.and_then(Relink::finish));
        ends.into_iter().collect::<Tried<(), NoLayout>>()?;
        let took = self.started.elapsed();
        Ok((read(self.outputs.as_ref().map(PathBuf::as_path))?, took))
    }
}

/// Returns a linker option with a file as one word.
fn option_with(option: &str, path: &Path) -> Extra {
    let mut text = OsString::from(option);
    text.push(path);
    Extra::Option(text)
}

fn has_no_symbols(images: &Sides<Image>) -> bool {
    images.base.functions.is_empty() || images.head.functions.is_empty()
}

/// Links both executables in the linker's default order, to see what it makes of the inputs. The result must be the same
/// program as `built`; otherwise it cannot be measured.
fn in_its_own_order(
    linker: &Linker,
    natural: Natural<'_>,
    built: &Sides<Image>,
    outputs: Sides<&Path>,
) -> Tried<Sides<Image>, NoLayout> {
    let started = Instant::now();
    let start = |side: Side| {
        relink(natural.links.get(side), &Freed::default(), outputs.get(side), Position::AsBuilt, linker, &[])
    };
    let links = Sides { base: start(Side::Base), head: start(Side::Head) };
    let (images, _) = Linking { links, outputs: outputs.map(Path::to_owned), started }.finish()?;
    let difference = |side: Side| images.get(side).difference(built.get(side));
    match difference(Side::Base).or_else(|| difference(Side::Head)) {
        Some(difference) => Err(Stop::Because(NoLayout::OtherProgram { difference })),
        None => Ok(images),
    }
}

fn read(executables: Sides<&Path>) -> Tried<Sides<Image>, NoLayout> {
    let images = executables.try_map(|_, path| Image::read(&fs::read(path)?).map_err(Stop::Because))?;
    let same = images.base.architecture == images.head.architecture;
    if same { Ok(images) } else { Err(Stop::Because(NoLayout::OtherProcessors)) }
}

/// Returns common section addresses with space for both versions.
fn pins(images: &Sides<Image>, blocks: &Blocks, position: Position, dialect: Dialect) -> Vec<(String, u64)> {
    let pinned: &[&str] = match dialect {
        Dialect::Lld => &PINNED_BY_LLD,
        Dialect::Gnu => &PINNED_BY_GNU_LD,
    };
    let size = |name: &str| images.base.size_of(name).max(images.head.size_of(name));
    let loaded = |image: &Image| {
        let loaded = image.sections.iter().filter(|section| section.address > 0);
        let others = loaded.clone().filter(|section| !pinned.contains(&section.name.as_str()));
        (loaded.map(|section| section.address).min().unwrap_or(0), others.map(|section| section.size).sum::<u64>())
    };
    let (base, head) = (loaded(&images.base), loaded(&images.head));
    let first = if base.0 > 0 && head.0 > 0 { base.0.min(head.0) } else { base.0.max(head.0) };
    // lld places the other sections behind all pinned ones, GNU ld anywhere among them.
    let among = if dialect == Dialect::Gnu { base.1.max(head.1) } else { 0 };
    let start = if position == Position::Fixed { IMAGE_BASE } else { 0 };
    let mut next = (start + first + among).next_multiple_of(PAGE);
    let mut pins = Vec::new();
    let mut pin = |name: String, size: u64| {
        pins.push((name, next));
        next = (next + size + size / 8 + among).next_multiple_of(PAGE) + PAGE;
    };
    for name in pinned {
        let ordered = if matches!((dialect, *name), (Dialect::Lld, ".text") | (Dialect::Gnu, ORDERED)) {
            super::plan::most_gaps(blocks)
        } else {
            0
        };
        // All functions may be ordered.
        let size = if *name == ORDERED { size(".text") } else { size(name) };
        if size == 0 {
            continue;
        }
        pin((*name).to_owned(), size + ordered);
        if data::HELD.contains(name) {
            // All data of the section may have to leave.
            pin(format!("{name}{}", data::APART), size);
        }
    }
    pins
}
