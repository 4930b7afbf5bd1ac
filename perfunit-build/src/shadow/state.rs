//! Records of the tree's files, stored next to it between runs.

use super::files::Stamp;
use perfunit_model::error::Result;
use perfunit_project::git::Mode;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the file format. A file of another version is ignored.
const VERSION: u32 = 1;

/// Record of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Blob hash of the written content.
    pub id: String,
    pub mode: Mode,
    /// Metadata after writing.
    pub stamp: Stamp,
}

/// Records of all files, by path relative to the tree. Paths that are not UTF-8 have no record, so those files are
/// written at each checkout.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// True if the last checkout finished.
    pub complete: bool,
    pub files: BTreeMap<String, Record>,
}

impl State {
    pub(super) fn unknown() -> State {
        State { version: VERSION, complete: false, files: BTreeMap::new() }
    }

    /// Reads the records. Returns empty ones if the file is missing, damaged or of another version.
    pub(super) fn load(path: &Path) -> Result<State> {
        let state = json::read_if_understood(path)?.filter(|state: &State| state.version == VERSION);
        Ok(state.unwrap_or_else(State::unknown))
    }

    /// Replaces the file atomically.
    pub(super) fn save(&self, path: &Path) -> Result<()> {
        json::write(path, self)
    }

    /// Returns the record of a file.
    pub(super) fn get(&self, path: &Path) -> Option<&Record> {
        self.files.get(path.to_str()?)
    }

    pub(super) fn remove(&mut self, path: &Path) {
        if let Some(path) = path.to_str() {
            self.files.remove(path);
        }
    }

    pub(super) fn insert(&mut self, path: &Path, record: Record) {
        if let Some(path) = path.to_str() {
            self.files.insert(path.to_owned(), record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_or_foreign_file_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.json");
        assert_eq!(State::load(&path).unwrap(), State::unknown());
        let known = State { complete: true, ..State::unknown() };
        known.save(&path).unwrap();
        assert_eq!(State::load(&path).unwrap(), known);
        for text in ["", "{\"version\":1,\"compl", "{\"version\":0,\"complete\":true,\"files\":{}}"] {
            perfunit_system::fs::write(&path, text).unwrap();
            assert_eq!(State::load(&path).unwrap(), State::unknown(), "{text}");
        }
    }
}
