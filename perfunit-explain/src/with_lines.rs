//! What debug information says of the code of a pairing: that of the measured executables, or of the same built once more.
//!
//! The measured build keeps debug information in its objects, and its link drops it. The same link without that option has
//! the same code at the same addresses. Where the objects hold none, the pairing is built again in the tree of the measured
//! build and with its files: only what rustc is told to write beside the code is another.

use super::question::Inquiry;
use super::renamed::renamed;
use super::source_files::{sources, text};
use perfunit_build as build;
use perfunit_build::shadow::Injections;
use perfunit_build::{
    Attempt, BuildFailure, Builder, Next, Place, SideBuild, TestExecutable, Variant, relink_with_debug_information,
};
use perfunit_model::error::{Result, Tried, apart};
use perfunit_model::{BuiltWith, Function, Side, Sides, TargetId, Unexplained};
use perfunit_project::git::FileSet;
use perfunit_select::Selected;
use perfunit_select::code::{self, Inlining, Operations, UnreadableExecutable};
use perfunit_select::source::{InputKind, extents};
use perfunit_system::fs;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Both sides, with what is known of their code.
#[derive(Debug)]
pub struct Lined<'a> {
    /// What is run: borrowed if it is what was measured.
    pub sides: Cow<'a, Sides<SideBuild>>,
    pub described: BTreeMap<TargetId, std::result::Result<Sides<Described>, UnreadableExecutable>>,
    /// The folder that they were built in.
    pub tree: PathBuf,
    /// Where functions are written, by file of the build.
    pub written: Sides<Vec<Written>>,
    /// Head's keys of functions that base knows by another key, with that.
    pub renamed: BTreeMap<u64, u64>,
    /// Packages whose functions are told apart although nobody knows where they are written.
    pub packages: BTreeSet<String>,
}

/// An executable's code, by function.
#[derive(Debug, Clone)]
pub struct Described {
    pub inlining: Rc<Inlining>,
    pub operations: Rc<Operations>,
}

/// A function of the source.
#[derive(Debug)]
pub struct Written {
    pub file: PathBuf,
    pub lines: std::ops::RangeInclusive<usize>,
    pub key: u64,
    /// `None` for a test.
    pub function: Option<Function>,
}

impl Described {
    fn read(executable: &[u8]) -> std::result::Result<Self, UnreadableExecutable> {
        let inlining = Inlining::read(executable)?;
        Ok(Self { inlining: Rc::new(inlining), operations: Rc::new(Operations::read(executable)) })
    }

    /// Whether functions of the project are among those that it tells of.
    fn knows(&self, tree: &Path) -> bool {
        self.inlining.origins.iter().any(|origin| origin.file.starts_with(tree))
    }
}

/// The executables of a target on both sides.
pub fn executables<'b>(sides: &'b Sides<SideBuild>, target: &TargetId) -> Option<Sides<&'b TestExecutable>> {
    let find = |side: Side| sides.get(side).executables.iter().find(|executable| executable.target == *target);
    Some(Sides { base: find(Side::Base)?, head: find(Side::Head)? })
}

/// What was measured, linked again in a folder with its debug information; `None` where the objects hold none, or the
/// linker makes other code.
pub fn measured<'a>(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'a>,
    targets: &BTreeSet<TargetId>,
    folder: &Path,
) -> Result<Option<Lined<'a>>> {
    let _span = tracing::debug_span!("lines").entered();
    let tree = builder.root(Place::Measured)?;
    let mut described = BTreeMap::new();
    for target in targets {
        let Some(executables) = executables(&inquiry.built.sides, target) else { continue };
        let Some(found) = linked_again(executables, folder)? else { return Ok(None) };
        if !found.base.knows(&tree) || !found.head.knows(&tree) {
            return Ok(None);
        }
        described.insert(target.clone(), Ok(found));
    }
    Ok(Some(lined(inquiry, tree, Cow::Borrowed(&inquiry.built.sides), described)))
}

