//! `cargo perfunit demo`: a small project with a real two-commit history, and `diff` run on it.

use super::{DiffOutput, diff};
use crate::build;
use crate::config::Rules;
use crate::error::{Error, ExitCode, Result};
use crate::git::Request;
use crate::session::{Explaining, Filter, Measuring, Options, Scope};
use crate::system::fs;
use crate::system::term::Terminal;
use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};
use std::path::{Path, PathBuf};

const MANIFEST: &str = include_str!("demo/Cargo.toml.txt");
const BASE: &str = include_str!("demo/base.rs.txt");
const HEAD: &str = include_str!("demo/head.rs.txt");

/// Makes the project, or fails if the folder is in use, and compares its two commits.
pub fn demo(folder: Option<&Path>, terminal: Terminal) -> Result<ExitCode> {
    let folder = match folder {
        Some(folder) => empty_folder(folder)?,
        None => fresh_folder()?,
    };
    terminal.status("Creating", &format!("an example project in {}", folder.display()));
    make_history(&folder)?;
    terminal.status("Running", "cargo perfunit diff HEAD~1");
    diff(&options(&folder)?, &DiffOutput::default(), terminal)?;
    terminal.status("Next", &format!("`cd {}`, `git show`, change something, `cargo perfunit diff`", folder.display()));
    // The regression is the point of the demonstration, not a failure of the command.
    Ok(ExitCode::Success)
}

fn empty_folder(folder: &Path) -> Result<PathBuf> {
    if !fs::list_dir(folder)?.is_empty() {
        return Err(
            Error::usage(format!("{} is not empty", folder.display())).hint("name a folder that does not exist yet")
        );
    }
    fs::create_dir_all(folder)?;
    folder.canonicalize().map_err(|error| Error::setup(format!("{}: {error}", folder.display())))
}

fn fresh_folder() -> Result<PathBuf> {
    empty_folder(&fs::temporary_dir("perfunit-demo-")?.keep())
}

fn make_history(folder: &Path) -> Result<()> {
    let failed = |error: git2::Error| {
        Error::setup(format!("cannot make a repository in {}: {}", folder.display(), error.message()))
    };
    fs::write(&folder.join("Cargo.toml"), MANIFEST)?;
    fs::write(&folder.join(".gitignore"), "/target\n/Cargo.lock\n")?;
    fs::write(&folder.join("src/lib.rs"), BASE)?;
    let repository = Repository::init_opts(folder, RepositoryInitOptions::new().initial_head("main").no_reinit(true))
        .map_err(failed)?;
    commit(&repository, "Count words with a hash map").map_err(failed)?;
    fs::write(&folder.join("src/lib.rs"), HEAD)?;
    commit(&repository, "Keep the words in the order of their first use").map_err(failed)
}

fn commit(repository: &Repository, message: &str) -> std::result::Result<(), git2::Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("cargo-perfunit", "demo@example.invalid")?;
    let parents = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents.iter().collect::<Vec<_>>()).map(drop)
}

fn options(folder: &Path) -> Result<Options> {
    Ok(Options {
        folder: folder.to_owned(),
        manifest: None,
        target_dir: Some(folder.join("target")),
        request: Request::parse(Some("HEAD~1"), None)?,
        scope: Scope::default(),
        filter: Filter::default(),
        rules: Rules::default(),
        partition: None,
        archive: None,
        output: None,
        results: Vec::new(),
        all_tests: false,
        build: build::Options { profile: "bench".to_owned(), arguments: vec!["--offline".to_owned()] },
        opaque_constants: true,
        aligned_loops: false,
        explaining: Explaining::default(),
        measuring: Measuring { seed: fastrand::u64(..), ..Measuring::default() },
    })
}
