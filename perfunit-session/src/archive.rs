//! `cargo perfunit archive`: builds and selects like `diff`, and packs what measuring needs.

use super::archived::{self, Archive, DISPATCHER, METER, PARTS, Recipe, SEEDS};
use super::open::{Opened, open};
use super::options;
use super::options::Options;
use super::pairings::{self, Plan};
use super::session::{Session, select_to_build};
use perfunit_build::{BuiltSides, CLOCK_LIBRARY};
use perfunit_model::error::{Error, Result};
use perfunit_model::{NothingBecause, Sides, VersionName, Warning};
use perfunit_select::selection_file;
use perfunit_system::archive::{self as packed, Entry};
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use perfunit_system::{fs, interrupt};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Archived {
    pub versions: Sides<VersionName>,
    /// Number of tests to measure, over all shards.
    pub tests: usize,
    /// The reason if no test can have changed.
    pub nothing_because: Option<NothingBecause>,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// Warnings about the builds and the selection.
    pub warnings: Vec<Warning>,
}

/// Creates an archive of what `diff` with these options would measure.
pub fn archive(options: &Options, file: &Path, terminal: Terminal) -> Result<Archived> {
    if file.is_dir() {
        return Err(Error::usage(format!("--archive-file {} is a folder", file.display()))
            .hint("name a file: `--archive-file target/perfunit.tar.zst`"));
    }
    let options = &options::adopt_positionals(options, terminal)?;
    let Opened { context, mut versions, mut warnings, lock: _lock, .. } = open(options, terminal, None)?;
    let contents = versions.contents();
    let (mut builder, mut selected) = select_to_build(&context, &mut versions, &options.test_filter())?;
    warnings.append(&mut selected.warnings);
    let mut selection = selected.summary();
    let mut plan = None;
    if !selected.targets.is_empty() {
        let session = Session::new(&context, &versions, &selected, options).archive(&Archive::Making);
        let prepared = pairings::prepare(&session, &mut builder)?;
        selection = prepared.describe(selection, &prepared.find_coverage_gaps(&session), &session);
        plan = Some(prepared);
    }
    interrupt::check()?;
    let progress = Progress::spinner(terminal, "Packing");
    progress.message(file.display().to_string());
    let recipes: Vec<Recipe> = plan.iter().flat_map(Plan::built).map(Recipe::of).collect();
    let entries = entries(&context.ours, &recipes, plan.as_ref())?;
    warnings.extend(plan.iter().flat_map(Plan::warnings));
    let note = archived::note(options, &context, &versions, contents, recipes)?;
    let bytes = packed::pack(file, &note, &entries)?;
    let (tests, nothing_because) = (selection.executed, selection.nothing_because);
    Ok(Archived { versions: versions.names(), tests, nothing_because, bytes, warnings })
}

/// Returns all files to pack, by their path relative to our folder.
fn entries(ours: &Path, recipes: &[Recipe], plan: Option<&Plan>) -> Result<Vec<Entry>> {
    let mut files = BTreeSet::new();
    let names: BTreeSet<&str> = recipes.iter().flat_map(Recipe::sides).collect();
    for name in names {
        list_files(&ours.join("sides").join(name), &mut files)?;
    }
    let builds: Vec<&BuiltSides> = plan.iter().flat_map(|plan| plan.built()).collect();
    let answers = builds.iter().map(|built| selection_file(ours, &built.sides)).collect::<Vec<PathBuf>>();
    files.extend(answers.into_iter().chain([ours.join("Cargo.lock")]).filter(|path| path.is_file()));
    let below = |path: PathBuf| Some(Entry { name: path.strip_prefix(ours).ok()?.to_owned(), path });
    let mut entries: Vec<Entry> = files.into_iter().filter_map(below).collect();
    if let Some(built) = builds.first() {
        let clock = built.seeds.as_ref().map(|seeds| seeds.with_file_name(CLOCK_LIBRARY)).filter(|path| path.exists());
        for (name, path) in
            [(SEEDS, &built.seeds), (CLOCK_LIBRARY, &clock), (METER, &built.meter), (DISPATCHER, &built.dispatcher)]
        {
            entries.extend(path.clone().map(|path| Entry { name: Path::new(PARTS).join(name), path }));
        }
    }
    Ok(entries)
}

/// Lists files without following links to folders, which may form cycles.
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
