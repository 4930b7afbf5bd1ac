//! The shadow tree on disk, and checkouts into it.

use super::files;
use super::inject::{self, Injections};
use super::plan::{self, Plan};
use super::state::{Record, State};
use perfunit_model::error::Result;
use perfunit_project::git::{Entry, FileSet, Repository};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Path of the tree in its folder.
///
/// When cargo searches the workspace root of a package, it stops at a folder named `target/package` (where `cargo
/// package` verifies; `find_root_iter` in its src/cargo/core/workspace.rs, in stable 1.95 and nightly 1.97). Nothing
/// else stops it: a manifest in between with `[workspace]` is an error if it does not list the package, and with
/// `exclude` the search continues to the user's own workspace, which contains the target folder. A test checks this
/// with cargo.
const PLACE: &str = "target/package/tree";
/// File that marks a folder as a cache (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Returns a file's path relative to the root of its tree; `None` outside of a tree.
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

/// Result of a checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of files and links written.
    pub written: usize,
    /// Number of files and links removed.
    pub removed: usize,
    /// Number of files and links left unchanged, with their times.
    pub kept: usize,
    /// Paths that tests or builds changed, added or removed since the last checkout, relative to the repository (with
    /// `..` for paths outside). They are restored now. Empty if the last checkout did not finish.
    pub disturbed: Vec<PathBuf>,
    /// Crate roots that were not changed because the version has no such file.
    pub not_injected: Vec<PathBuf>,
}

impl Tree {
    /// Opens the tree in the folder `home` (for example `target/perfunit/shadow`), creating both.
    ///
    /// `prefix` is the repository's path in the tree: relative to the common ancestor of the repository and all path
    /// dependencies outside of it; empty if there are none.
    pub fn open(home: &Path, prefix: &str) -> Result<Tree> {
        let root = home.join(PLACE);
        let (state_file, staging) = (home.join("tree.json"), home.join("tree.part"));
        if files::ensure_folder(&root)?.is_new() {
            perfunit_system::fs::remove_file(&state_file)?;
        }
        // Programs that read `.gitignore` files stop at a folder with a `.git`. An empty one is not a repository, so
        // git itself continues to the project's.
        root.parent().map_or(Ok(()), |above| perfunit_system::fs::create_dir_all(&above.join(".git")))?;
        Ok(Tree { root, prefix: PathBuf::from(prefix), state_file, staging, links: BTreeMap::new() })
    }

    /// Adds a link to the `real` folder or file outside the repository at `relative`, a path from the common ancestor
    /// (see [`Tree::open`]). Takes effect at the next checkout, and hides the version's own files below.
    pub fn link_outside(&mut self, relative: &str, real: &Path) {
        self.links.insert(PathBuf::from(relative), real.to_owned());
    }

    /// Returns the folder that contains the repository's files.
    pub fn root(&self) -> PathBuf {
        self.root.join(&self.prefix)
    }

    /// Returns the path of a repository file in the tree.
    pub fn path(&self, repo_relative: impl AsRef<Path>) -> PathBuf {
        self.root().join(repo_relative)
    }

    /// Makes the tree contain exactly this version.
    pub fn checkout(&mut self, repository: &Repository, files: &FileSet, injections: &Injections) -> Result<Stats> {
        let (wanted, not_injected) = self.collect_entries(repository, files, injections)?;
        let mut state = State::load(&self.state_file)?;
        let plan = plan::plan(&wanted, &state, &files::scan(&self.root)?);
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

    /// Reverts changes that tests made since the checkout of this version, and returns the changed paths.
    pub fn restore(
        &mut self,
        repository: &Repository,
        files: &FileSet,
        injections: &Injections,
    ) -> Result<Vec<PathBuf>> {
        self.checkout(repository, files, injections).map(|stats| stats.disturbed)
    }

    /// Returns the paths that others changed, added or removed since the last checkout, relative to the repository.
    /// Leaves out everything outside of the repository and cache folders, such as a target folder of cargo.
    pub fn changes(&self) -> Result<Vec<PathBuf>> {
        let scan = files::scan(&self.root)?;
        let caches: BTreeSet<PathBuf> = scan.files.keys().filter(|path| path.ends_with(CACHE_TAG)).cloned().collect();
        let in_cache = |path: &Path| path.ancestors().skip(1).any(|folder| caches.contains(&folder.join(CACHE_TAG)));
        let disturbed = plan::find_disturbed(&State::load(&self.state_file)?, &scan);
        let ours = disturbed.into_iter().filter(|path| !in_cache(path));
        Ok(ours.filter_map(|path| path.strip_prefix(&self.prefix).ok().map(Path::to_owned)).collect())
    }

    /// Returns the content of the whole tree, and the crate roots that could not be changed.
    fn collect_entries(
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
            match inject::inject(repository, files, (path, what, injections), &self.prefix)? {
                Some(entry) => drop(wanted.insert(self.prefix.join(path), entry)),
                None => not_injected.push(path.to_owned()),
            }
        }
        for (path, real) in &self.links {
            wanted.insert(path.clone(), Entry::link(real));
        }
        Ok((plan::without_hidden(wanted), not_injected))
    }

    /// Removes the records of files that are about to change, on disk, so that a crash leaves no wrong record.
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

    /// Writes the planned files. Anything in the way, such as links in place of folders, was removed before.
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
            files::put(&target, &self.staging, entry.mode, &repository.read(entry, path)?)?;
            let record = Record { id: entry.id.to_string(), mode: entry.mode, stamp: files::Stamp::of(&target)? };
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
