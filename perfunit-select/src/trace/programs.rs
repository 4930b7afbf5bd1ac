//! The programs that a test may start, and how to recognize them in a process.
//!
//! A program is identified by the executed file, not by the path or variable that led to it: by device and inode, and
//! by content if a test started a copy. A run fails to give a result if it executes a file that is neither known nor
//! older than the runs.

use super::failure::TraceFailure;
use super::places::{FileId, Places};
use crate::target_code::Unlocated;
use perfunit_model::error::Result;
use perfunit_system::cache::KeyBuilder;
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file that processes may execute.
#[derive(Debug, Clone)]
pub(super) struct ProgramFile {
    path: PathBuf,
    pub id: FileId,
    length: u64,
    /// Hash of the content, if the file must not be opened during runs.
    content: Option<String>,
}

impl ProgramFile {
    pub fn at(path: &Path) -> Result<Self> {
        let data = fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), id: FileId::from(&data), length: data.len(), content: None })
    }

    /// Returns true if an executed file of this length is this one or a copy of it. `link` is a link to the executed
    /// file.
    pub fn is_same(&self, id: FileId, length: u64, link: &Path) -> bool {
        let is_copy = || match &self.content {
            Some(own) => content(link).is_ok_and(|content| content == *own),
            None => fs::same_content(&self.path, link).unwrap_or(false),
        };
        id == self.id || (length == self.length && is_copy())
    }
}

fn content(path: &Path) -> Result<String> {
    Ok(KeyBuilder::default().with_file(path)?.finish())
}

/// A program that differs between the versions.
#[derive(Debug, Clone)]
pub(super) struct ChangedProgram {
    pub name: String,
    pub path: PathBuf,
    pub file: ProgramFile,
    /// Address of the first instruction, as linked.
    pub entry: u64,
    /// Addresses and symbols of the functions where the versions can begin to differ, or the reason why they are not
    /// known.
    pub watched: std::result::Result<BTreeMap<u64, String>, TraceFailure>,
}

/// The programs of a side, without the test executable. None are known by default.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    pub(super) changed: Vec<ChangedProgram>,
    /// Programs that do not differ, and the stand-ins for all of them.
    pub(super) same: Vec<ProgramFile>,
    /// Folders with built programs. Executing an unknown program from them makes a run inconclusive.
    pub(super) built: Vec<PathBuf>,
    /// Time of the first run in seconds and nanoseconds, by the clock of the file system.
    pub(super) since: (i64, i64),
}

impl Programs {
    /// Returns an empty list; `fresh` is a file or folder that was created just now.
    pub fn new(fresh: &Path) -> Result<Self> {
        let data = fs::metadata(fresh)?;
        let since = (data.ctime(), data.ctime_nsec());
        Ok(Self { changed: Vec::new(), same: Vec::new(), built: Vec::new(), since })
    }

    /// Adds a folder with built programs.
    pub fn add_folder(&mut self, folder: &Path) {
        // The path as the kernel reports it.
        self.built.extend(folder.canonicalize());
    }

    /// Adds a program that does not differ.
    pub fn add_same(&mut self, path: &Path) -> Result<()> {
        self.same.push(ProgramFile::at(path)?);
        Ok(())
    }

    /// Adds a program that can begin to differ at the functions with these linker symbols, or the reason why they are
    /// not known.
    pub fn add_changed(
        &mut self,
        name: &str,
        path: &Path,
        symbols: std::result::Result<&BTreeSet<String>, Unlocated>,
    ) -> Result<()> {
        let places = Places::read(path)?;
        let name = name.to_owned();
        let watched = match symbols {
            Ok(symbols) => places
                .find(symbols)
                .map_err(|why| TraceFailure::StartsUnwatched { name: name.clone(), why: Box::new(why) }),
            Err(why) => Err(TraceFailure::StartsUnlocated { name: name.clone(), why }),
        };
        // Read before the runs, because each open of the file during a run counts.
        let file = ProgramFile { content: Some(content(path)?), ..ProgramFile::at(path)? };
        self.changed.push(ChangedProgram { name, path: path.to_owned(), file, entry: places.entry, watched });
        Ok(())
    }

    /// Returns true if no program that tests may start differs.
    pub fn is_unchanged(&self) -> bool {
        self.changed.is_empty()
    }
}
