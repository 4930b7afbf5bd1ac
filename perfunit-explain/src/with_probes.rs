//! A pairing built once more, with a probe in each function.
//!
//! In a tree of its own, so that the next `diff` finds its files as they were. What is not compiled with probes is left
//! without: a file at a time, on both sides.

use super::question::Inquiry;
use super::renamed::renamed;
use super::source_files::{sources, text};
use perfunit_build::shadow::{self, Injections};
use perfunit_build::{Attempt, BuildFailure, Builder, Next, Place, Probes, SideBuild, Variant};
use perfunit_model::error::{Error, Result, Tried};
use perfunit_model::{BuiltWith, Function, Side, Sides, TargetId, Unexplained, Unprobed};
use perfunit_project::git::{Entry, FileSet, Mode};
use perfunit_select::source::{LeftOut, Site, instrument, packages_with_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Both sides with probes.
#[derive(Debug)]
pub struct Probed {
    pub sides: Sides<SideBuild>,
    /// The functions with probes, by the keys of their sites.
    pub functions: Sides<BTreeMap<u64, Function>>,
    /// Head's keys of functions that base knows by another key, with that; all else knows them by base's.
    pub renamed: BTreeMap<u64, u64>,
    /// How many functions of head have none, by reason.
    pub without_probe: BTreeMap<Unprobed, usize>,
    /// Head's functions as they are written, by the keys of their sites.
    pub sites: BTreeMap<u64, Site>,
    /// Files that do not compile with probes.
    pub without: BTreeSet<String>,
}

/// Whether all packages of the project's own are members of the workspace. To cargo other ones with a path are the same
/// package in both trees, fresh by the times of their files: what was built of one tree would be taken for the other's.
/// Members are apart, because the wrapper is.
fn has_only_members(inquiry: &Inquiry<'_>) -> bool {
    let Inquiry { versions, selected, .. } = *inquiry;
    let members = selected.workspace.members();
    let members: BTreeSet<&str> = members.map(|package| package.name.as_str()).collect();
    let lock = Path::new(&selected.workspace.root).join("Cargo.lock").to_string_lossy().into_owned();
    Side::BOTH.iter().all(|side| {
        let known = versions.read_file(versions.files.get(*side), &lock).and_then(|lock| packages_with_path(&lock));
        known.is_some_and(|names| {
            let distinct: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            distinct.len() == names.len() && distinct.is_subset(&members)
        })
    })
}

/// The files of both versions on their way to a build with probes.
struct WithProbes<'a> {
    inquiry: &'a Inquiry<'a>,
    place: Place,
    probes: Probes,
    /// Files that do not compile with probes.
    without: BTreeSet<String>,
    instrumented: Instrumentation,
}

/// Builds the targets of both sides with these probes, or says why that cannot be done.
pub fn build(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'_>,
    targets: &BTreeSet<TargetId>,
    probes: Probes,
) -> Tried<Probed, Unexplained> {
    let place = Place::Probed { apart: !has_only_members(inquiry) };
    let without = BTreeSet::new();
    let instrumented = instrumented(inquiry, &builder.root(place)?, &without)?;
    let mut attempt = WithProbes { inquiry, place, probes, without, instrumented };
    let with = if probes == Probes::Counting { BuiltWith::Counters } else { BuiltWith::Probes };
    let both = builder.both_sides(&inquiry.job(targets), &mut attempt);
    let sides = both.map_err(|stop| stop.map(|failure| inquiry.not_built(with, &failure)))?.sides;
    let WithProbes { without, instrumented, .. } = attempt;
    let Instrumentation { files, mut functions, without_probe, mut sites } = instrumented;
    // Tests find the data files of the version that they are from, as when they were measured.
    let own = files.get(inquiry.built.pairing.tests_of);
    let data = own.for_both(&files.base);
    builder.checkout(place, data.as_ref().unwrap_or(own), &inquiry.built.injections)?;
    let renamed = renamed(&functions);
    for (new, old) in &renamed {
        functions.head.remove(new).into_iter().for_each(|function| drop(functions.head.insert(*old, function)));
        sites.remove(new).into_iter().for_each(|site| drop(sites.insert(*old, site)));
    }
    Ok(Probed { sides, functions, renamed, without_probe, sites, without })
}

