//! The repository around a folder.

use super::filters::Filters;
use super::problem;
use git2::Oid;
use perfunit_model::error::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// Variables that git sets for hooks, or that say which repository is meant: `git rev-parse --local-env-vars`. In a hook
/// they would make every git that a build script or a test starts work on the repository that is being pushed.
pub const LOCAL_VARIABLES: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A commit in a repository.
pub(super) struct Git<'a> {
    pub repository: &'a git2::Repository,
    pub commit: Oid,
}

impl Git<'_> {
    /// Has git work in the repository with the attributes of the commit.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        // Variables that name a repository may mean another one; those with settings stay.
        for variable in LOCAL_VARIABLES.iter().filter(|name| !name.starts_with("GIT_CONFIG")) {
            command.env_remove(variable);
        }
        // Errors are recognised by their words; nothing is fetched and no password is asked for.
        command.env("LC_ALL", "C").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command.arg(format!("--attr-source={}", self.commit)).arg("--git-dir").arg(self.repository.path());
        if let Some(root) = self.repository.workdir() {
            // Filter drivers run at the top of the working tree.
            command.arg("--work-tree").arg(root).current_dir(root);
        }
        command.args(arguments);
        command
    }
}

/// The folder of hooks and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksFolder {
    /// Where it is, or would be.
    pub path: PathBuf,
    pub owner: HooksOwner,
}

/// Whom a folder of hooks belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksOwner {
    /// The repository: all its worktrees share it, and nobody else.
    Repository,
    /// The project: `core.hooksPath` names a folder of the working tree.
    Project,
    /// Others too: `core.hooksPath` names a folder elsewhere.
    Others,
}

impl Repository {
    /// The folder whose hooks git runs: that of `core.hooksPath`, relative to the top of the working tree, else `hooks` of
    /// the repository that a linked worktree belongs to.
    pub fn hooks_folder(&self) -> Result<HooksFolder> {
        let own = normal(&self.inner.commondir().join("hooks"));
        let config = self.inner.config().map_err(problem::failed("read git's configuration"))?;
        let Ok(configured) = config.get_path("core.hooksPath") else {
            return Ok(HooksFolder { path: own, owner: HooksOwner::Repository });
        };
        let path = normal(&self.root().join(configured));
        let owner = if path.starts_with(normal(self.inner.commondir())) {
            HooksOwner::Repository
        } else if path.starts_with(self.root()) {
            HooksOwner::Project
        } else {
            HooksOwner::Others
        };
        Ok(HooksFolder { path, owner })
    }
}

/// Without symbolic links, as far as the path exists, and without `.` and `..` in the rest.
fn normal(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(std::path::Component::Normal(name))) => normal(parent).join(name),
        (Some(_), Some(std::path::Component::ParentDir)) => {
            let mut above = normal(&path.components().take(path.components().count() - 1).collect::<PathBuf>());
            above.pop();
            above
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    fn configured(fixture: &Fixture, value: &str) -> HooksFolder {
        fixture.raw.config().unwrap().set_str("core.hooksPath", value).unwrap();
        fixture.open().hooks_folder().unwrap()
    }

    #[test]
    fn without_configuration_it_is_the_repositorys_own() {
        let fixture = Fixture::new(&[("a", "1")]);
        let expected = HooksFolder { path: fixture.root.join(".git/hooks"), owner: HooksOwner::Repository };
        assert_eq!(fixture.open().hooks_folder().unwrap(), expected);
    }

    #[test]
    fn configured_folders_are_relative_to_the_working_tree() {
        let fixture = Fixture::new(&[("a", "1")]);
        let project = HooksFolder { path: fixture.root.join(".githooks"), owner: HooksOwner::Project };
        assert_eq!(configured(&fixture, ".githooks"), project);
        assert_eq!(configured(&fixture, "new/../.githooks"), project);
        let own = HooksFolder { path: fixture.root.join(".git/hooks"), owner: HooksOwner::Repository };
        assert_eq!(configured(&fixture, ".git/hooks"), own);
        let others = HooksFolder { path: fixture.outside().join("hooks"), owner: HooksOwner::Others };
        assert_eq!(configured(&fixture, "../hooks"), others);
        assert_eq!(configured(&fixture, fixture.outside().join("hooks").to_str().unwrap()), others);
    }

    #[test]
    fn a_linked_worktree_has_the_hooks_of_its_repository() {
        let fixture = Fixture::new(&[("a", "1")]);
        let linked = fixture.outside().join("linked");
        fixture.raw.worktree("linked", &linked, None).unwrap();
        let folder = Repository::discover(&linked).unwrap().hooks_folder().unwrap();
        assert_eq!(folder, HooksFolder { path: fixture.root.join(".git/hooks"), owner: HooksOwner::Repository });
    }
}
