//! Finds the repository that contains a folder.

use super::filters::Filters;
use super::problem;
use perfunit_model::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// A git repository with a working tree. It is never written.
pub struct Repository {
    pub(super) inner: git2::Repository,
    root: PathBuf,
    excluded: Vec<PathBuf>,
    pub(super) filters: Filters,
}

impl Repository {
    /// Finds the repository that contains `start`, walking up as git does. A linked worktree or a submodule is a
    /// repository of its own. `GIT_DIR` and related variables apply if they lead to a working tree that contains
    /// `start`.
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

    /// Excludes these folders (cargo's target folder) from every version, whether git ignores them or not. Paths are
    /// absolute; those outside the repository have no effect.
    pub fn exclude(&mut self, folders: &[PathBuf]) -> Result<()> {
        for folder in folders {
            // Exclude both paths, because the folder may be a symbolic link.
            self.exclude_one(folder)?;
            if let Ok(real) = folder.canonicalize() {
                self.exclude_one(&real)?;
            }
        }
        Ok(())
    }

    /// Ignores untracked files at these paths, as if git ignored them. Results that users keep in the project are not
    /// changes of it. Paths are absolute; those outside the repository have no effect.
    pub fn ignore(&mut self, paths: &[PathBuf]) -> Result<()> {
        let inside = paths.iter().filter_map(|path| path.strip_prefix(&self.root).ok()?.to_str());
        for path in inside.filter(|path| !path.is_empty()) {
            let rule = format!("{}\n", ignore_rule(path));
            self.inner.add_ignore_rule(&rule).map_err(problem::git_error("ignore our own output"))?;
        }
        Ok(())
    }

    fn exclude_one(&mut self, folder: &Path) -> Result<()> {
        let Ok(relative) = folder.strip_prefix(&self.root) else { return Ok(()) };
        if relative.as_os_str().is_empty() || self.is_excluded(relative) {
            return Ok(());
        }
        // An in-memory rule keeps libgit2 from walking through thousands of build files.
        if let Some(rule) = relative.to_str().map(ignore_rule) {
            self.inner
                .add_ignore_rule(&format!("{rule}/\n"))
                .map_err(problem::git_error("ignore the target folder"))?;
        }
        self.excluded.push(relative.to_owned());
        Ok(())
    }

    /// Returns the top folder of the working tree, absolute and without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Checks whether git tracks the file at an absolute path.
    pub fn tracks(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.root).ok();
        relative.is_some_and(|path| self.inner.index().is_ok_and(|index| index.get_path(path, 0).is_some()))
    }

    /// Checks whether a path relative to the root is in an excluded folder.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.excluded.iter().any(|folder| path.starts_with(folder))
    }
}

/// Allows libgit2 to open repositories with these extensions.
///
/// `partialclone` (`git clone --filter`) only means that objects may be missing, which we report when it happens.
pub(super) fn accept_extensions() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the list is a global of libgit2. It is written here once, before this process opens any repository,
        // and only read afterwards. On failure the defaults remain, which is harmless.
        let _ = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    });
}

fn open_from_environment(start: &Path) -> Option<git2::Repository> {
    std::env::var_os("GIT_DIR")?;
    let repository = git2::Repository::open_from_env().ok()?;
    let inside = start.canonicalize().ok()?.starts_with(repository.workdir()?);
    inside.then_some(repository)
}

/// Builds a rule for a `.gitignore` in the root that matches exactly this path.
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
