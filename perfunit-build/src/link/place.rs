//! The path at which rustc finds us instead of its linker: `<wrapper's folder>/linker/<hash>/<name of the real
//! linker>`.
//!
//! Rustc infers the linker's command-line syntax from its file name, so ours has the same name. A file next to it names
//! the real linker.

use super::super::rustc_call;
use super::super::wrapper::WRAPPER_NAME;
use perfunit_model::error::{Error, Result};
use perfunit_system::os::unix::ffi::{OsStrExt, OsStringExt};
use perfunit_system::{cache, fs};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folder next to the wrapper.
const FOLDER: &str = "perfunit-linker";
/// Suffix of the file that names the real linker.
const NOTE_SUFFIX: &str = ".real";

/// Returns the linker that the user configured. Cargo turns all settings into arguments, and the last one wins.
pub fn users_linker(arguments: &[OsString]) -> Option<OsString> {
    let linkers = rustc_call::options(arguments).filter(|(name, _)| *name == "linker");
    linkers.last().map(|(_, linker)| linker.to_owned())
}

/// Links our executable under the name of a linker, on first use. Returns `None` if that fails; inputs are then not
/// stored.
pub fn place_for(wrapper_folder: &Path, linker: &OsStr) -> Option<PathBuf> {
    let name = Path::new(linker).file_name()?;
    let folder = wrapper_folder.join(FOLDER).join(cache::hash(linker.as_bytes()));
    let place = folder.join(name);
    if place.exists() {
        return Some(place);
    }
    // Many rustc processes run at the same time. Each creates its own folder, and the first one stays.
    let draft = folder.with_extension(std::process::id().to_string());
    if fill(&draft, name, linker).is_err() || fs::rename(&draft, &folder).is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    place.exists().then_some(place)
}

fn fill(draft: &Path, name: &OsStr, linker: &OsStr) -> Result<()> {
    fs::write(&fs::with_ending(&draft.join(name), NOTE_SUFFIX), linker.as_bytes())?;
    let wrapper = Path::new("../..").join(WRAPPER_NAME);
    perfunit_system::os::unix::fs::symlink(wrapper, draft.join(name)).map_err(|error| Error::setup(error.to_string()))
}

/// Checks for a path created by [`place_for`].
pub fn is_place(path: &Path) -> bool {
    path.parent().and_then(Path::parent).is_some_and(|folder| folder.ends_with(FOLDER))
}

/// Returns the wrapper's folder, and the real linker of a path.
pub fn behind(place: &Path) -> Result<(PathBuf, OsString)> {
    let linker = OsString::from_vec(fs::read(&fs::with_ending(place, NOTE_SUFFIX))?);
    let folder = place.ancestors().nth(3).unwrap_or(Path::new("/"));
    Ok((folder.to_owned(), linker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_last_linker_counts() {
        let linker = |line: &str| {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            users_linker(&arguments).map(|linker| linker.into_string().unwrap())
        };
        assert_eq!(linker("--test -C opt-level=3 -Clinker-flavor=gcc"), None);
        assert_eq!(linker("-C linker=/a/clang -Clinker=ld --test").as_deref(), Some("ld"));
        assert_eq!(linker("--codegen linker=a --codegen=linker=b").as_deref(), Some("b"));
    }

    #[test]
    fn a_place_has_the_linkers_name_and_knows_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(&dir.path().join(WRAPPER_NAME), "").unwrap();
        for linker in ["cc", "tools/cc", "/opt/clang-19"] {
            let place = place_for(dir.path(), OsStr::new(linker)).unwrap();
            assert_eq!(place.file_name(), Path::new(linker).file_name());
            assert!(is_place(&place) && place.canonicalize().unwrap().ends_with(WRAPPER_NAME));
            assert_eq!(behind(&place).unwrap(), (dir.path().to_owned(), linker.into()));
            assert_eq!(place_for(dir.path(), OsStr::new(linker)), Some(place));
        }
        assert_eq!(fs::list_dir(&dir.path().join(FOLDER)).unwrap().len(), 3);
    }
}
