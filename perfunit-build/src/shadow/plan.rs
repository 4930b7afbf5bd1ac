//! Plans a checkout by comparing the wanted files with the recorded and the existing ones. Pure.

use super::files::Scan;
use super::state::State;
use perfunit_project::git::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Steps of a checkout, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Files and links to remove.
    pub remove: Vec<PathBuf>,
    /// Folders to remove, inner ones first.
    pub remove_folders: Vec<PathBuf>,
    /// Files and links to write.
    pub write: Vec<PathBuf>,
    /// Paths that were changed, added or removed by others since the last checkout; empty if unknown.
    pub disturbed: Vec<PathBuf>,
}

impl Plan {
    /// Checks whether tree and records need no change.
    pub(super) fn is_empty(&self) -> bool {
        // A file that this version lacks and that was removed needs no step, but its record must be dropped.
        let is_done = self.remove.is_empty() && self.remove_folders.is_empty() && self.write.is_empty();
        is_done && self.disturbed.is_empty()
    }
}

/// Finds the steps from the existing to the wanted files.
pub(super) fn plan(wanted: &BTreeMap<PathBuf, Entry>, state: &State, scan: &Scan) -> Plan {
    let kept_folders: BTreeSet<&Path> = wanted.keys().flat_map(|path| path.ancestors().skip(1)).collect();
    let is_intact = |path: &Path| is_intact(state, scan, path);
    let is_right = |path: &Path, entry: &Entry| {
        is_intact(path)
            && state.get(path).is_some_and(|record| record.mode == entry.mode && record.id == entry.id.to_string())
    };
    Plan {
        remove: scan.files.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect(),
        remove_folders: scan
            .folders
            .iter()
            .rev()
            .filter(|path| !kept_folders.contains(path.as_path()))
            .cloned()
            .collect(),
        write: wanted.iter().filter(|(path, entry)| !is_right(path, entry)).map(|(path, _)| path.clone()).collect(),
        disturbed: if state.complete { find_disturbed(state, scan) } else { Vec::new() },
    }
}

/// Checks whether a file is the one that was written.
fn is_intact(state: &State, scan: &Scan, path: &Path) -> bool {
    state.get(path).is_some_and(|record| scan.files.get(path) == Some(&record.stamp))
}

/// Returns the paths that others changed, added or removed since the last checkout.
pub(super) fn find_disturbed(state: &State, scan: &Scan) -> Vec<PathBuf> {
    // Paths that are not UTF-8 have no record, so their changes are unknown.
    let there = scan.files.keys().filter(|path| path.to_str().is_some());
    let recorded = state.files.keys().map(PathBuf::from);
    let all: BTreeSet<PathBuf> = there.cloned().chain(recorded).collect();
    all.into_iter().filter(|path| !is_intact(state, scan, path)).collect()
}

/// Removes entries below an entry that is not a folder, because writing them would follow it.
pub(super) fn without_hidden(mut wanted: BTreeMap<PathBuf, Entry>) -> BTreeMap<PathBuf, Entry> {
    // Paths sort by component, so entries below a path follow it directly.
    let mut above: Option<PathBuf> = None;
    wanted.retain(|path, _| {
        let hidden = above.as_ref().is_some_and(|above| path.starts_with(above));
        if !hidden {
            above = Some(path.clone());
        }
        !hidden
    });
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_below_a_file_or_link() {
        let entries = ["a", "a/b", "a/b/c", "a.b", "d/e"].map(|path| (PathBuf::from(path), Entry::snapshot(*b"")));
        let left: Vec<PathBuf> = without_hidden(entries.into_iter().collect()).into_keys().collect();
        assert_eq!(left, ["a", "a.b", "d/e"].map(PathBuf::from));
    }

    #[test]
    fn folders_are_removed_inner_ones_first() {
        let scan = Scan { folders: ["a", "a/b", "c", "c/d"].map(PathBuf::from).into(), ..Scan::default() };
        let wanted = BTreeMap::from([(PathBuf::from("c/file"), Entry::snapshot(*b""))]);
        let plan = plan(&wanted, &State::unknown(), &scan);
        assert_eq!(plan.remove_folders, ["c/d", "a/b", "a"].map(PathBuf::from));
        assert_eq!(plan.write, [PathBuf::from("c/file")]);
    }
}
