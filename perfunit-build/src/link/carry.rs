//! Takes the kept inputs of an executable from cargo's folder to a side's.

use super::record::{Input, LinkRecord, folder_of};
use perfunit_model::error::Result;
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Puts the kept inputs of an executable or library that rustc wrote into a side's folder. Returns `None` if there are
/// none, or if they are those of another link.
pub fn carry(executable: &Path, place: PathBuf) -> Result<Option<PathBuf>> {
    match record_of(executable) {
        Some(record) => carry_record(&record, place).map(Some),
        None => Ok(None),
    }
}

/// The record of the link that the executable came out of.
fn record_of(executable: &Path) -> Option<LinkRecord> {
    LinkRecord::load(&folder_of(executable)).ok().filter(|record| record.belongs_to(executable))
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

#[cfg(test)]
mod tests {
    use super::super::arguments::Scope;
    use super::super::record::{Argument, InputKind, Named, Output, VERSION};
    use super::*;
    use std::collections::BTreeMap;

    /// An executable in `deps` with a record of its link, whose one object rustc has left behind.
    fn linked(dir: &Path) -> PathBuf {
        let executable = dir.join("deps/own_name-0123456789abcdef");
        fs::write(&executable, "executable").unwrap();
        let (object, folder) = (dir.join("deps/a.rcgu.o"), folder_of(&executable));
        fs::write(&object, "object").unwrap();
        fs::link_or_copy(&object, &folder.join("0000-a.rcgu.o")).unwrap();
        let record = LinkRecord {
            version: VERSION,
            linker: "cc".to_owned(),
            cwd: dir.to_owned(),
            env: BTreeMap::new(),
            arguments: vec![Argument { scope: Scope::Program, text: String::new(), names: Some(Named::Input(0)) }],
            inputs: vec![Input { kind: InputKind::Object, path: object, kept: Some("0000-a.rcgu.o".to_owned()) }],
            output: Output::of(&executable).unwrap(),
            incomplete: None,
            folder: PathBuf::new(),
        };
        record.save(&folder).unwrap();
        executable
    }

    #[test]
    fn what_rustc_writes_again_does_not_change_a_side() {
        let dir = tempfile::tempdir().unwrap();
        let executable = linked(dir.path());
        let place = carry(&executable, dir.path().join("side")).unwrap().unwrap();
        fs::write(&dir.path().join("deps/a.rcgu.o"), "another").unwrap();
        let record = LinkRecord::load(&place).unwrap();
        assert_eq!(fs::read_to_string(&record.inputs()[0]).unwrap(), "object");
    }

    #[test]
    fn another_executable_has_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let executable = linked(dir.path());
        fs::write(&executable, "of another link").unwrap();
        assert_eq!(carry(&executable, dir.path().join("side")).unwrap(), None);
    }
}
