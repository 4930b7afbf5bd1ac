//! The hook's files in the hooks folder.

use super::script::{Origin, Stored, origin};
use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use std::path::{Path, PathBuf};

/// Name of the hook.
const NAME: &str = "pre-push";
/// Name of a hook that existed before ours.
const BEFORE: &str = "pre-push.before-perfunit";

/// The state of a hooks folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Path of the hook.
    pub path: PathBuf,
    /// Text of the hook, decoded lossily; `None` without a hook.
    pub text: Option<String>,
    /// The hook that existed before ours.
    pub before: Option<PathBuf>,
    /// Author of the hook; `Foreign` without a hook.
    pub origin: Origin,
}

/// The result of installing the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    New,
    /// The hook was written, and runs this earlier one first.
    Before(PathBuf),
    /// The hook replaced one of ours with other options.
    Changed,
    Unchanged,
}

/// The result of removing the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    Gone,
    /// The hook was removed, and the earlier one has its name again.
    Restored,
    Nothing,
}

/// Reads the state of a hooks folder.
pub fn state(folder: &Path) -> Result<State> {
    let path = folder.join(NAME);
    // A dangling link counts as a file: it must not be overwritten.
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let bytes = fs::read_if_exists(&path)?;
    let text = match bytes {
        Some(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        None => exists(&path).then(String::new),
    };
    let origin = text.as_deref().map_or(Origin::Foreign, origin);
    let before = folder.join(BEFORE);
    Ok(State { path, text, origin, before: exists(&before).then_some(before) })
}

/// Writes the hook. A foreign hook is renamed, and ours calls it.
pub fn install(folder: &Path, stored: &Stored) -> Result<Installed> {
    let State { path, text, origin, before } = state(folder)?;
    let script = stored.script();
    match (&text, origin) {
        (Some(text), Origin::Ours) if *text == script => {
            // The mode may be lost, for example in a copy of the repository.
            fs::make_executable(&path)?;
            Ok(Installed::Unchanged)
        }
        (Some(_), Origin::Ours) => write(&path, &script).map(|()| Installed::Changed),
        (Some(_), Origin::Edited) => Err(edit_error(&path, "replaced")),
        (Some(_), Origin::Foreign) if before.is_some() => Err(Error::setup(format!(
            "{} was written by another program after `hook install`, and {BEFORE} still exists next to it",
            path.display()
        ))
        .hint(format!("merge both into one hook named {NAME}, remove {BEFORE}, and install again"))),
        (Some(_), Origin::Foreign) => {
            let before = folder.join(BEFORE);
            fs::rename(&path, &before)?;
            write(&path, &script).inspect_err(|_| {
                // Restores the hook; if that fails too, the error names the folder.
                let _ = fs::rename(&before, &path);
            })?;
            Ok(Installed::Before(before))
        }
        // A hook that remains after someone removed ours manually is called again.
        (None, _) => write(&path, &script).map(|()| before.map_or(Installed::New, Installed::Before)),
    }
}

/// Removes the hook. The earlier hook gets its name back.
pub fn uninstall(folder: &Path) -> Result<Removed> {
    let State { path, text, origin, before } = state(folder)?;
    match (text, origin, before) {
        (Some(_), Origin::Edited, _) => Err(edit_error(&path, "removed")),
        (Some(_), Origin::Ours, Some(before)) => fs::rename(&before, &path).map(|()| Removed::Restored),
        (Some(_), Origin::Ours, None) => fs::remove_file(&path).map(|()| Removed::Gone),
        (None, _, Some(before)) => fs::rename(&before, &path).map(|()| Removed::Restored),
        (Some(_), Origin::Foreign, _) | (None, _, None) => Ok(Removed::Nothing),
    }
}

fn edit_error(path: &Path, verb: &str) -> Error {
    Error::setup(format!("{} was edited since it was installed, and was not {verb}", path.display())).hint(format!(
        "move it away (`mv {} somewhere`) and repeat; {BEFORE} next to it is the earlier hook, if there was one",
        path.display()
    ))
}

fn write(path: &Path, script: &str) -> Result<()> {
    fs::write_atomically(path, script)?;
    fs::make_executable(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs as raw;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    fn sample(budget: &str) -> Stored {
        Stored { options: vec!["--budget".to_owned(), budget.to_owned()], ..Stored::default() }
    }

    /// Returns names, modes and contents; for a link, its target.
    fn contents(folder: &TempDir) -> Vec<(String, u32, Vec<u8>)> {
        let of = |path: PathBuf| {
            let data = path.symlink_metadata().unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let link = || raw::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            (name, data.permissions().mode(), if data.is_symlink() { link() } else { raw::read(&path).unwrap() })
        };
        fs::list_dir(folder.path()).unwrap().into_iter().map(of).collect()
    }

    #[test]
    fn a_hook_is_installed_once_changed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let hooks = folder.path().join("hooks");
        assert_eq!(install(&hooks, &sample("60s")).unwrap(), Installed::New);
        assert_eq!(hooks.join(NAME).metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(install(&hooks, &sample("60s")).unwrap(), Installed::Unchanged);
        assert_eq!(install(&hooks, &sample("30s")).unwrap(), Installed::Changed);
        assert!(state(&hooks).unwrap().text.unwrap().contains("--budget 30s"));
        assert_eq!(uninstall(&hooks).unwrap(), Removed::Gone);
        assert_eq!(uninstall(&hooks).unwrap(), Removed::Nothing);
        assert_eq!(fs::list_dir(&hooks).unwrap(), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn a_hook_from_before_comes_back_byte_for_byte_with_its_mode() {
        for (mode, is_link) in [(0o750, false), (0o644, false), (0o755, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(NAME);
            if is_link {
                symlink("../nowhere", &path).unwrap();
            } else {
                raw::write(&path, b"#!/bin/sh\n\xff").unwrap();
                raw::set_permissions(&path, raw::Permissions::from_mode(mode)).unwrap();
            }
            let before = contents(&folder);
            assert_eq!(install(folder.path(), &sample("60s")).unwrap(), Installed::Before(folder.path().join(BEFORE)));
            assert_eq!(install(folder.path(), &sample("60s")).unwrap(), Installed::Unchanged);
            assert_eq!(uninstall(folder.path()).unwrap(), Removed::Restored);
            assert_eq!(contents(&folder), before);
        }
    }

    #[test]
    fn an_edited_hook_stays() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), &sample("60s")).unwrap();
        let path = folder.path().join(NAME);
        raw::write(&path, raw::read_to_string(&path).unwrap() + "# mine\n").unwrap();
        let before = contents(&folder);
        for error in [install(folder.path(), &sample("30s")).unwrap_err(), uninstall(folder.path()).unwrap_err()] {
            assert!(error.to_string().contains("was edited since it was installed"), "{error}");
            assert!(error.to_string().contains("hint: move it away"), "{error}");
        }
        assert_eq!(contents(&folder), before);
    }

    #[test]
    fn a_third_hook_is_not_lost_either() {
        let folder = tempfile::tempdir().unwrap();
        raw::write(folder.path().join(NAME), "first").unwrap();
        install(folder.path(), &sample("60s")).unwrap();
        raw::write(folder.path().join(NAME), "another program's").unwrap();
        let before = contents(&folder);
        let error = install(folder.path(), &sample("60s")).unwrap_err().to_string();
        assert!(error.contains("another program") && error.contains("hint:"), "{error}");
        assert_eq!(uninstall(folder.path()).unwrap(), Removed::Nothing);
        assert_eq!(contents(&folder), before);
    }
}