fn linked_again(executables: Sides<&TestExecutable>, folder: &Path) -> Result<Option<Sides<Described>>> {
    fs::remove_dir_all(folder)?;
    let output = |side: Side| folder.join(side.to_string());
    let start = |side: Side, executable: &TestExecutable| match &executable.link {
        Some(link) => Ok(apart(relink_with_debug_information(link, &output(side)))?.ok()),
        None => Ok(None),
    };
    let links = executables.try_map(start)?;
    let mut described = Vec::new();
    for (side, link) in [(Side::Base, links.base), (Side::Head, links.head)] {
        let Some(link) = link else { continue };
        if apart(link.finish())?.is_err() {
            continue;
        }
        let (linked, measured) = (fs::read(&output(side))?, fs::read(&executables.get(side).path)?);
        if code::is_same_code(&measured, &linked).unwrap_or(false) {
            described.extend(Described::read(&linked).ok());
        }
    }
    fs::remove_dir_all(folder)?;
    Ok(<[Described; 2]>::try_from(described).ok().map(|[base, head]| Sides { base, head }))
}

/// Builds the targets of both sides with debug information, or says why that cannot be done.
pub fn build<'a>(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'a>,
    targets: &BTreeSet<TargetId>,
) -> Tried<Lined<'a>, Unexplained> {
    let both = builder.both_sides(&inquiry.job(targets), &mut WithLines(inquiry));
    let not_built = |failure| inquiry.not_built(BuiltWith::DebugInformation, &failure);
    let sides = both.map_err(|stop| stop.map(not_built))?.sides;
    // Tests find the data files of the version that they are from, as when they were measured.
    builder.checkout(Place::Measured, inquiry.built.pairing.data(), &inquiry.built.injections)?;
    let tree = builder.root(Place::Measured)?;
    let mut described = BTreeMap::new();
    for target in targets {
        let Some(executables) = executables(&sides, target) else { continue };
        let bytes = executables.try_map(|_, executable| fs::read(&executable.path))?;
        let found =
            Described::read(&bytes.base).and_then(|base| Ok(Sides { base, head: Described::read(&bytes.head)? }));
        described.insert(target.clone(), found);
    }
    Ok(lined(inquiry, tree, Cow::Owned(sides), described))
}

fn lined<'a>(
    inquiry: &Inquiry<'a>,
    tree: PathBuf,
    sides: Cow<'a, Sides<SideBuild>>,
    described: BTreeMap<TargetId, std::result::Result<Sides<Described>, UnreadableExecutable>>,
) -> Lined<'a> {
    let written = Sides { base: Side::Base, head: Side::Head }.map(|side| written(inquiry, &tree, side));
    let known = written.as_ref().map(|written| {
        let functions = written.iter().filter_map(|written| Some((written.key, written.function.clone()?)));
        functions.collect::<BTreeMap<_, _>>()
    });
    let (renamed, packages) = (renamed(&known), packages(inquiry.selected));
    Lined { sides, described, tree, written, renamed, packages }
}

/// The measured files, for a build that tells what was inlined where.
struct WithLines<'a>(&'a Inquiry<'a>);

impl Attempt for WithLines<'_> {
    fn place(&self) -> Place {
        Place::Measured
    }

    fn variant(&self) -> Variant {
        Variant { inlining: build::Inlining::Told, ..self.0.built.variant }
    }

    fn order(&self) -> [Side; 2] {
        self.0.built.pairing.order()
    }

    fn files(&self, side: Side) -> &FileSet {
        self.0.built.pairing.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.0.built.injections
    }

    fn is_left_out(&self, target: &TargetId) -> bool {
        self.0.built.left_out.contains_key(target)
    }

    fn after(&mut self, _: Side, _: &BuildFailure, _: &Path) -> Result<Next> {
        Ok(Next::Stop)
    }
}

/// The functions of all files of the project.
fn written(inquiry: &Inquiry<'_>, tree: &Path, side: Side) -> Vec<Written> {
    let files = inquiry.built.pairing.files.get(side);
    let mut found = Vec::new();
    for (path, source) in sources(inquiry.selected, side) {
        let Some(text) = text(inquiry.versions, files, &path) else { continue };
        found.extend(extents(&text, &source.place()).into_iter().map(|extent| Written {
            file: tree.join(files.place(&path)),
            lines: extent.first..=extent.last,
            key: extent.key,
            function: (!extent.is_test).then(|| source.function(&path, &extent.name, extent.line)),
        }));
    }
    found
}

/// Those of the repository, and of others those that changed.
fn packages(selected: &Selected) -> BTreeSet<String> {
    let own = selected.workspace.packages.iter().map(|package| package.name.clone());
    let changed = selected.diff.inputs.iter().filter_map(|input| match &input.kind {
        InputKind::LockFile { packages } => Some(packages.iter().cloned()),
        _ => None,
    });
    own.chain(changed.flatten()).collect()
}