impl Attempt for WithProbes<'_> {
    fn place(&self) -> Place {
        self.place
    }

    fn variant(&self) -> Variant {
        Variant { probes: self.probes, ..self.inquiry.built.variant }
    }

    fn order(&self) -> [Side; 2] {
        self.inquiry.built.pairing.order()
    }

    fn files(&self, side: Side) -> &FileSet {
        self.instrumented.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.inquiry.built.injections
    }

    fn is_left_out(&self, target: &TargetId) -> bool {
        self.inquiry.built.left_out.contains_key(target)
    }

    fn after(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> Result<Next> {
        // Files with errors that still carry probes.
        let named = failure.places.iter().filter_map(|place| place.file.strip_prefix(tree).ok());
        let named = named.filter(|path| self.files(side).entries.contains_key(*path));
        let named = named.map(|path| path.to_string_lossy().into_owned());
        let responsible: Vec<String> = named.filter(|path| !self.without.contains(path)).collect();
        if responsible.is_empty() {
            return Ok(Next::Stop);
        }
        self.without.extend(responsible);
        self.instrumented = instrumented(self.inquiry, tree, &self.without)?;
        Ok(Next::BothSides)
    }
}

struct Instrumentation {
    files: Sides<FileSet>,
    functions: Sides<BTreeMap<u64, Function>>,
    without_probe: BTreeMap<Unprobed, usize>,
    /// Head's.
    sites: BTreeMap<u64, Site>,
}

/// Both versions with probes in all files but `without`.
fn instrumented(inquiry: &Inquiry<'_>, tree: &Path, without: &BTreeSet<String>) -> Result<Instrumentation> {
    let Inquiry { versions, selected, built: plain, .. } = *inquiry;
    let sources = Sides { base: sources(selected, Side::Base), head: sources(selected, Side::Head) };
    let trivial = sources.try_map(|side, sources| {
        let files = plain.pairing.files.get(side);
        let mut found = BTreeMap::new();
        for (path, source) in &sources {
            let Some(text) = text(versions, files, path) else { continue };
            found.extend(
                instrument(&text, &source.place(), &|_| true).sites.into_iter().map(|site| (site.key, site.trivial)),
            );
        }
        Ok::<_, Error>((sources, found))
    })?;
    // A function has a probe on both sides or on none.
    let is_trivial = |key: u64| Side::BOTH.iter().all(|side| trivial.get(*side).1.get(&key).is_none_or(|is| *is));
    let mut without_probe: BTreeMap<Unprobed, usize> = BTreeMap::new();
    let mut functions: Sides<BTreeMap<u64, Function>> = Sides::default();
    let mut sites = BTreeMap::new();
    let files = Sides { base: Side::Base, head: Side::Head }.try_map(|_, side| {
        let mut files = plain.pairing.files.get(side).clone();
        for (path, source) in &trivial.get(side).0 {
            if without.contains(path) && !source.is_root {
                continue;
            }
            let Some(text) = text(versions, &files, path) else { continue };
            let wanted = |site: &Site| !is_trivial(site.key) && !without.contains(path);
            let found = instrument(&text, &source.place(), &wanted);
            functions
                .get_mut(side)
                .extend(found.sites.iter().map(|site| (site.key, source.function(path, &site.name, site.line))));
            if side == Side::Head {
                for LeftOut { why, .. } in &found.left_out {
                    *without_probe.entry(*why).or_default() += 1;
                }
                sites.extend(found.sites.into_iter().map(|site| (site.key, site)));
            }
            let mut text = found.text;
            if source.is_root {
                let place = tree.join(files.place(path));
                text.push_str(&shadow::probes_text(shadow::place_in_tree(&place).unwrap_or(Path::new(path))));
            }
            let path = PathBuf::from(path);
            let mode = files.entries.get(&path).map_or(Mode::File, |entry| entry.mode);
            files.entries.insert(path, Entry { mode, ..Entry::snapshot(text.into_bytes()) });
        }
        Ok::<_, Error>(files)
    })?;
    Ok(Instrumentation { files, functions, without_probe, sites })
}
