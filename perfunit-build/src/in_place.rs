//! Provides the `OUT_DIR` folders of a side while tests of that side run.
//!
//! If the copies of the sides differ, a symbolic link replaces the folder. It leads through a file descriptor that
//! each process inherits for the folder of its own side.

use super::out_dir_files::FOLDER;
use super::side_build::SideBuild;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Side, Sides};
use perfunit_system::fs;
use perfunit_system::json;
use perfunit_system::os::{Folder, Inherited};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Suffix of a folder that a link replaces.
const ASIDE: &str = ".perfunit-aside";
/// List of the replaced folders. If a run is killed, the next run restores them.
const JOURNAL: &str = "out-dirs.json";

/// Guard during which processes of a side find that side's build script output in `OUT_DIR`.
#[derive(Debug)]
pub struct InPlace {
    journal: PathBuf,
    set_aside: Vec<PathBuf>,
    folders: Option<Sides<Folder>>,
}

impl InPlace {
    /// Replaces each folder that does not have the content of both sides by a link.
    pub fn put(sides: &Sides<SideBuild>, ours: &Path) -> Result<Self> {
        let mut this = Self { journal: put_back(ours)?, set_aside: Vec::new(), folders: None };
        let made = sides.as_ref().map(|side| &side.inputs.made);
        let places: BTreeSet<&PathBuf> = made.base.keys().chain(made.head.keys()).collect();
        let mut links = Vec::new();
        for place in places {
            let both = [made.base.get(place), made.head.get(place)];
            let mut copies = both.into_iter().flatten();
            if copies.try_fold(true, |same, copy| Ok(same && copy.is_in(place)?))? {
                continue;
            }
            let Some(copy) = both.into_iter().flatten().next() else { continue };
            let name = copy.copy.file_name().unwrap_or_default();
            links.push((place.clone(), Path::new(Folder::PLACE).join(name)));
        }
        if links.is_empty() {
            return Ok(this);
        }
        json::write(&this.journal, &links.iter().map(|(place, _)| place).collect::<Vec<_>>())?;
        for (place, target) in links {
            match place.parent() {
                Some(parent) if !place.exists() => fs::create_dir_all(parent)?,
                _ => fs::rename(&place, &fs::with_ending(&place, ASIDE))?,
            }
            this.set_aside.push(place.clone());
            perfunit_system::os::unix::fs::symlink(target, &place).map_err(fs::io_error("link", &place))?;
        }
        let open = |side: Side| {
            let folder = sides.get(side).folder.join(FOLDER);
            fs::create_dir_all(&folder)?;
            Folder::open(&folder).map_err(|error| Error::setup(format!("cannot open {}: {error}", folder.display())))
        };
        this.folders = Some(Sides { base: open(Side::Base)?, head: open(Side::Head)? });
        Ok(this)
    }

    /// Makes processes that start before the result is dropped belong to this side.
    pub fn enter(&self, side: Side) -> Result<Entered> {
        let Some(folders) = &self.folders else { return Ok(Entered { _descriptor: None }) };
        let copy = folders.get(side).hand_over();
        copy.map(|copy| Entered { _descriptor: Some(copy) })
            .map_err(|error| Error::setup(format!("cannot hand over a folder: {error}")))
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        if !self.set_aside.is_empty() && self.set_aside.iter().try_for_each(|place| restore(place)).is_ok() {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

#[derive(Debug)]
pub struct Entered {
    _descriptor: Option<Inherited>,
}

/// Restores what a killed run left, and returns the path of the journal.
pub(super) fn put_back(ours: &Path) -> Result<PathBuf> {
    let journal = ours.join(JOURNAL);
    let places: Vec<PathBuf> = json::read_if_understood(&journal)?.unwrap_or_default();
    places.iter().try_for_each(|place| restore(place))?;
    fs::remove_file(&journal)?;
    Ok(journal)
}

fn restore(place: &Path) -> Result<()> {
    if place.is_symlink() {
        fs::remove_file(place)?;
    }
    let aside = fs::with_ending(place, ASIDE);
    if aside.exists() { fs::rename(&aside, place) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inputs, OutDirFiles};
    use std::collections::BTreeMap;
    use std::process::Command;

    /// Builds two sides that left these words in the same `OUT_DIR`, one after the other.
    fn built(ours: &Path, out_dir: &Path, words: [&str; 2]) -> Sides<SideBuild> {
        let side = |name: &str, words: &str| {
            fs::write(&out_dir.join("tables/words"), words).unwrap();
            fs::write(&out_dir.join("generated.rs"), words).unwrap();
            fs::write(&out_dir.join("part.o"), words).unwrap();
            let compiled = BTreeSet::from([out_dir.join("generated.rs").to_string_lossy().into_owned()]);
            let folder = ours.join("sides").join(name);
            let made = OutDirFiles::keep(out_dir, &folder, &compiled).unwrap();
            let inputs = Inputs { made: BTreeMap::from([(out_dir.to_owned(), made)]), ..Inputs::default() };
            SideBuild::of(folder, inputs)
        };
        Sides { base: side("base", words[0]), head: side("head", words[1]) }
    }

    fn read_by(side: Side, in_place: &InPlace, file: &Path) -> String {
        let _entered = in_place.enter(side).unwrap();
        String::from_utf8(Command::new("cat").arg(file).output().unwrap().stdout).unwrap()
    }

    #[test]
    fn each_process_reads_what_was_made_for_its_side() {
        let dir = tempfile::tempdir().unwrap();
        let out_dir = dir.path().join("build/app-1f/out");
        let sides = built(dir.path(), &out_dir, ["one", "two"]);
        let made = sides.as_ref().map(|side| &side.inputs.made[&out_dir]);
        assert_eq!(made.base.differs(made.head), Some(Path::new("tables/words")));
        let file = out_dir.join("tables/words");
        let in_place = InPlace::put(&sides, dir.path()).unwrap();
        assert_eq!([Side::Base, Side::Head].map(|side| read_by(side, &in_place, &file)), ["one", "two"]);
        drop(in_place);
        assert!(!out_dir.is_symlink() && out_dir.join("part.o").is_file());
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");

        let sides = built(dir.path(), &out_dir, ["one", "one"]);
        drop(InPlace::put(&sides, dir.path()).unwrap());
        fs::write(&file, "of another version").unwrap();
        let in_place = InPlace::put(&sides, dir.path()).unwrap();
        assert_eq!(read_by(Side::Base, &in_place, &file), "one");
    }

    #[test]
    fn what_a_killed_run_left_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let out_dir = dir.path().join("build/app-1f/out");
        let sides = built(dir.path(), &out_dir, ["one", "two"]);
        std::mem::forget(InPlace::put(&sides, dir.path()).unwrap());
        assert!(out_dir.is_symlink());
        put_back(dir.path()).unwrap();
        assert!(!out_dir.is_symlink() && out_dir.join("part.o").is_file());
    }
}
