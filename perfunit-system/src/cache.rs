//! Content hashes, the user's cache folder, and private folders.

use crate::fs;
use crate::interrupt;
use crate::json;
use crate::os;
use crate::os::unix::fs::{DirBuilderExt, MetadataExt};
use perfunit_model::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time between two attempts to lock a file.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Builder of a key from content. Equal parts in equal order give the same key on every machine.
#[derive(Debug, Default)]
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Adds a part. Its length is included, so that parts cannot run into each other.
    #[must_use]
    pub fn with(mut self, part: impl AsRef<[u8]>) -> Self {
        let part = part.as_ref();
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part);
        self
    }

    /// Adds the content of a file, which may be too large for memory.
    pub fn with_file(mut self, path: &Path) -> Result<Self> {
        let length = fs::metadata(path)?.len();
        self.0.update(&length.to_le_bytes()).update_reader(fs::open(path)?).map_err(fs::io_error("read", path))?;
        Ok(self)
    }

    pub fn finish(&self) -> String {
        digits(self.0.finalize())
    }
}

/// Returns a hash of these bytes as 16 hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    digits(blake3::hash(bytes))
}

fn digits(hash: blake3::Hash) -> String {
    hash.to_hex()[..16].to_owned()
}

/// Returns the folder for files that are built once per toolchain: the user's cache folder, or a folder in `fallback`
/// (below the target folder) if that is not writable. Programs are run from it, so no other user may be able to write
/// to it.
pub fn folder(fallback: &Path) -> Result<PathBuf> {
    if let Some(dir) = users_folder()? {
        return Ok(dir);
    }
    let dir = fallback.join("cache");
    private_dir(&dir)?;
    trust(&dir)?;
    Ok(dir)
}

/// Returns `PERFUNIT_CACHE_DIR`, else `XDG_CACHE_HOME`, else `~/.cache`; `None` if it is not writable.
pub fn users_folder() -> Result<Option<PathBuf>> {
    let chosen = chosen_folder(&|name| std::env::var_os(name).map(PathBuf::from))?;
    let chosen = chosen.filter(|dir| private_dir(dir).is_ok() && os::is_writable(dir));
    chosen.map(|dir| trust(&dir).map(|()| dir)).transpose()
}

/// Returns the folder that these variables choose. A relative path would be in the user's tree.
fn chosen_folder(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Option<PathBuf>> {
    let named = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(dir) = named("PERFUNIT_CACHE_DIR") {
        if dir.is_relative() {
            return Err(Error::usage(format!("PERFUNIT_CACHE_DIR is a relative path: {}", dir.display()))
                .hint("set it to an absolute path, outside of the working tree"));
        }
        return Ok(Some(dir));
    }
    // The XDG base directory specification says to ignore relative paths.
    let absolute = |name: &str| named(name).filter(|path| path.is_absolute());
    let of_xdg = absolute("XDG_CACHE_HOME").map(|dir| dir.join("cargo-perfunit"));
    Ok(of_xdg.or_else(|| absolute("HOME").map(|dir| dir.join(".cache/cargo-perfunit"))))
}

/// Refuses a folder in which another user could place programs that we would run.
pub fn trust(dir: &Path) -> Result<()> {
    // Check a link as well as its target, because the link's owner can change it.
    for data in [dir.symlink_metadata(), dir.metadata()] {
        let data = data.map_err(fs::io_error("look at", dir))?;
        let mode = if data.is_symlink() { 0 } else { data.mode() };
        if let Some(why) = distrust(data.uid(), mode, os::user()) {
            return Err(Error::setup(format!("refusing to run programs from the folder {}: {why}", dir.display()))
                .hint("make yourself the owner and only writer (chown, chmod go-w), or set PERFUNIT_CACHE_DIR to another folder"));
        }
    }
    Ok(())
}

/// Returns the reason why a file with this owner and mode is not safe. Root can write everything anyway.
fn distrust(owner: u32, mode: u32, us: u32) -> Option<String> {
    if owner != us && owner != 0 {
        return Some(format!("it belongs to another user (ID {owner}, yours is {us})"));
    }
    (mode & 0o022 != 0).then(|| format!("other users can write to it (mode {:o})", mode & 0o7777))
}

/// Creates a folder that only this user can enter.
pub fn private_dir(dir: &Path) -> Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::setup(format!("cannot create the folder {}: {error}", dir.display()))
                .hint("choose a writable folder with --target-dir or CARGO_TARGET_DIR"))
        }
        _ if dir.is_dir() => Ok(()),
        _ => Err(Error::setup(format!("{} is not a folder", dir.display()))),
    }
}

/// Creates an empty folder that only this user can enter, removing older content.
pub fn empty_private_dir(dir: &Path) -> Result<()> {
    fs::remove_dir_all(dir)?;
    private_dir(dir)
}

/// Returns the folder for temporary files in our state folder.
pub fn temporary(ours: &Path) -> PathBuf {
    ours.join("tmp")
}

/// Locks a file until the handle is dropped, and waits for other processes that have it. The lock saves work that would be
/// done twice: `None` where files cannot be locked.
pub fn lock(path: &Path) -> Result<Option<File>> {
    let Ok(file) = File::create(path) else { return Ok(None) };
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            // Polls, because Ctrl-C must be able to end the wait.
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
        }
        interrupt::check()?;
    }
}

/// Reads a stored result and marks it as used; `None` if there is none, or if it is damaged.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let found = json::read_if_understood(path)?;
    if found.is_some() {
        touch(path);
    }
    Ok(found)
}

