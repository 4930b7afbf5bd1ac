//! The files of programs that tests start, which the sides exchange between pairs.
//!
//! The time of a process depends on the memory in which the system caches its executable: two copies of one program were
//! measured 10 % apart, and stay so. A file that is overwritten keeps its memory. Therefore each side's programs are in
//! one of two sets of files, and change places before every other pair. In two consecutive pairs the effect of the files
//! has opposite signs. Only the part of a program that the system loads is overwritten, where that is possible.

use super::loaded_part::Arrangement;
use perfunit_build::SideBuild;
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_system::fs;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The programs of both sides.
#[derive(Debug)]
pub struct ProgramFiles {
    /// Links to the set of files that belongs to the side at the moment.
    folders: Sides<PathBuf>,
    sets: [PathBuf; 2],
    /// The programs that differ between the sides.
    differing: Vec<Program>,
    /// True if base's programs are in the second set.
    is_exchanged: Cell<bool>,
}

impl ProgramFiles {
    /// Copies the programs to a folder of the run. Returns `None` if there are none.
    pub fn prepare(folder: &Path, sides: &Sides<SideBuild>) -> Result<Option<Self>> {
        let binaries = sides.as_ref().try_map(|_, side| side.binaries())?;
        let kept = sides.as_ref().map(|side| side.folder.clone());
        Self::of(folder, &kept, &binaries.map(|paths| names(&paths)))
    }

    fn of(folder: &Path, kept: &Sides<PathBuf>, names: &Sides<BTreeSet<OsString>>) -> Result<Option<Self>> {
        let all = names.base.union(&names.head);
        let is_equal = |name: &&OsString| -> Result<bool> {
            let is_on_both = names.base.contains(*name) && names.head.contains(*name);
            Ok(is_on_both && fs::same_content(&kept.base.join(name), &kept.head.join(name))?)
        };
        let (mut equal, mut differing) = (Vec::new(), Vec::new());
        for name in all {
            if is_equal(&name)? {
                equal.push(name);
            } else {
                differing.push(Program::of(name, kept)?);
            }
        }
        if equal.is_empty() && differing.is_empty() {
            return Ok(None);
        }
        fs::remove_dir_all(folder)?;
        let sets = ["first", "other"].map(|name| folder.join(name));
        for set in &sets {
            fs::create_dir_all(set)?;
            // Equal programs are in one file for both sides.
            equal.iter().try_for_each(|name| fs::link_or_copy(&kept.base.join(name), &set.join(name)))?;
        }
        let folders = Sides { base: folder.join("base"), head: folder.join("head") };
        let files = Self { folders, sets, differing, is_exchanged: Cell::new(false) };
        files.fill()?;
        Ok(Some(files))
    }

    /// Returns whether programs differ, so that their files have to be exchanged.
    pub fn differ(&self) -> bool {
        !self.differing.is_empty()
    }

    /// Returns the folder in which the processes of a side find the programs.
    pub fn folder(&self, side: Side) -> &Path {
        self.folders.get(side)
    }

    /// Gives base the second set of files, or the first one. None of the programs may be running.
    pub fn exchange(&self, exchanged: bool) -> Result<()> {
        if self.is_exchanged.replace(exchanged) == exchanged { Ok(()) } else { self.fill() }
    }

