//! Saved runs: what was compared, how, and all that came out, for reports and questions that come later. One folder each
//! below `runs`, named by its time, with a `run.json` in it.

use super::options::Options;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Explanation, Run, Sides, TestId};
use perfunit_system::date;
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Changes with the format; a run of another one cannot be read.
const FORMAT: u32 = 12;
const KEPT: usize = 20;
/// Older ones are not kept, but for the last.
const OLDEST: Duration = Duration::from_hours(30 * 24);
/// What a run's folder holds.
pub const FILE: &str = "run.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    pub id: String,
    /// Version of the tool that made it.
    pub tool: String,
    /// What was asked for.
    pub options: Options,
    /// Keys of the versions' contents.
    pub contents: Sides<String>,
    /// The same of the comparison with the ratchet's version.
    #[serde(default)]
    pub of_ratchet: Option<Sides<String>>,
    /// What came out; explanations that are found later come to it.
    pub run: Run,
    /// Where the time of tests goes, all functions timed at once, where somebody asked.
    #[serde(with = "perfunit_model::json_forms::as_list")]
    pub profiles: BTreeMap<TestId, Explanation>,
}

/// What every format of a record says of itself.
#[derive(Deserialize)]
struct Header {
    format: u32,
    #[serde(default)]
    tool: String,
}

impl Record {
    /// Of a run that ended now.
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

/// Writes a new run down, and removes those that are too many or too old.
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

/// A folder of our own is ignored by git: the next shard, run in the same tree, must not find another head.
pub fn make_folder_of_results(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(&folder.join(".gitignore"), "*\n")
}

/// Writes a record, or what became known later.
pub fn save(path: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_vec(record).map_err(|error| Error::setup(format!("cannot keep the run: {error}")))?;
    fs::write_atomically(path, text)
}

/// The last run and its file.
pub fn last(ours: &Path) -> Result<(PathBuf, Record)> {
    let path = all(ours)?.pop().ok_or_else(|| {
        Error::usage("there is no recorded run of this workspace")
            .hint("`cargo perfunit diff BASE` makes one; `explain` and `report` tell of the last run")
    })?;
    let record = read(&path)?;
    Ok((path, record))
}

/// The run that is named by its id or the beginning of it, and its file.
pub fn named(ours: &Path, name: &str) -> Result<(PathBuf, Record)> {
    let mut meant = all(ours)?;
    let known = meant.len();
    meant.retain(|path| id_of(path).starts_with(name));
    if meant.len() > 1 {
        let error = Error::usage(format!("`{name}` begins the ids of {} saved runs", meant.len()));
        return Err(error.hint("type more of it; `cargo perfunit report --list` shows them"));
    }
    let path = meant.pop().ok_or_else(|| {
        Error::usage(format!("none of the {known} saved runs of this workspace has the id `{name}`"))
            .hint("`cargo perfunit report --list` shows them; a file is named with its folder: `./run.json`")
    })?;
    let record = read(&path)?;
    Ok((path, record))
}

/// Reads a run from its file, which may come from another machine.
pub fn read(path: &Path) -> Result<Record> {
    let text = fs::read(path)?;
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
                Error::usage(format!("{} is no saved run of cargo-perfunit: {other}", path.display()))
                    .hint("saved runs are the `run.json` below `target/perfunit/runs`")
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

/// The files of all saved runs, the last one last.
pub fn all(ours: &Path) -> Result<Vec<PathBuf>> {
    let folders = fs::list_dir(&folder(ours))?.into_iter();
    let files = folders.filter(|folder| is_id(&name(folder))).map(|folder| folder.join(FILE));
    // A run that could not be written down, on a full disk for one, has left its folder only.
    Ok(files.filter(|file| file.is_file()).collect())
}

/// The id of a run, given its file below `runs`.
pub fn id_of(path: &Path) -> String {
    path.parent().map(name).unwrap_or_default()
}

fn folder(ours: &Path) -> PathBuf {
    ours.join("runs")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The last digits of an id count these.
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 0x1_0000 + 1);

/// The second, and the part of it in 65,536ths, so that ids sort by time.
fn id(moment: SystemTime) -> String {
    let nanos = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    format!("{}-{:04x}", date::stamp(moment), (u64::from(nanos) << 16) / 1_000_000_000)
}

/// Other files are not ours to read or remove.
fn is_id(name: &str) -> bool {
    name.len() == id(UNIX_EPOCH).len() && name.starts_with(|c: char| c.is_ascii_digit()) && name.contains("Z-")
}

/// Whatever the clock says, the run with this id stays.
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
