//! Finds the hooks folder of a repository.

use super::{Repository, problem};
use perfunit_model::error::Result;
use std::path::{Path, PathBuf};

/// Hooks folder and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksFolder {
    /// Path of the folder, which may not exist yet.
    pub path: PathBuf,
    pub owner: HooksOwner,
}

/// Owner of a hooks folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksOwner {
    /// The repository, with all its worktrees.
    Repository,
    /// The project: `core.hooksPath` names a folder of the working tree.
    Project,
    /// Other repositories too: `core.hooksPath` names a folder elsewhere.
    Others,
}

impl Repository {
    /// Returns the folder whose hooks git runs: `core.hooksPath`, relative to the top of the working tree, or else
    /// `hooks` of the main repository.
    pub fn hooks_folder(&self) -> Result<HooksFolder> {
        let own = normal(&self.inner.commondir().join("hooks"));
        let config = self.inner.config().map_err(problem::git_error("read git's configuration"))?;
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

/// Resolves symbolic links as far as the path exists, and removes `.` and `..` from the rest.
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

    fn configure(fixture: &Fixture, value: &str) -> HooksFolder {
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
        assert_eq!(configure(&fixture, ".githooks"), project);
        assert_eq!(configure(&fixture, "new/../.githooks"), project);
        let own = HooksFolder { path: fixture.root.join(".git/hooks"), owner: HooksOwner::Repository };
        assert_eq!(configure(&fixture, ".git/hooks"), own);
        let others = HooksFolder { path: fixture.outside().join("hooks"), owner: HooksOwner::Others };
        assert_eq!(configure(&fixture, "../hooks"), others);
        assert_eq!(configure(&fixture, fixture.outside().join("hooks").to_str().unwrap()), others);
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