    /// Writes the programs of each side to its set.
    fn fill(&self) -> Result<()> {
        // What is written last is in the caches: in the order of the sets, so that this changes sides, too.
        for (index, set) in self.sets.iter().enumerate() {
            let side = if (index == 0) == self.is_exchanged.get() { Side::Head } else { Side::Base };
            self.differing.iter().try_for_each(|program| program.put(set, side))?;
            fs::replace_link(self.folder(side), Path::new(set.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }
}

/// A program that differs between the sides, or exists on one side only.
#[derive(Debug)]
struct Program {
    name: OsString,
    /// The file in which the program of a side is kept.
    kept: Sides<Option<PathBuf>>,
    /// Present if the loaded part can be overwritten alone.
    arrangement: Option<Arrangement>,
}

impl Program {
    fn of(name: &OsStr, folders: &Sides<PathBuf>) -> Result<Self> {
        let kept = folders.as_ref().map(|folder| Some(folder.join(name)).filter(|path| path.exists()));
        let arrangement = match kept.as_ref().map(Option::as_ref) {
            Sides { base: Some(base), head: Some(head) } => {
                Arrangement::of(Sides { base: &fs::read(base)?, head: &fs::read(head)? })
            }
            _ => None,
        };
        Ok(Self { name: name.to_owned(), kept, arrangement })
    }

    /// Makes the file in this folder a side's program.
    fn put(&self, folder: &Path, side: Side) -> Result<()> {
        let place = folder.join(&self.name);
        let Some(kept) = self.kept.get(side) else { return fs::remove_file(&place) };
        let (Some(arrangement), Sides { base: Some(base), head: Some(head) }) = (&self.arrangement, &self.kept) else {
            return fs::overwrite(&place, &fs::read(kept)?);
        };
        let loaded = fs::read_start(kept, arrangement.loaded_len(side))?;
        if fs::overwrite_start(&place, &arrangement.start(side, &loaded), arrangement.length)? {
            return Ok(());
        }
        let programs = Sides { base: fs::read(base)?, head: fs::read(head)? };
        fs::overwrite(&place, &arrangement.whole(side, programs.as_ref().map(Vec::as_slice)))
    }
}

fn names(paths: &[PathBuf]) -> BTreeSet<OsString> {
    paths.iter().filter_map(|path| path.file_name()).map(OsStr::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// Returns the files of sides with the program `program` of these contents, an equal one, and `new` on head.
    fn files(folder: &Path, programs: Sides<&str>) -> ProgramFiles {
        let kept = Sides { base: folder.join("b"), head: folder.join("h") };
        for side in Side::BOTH {
            fs::write(&kept.get(side).join("program"), programs.get(side)).unwrap();
            fs::write(&kept.get(side).join("equal"), "equal").unwrap();
        }
        fs::write(&kept.head.join("new"), "new").unwrap();
        let names = |names: &[&str]| names.iter().map(OsString::from).collect();
        let names = Sides { base: names(&["equal", "program"]), head: names(&["equal", "new", "program"]) };
        ProgramFiles::of(&folder.join("run"), &kept, &names).unwrap().unwrap()
    }

    #[test]
    fn the_sides_exchange_their_files_and_keep_their_programs() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), Sides { base: "of base, longer", head: "of head" });
        let inode = |side: Side, name: &str| files.folder(side).join(name).metadata().unwrap().ino();
        let first = Side::BOTH.map(|side| inode(side, "program"));
        for exchanged in [false, true, true, false] {
            files.exchange(exchanged).unwrap();
            let programs = Side::BOTH.map(|side| fs::read(&files.folder(side).join("program")).unwrap());
            assert_eq!(programs, [b"of base, longer".to_vec(), b"of head".to_vec()]);
            let mut now = Side::BOTH.map(|side| inode(side, "program"));
            if exchanged {
                now.reverse();
            }
            assert_eq!(now, first);
            assert_eq!(inode(Side::Base, "equal"), inode(Side::Head, "equal"));
            assert_eq!(Side::BOTH.map(|side| files.folder(side).join("new").exists()), [false, true]);
        }
    }

    #[test]
    fn equal_programs_are_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), Sides { base: "of both", head: "of both" });
        let inodes = Side::BOTH.map(|side| files.folder(side).join("program").metadata().unwrap().ino());
        assert_eq!(inodes[0], inodes[1]);
        assert_eq!(files.differing.iter().map(|program| &program.name).collect::<Vec<_>>(), ["new"]);
    }
}