/// Stores a result, and removes all but the `keep` most recently used results of its folder.
pub fn store(path: &Path, value: &impl Serialize, keep: usize) -> Result<()> {
    json::write(path, value)?;
    path.parent().map_or(Ok(()), |folder| prune(folder, keep, Duration::ZERO))
}

/// Marks an entry as used, for [`prune`].
pub fn touch(path: &Path) {
    if let Ok(handle) = File::open(path) {
        // A read-only cache is never pruned either.
        let _ = handle.set_modified(std::time::SystemTime::now());
    }
}

/// Removes all but the `keep` most recently used entries of a folder, except those used within `spared`, which another
/// run may need.
pub fn prune(dir: &Path, keep: usize, spared: Duration) -> Result<()> {
    let mut entries: Vec<_> = fs::list_dir(dir)?
        .into_iter()
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    entries.sort();
    let surplus = entries.len().saturating_sub(keep);
    let unused = |time: &SystemTime| time.elapsed().is_ok_and(|age| age >= spared);
    for (_, path) in entries.into_iter().take(surplus).filter(|(time, _)| unused(time)) {
        // Cached comparisons are files, cached sides are folders.
        if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::error::ExitCode;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let key = |parts: &[&str]| parts.iter().fold(KeyBuilder::default(), KeyBuilder::with).finish();
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }

    #[test]
    fn the_content_of_a_file_is_a_part() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "ab").unwrap();
        let key = KeyBuilder::default().with_file(file.path()).unwrap().with("c").finish();
        assert_eq!(key, KeyBuilder::default().with("ab").with("c").finish());
    }

    #[test]
    fn a_relative_path_chooses_no_folder() {
        let choose = |set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, path)| (*path).into());
            chosen_folder(&variable).map(|dir| dir.unwrap_or_default().display().to_string())
        };
        let home = ("HOME", "/h");
        assert_eq!(choose(&[("PERFUNIT_CACHE_DIR", "/a"), ("XDG_CACHE_HOME", "/b"), home]).unwrap(), "/a");
        assert_eq!(choose(&[("PERFUNIT_CACHE_DIR", ""), ("XDG_CACHE_HOME", "/b"), home]).unwrap(), "/b/cargo-perfunit");
        assert_eq!(choose(&[("XDG_CACHE_HOME", "b"), home]).unwrap(), "/h/.cache/cargo-perfunit");
        assert_eq!(choose(&[("XDG_CACHE_HOME", "b"), ("HOME", ".")]).unwrap(), "");
        let error = choose(&[("PERFUNIT_CACHE_DIR", "a"), home]).unwrap_err();
        assert_eq!(error.code(), ExitCode::Usage);
        assert!(error.to_string().contains("PERFUNIT_CACHE_DIR is a relative path: a\nhint: "), "{error}");
    }

    #[test]
    fn what_others_could_write_is_not_trusted() {
        assert_eq!(distrust(1000, 0o40700, 1000), None);
        assert_eq!(distrust(1000, 0o100_755, 1000), None);
        assert_eq!(distrust(0, 0o40755, 1000), None);
        assert!(distrust(1001, 0o40700, 1000).unwrap().contains("another user (ID 1001, yours is 1000)"));
        assert!(distrust(1001, 0o40700, 0).unwrap().contains("another user"));
        assert!(distrust(1000, 0o40775, 1000).unwrap().contains("other users can write to it (mode 775)"));
        assert!(distrust(1000, 0o41777, 1000).unwrap().contains("(mode 1777)"));
    }

    #[test]
    fn a_link_is_trusted_if_what_it_leads_to_is() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, link) = (dir.path().join("folder"), dir.path().join("link"));
        private_dir(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        trust(&link).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        for path in [folder, link] {
            let error = trust(&path).unwrap_err().to_string();
            assert!(error.contains("other users can write to it (mode 777)") && error.contains("hint: "), "{error}");
        }
    }

    #[test]
    fn a_lock_is_held_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path).unwrap().unwrap();
        let has_begun = std::sync::Barrier::new(2);
        let is_free = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                has_begun.wait();
                let locked = lock(&path).unwrap();
                (locked.is_some(), is_free.load(std::sync::atomic::Ordering::SeqCst))
            });
            has_begun.wait();
            is_free.store(true, std::sync::atomic::Ordering::SeqCst);
            drop(held);
            assert_eq!(other.join().unwrap(), (true, true));
        });
        // Without a place for the file there is no lock.
        assert!(lock(&dir.path().join("missing/lock")).unwrap().is_none());
    }

    #[test]
    fn pruning_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        for (age, name) in [(30, "old"), (20, "middle"), (10, "new")] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
            std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
        }
        prune(dir.path(), 1, Duration::from_mins(1)).unwrap();
        assert_eq!(fs::list_dir(dir.path()).unwrap().len(), 3);
        prune(dir.path(), 1, Duration::ZERO).unwrap();
        assert_eq!(fs::list_dir(dir.path()).unwrap(), [dir.path().join("new")]);
    }

    #[test]
    fn files_are_pruned_like_folders() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["one.json", "two.json", "three.json"] {
            fs::write(&dir.path().join(name), "{}").unwrap();
        }
        prune(dir.path(), 1, Duration::ZERO).unwrap();
        assert_eq!(fs::list_dir(dir.path()).unwrap().len(), 1);
    }
}
