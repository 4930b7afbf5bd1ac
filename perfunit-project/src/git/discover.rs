//! The repository around a folder.

use super::filters::Filters;
use super::problem;
use perfunit_model::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// A git repository with a working tree; only ever read.
pub struct Repository {
    pub(super) inner: git2::Repository,
    root: PathBuf,
    excluded: Vec<PathBuf>,
    pub(super) filters: Filters,
}

impl Repository {
    /// Finds the repository that holds `start`, walking up as git does; a linked worktree or a submodule is its own one.
    /// `GIT_DIR` and its like count if they lead to a working tree that holds `start`.
    pub fn discover(start: &Path) -> Result<Repository> {
        accept_extensions();
        let inner = match open_from_environment(start) {
            Some(inner) => inner,
            None => git2::Repository::open_ext(start, git2::RepositoryOpenFlags::empty(), &[] as &[&Path])
                .map_err(|error| problem::not_opened(start, &error))?,
        };
        let root = inner.workdir().ok_or_else(|| problem::bare(inner.path()))?.components().collect();
        Ok(Repository { inner, root, excluded: Vec::new(), filters: Filters::default() })
    }

    /// Leaves these folders (cargo's target folder) out of every version, whether git ignores them or not.
    /// Absolute paths; those outside the repository do not matter.
    pub fn exclude(&mut self, folders: &[PathBuf]) -> Result<()> {
        for folder in folders {
            // Twice, because the folder itself may be a link to one elsewhere.
            self.exclude_one(folder)?;
            if let Ok(real) = folder.canonicalize() {
                self.exclude_one(&real)?;
            }
        }
        Ok(())
    }

    /// Leaves out what is not tracked of these files and folders, as if git ignored them: results that somebody keeps in
    /// the project are no change of it. Absolute paths; those outside of the repository do not matter.
    pub fn ignore(&mut self, paths: &[PathBuf]) -> Result<()> {
        let inside = paths.iter().filter_map(|path| path.strip_prefix(&self.root).ok()?.to_str());
        for path in inside.filter(|path| !path.is_empty()) {
            let rule = format!("{}\n", ignore_rule(path));
            self.inner.add_ignore_rule(&rule).map_err(problem::failed("ignore what we write"))?;
        }
        Ok(())
    }

    fn exclude_one(&mut self, folder: &Path) -> Result<()> {
        let Ok(relative) = folder.strip_prefix(&self.root) else { return Ok(()) };
        if relative.as_os_str().is_empty() || self.is_excluded(relative) {
            return Ok(());
        }
        // A rule held in memory keeps libgit2 from walking through the build's thousands of files.
        if let Some(rule) = relative.to_str().map(ignore_rule) {
            self.inner.add_ignore_rule(&format!("{rule}/\n")).map_err(problem::failed("ignore the target folder"))?;
        }
        self.excluded.push(relative.to_owned());
        Ok(())
    }

    /// Top folder of the working tree, absolute and without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether git tracks the file at an absolute path.
    pub fn tracks(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.root).ok();
        relative.is_some_and(|path| self.inner.index().is_ok_and(|index| index.get_path(path, 0).is_some()))
    }

    /// Whether a path relative to the root lies in an excluded folder.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.excluded.iter().any(|folder| path.starts_with(folder))
    }
}

/// Tells libgit2 that repositories with these extensions are fine to read.
///
/// `partialclone` (`git clone --filter`) only means that objects may be missing, which we report when it happens.
pub(super) fn accept_extensions() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the list is a global of libgit2. It is written here once, before this process opens any repository,
        // and only read afterwards. Failing leaves the defaults, which is harmless.
        let _ = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    });
}

fn open_from_environment(start: &Path) -> Option<git2::Repository> {
    std::env::var_os("GIT_DIR")?;
    let repository = git2::Repository::open_from_env().ok()?;
    let inside = start.canonicalize().ok()?.starts_with(repository.workdir()?);
    inside.then_some(repository)
}

/// The line of a `.gitignore` at the root that means exactly this folder.
fn ignore_rule(folder: &str) -> String {
    let mut rule = String::from("/");
    for character in folder.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            rule.push('\\');
        }
        rule.push(character);
    }
    rule
}
