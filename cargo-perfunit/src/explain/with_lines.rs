//! A pairing built once more, with debug information.
//!
//! In the tree of the measured build and with its files: only what rustc is told to write beside the code is another.

use super::question::Inquiry;
use super::source_files::{sources, text};
use crate::build::shadow::Injections;
use crate::build::{Attempt, BuildFailure, Builder, Inlining, Next, Place, SideBuild, Variant};
use crate::error::Result;
use crate::git::FileSet;
use crate::model::{BuiltWith, Function, Side, Sides, TargetId, Unexplained};
use crate::select::Selected;
use crate::select::source::{InputKind, extents};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Both sides with debug information.
#[derive(Debug)]
pub struct Lined {
    pub sides: Sides<SideBuild>,
    /// The folder that they were built in.
    pub tree: PathBuf,
    /// Where functions are written, by file of the build.
    pub written: Sides<Vec<Written>>,
    /// Packages whose functions are told apart although nobody knows where they are written.
    pub packages: BTreeSet<String>,
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

/// Builds the targets of both sides with debug information, or says why that cannot be done.
pub fn build(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'_>,
    targets: &BTreeSet<TargetId>,
) -> Result<std::result::Result<Lined, Unexplained>> {
    let sides = match builder.both_sides(&inquiry.job(targets), &mut WithLines(inquiry))? {
        Ok(both) => both.sides,
        Err(failure) => {
            let (with, error) = (BuiltWith::DebugInformation, failure.first_error().to_owned());
            return Ok(Err(Unexplained::DoesNotBuild { with, error }));
        }
    };
    // Tests find the data files of the version that they are from, as when they were measured.
    builder.checkout(Place::Measured, inquiry.built.pairing.data(), &inquiry.built.injections)?;
    let tree = builder.root(Place::Measured)?;
    Ok(Ok(Lined {
        sides,
        written: Sides { base: Side::Base, head: Side::Head }.map(|side| written(inquiry, &tree, side)),
        tree,
        packages: packages(inquiry.selected),
    }))
}

/// The measured files, for a build that tells what was inlined where.
struct WithLines<'a>(&'a Inquiry<'a>);

impl Attempt for WithLines<'_> {
    fn place(&self) -> Place {
        Place::Measured
    }

    fn variant(&self) -> Variant {
        Variant { inlining: Inlining::Told, ..self.0.built.variant }
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
            file: tree.join(&path),
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
