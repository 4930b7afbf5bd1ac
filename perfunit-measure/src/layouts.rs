//! Executables of a target with their functions at other addresses, which are the same in both versions.
//!
//! The same machine code can take a different time at other addresses. More pairs do not reveal that, because all of them
//! use the same addresses. All tests are therefore measured on matched layouts. Flagged tests are measured again on newly
//! drawn layouts, and so are tests that execute changed code without a common place in both versions. The remaining
//! effect of placement is noise like any other, and the interval over layouts includes it.

use super::bench::Bench;
use super::fork_servers::Kept;
use super::measured_process::Programs;
use super::shared_memory::size;
use super::subject::Subject;
use crate::layout::{MatchedLayout, Natural, Unplaced};
use perfunit_build::{
    CompiledFiles, EXECUTABLES, LinkRecord, Position, SideBuild, TestClock, TestExecutable, side_of, stand_ins_beside,
};
use perfunit_decide as decide;
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{LayoutMatch, NoLayout, Placement, Side, Sides, Start, TargetId, TestId};
use perfunit_select::Units;
use perfunit_select::code::{self, Program, Reach};
use perfunit_select::trace::{self, Places};
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The layouts of a target that stay on disk for its other tests; an evicted layout is linked again for each test.
const KEPT: Kept = Kept { fewest: 32, most: 256, bytes: 512 << 20 };

/// The largest number of layouts that are linked at the same time.
const MOST_AT_ONCE: usize = 8;

/// The layouts of all targets measured so far.
#[derive(Debug)]
pub struct Layouts<'a> {
    bench: &'a Bench,
    folder: PathBuf,
    known: BTreeMap<TargetId, std::result::Result<Target, NoLayout>>,
    /// The target of the drawn layouts. Only one target has drawn layouts at a time, because executables are large.
    current: Option<TargetId>,
    drawn: BTreeMap<usize, Sides<TestExecutable>>,
    seed: u64,
    placement: Placement,
    position: Position,
    /// Tests that pass only in the executables that the project's linker made.
    as_built: BTreeSet<TestId>,
}

/// The agreement between the code addresses of both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// Code lies at the same places as far as that matters.
    Matched,
    /// Some changed code could not be placed at base's addresses: one layout is not enough, drawn layouts cover all
    /// places.
    Drawn,
    /// Some of the changed code keeps the compiler's alignment: code that an edit moved by other amounts stays displaced
    /// in all layouts.
    Uncertain,
}

/// A target that can be linked again.
#[derive(Debug)]
struct Target {
    matched: MatchedLayout,
    first: Sides<TestExecutable>,
    figures: LayoutMatch,
    /// True if both versions have the same executable, which then is one file.
    is_one_executable: bool,
    /// The tests that can reach code without a common place, once that was computed.
    reach: Option<Reach>,
    /// The addresses of functions in the executables as built, once they were read.
    functions: Option<Sides<Places>>,
    /// The known placements by test.
    placed: BTreeMap<TestId, Placed>,
}

impl<'a> Layouts<'a> {
    pub fn new(bench: &'a Bench, placement: Placement, seed: u64) -> Self {
        let (folder, known) = (bench.layouts(), BTreeMap::new());
        // If the kernel does not let us fix addresses, the linker can fix those of code and data, but not of stack and
        // heap.
        let position = if bench.paired_address_space { Position::AsBuilt } else { Position::Fixed };
        Self {
            bench,
            folder,
            known,
            current: None,
            drawn: BTreeMap::new(),
            seed,
            placement,
            position,
            as_built: BTreeSet::new(),
        }
    }

    /// Returns the first layout, on which all tests of a target are measured; `None` if no linker can make one.
    pub fn first(&mut self, executables: Sides<&TestExecutable>) -> Result<Option<Sides<&TestExecutable>>> {
        let target = &executables.head.target;
        if !self.known.contains_key(target) {
            let prepared = apart(self.prepare(executables))?;
            self.known.insert(target.clone(), prepared);
        }
        Ok(self.known.get(target).and_then(|known| known.as_ref().ok()).map(|known| known.first.as_ref()))
    }

    /// Returns the executables that a test is measured on first, if they have matched layouts.
    pub fn first_of(&mut self, subject: &Subject<'_>) -> Result<Option<Sides<&TestExecutable>>> {
        if self.is_as_built(&subject.test) { Ok(None) } else { self.first(subject.executables) }
    }

