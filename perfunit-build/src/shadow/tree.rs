//! The folder and how it becomes a version.

use super::disk;
use super::inject::{self, Injections};
use super::plan::{self, Plan};
use super::state::{Record, State};
use perfunit_model::error::Result;
use perfunit_project::git::{Entry, FileSet, Repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where in its folder the tree is.
///
/// When cargo searches a workspace root above a package it stops at a folder called `target/package` (where
/// `cargo package` verifies; `find_root_iter` in its src/cargo/core/workspace.rs, in stable 1.95 and nightly 1.97). Nothing else
/// does: a manifest in between with `[workspace]` is an error if it does not list the package, and with `exclude` the
/// search goes on above it, up to the user's own workspace, which holds the target folder. A test asks real cargo.
const PLACE: &str = "target/package/tree";

/// The path from the root of the tree that a file has; `None` outside of a tree.
pub fn place_in_tree(file: &Path) -> Option<&Path> {
    let tree = file.ancestors().find(|folder| folder.ends_with(PLACE))?;
    file.strip_prefix(tree).ok()
}

#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    prefix: PathBuf,
    state_file: PathBuf,
    staging: PathBuf,
    links: BTreeMap<PathBuf, PathBuf>,
}

/// What a checkout did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Files and links written.
    pub written: usize,
    /// Files and links removed.
    pub removed: usize,
    /// Files and links left as they were, with their times.
    pub kept: usize,
    /// What tests or builds had changed, added or removed since the last checkout, relative to the repository (with
    /// `..` for what lies outside); now undone. Empty if the last checkout did not end.
    pub disturbed: Vec<PathBuf>,
    /// Crate roots that are not files of the version and got no line.
    pub not_injected: Vec<PathBuf>,
}

impl Tree {
    /// Opens the tree that lives in the folder `home` (for example `target/perfunit/shadow`), creating both.
    ///
    /// `prefix` is where in the tree the repository is: its path relative to the common ancestor of itself and all
    /// path dependencies outside of it; empty if there are none.
    pub fn open(home: &Path, prefix: &str) -> Result<Tree> {
        let root = home.join(PLACE);
        let (state_file, staging) = (home.join("tree.json"), home.join("tree.part"));
        if disk::ensure_folder(&root)?.is_new() {
            perfunit_system::fs::remove_file(&state_file)?;
        }
        // Programs that read `.gitignore` files look no further up than to a folder with a `.git`, which is no repository: git
        // itself goes on to the project's.
        root.parent().map_or(Ok(()), |above| perfunit_system::fs::create_dir_all(&above.join(".git")))?;
        Ok(Tree { root, prefix: PathBuf::from(prefix), state_file, staging, links: BTreeMap::new() })
    }

    /// Stands for a folder or file outside the repository, `relative` to the common ancestor (see [`Tree::open`]), by a
    /// link to the `real` one. Takes effect at the next checkout, and hides what the version itself has below.
    pub fn link_outside(&mut self, relative: &str, real: &Path) {
        self.links.insert(PathBuf::from(relative), real.to_owned());
    }

    /// The folder that holds the repository's files.
    pub fn root(&self) -> PathBuf {
        self.root.join(&self.prefix)
    }

    /// Where a file of the repository is in the tree.
    pub fn path(&self, repo_relative: impl AsRef<Path>) -> PathBuf {
        self.root().join(repo_relative)
    }

    /// Makes the tree hold exactly this version.
    pub fn checkout(&mut self, repository: &Repository, files: &FileSet, injections: &Injections) -> Result<Stats> {
        let (wanted, not_injected) = self.wanted(repository, files, injections)?;
        let mut state = State::load(&self.state_file)?;
        let plan = plan::plan(&wanted, &state, &disk::scan(&self.root)?);
        if !plan.is_empty() || !state.complete {
            self.announce(&plan, &mut state)?;
            self.remove(&plan)?;
            self.write(repository, &wanted, &plan, &mut state)?;
            state.complete = true;
            state.save(&self.state_file)?;
        }
        Ok(Stats {
            written: plan.write.len(),
            removed: plan.remove.len(),
            kept: wanted.len() - plan.write.len(),
            disturbed: plan.disturbed.iter().map(|path| self.as_seen_from_repository(path)).collect(),
            not_injected,
        })
    }

    /// Undoes what tests did to the tree since the checkout of this same version, and says which paths that were.
    pub fn restore(
        &mut self,
        repository: &Repository,
        files: &FileSet,
        injections: &Injections,
    ) -> Result<Vec<PathBuf>> {
        self.checkout(repository, files, injections).map(|stats| stats.disturbed)
    }

    /// The content of the whole tree, and the crate roots that could not be injected.
    fn wanted(
        &self,
        repository: &Repository,
        files: &FileSet,
        injections: &Injections,
    ) -> Result<(BTreeMap<PathBuf, Entry>, Vec<PathBuf>)> {
        let mut wanted = files
            .entries
            .iter()
            .map(|(path, entry)| (self.prefix.join(path), entry.clone()))
            .collect::<BTreeMap<_, _>>();
        let mut not_injected = Vec::new();
        for (path, what) in injections.roots() {
            match inject::injected(repository, files, (path, what, injections), &self.prefix)? {
                Some(entry) => drop(wanted.insert(self.prefix.join(path), entry)),
                None => not_injected.push(path.to_owned()),
            }
        }
        for (path, real) in &self.links {
            wanted.insert(path.clone(), Entry::link(real));
        }
        Ok((plan::without_hidden(wanted), not_injected))
    }

    /// Forgets what is about to change, on disk, before it does: a crash then leaves no record of a file that is not
    /// as recorded.
    fn announce(&self, plan: &Plan, state: &mut State) -> Result<()> {
        for path in plan.write.iter().chain(&plan.remove).chain(&plan.disturbed) {
            state.remove(path);
        }
        state.complete = false;
        state.save(&self.state_file)
    }

    fn remove(&self, plan: &Plan) -> Result<()> {
        for path in &plan.remove {
            perfunit_system::fs::remove_file(&self.root.join(path))?;
        }
        for folder in &plan.remove_folders {
            perfunit_system::fs::remove_dir_all(&self.root.join(folder))?;
        }
        Ok(())
    }

    /// Writes the planned files. All that was in the way, links in the place of folders above all, is gone by now.
    fn write(
        &self,
        repository: &Repository,
        wanted: &BTreeMap<PathBuf, Entry>,
        plan: &Plan,
        state: &mut State,
    ) -> Result<()> {
        for path in &plan.write {
            let (entry, target) = (&wanted[path], self.root.join(path));
            perfunit_system::fs::create_dir_all(target.parent().unwrap_or(&self.root))?;
            disk::put(&target, &self.staging, entry.mode, &repository.read(entry, path)?)?;
            let record = Record { id: entry.id.to_string(), mode: entry.mode, stamp: disk::Stamp::of(&target)? };
            state.insert(path, record);
        }
        Ok(())
    }

    fn as_seen_from_repository(&self, path: &Path) -> PathBuf {
        let up = || self.prefix.components().map(|_| "..").collect::<PathBuf>().join(path);
        path.strip_prefix(&self.prefix).map_or_else(|_| up(), Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_finds_the_place_that_was_injected() {
        let file = Path::new("/p/target/perfunit/shadow/target/package/tree/a/src/lib.rs");
        assert_eq!(place_in_tree(file), Some(Path::new("a/src/lib.rs")));
        assert_eq!(place_in_tree(Path::new("/p/src/lib.rs")), None);
    }
}
