//! `cargo perfunit demo`: runs `diff` on a small project with a history of two commits.

use super::arguments::text_options;
use super::output::{self, RunOutput};
use clap::Args;
use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_project::git::Request;
use perfunit_report::Rendering;
use perfunit_session::Options;
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use std::path::{Path, PathBuf};

const MANIFEST: &str = include_str!("demo/Cargo.toml.txt");
const BASE: &str = include_str!("demo/base.rs.txt");
const HEAD: &str = include_str!("demo/head.rs.txt");

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit demo             create the project in a temporary folder
  cargo perfunit demo wordcount   create the project in `wordcount`
")]
pub struct DemoArguments {
    /// Folder for the project [default: a new temporary folder].
    ///
    /// It must be new or empty.
    pub folder: Option<PathBuf>,
}

impl DemoArguments {
    /// Creates the project and compares its two commits; fails if the folder is in use.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = Terminal::default();
        let folder = match &self.folder {
            Some(folder) => empty_folder(folder)?,
            None => fresh_folder()?,
        };
        terminal.status("Creating", &format!("an example project in {}", folder.display()));
        make_history(&folder)?;
        terminal.status("Running", "cargo perfunit diff HEAD~1");
        let mut options = Options::new(folder.clone(), Request::parse(Some("HEAD~1"), None)?);
        options.target_dir = Some(folder.join("target"));
        options.build.arguments.push("--offline".to_owned());
        options.measuring.seed = fastrand::u64(..);
        let rendering = Rendering { text: text_options(false), ..Rendering::default() };
        // The regression is intended, so it does not fail the command.
        RunOutput { rendering, ..RunOutput::default() }.conclude(&output::diff(&options, terminal)?, terminal);
        terminal
            .status("Next", &format!("`cd {}`, `git show`, change something, `cargo perfunit diff`", folder.display()));
        Ok(ExitCode::Success)
    }
}

fn empty_folder(folder: &Path) -> Result<PathBuf> {
    if !fs::list_dir(folder)?.is_empty() {
        return Err(Error::usage(format!("{} is not empty", folder.display())).hint("name a new folder"));
    }
    fs::create_dir_all(folder)?;
    folder.canonicalize().map_err(|error| Error::setup(format!("{}: {error}", folder.display())))
}

fn fresh_folder() -> Result<PathBuf> {
    empty_folder(&fs::temporary_dir("perfunit-demo-")?.keep())
}

fn make_history(folder: &Path) -> Result<()> {
    let failed = |error: git2::Error| {
        Error::setup(format!("cannot create a repository in {}: {}", folder.display(), error.message()))
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