    /// Returns a test's programs: with matched layouts if there are any, else as they were built.
    pub fn first_programs<'p>(
        &'p mut self,
        sides: &Sides<&'p SideBuild>,
        subject: &'p Subject<'_>,
    ) -> Result<Programs<'p>> {
        let programs = subject.programs(sides);
        let executables = self.first_of(subject)?.unwrap_or(subject.executables);
        Ok(Programs { executables, ..programs })
    }

    /// Keeps a test on the executables that the project's linker made, because it does not pass in ours.
    pub fn leave_as_built(&mut self, test: &TestId) {
        self.as_built.insert(test.clone());
    }

    /// Returns whether a test is measured on the executables that the project's linker made.
    pub fn is_as_built(&self, test: &TestId) -> bool {
        self.as_built.contains(test)
    }

    /// Returns whether both versions have the same test executable, so that only files or started programs differ.
    pub fn is_one_executable(&self, target: &TargetId) -> bool {
        self.known.get(target).is_some_and(|known| known.as_ref().is_ok_and(|target| target.is_one_executable))
    }

    /// Returns a layout drawn at random, linking it if necessary.
    pub fn drawn(
        &mut self,
        executables: Sides<&TestExecutable>,
        number: usize,
    ) -> Result<Option<Sides<&TestExecutable>>> {
        let target = &executables.head.target;
        if self.current.as_ref() != Some(target) {
            fs::remove_dir_all(&self.folder.join("drawn"))?;
            self.drawn.clear();
            self.current = Some(target.clone());
        }
        if !self.drawn.contains_key(&number) {
            self.link_from(executables, number)?;
        }
        Ok(self.drawn.get(&number).map(Sides::as_ref))
    }

    /// Links a layout and the following ones up to the next look, as many as there are cores; nothing is measured at that
    /// time.
    fn link_from(&mut self, executables: Sides<&TestExecutable>, number: usize) -> Result<()> {
        let _span = tracing::debug_span!("link").entered();
        let at_once = self.bench.all_cores().min(MOST_AT_ONCE);
        let next_look = (number + 1).next_multiple_of(decide::FIRST_LOOK);
        let are_missing = (number..next_look).filter(|number| !self.drawn.contains_key(number));
        let numbers: Vec<usize> = are_missing.take(at_once).collect();
        self.make_room(number, numbers.len(), KEPT.number(size(executables)?))?;
        let Some(Ok(known)) = self.known.get_mut(&executables.head.target) else { return Ok(()) };
        let _cores = self.bench.use_all_cores();
        let mut started = Vec::with_capacity(numbers.len());
        for number in numbers {
            let outputs = paths(executables, &drawn_folder(&self.folder, number));
            put_beside(executables, &outputs)?;
            let linking = known.matched.start(self.seed.wrapping_add(number as u64), outputs.clone());
            started.push((number, outputs, linking));
        }
        // Wait for all links even if the first one fails: a linker must not run while a test is measured.
        let ended: Vec<_> = started
            .into_iter()
            .map(|(number, outputs, linking)| (number, outputs, known.matched.finish(linking)))
            .collect();
        for (number, outputs, end) in ended {
            if let Ok(figures) = apart(end)? {
                known.figures = known.figures.worse(figures);
                self.drawn.insert(number, at(executables, outputs));
            }
        }
        Ok(())
    }

    /// Removes layouts to keep at most `kept` together with `new` ones. The layouts with the numbers farthest from
    /// `number` go first, because tests take layouts in order.
    fn make_room(&mut self, number: usize, new: usize, kept: usize) -> Result<()> {
        while self.drawn.len() + new > kept {
            let farthest = self.drawn.keys().copied().max_by_key(|other| other.abs_diff(number));
            let Some(farthest) = farthest else { break };
            self.drawn.remove(&farthest);
            fs::remove_dir_all(&drawn_folder(&self.folder, farthest))?;
        }
        Ok(())
    }

    /// Returns whether the code that a test executes lies at base's addresses, in all layouts: the result on one layout
    /// then holds for others. The same is true where nothing is matched, because the verdict allows for placement there.
    /// A test that can reach other code and cannot be traced counts as executing it.
    pub fn places(&mut self, sides: &Sides<&SideBuild>, subject: &Subject<'_>) -> Result<Placed> {
        let _span = tracing::debug_span!("places").entered();
        if let Some(placed) = self.known_places(subject) {
            return Ok(placed);
        }
        let Some(Ok(known)) = self.known.get_mut(&subject.test.target) else { return Ok(Placed::Matched) };
        let Unplaced { names: unplaced, are_free } = known.matched.unplaced();
        let reach = match &known.reach {
            Some(reach) => reach,
            None => known.reach.insert(reach(sides, subject.executables, unplaced)?),
        };
        if !reach.may(subject.executables.head.known_as(&subject.test.name)) {
            return Ok(Placed::Matched);
        }
        let functions = match &known.functions {
            Some(functions) => functions,
            None => {
                known.functions.insert(subject.executables.try_map(|_, executable| Places::read(&executable.path))?)
            }
        };
        let comes_by = executes(self.bench, subject, functions, unplaced)?;
        let placed = match (comes_by, are_free) {
            (false, _) => Placed::Matched,
            (true, true) => Placed::Drawn,
            (true, false) => Placed::Uncertain,
        };
        known.placed.insert(subject.test.clone(), placed);
        Ok(placed)
    }

    /// Returns the result of [`Self::places`] as far as it is known without running the test.
    pub fn known_places(&self, subject: &Subject<'_>) -> Option<Placed> {
        let Some(Ok(known)) = self.known.get(&subject.test.target).filter(|_| !self.is_as_built(&subject.test)) else {
            return Some(Placed::Matched);
        };
        let unplaced = &known.matched.unplaced().names;
        if unplaced.base.is_empty() && unplaced.head.is_empty() {
            return Some(Placed::Matched);
        }
        let name = subject.executables.head.known_as(&subject.test.name);
        let is_out_of_reach = known.reach.as_ref().is_some_and(|reach| !reach.may(name));
        if is_out_of_reach { Some(Placed::Matched) } else { known.placed.get(&subject.test).copied() }
    }

    /// Returns the figures of each target's layouts, or the reason why there are none.
    pub fn states(&self) -> BTreeMap<TargetId, std::result::Result<LayoutMatch, NoLayout>> {
        let state = |known: &std::result::Result<Target, NoLayout>| match known {
            Ok(target) => Ok(target.figures),
            Err(why) => Err(why.clone()),
        };
        self.known.iter().map(|(target, known)| (target.clone(), state(known))).collect()
    }

    fn prepare(&self, executables: Sides<&TestExecutable>) -> Tried<Target, NoLayout> {
        let _span = tracing::debug_span!("layout").entered();
        if self.placement == Placement::Natural {
            return Err(Stop::Because(NoLayout::SwitchedOff));
        }
        let (Some(base), Some(head)) = (&executables.base.link, &executables.head.link) else {
            return Err(Stop::Because(NoLayout::NotRecorded));
        };
        if let Some(library) = changed_library(executables)? {
            return Err(Stop::Because(NoLayout::LibraryDiffers { library: library.clone() }));
        }
        let outputs = paths(executables, &layout_folder(&self.folder.join("first"), self.known.len()));
        put_beside(executables, &outputs)?;
        let _cores = self.bench.use_all_cores();
        let natural = Natural {
            executables: executables.map(|executable| executable.path.as_path()),
            links: Sides { base: base.as_path(), head: head.as_path() },
        };
        let places = outputs.as_ref().map(PathBuf::as_path);
        let (matched, figures) =
            MatchedLayout::prepare(natural, &self.bench.linkers, &self.folder, places, self.position)?;
        let is_one_executable = figures.changed == 0 && fs::same_content(&outputs.base, &outputs.head)?;
        if is_one_executable {
            // The memory in which a file is cached decides how fast it is: two files of one content differ.
            fs::remove_file(&outputs.head)?;
            fs::link_or_copy(&outputs.base, &outputs.head)?;
        }
        Ok(Target {
            matched,
            first: at(executables, outputs),
            figures,
            is_one_executable,
            reach: None,
            functions: None,
            placed: BTreeMap::new(),
        })
    }
}

