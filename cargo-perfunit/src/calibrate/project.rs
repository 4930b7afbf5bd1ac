//! The artificial tests: a crate with a version for each number of operations, built by the pipeline like all projects.

use super::profile::{BASE, CHANGED, interruption};
use git2::{IndexAddOption, Oid, Repository, RepositoryInitOptions, Signature};
use perfunit_build::SideBuild;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Explain, Sides, TargetId, TargetKind, TestId};
use perfunit_project::cargo::Cargo;
use perfunit_project::git::Request;
use perfunit_session as session;
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use perfunit_system::{fs, interrupt, temporary};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const MANIFEST: &str = include_str!("project/Cargo.toml.txt");
const LIBRARY: &str = include_str!("project/lib.rs.txt");
/// The package's name.
const PACKAGE: &str = "artificial";

/// The kinds of work, which are the names of the tests.
pub const WORKLOADS: [&str; 5] = ["add", "allocate", "format", "print", "hash_and_sort"];

/// The built project. Dropping it removes its folder.
pub struct Project {
    folder: TempDir,
    rustc: String,
    /// The library that gives both processes of a pair the same random numbers.
    seeds: Option<PathBuf>,
    base: SideBuild,
    /// Builds of head by number of operations; the first has as many as base.
    heads: Vec<(u32, SideBuild)>,
}

impl Project {
    /// Creates the project and builds all versions.
    pub fn build(terminal: Terminal) -> Result<Self> {
        let temporary = temporary::scratch("perfunit-calibrate-")?;
        let folder = &real(temporary.path())?;
        let rustc = Cargo::find(folder)?.rustc_release().to_owned();
        let progress = Progress::bar(terminal, "Building", 1 + CHANGED.len());
        let (base, versions) = make_history(folder)?;
        let (mut built, mut seeds) = (Vec::new(), None);
        for (operations, head) in versions {
            progress.message(format!("artificial tests of {operations} operations"));
            let (sides, library) = build(folder, base, head)?;
            built.push((operations, sides));
            seeds = library;
            progress.advance();
        }
        let base = built.first().map(|(_, sides)| sides.base.clone()).ok_or_else(interruption)?;
        let heads = built.into_iter().map(|(operations, sides)| (operations, sides.head)).collect();
        Ok(Self { folder: temporary, rustc, seeds, base, heads })
    }

    /// Returns the two builds to compare.
    pub fn sides(&self, operations: u32) -> Result<Sides<&SideBuild>> {
        let head = self.heads.iter().find(|(known, _)| *known == operations);
        let (_, head) =
            head.ok_or_else(|| Error::setup(format!("no version with {operations} operations was built")))?;
        Ok(Sides { base: &self.base, head })
    }

    /// Returns the tool's folder below the project's target folder.
    pub fn ours(&self) -> PathBuf {
        self.folder.path().join("target/perfunit")
    }

    /// Returns the library that gives both processes of a pair the same random numbers, if there is one.
    pub fn seeds(&self) -> Option<&Path> {
        self.seeds.as_deref()
    }

    /// Returns the first line of `rustc -vV`.
    pub fn rustc(&self) -> &str {
        &self.rustc
    }
}

/// Returns the id of the test of a kind of work.
pub fn test(workload: &str) -> TestId {
    let target = TargetId { package: PACKAGE.to_owned(), kind: TargetKind::Lib, name: PACKAGE.to_owned() };
    TestId { target, name: format!("tests::{workload}") }
}

/// Returns a folder's path without symbolic links.
fn real(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().map_err(|error| Error::setup(format!("{}: {error}", folder.display())))
}

/// Commits all versions, and returns base's commit and those of its heads with their numbers of operations.
fn make_history(folder: &Path) -> Result<(Oid, Vec<(u32, Oid)>)> {
    let failed = |error: git2::Error| {
        Error::setup(format!("cannot create a repository in {}: {}", folder.display(), error.message()))
    };
    fs::write(&folder.join("Cargo.toml"), MANIFEST)?;
    fs::write(&folder.join(".gitignore"), "/target\n/Cargo.lock\n")?;
    let repository = Repository::init_opts(folder, RepositoryInitOptions::new().initial_head("main").no_reinit(true))
        .map_err(failed)?;
    let version = |operations: u32, spare: u32| {
        let (operations, spare) = (operations.to_string(), spare.to_string());
        fs::write(&folder.join("src/lib.rs"), LIBRARY.replace("{operations}", &operations).replace("{spare}", &spare))?;
        commit(&repository, &format!("{operations} operations")).map_err(failed)
    };
    let base = version(BASE, 0)?;
    let mut heads = vec![(BASE, version(BASE, 1)?)];
    for operations in CHANGED {
        heads.push((operations, version(operations, 0)?));
    }
    Ok((base, heads))
}

fn commit(repository: &Repository, message: &str) -> std::result::Result<Oid, git2::Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("cargo-perfunit", "calibrate@example.invalid")?;
    let parents = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents.iter().collect::<Vec<_>>())
}

/// Builds two versions like `diff`. The second result is the library for equal random numbers.
fn build(folder: &Path, base: Oid, head: Oid) -> Result<(Sides<SideBuild>, Option<PathBuf>)> {
    let quiet = Terminal { quiet: true };
    let listing = session::list(&options(folder, base, head)?, quiet)?;
    if interrupt::is_requested() {
        return Err(interruption());
    }
    let kept = listing.kept.ok_or_else(|| Error::setup("the artificial tests were not built"))?;
    let unusable = listing.tests.iter().find(|listed| listed.selected_because.is_none());
    if let Some(listed) = unusable {
        // The versions differ in a value that every test reads, so selection itself must have failed.
        return Err(Error::setup(format!("{} was not selected", listed.test)));
    }
    Ok((kept.try_map(|_, folder| SideBuild::open(&folder))?, listing.seeds))
}

fn options(folder: &Path, base: Oid, head: Oid) -> Result<session::Options> {
    let versions = format!("{base}..{head}");
    let mut options = session::Options::new(folder.to_owned(), Request::parse(Some(&versions), None)?);
    options.target_dir = Some(folder.join("target"));
    options.build.arguments.push("--offline".to_owned());
    options.explaining.explain = Explain::Never;
    Ok(options)
}
