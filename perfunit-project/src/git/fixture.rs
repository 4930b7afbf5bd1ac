//! Small repositories for tests.

#![allow(clippy::missing_panics_doc, reason = "unit tests use it")]

use super::{Comparison, FileSet, Repository, Request};
use git2::{BranchType, IndexAddOption, Oid, Signature, Time, build::CheckoutBuilder};
use perfunit_model::error::Result;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A repository in a temporary folder, on branch `main`.
pub struct Fixture {
    pub raw: git2::Repository,
    pub root: PathBuf,
    _folder: TempDir,
}

impl Fixture {
    /// Creates a repository without commits.
    pub fn unborn() -> Fixture {
        super::discover::accept_extensions();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("repo");
        let mut options = git2::RepositoryInitOptions::new();
        let raw = git2::Repository::init_opts(&root, options.initial_head("main")).unwrap();
        Fixture { raw, root, _folder: folder }
    }

    /// Creates a repository with these files in its first commit.
    pub fn new(files: &[(&str, &str)]) -> Fixture {
        let fixture = Fixture::unborn();
        fixture.commit(files);
        fixture
    }

    /// Returns the folder that contains the repository, for files outside of it.
    pub fn outside(&self) -> &Path {
        self.root.parent().unwrap()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    pub fn symlink(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    /// Writes files and commits everything on disk.
    pub fn commit(&self, files: &[(&str, &str)]) -> Oid {
        for (path, text) in files {
            self.write(path, text);
        }
        self.stage();
        let head = self.raw.head().ok().map(|head| head.peel_to_commit().unwrap());
        self.commit_index(&head.iter().collect::<Vec<_>>())
    }

    /// Stages everything on disk.
    pub fn stage(&self) {
        let mut index = self.raw.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
    }

    /// Commits the index onto HEAD with these parents.
    pub fn commit_index(&self, parents: &[&git2::Commit<'_>]) -> Oid {
        let tree = self.raw.find_tree(self.raw.index().unwrap().write_tree().unwrap()).unwrap();
        let author = Signature::new("a", "a@example.org", &Time::new(1_000_000_000, 0)).unwrap();
        self.raw.commit(Some("HEAD"), &author, &author, "message", &tree, parents).unwrap()
    }

    /// Creates a branch at HEAD and switches to it.
    pub fn branch(&self, name: &str) {
        let head = self.raw.head().unwrap().peel_to_commit().unwrap();
        self.raw.branch(name, &head, false).unwrap();
        self.switch(name);
    }

    /// Switches to a branch, with its files.
    pub fn switch(&self, name: &str) {
        self.raw.set_head(&format!("refs/heads/{name}")).unwrap();
        self.raw.checkout_head(Some(CheckoutBuilder::new().force().remove_untracked(true))).unwrap();
    }

    /// Creates the remote-tracking branch `origin/<name>` at `commit`.
    pub fn remote_branch(&self, name: &str, commit: Oid) {
        if self.raw.find_remote("origin").is_err() {
            self.raw.remote("origin", "https://example.org/x").unwrap();
        }
        self.raw.reference(&format!("refs/remotes/origin/{name}"), commit, true, "test").unwrap();
    }

    pub fn set_upstream(&self, branch: &str, upstream: &str) {
        self.raw.find_branch(branch, BranchType::Local).unwrap().set_upstream(Some(upstream)).unwrap();
    }

    /// Opens the repository as the tool does.
    pub fn open(&self) -> Repository {
        Repository::discover(&self.root).unwrap()
    }

    /// Resolves arguments to the versions that the tool compares.
    pub fn resolve(&self, base: Option<&str>, head: Option<&str>) -> Result<Comparison> {
        self.open().resolve(&Request::parse(base, head)?)
    }

    /// Returns the files of the default head.
    pub fn head_files(&self) -> FileSet {
        let repository = self.open();
        let versions = repository.resolve(&Request::parse(Some("HEAD"), None).unwrap()).unwrap().versions;
        repository.files(&versions.head).unwrap()
    }
}

/// Returns paths and contents, for comparison.
pub fn texts(repository: &Repository, files: &FileSet) -> BTreeMap<String, String> {
    let text = |(path, entry): (&PathBuf, _)| {
        let contents = repository.read(entry, path).unwrap();
        (path.display().to_string(), String::from_utf8_lossy(&contents).into_owned())
    };
    files.entries.iter().map(text).collect()
}