/// Returns whether any run of a test executes one of these functions, given the places of all functions.
fn executes(
    bench: &Bench,
    subject: &Subject<'_>,
    places: &Sides<Places>,
    functions: &Sides<BTreeSet<String>>,
) -> Result<bool> {
    let is_left_out = subject.ignored && !subject.executables.head.harness.runs_ignored();
    if is_left_out || trace::available().is_err() {
        return Ok(true);
    }
    let temporary = bench.traced_folder();
    let programs = Arc::default();
    let executed = trace::in_any_run(|side, seed, calls| {
        let executable = *subject.executables.get(side);
        let cores = bench.cores_told();
        let variables = &bench.seeds.variables(seed, TestClock::True, cores.as_deref(), &executable.environment());
        let places = places.get(side);
        let program =
            trace::Program { executable, places, programs: &programs, temporary: &temporary, variables, calls };
        let functions = trace::Functions { of_test: functions.get(side), of_all_tests: Some(functions.get(side)) };
        let _entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
        trace::executes(&program, executable.known_as(&subject.test.name), functions, trace::LONGEST)
    })?;
    Ok(executed != trace::Execution::No)
}

/// Returns the tests that can reach one of these functions; all tests if that is unknown.
fn reach(
    sides: &Sides<&SideBuild>,
    executables: Sides<&TestExecutable>,
    functions: &Sides<BTreeSet<String>>,
) -> Result<Reach> {
    let has_libraries = executables.base.libraries.len() + executables.head.libraries.len() > 0;
    if has_libraries || executables.head.harness.starts() == Start::Main {
        return Ok(Reach::of_all());
    }
    let mut units = Units::default();
    let mut program = |side: Side| -> Result<Option<Program>> {
        let Some(link) = &executables.get(side).link else { return Ok(None) };
        let files = CompiledFiles::load(&sides.get(side).folder)?;
        Ok(apart(units.program(std::iter::once(&LinkRecord::load(link)?), &files))?.ok())
    };
    Ok(match (program(Side::Base)?, program(Side::Head)?) {
        (Some(base), Some(head)) => code::reach(&Sides { base, head }, functions),
        _ => Reach::of_all(),
    })
}

