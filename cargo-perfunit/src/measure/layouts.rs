//! Executables of a target with their functions in other places, the same places in both versions.
//!
//! The same machine code at other addresses can take another time, and no number of pairs shows that: all of them see
//! the same addresses. So all tests are measured on matched layouts, and what was flagged is measured again on layouts
//! drawn anew, as is all that rests on changed code whose place cannot be matched. What the place still does then is noise
//! like any other, and the interval over layouts tells of it.

use super::bench::Bench;
use crate::build::{Position, TestExecutable};
use crate::error::Result;
use crate::measure::layout::Matched;
use crate::model::{LayoutMatch, NoLayout, Placement, Side, Sides, TargetId};
use crate::system::fs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Layouts of a target that stay on disk for its other tests; those beyond are linked for each test that needs them.
const KEPT: usize = 32;

/// The layouts of all targets measured so far.
#[derive(Debug)]
pub struct Layouts {
    folder: PathBuf,
    known: BTreeMap<TargetId, std::result::Result<Target, NoLayout>>,
    /// Whose drawn layouts there are: of one target at a time, for executables are large.
    current: Option<TargetId>,
    drawn: BTreeMap<usize, Sides<TestExecutable>>,
    seed: u64,
    placement: Placement,
    position: Position,
    /// Time spent on linking; it is no test's.
    pub took: Duration,
}

/// A target that can be linked again.
#[derive(Debug)]
struct Target {
    matched: Matched,
    first: Sides<TestExecutable>,
    figures: LayoutMatch,
}

impl Layouts {
    pub fn new(bench: &Bench, placement: Placement, seed: u64) -> Self {
        let (folder, known, took) = (bench.layouts(), BTreeMap::new(), Duration::ZERO);
        // Where the kernel does not let us fix addresses the linker can: for code and data, not for stack and heap.
        let position = if bench.paired_address_space { Position::AsBuilt } else { Position::Fixed };
        Self { folder, known, current: None, drawn: BTreeMap::new(), seed, placement, position, took }
    }

    /// The layout that all tests of a target are measured on first. None if its linker cannot make any.
    pub fn first(&mut self, executables: Sides<&TestExecutable>) -> Result<Option<Sides<&TestExecutable>>> {
        let target = &executables.head.target;
        if !self.known.contains_key(target) {
            let started = Instant::now();
            let prepared = self.prepare(executables)?;
            self.took += started.elapsed();
            self.known.insert(target.clone(), prepared);
        }
        Ok(self.known.get(target).and_then(|known| known.as_ref().ok()).map(|known| known.first.as_ref()))
    }

    /// A layout drawn at random, made if it is not there.
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
        let Some(Ok(known)) = self.known.get_mut(target) else { return Ok(None) };
        if !self.drawn.contains_key(&number) {
            let started = Instant::now();
            for (_, Sides { base, head }) in self.drawn.split_off(&KEPT) {
                fs::remove_file(&base.path)?;
                fs::remove_file(&head.path)?;
            }
            let outputs = paths(&self.folder.join("drawn"), number);
            put_beside(executables, &outputs)?;
            let seed = self.seed.wrapping_add(number as u64);
            match known.matched.link(seed, outputs.as_ref().map(PathBuf::as_path))? {
                Ok(figures) => known.figures = known.figures.worse(figures),
                Err(_) => return Ok(None),
            }
            self.took += started.elapsed();
            self.drawn.insert(number, at(executables, outputs));
        }
        Ok(self.drawn.get(&number).map(Sides::as_ref))
    }

    /// Whether what changed lies where base's does, in all layouts: what one says of a target then holds for others. So
    /// does what is said where nothing is matched, which allows for the place.
    pub fn is_anchored(&self, target: &TargetId) -> bool {
        self.known.get(target).and_then(|known| known.as_ref().ok()).is_none_or(|known| known.matched.is_anchored())
    }

    /// What is known of each target's layouts, or why there are none.
    pub fn states(&self) -> BTreeMap<TargetId, std::result::Result<LayoutMatch, NoLayout>> {
        let state = |known: &std::result::Result<Target, NoLayout>| match known {
            Ok(target) => Ok(target.figures),
            Err(why) => Err(why.clone()),
        };
        self.known.iter().map(|(target, known)| (target.clone(), state(known))).collect()
    }

    fn prepare(&self, executables: Sides<&TestExecutable>) -> Result<std::result::Result<Target, NoLayout>> {
        if self.placement == Placement::Natural {
            return Ok(Err(NoLayout::SwitchedOff));
        }
        let (Some(base), Some(head)) = (&executables.base.link, &executables.head.link) else {
            return Ok(Err(NoLayout::NotRecorded));
        };
        if let Some(library) = changed_library(executables)? {
            return Ok(Err(NoLayout::LibraryDiffers { library: library.clone() }));
        }
        let outputs = paths(&self.folder.join("first"), self.known.len());
        put_beside(executables, &outputs)?;
        let natural = executables.map(|executable| executable.path.as_path());
        let links = Sides { base: base.as_path(), head: head.as_path() };
        let places = outputs.as_ref().map(PathBuf::as_path);
        let prepared = Matched::prepare(natural, links, &self.folder, places, self.position)?;
        let (matched, figures) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok(Target { matched, first: at(executables, outputs), figures }))
    }
}

/// Puts what lies beside cargo's `deps` where a test looks for it, seen from its executable: the workspace's binaries.
fn put_beside(executables: Sides<&TestExecutable>, outputs: &Sides<PathBuf>) -> Result<()> {
    for side in Side::BOTH {
        let above = |path: &Path| path.ancestors().nth(2).map(Path::to_owned);
        let (Some(from), Some(to)) = (above(&executables.get(side).path), above(outputs.get(side))) else { continue };
        let is_new = |path: &PathBuf| path.is_file() && path.file_name().is_some_and(|name| !to.join(name).exists());
        for path in fs::list_dir(&from)?.into_iter().filter(is_new) {
            fs::link_or_copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// A shared library with other code in head than in base, by file name.
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

/// Paths of equal length: they are on the stack of the process. `deps`, as tests may look beside themselves.
fn paths(folder: &Path, number: usize) -> Sides<PathBuf> {
    let path = |side: Side| folder.join(side.to_string()).join("deps").join(format!("layout-{number:03}"));
    Sides { base: path(Side::Base), head: path(Side::Head) }
}

fn at(executables: Sides<&TestExecutable>, paths: Sides<PathBuf>) -> Sides<TestExecutable> {
    let Sides { base, head } = executables.map(Clone::clone);
    Sides { base: TestExecutable { path: paths.base, ..base }, head: TestExecutable { path: paths.head, ..head } }
}
