//! Git LFS: small pointer files in the repository that stand for large files stored elsewhere.
//!
//! libgit2 does not run filters of other programs, so we resolve the pointers ourselves, without network access: first
//! in the store of git-lfs, then in the working tree if its file is unmodified. A pointer that cannot be resolved stays
//! in place, with a warning.

use super::files::{Entry, FileSet, Mode, Source};
use super::{Repository, problem};
use git2::{ObjectType, Oid};
use perfunit_model::Warning;
use perfunit_model::error::Result;
use std::path::{Path, PathBuf};

/// Maximum size of a pointer file in the specification.
const LONGEST_POINTER: usize = 1024;

/// Content of a pointer file (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).
#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    /// SHA-256 of the content, in hex.
    sha256: String,
    /// Size in bytes.
    size: u64,
}

impl Pointer {
    fn parse(text: &[u8]) -> Option<Pointer> {
        let text = std::str::from_utf8(text).ok()?;
        let mut lines = text.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        if !version.starts_with("https://git-lfs.github.com/spec/")
            && !version.starts_with("https://hawser.github.com/spec/")
        {
            return None;
        }
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let sha256 = value("oid sha256:")?;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then_some(Pointer { sha256: sha256.to_owned(), size: value("size ")?.parse().ok()? })
    }

    /// Parses the pointer in a blob, if it holds one.
    fn of_blob(repository: &git2::Repository, id: Oid) -> Option<Pointer> {
        let (size, _) = repository.odb().ok()?.read_header(id).ok()?;
        if size > LONGEST_POINTER {
            return None;
        }
        Pointer::parse(repository.find_blob(id).ok()?.content())
    }

    /// Checks whether a file can be the pointer's target.
    fn fits(&self, file: &Path) -> bool {
        file.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == self.size)
    }

    /// Finds the target in the store of git-lfs.
    fn find_in_store(&self, repository: &git2::Repository) -> Option<PathBuf> {
        let configured = repository.config().and_then(|config| config.get_path("lfs.storage")).ok();
        // A relative `lfs.storage` is relative to the git folder; `join` keeps an absolute path as it is.
        let store = repository.commondir().join(configured.as_deref().unwrap_or(Path::new("lfs")));
        let file = store.join("objects").join(&self.sha256[..2]).join(&self.sha256[2..4]).join(&self.sha256);
        self.fits(&file).then_some(file)
    }
}

/// Checks whether a file that looks modified is the target of the committed pointer. If git-lfs has no copy to compare
/// with, equal size suffices.
pub(super) fn is_checked_out(repository: &git2::Repository, committed: Oid, file: &Path) -> bool {
    Pointer::of_blob(repository, committed).is_some_and(|pointer| {
        pointer.fits(file) && pointer.find_in_store(repository).is_none_or(|stored| has_content_of(file, &stored))
    })
}

/// Checks whether two files have the same content.
fn has_content_of(one: &Path, other: &Path) -> bool {
    let hash = |path| Oid::hash_file(ObjectType::Blob, path).ok();
    hash(one).is_some_and(|id| hash(other) == Some(id))
}

/// Replaces each pointer by its target, in versions with attributes that mention LFS.
pub(super) fn replace_pointers(repository: &Repository, files: &mut FileSet) -> Result<()> {
    if !uses_lfs(repository, files)? {
        return Ok(());
    }
    let mut missing = 0;
    for (path, entry) in &mut files.entries {
        if entry.mode == Mode::Symlink || entry.source != Source::ObjectDatabase {
            continue;
        }
        let Some(pointer) = Pointer::of_blob(&repository.inner, entry.id) else { continue };
        match pointer.find_in_store(&repository.inner).or_else(|| find_unmodified(repository, path, entry, &pointer)) {
            Some(file) => {
                entry.id = Oid::hash_file(ObjectType::Blob, &file)
                    .map_err(problem::git_error(format!("read {}", file.display())))?;
                entry.source = Source::Disk(file);
            }
            None => missing += 1,
        }
    }
    if missing > 0 {
        files.warnings.push(Warning::MissingLfsFiles { files: missing });
    }
    Ok(())
}

fn uses_lfs(repository: &Repository, files: &FileSet) -> Result<bool> {
    let attributes = files.entries.iter().filter(|(path, _)| path.ends_with(".gitattributes"));
    for (path, entry) in attributes {
        if repository.read(entry, path)?.windows(10).any(|text| text == b"filter=lfs") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the file of the working tree, if HEAD has the same pointer and the file can be its target.
fn find_unmodified(repository: &Repository, path: &Path, entry: &Entry, pointer: &Pointer) -> Option<PathBuf> {
    let head = repository.inner.head().ok()?.peel_to_tree().ok()?;
    let same = head.get_path(path).ok()?.id() == entry.id;
    let file = repository.root().join(path);
    (same && pointer.fits(&file)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_told_from_text() {
        let hash = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 12345\n");
        assert_eq!(Pointer::parse(text.as_bytes()), Some(Pointer { sha256: hash.to_owned(), size: 12_345 }));
        assert_eq!(Pointer::parse(b"version 1\nsize 3\n"), None);
        assert_eq!(Pointer::parse(text.replace(hash, "../..").as_bytes()), None);
        assert_eq!(Pointer::parse(b"\xff"), None);
    }
}