/// Links the stand-ins of the workspace's binaries to the folder above the linked executables, where tests look for
/// binaries, and other files as they are.
fn put_beside(executables: Sides<&TestExecutable>, outputs: &Sides<PathBuf>) -> Result<()> {
    for side in Side::BOTH {
        let (Some(from), Some(to)) = (side_of(&executables.get(side).path), side_of(outputs.get(side))) else {
            continue;
        };
        let stand_ins = stand_ins_beside(from);
        for path in fs::list_dir(from)?.into_iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default();
            let stand_in = stand_ins.as_ref().map(|folder| folder.join(name)).filter(|place| place.exists());
            if !to.join(name).exists() {
                fs::link_or_copy(&stand_in.unwrap_or(path.clone()), &to.join(name))?;
            }
        }
    }
    Ok(())
}

/// Returns the file name of a shared library that differs between base and head.
fn changed_library(executables: Sides<&TestExecutable>) -> Result<Option<&String>> {
    let Sides { base, head } = executables.map(|executable| &executable.libraries);
    for name in base.keys().chain(head.keys()) {
        match (base.get(name), head.get(name)) {
            (Some(base), Some(head)) if fs::same_content(base, head)? => {}
            _ => return Ok(Some(name)),
        }
    }
    Ok(None)
}

/// Returns the folder of one layout, with a path of the same length for all layouts.
fn layout_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:03}"))
}

fn drawn_folder(folder: &Path, number: usize) -> PathBuf {
    layout_folder(&folder.join("drawn"), number)
}

/// Returns the paths at which both executables of a layout are linked: cargo's file names in a folder `deps`, because
/// tests look at the name of their executable and at neighboring files. Both paths have the same length, because they
/// are on the stack of the process.
fn paths(executables: Sides<&TestExecutable>, folder: &Path) -> Sides<PathBuf> {
    let name = |side: Side| executables.get(side).path.file_name().unwrap_or_default();
    let longest = name(Side::Base).len().max(name(Side::Head).len());
    let path = |side: Side| {
        let pad = "_".repeat(longest - name(side).len());
        folder.join(format!("{side}{pad}")).join(EXECUTABLES).join(name(side))
    };
    Sides { base: path(Side::Base), head: path(Side::Head) }
}

fn at(executables: Sides<&TestExecutable>, paths: Sides<PathBuf>) -> Sides<TestExecutable> {
    let Sides { base, head } = executables.map(Clone::clone);
    Sides { base: TestExecutable { path: paths.base, ..base }, head: TestExecutable { path: paths.head, ..head } }
}
