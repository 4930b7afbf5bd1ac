//! `cargo perfunit archive`: builds and selects as `diff` would, and packs what measuring needs.

use super::{Archive, Asked, FORMAT, METER, Manifest, PARTS, Recipe, SEEDS, compilers};
use crate::build::parts_key;
use crate::error::{Error, Result};
use crate::model::{Sides, VersionName};
use crate::session::names::Names;
use crate::session::options::Options;
use crate::session::rounds::Rounds;
use crate::session::setup::Setup;
use crate::session::{not_interrupted, rounds, runs, select, setup};
use crate::system::archive::{self as packed, Entry};
use crate::system::fs;
use crate::system::progress::Progress;
use crate::system::term::Terminal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Archived {
    pub versions: Sides<VersionName>,
    /// Tests to measure, all shards together.
    pub tests: usize,
    /// Why there are none, if selection found that none can have changed.
    pub nothing_because: Option<String>,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Makes an archive of what `diff` with these options would measure.
pub fn archive(options: &Options, file: &Path, terminal: Terminal) -> Result<Archived> {
    if file.is_dir() {
        return Err(Error::usage(format!("--archive-file {} is a folder", file.display()))
            .hint("name a file: `--archive-file target/perfunit.tar.zst`"));
    }
    let mut setup = setup::open(options, terminal)?;
    setup.archive = Archive::Making(Vec::new());
    let contents = runs::contents(&setup);
    let selected = select::select(&mut setup, options)?;
    let mut selection = selected.summary();
    let mut built = None;
    if !selected.targets.is_empty() {
        setup::settle_lock_file(&mut setup, &selected.workspace.root)?;
        let names = Names::of_versions(&setup, &selected);
        let rounds = rounds::prepare(&mut setup, options, &selected, &names, None)?;
        selection = rounds.describe(selection, &selected);
        built = Some(rounds);
    }
    not_interrupted()?;
    let progress = Progress::spinner(terminal, "Packing");
    progress.message(file.display().to_string());
    let recipes = match std::mem::take(&mut setup.archive) {
        Archive::Making(recipes) => recipes,
        Archive::None | Archive::Using { .. } => Vec::new(),
    };
    let entries = entries(&setup, &recipes, built.as_ref())?;
    let mut warnings = std::mem::take(&mut setup.warnings);
    warnings.extend(built.iter().flat_map(Rounds::warnings));
    let versions = &setup.comparison.versions;
    let manifest = Manifest {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        parts: parts_key()?,
        compiler: compilers(&setup),
        sysroot: setup.cargo.sysroot.clone(),
        ours: setup.ours.clone(),
        versions: Sides { base: versions.base.name.clone(), head: versions.head.name.clone() },
        contents,
        asked: Asked::of(options),
        recipes,
    };
    let note = serde_json::to_vec(&manifest).map_err(|error| Error::setup(error.to_string()))?;
    let bytes = packed::pack(file, &note, &entries)?;
    let (tests, nothing_because) = (selection.executed, selection.nothing_because);
    Ok(Archived { versions: manifest.versions, tests, nothing_because, bytes, warnings })
}

/// All files to pack, by their path from our folder.
fn entries(setup: &Setup, recipes: &[Recipe], rounds: Option<&Rounds>) -> Result<Vec<Entry>> {
    let mut files = BTreeSet::new();
    let names: BTreeSet<&str> = recipes.iter().flat_map(Recipe::sides).collect();
    for name in names {
        list_files(&setup.ours.join("sides").join(name), &mut files)?;
    }
    let answers = rounds.iter().flat_map(|rounds| rounds.remembered(&setup.ours)).collect::<Result<Vec<PathBuf>>>()?;
    files.extend(answers.into_iter().chain([setup.ours.join("Cargo.lock")]).filter(|path| path.is_file()));
    let below = |path: PathBuf| Some(Entry { name: path.strip_prefix(&setup.ours).ok()?.to_owned(), path });
    let mut entries: Vec<Entry> = files.into_iter().filter_map(below).collect();
    let [seeds, meter] = rounds.map(Rounds::libraries).unwrap_or_default();
    for (name, path) in [(SEEDS, seeds), (METER, meter)] {
        entries.extend(path.map(|path| Entry { name: Path::new(PARTS).join(name), path }));
    }
    Ok(entries)
}

/// Links to folders are not followed: they may lead in circles.
fn list_files(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for path in fs::list_dir(folder)? {
        if path.is_file() {
            files.insert(path);
        } else if path.is_dir() && !path.is_symlink() {
            list_files(&path, files)?;
        }
    }
    Ok(())
}
