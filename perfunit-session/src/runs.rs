//! Saved runs: versions, options and all results, for later reports and explanations. Each has a folder below `runs`
//! that is named by its time and contains `run.json`.

use super::options::Options;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Explanation, Run, Sides, TestId};
use perfunit_system::date;
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Version of the format. Runs in other formats cannot be read.
const FORMAT: u32 = 12;
const KEPT: usize = 20;
/// Older runs are removed, except the last one.
const OLDEST: Duration = Duration::from_hours(30 * 24);
const WHERE: &str = "saved runs are `run.json` files below `target/perfunit/runs`";
/// Name of the file in a run's folder.
pub const FILE: &str = "run.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    pub id: String,
    /// Version of the tool that saved the run.
    pub tool: String,
    /// The options of the run.
    pub options: Options,
    /// Keys of the versions' content.
    pub contents: Sides<String>,
    /// The keys in the comparison with the ratchet's version.
    #[serde(default)]
    pub of_ratchet: Option<Sides<String>>,
    /// The results. Later explanations are added.
    pub run: Run,
    /// Profiles of tests with all functions timed, if requested.
    #[serde(with = "perfunit_model::json_forms::as_list")]
    pub profiles: BTreeMap<TestId, Explanation>,
}

/// The part that records of every format contain.
#[derive(Deserialize)]
struct Header {
    format: u32,
    #[serde(default)]
    tool: String,
}

impl Record {
    /// Creates the record of a run that ended now.
    pub fn new(options: Options, contents: Sides<String>, run: Run) -> Self {
        Self {
            format: FORMAT,
            id: id(SystemTime::now()),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            options,
            contents,
            of_ratchet: None,
            run,
            profiles: BTreeMap::new(),
        }
    }
}

/// Saves a new run, and removes the oldest ones.
pub fn keep(ours: &Path, record: &mut Record) -> Result<PathBuf> {
    let folder = folder(ours);
    fs::create_dir_all(&folder)?;
    let mut moment = SystemTime::now();
    while !fs::create_dir(&folder.join(&record.id))? {
        moment += TICK;
        record.id = id(moment);
    }
    let path = folder.join(&record.id).join(FILE);
    save(&path, record)?;
    prune(ours, moment, &record.id)?;
    Ok(path)
}

/// Creates a folder for results that git ignores, so that the next shard in the same tree has the same head.
pub fn make_folder_of_results(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(&folder.join(".gitignore"), "*\n")
}

/// Writes a record, initially or with later results.
pub fn save(path: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_vec(record).map_err(|error| Error::setup(format!("cannot save the run: {error}")))?;
    fs::write_atomically(path, text)
}

/// Returns the last run and its file.
pub fn last(ours: &Path) -> Result<(PathBuf, Record)> {
    let path = all(ours)?.pop().ok_or_else(|| {
        Error::usage("no saved runs in this workspace")
            .hint("run `cargo perfunit diff` first; `explain` and `report` use the last run")
    })?;
    let record = read(&path)?;
    Ok((path, record))
}

/// Returns the run with this id or with an id that begins like this, and its file.
pub fn find_run(ours: &Path, name: &str) -> Result<(PathBuf, Record)> {
    let mut meant = all(ours)?;
    let known = meant.len();
    meant.retain(|path| id_of(path).starts_with(name));
    if meant.len() > 1 {
        let error = Error::usage(format!("run ID `{name}` is ambiguous ({} matches)", meant.len()));
        return Err(error.hint("use a longer ID; `cargo perfunit report --list` lists all"));
    }
    let path = meant.pop().ok_or_else(|| {
        Error::usage(format!("no saved run with ID `{name}` in this workspace ({known} saved)"))
            .hint("`cargo perfunit report --list` lists all; name a file with its folder: `./run.json`")
    })?;
    let record = read(&path)?;
    Ok((path, record))
}

/// Reads a run from its file, which may come from another machine.
pub fn read(path: &Path) -> Result<Record> {
    let text = fs::read_if_exists(path)?
        .ok_or_else(|| Error::usage(format!("no saved run at {}", path.display())).hint(WHERE))?;
    let damaged = |error: &serde_json::Error| {
        Error::usage(format!("{} is damaged: {error}", path.display())).hint("run `cargo perfunit diff` again")
    };
    match serde_json::from_slice::<Record>(&text) {
        Ok(record) if record.format == FORMAT => Ok(record),
        Ok(Record { format, tool, .. }) => Err(of_another_version(path, &Header { format, tool })),
        Err(error) => Err(match serde_json::from_slice::<Header>(&text) {
            Ok(header) if header.format != FORMAT => of_another_version(path, &header),
            Ok(_) => damaged(&error),
            Err(other) if other.is_data() => {
                Error::usage(format!("{} is not a saved run of cargo-perfunit: {other}", path.display())).hint(WHERE)
            }
            Err(error) => damaged(&error),
        }),
    }
}

fn of_another_version(path: &Path, header: &Header) -> Error {
    let theirs = if header.tool.is_empty() { "another version".to_owned() } else { format!("version {}", header.tool) };
    Error::usage(format!(
        "{} was written by {theirs} of cargo-perfunit, in format {}; this one reads format {FORMAT}",
        path.display(),
        header.format
    ))
    .hint("run `cargo perfunit diff` again")
}

/// Returns the files of all saved runs, the last one last.
pub fn all(ours: &Path) -> Result<Vec<PathBuf>> {
    let folders = fs::list_dir(&folder(ours))?.into_iter();
    let files = folders.filter(|folder| is_id(&name(folder))).map(|folder| folder.join(FILE));
    // A run that could not be saved, for example on a full disk, leaves an empty folder.
    Ok(files.filter(|file| file.is_file()).collect())
}

/// Returns the id of a run from its file below `runs`.
pub fn id_of(path: &Path) -> String {
    path.parent().map(name).unwrap_or_default()
}

fn folder(ours: &Path) -> PathBuf {
    ours.join("runs")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Unit of an id's last digits.
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 0x1_0000 + 1);

/// Returns the second and its fraction in 1/65,536, so that ids sort by time.
fn id(moment: SystemTime) -> String {
    let nanos = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    format!("{}-{:04x}", date::stamp(moment), (u64::from(nanos) << 16) / 1_000_000_000)
}

/// Returns true for names of our files; others are never read or removed.
fn is_id(name: &str) -> bool {
    name.len() == id(UNIX_EPOCH).len() && name.starts_with(|c: char| c.is_ascii_digit()) && name.contains("Z-")
}

/// Removes old runs, but never the run with this id, whatever the clock reads.
fn prune(ours: &Path, now: SystemTime, kept: &str) -> Result<()> {
    let folders: Vec<PathBuf> =
        fs::list_dir(&folder(ours))?.into_iter().filter(|folder| is_id(&name(folder))).collect();
    let oldest = now.checked_sub(OLDEST).map(id).unwrap_or_default();
    let surplus = folders.len().saturating_sub(KEPT);
    let earlier = &folders[..folders.len().saturating_sub(1)];
    let is_gone = |index: usize, name: String| (index < surplus || name < oldest) && name != kept;
    let mut gone = earlier.iter().enumerate().filter(|(index, folder)| is_gone(*index, name(folder)));
    gone.try_for_each(|(_, folder)| fs::remove_dir_all(folder))
}

#[cfg(test)]
mod tests;
