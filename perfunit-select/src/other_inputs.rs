//! What tests load and read besides their executables, base against head: shared libraries and variables.

use perfunit_build::{Inputs, Library, LinkRecord, SideBuild, TestExecutable, contains};
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_system::fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The shared libraries that the programs of two sides may load and that differ.
#[derive(Debug, Default)]
pub struct Libraries {
    /// What all that they were linked with were linked from, if that is known and comparable, and some differ.
    pub links: Sides<Vec<LinkRecord>>,
    /// Those that have to count as changed, by file name.
    pub changed: Vec<String>,
    /// Those that they may open by themselves, with what they were linked from.
    pub opened: Vec<(String, Sides<PathBuf>, Sides<LinkRecord>)>,
}

impl Libraries {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.links.base.is_empty() && self.changed.is_empty() && self.opened.is_empty()
    }

    pub fn of(sides: &Sides<SideBuild>, programs: Sides<&Path>) -> Result<Self> {
        let load = |side: Side| sides.get(side).inputs.loaded_by(programs.get(side));
        let loaded = Sides { base: load(Side::Base)?, head: load(Side::Head)? };
        let names = |of: fn(&perfunit_build::Loaded<'_>) -> Vec<String>| -> BTreeSet<String> {
            Side::BOTH.into_iter().flat_map(|side| of(loaded.get(side))).collect()
        };
        let mut libraries = Self::default();
        let (mut differ, mut all_known) = (Vec::new(), true);
        for name in names(|loaded| loaded.needed.keys().map(|name| (*name).to_owned()).collect()) {
            let both = loaded.as_ref().map(|loaded| loaded.needed.get(name.as_str()).copied());
            let known = comparable(both)?;
            if !same(both)? {
                differ.push(name);
            }
            all_known &= known.is_some();
            if let Some(known) = known {
                libraries.links.base.push(known.base);
                libraries.links.head.push(known.head);
            }
        }
        if differ.is_empty() || !all_known {
            // What one whose code is not known calls, nobody knows either.
            libraries.links = Sides::default();
            libraries.changed = differ;
        }
        for name in names(|loaded| loaded.opened.keys().map(|name| (*name).to_owned()).collect()) {
            let both = loaded.as_ref().map(|loaded| loaded.opened.get(name.as_str()).copied());
            if same(both)? {
                continue;
            }
            match (both.base, both.head, comparable(both)?) {
                (Some(base), Some(head), Some(links)) => {
                    let paths = Sides { base: base.path.clone(), head: head.path.clone() };
                    libraries.opened.push((name, paths, links));
                }
                _ => libraries.changed.push(name),
            }
        }
        Ok(libraries)
    }
}

fn same(both: Sides<Option<&Library>>) -> Result<bool> {
    match (both.base, both.head) {
        (Some(base), Some(head)) => fs::same_content(&base.path, &head.path),
        _ => Ok(false),
    }
}

/// What both were linked from, if that can be compared input by input.
fn comparable(both: Sides<Option<&Library>>) -> Result<Option<Sides<LinkRecord>>> {
    let (Some(base), Some(head)) = (both.base, both.head) else { return Ok(None) };
    let (Some(base), Some(head)) = (&base.link, &head.link) else { return Ok(None) };
    let links = Sides { base: LinkRecord::load(base)?, head: LinkRecord::load(head)? };
    Ok(links.base.incomparable(&links.head)?.is_none().then_some(links))
}

/// The variables that cargo sets for the tests of an executable, that have other values and that the tests may read.
///
/// Those of packages and build scripts are there for `env!`, which leaves the value in the machine code and not the name:
/// they count where some program holds the name. Others (`[env]` of cargo's configuration) anybody may read.
pub fn variables(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<String>> {
    let Sides { base, head } = executables.map(|executable| &executable.env);
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let differ: Vec<&String> =
        names.into_iter().filter(|name| base.get(*name) != head.get(*name) && *name != Inputs::SEARCH).collect();
    let mut programs = Vec::new();
    let mut found = Vec::new();
    for name in differ {
        let is_compiled_in = |side: Side| sides.get(side).inputs.variables.contains(name);
        if name.starts_with("CARGO_") || name == "OUT_DIR" || Side::BOTH.into_iter().any(is_compiled_in) {
            if programs.is_empty() {
                programs = programs_of(sides, executables)?;
            }
            // Names of this kind may be put together.
            let needle = if name.starts_with("CARGO_PKG_") { "CARGO_PKG_" } else { name.as_str() };
            if !programs.iter().any(|bytes| contains(bytes, needle.as_bytes())) {
                continue;
            }
        }
        found.push(name.clone());
    }
    Ok(found)
}

/// Files in `OUT_DIR` that differ and that the tests of an executable may read: one of each folder whose path some program
/// holds, or may ask for.
pub fn made(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<String>> {
    let made = sides.as_ref().map(|side| &side.inputs.made);
    let (mut found, mut programs) = (Vec::new(), None);
    for (place, base) in made.base {
        let Some(file) = made.head.get(place).and_then(|head| base.differs(head)) else { continue };
        let path = place.to_string_lossy();
        let is_own = executables.base.env.get("OUT_DIR").is_some_and(|own| *own == path);
        let needles = [Some(&*path), is_own.then_some("OUT_DIR")];
        let holds = |bytes: &Vec<u8>| needles.iter().flatten().any(|needle| contains(bytes, needle.as_bytes()));
        // Read for the first file alone.
        let programs = match &mut programs {
            Some(programs) => programs,
            none => none.insert(programs_of(sides, executables)?),
        };
        if programs.iter().any(holds) {
            found.push(file.display().to_string());
        }
    }
    Ok(found)
}

/// The bytes of everything of the project's that runs when these are tested.
pub(super) fn programs_of(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<Vec<u8>>> {
    let mut programs = Vec::new();
    for side in Side::BOTH {
        let build = sides.get(side);
        programs.push(fs::read(&executables.get(side).path)?);
        for path in build.binaries()?.iter().chain(build.inputs.libraries.values().map(|library| &library.path)) {
            programs.push(fs::read(path)?);
        }
    }
    Ok(programs)
}
