//! Takes the kept inputs of an executable from cargo's folder to a side's.

use super::record::{Input, LinkRecord, executable_of, folder_of};
use crate::error::Result;
use crate::fs;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Gives a test executable's kept inputs a place in a side's folder. None if there are none, or those of another link.
pub fn carry(executable: &Path, place: PathBuf) -> Result<Option<PathBuf>> {
    match record_of(executable) {
        Some(record) => carry_record(&record, place).map(Some),
        None => Ok(None),
    }
}

/// The same for a binary of the workspace, which cargo has given a second name: `target/release/name` for
/// `target/release/deps/name-<hash>`. `folders` are where the first may lie.
pub fn carry_binary(binary: &Path, folders: &BTreeSet<PathBuf>, place: PathBuf) -> Result<Option<PathBuf>> {
    // Cargo may leave the name with a hash only there.
    let name = binary.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    for folder in folders.iter().flat_map(|folder| fs::list_dir(folder).unwrap_or_default()) {
        let Some(executable) = executable_of(&folder) else { continue };
        let own = executable.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
        if !own.starts_with(&name) {
            continue;
        }
        let Some(record) = record_of(&executable) else { continue };
        if is_same(&executable, binary)? {
            return carry_record(&record, place).map(Some);
        }
    }
    Ok(None)
}

/// The record of the link that the executable came out of.
fn record_of(executable: &Path) -> Option<LinkRecord> {
    LinkRecord::load(&folder_of(executable)).ok().filter(|record| record.belongs_to(executable))
}

/// Cargo links hard, and copies where it cannot.
fn is_same(a: &Path, b: &Path) -> Result<bool> {
    let inode = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    Ok(inode(a).is_some_and(|one| Some(one) == inode(b)) || fs::same_content(a, b)?)
}

/// Cargo's folder keeps the files, too: the next build may find the executable fresh.
fn carry_record(record: &LinkRecord, place: PathBuf) -> Result<PathBuf> {
    for input in &record.inputs {
        let Some(name) = &input.kept else { continue };
        let (from, to) = (record.folder.join(name), place.join(name));
        if may_be_overwritten(input, &from) { fs::copy(&from, &to)? } else { fs::link_or_copy(&from, &to)? }
    }
    record.save(&place)?;
    Ok(place)
}

/// rustc removes its objects after the link; where it was told not to (`-C save-temps`) it will write the next ones into
/// the same files. Its archives it replaces.
fn may_be_overwritten(input: &Input, kept: &Path) -> bool {
    let inode = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    input.path.extension().is_none_or(|end| end != "rlib") && inode(&input.path) == inode(kept)
}
