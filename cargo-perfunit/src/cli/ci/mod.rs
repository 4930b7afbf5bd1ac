//! `cargo perfunit ci`.

mod job;

pub use job::{FORKS_PATH, Job, Service};

use super::arguments::place;
use crate::hook::manifests;
use clap::{Args, Subcommand};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_project::cargo::{self, Cargo};
use perfunit_project::git::Repository;
use perfunit_system::fs;
use perfunit_system::term::{self, Terminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Path of the job for `GitLab` if there are other jobs already.
const GITLAB_INCLUDED: &str = ".gitlab/perfunit.gitlab-ci.yml";

/// Arguments of `ci`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit ci init github            write a workflow for pull requests
  cargo perfunit ci init github --forks    write another one that comments on those from forks
  cargo perfunit ci init gitlab            write a job for merge requests
  cargo perfunit ci init generic           write a shell script for other services
  cargo perfunit ci init github --print    print the workflow without writing it

See docs/ci.md for a description of the jobs.
")]
pub struct CiArguments {
    /// The command.
    #[command(subcommand)]
    pub command: CiCommand,
}

/// Commands for CI.
#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write a job that compares each pull request with its base and fails if a test got slower.
    ///
    /// The file is written below the root of the repository. An existing file is not replaced without --force.
    Init(InitArguments),
}

/// Arguments of `ci init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct InitArguments {
    /// CI service that runs the job.
    #[arg(value_enum)]
    pub service: Service,
    /// Divide the tests among N machines, and merge their results.
    #[arg(long, value_name = "N")]
    pub shards: Option<NonZeroUsize>,
    /// Write all steps into the workflow instead of using the action of cargo-perfunit; only for GitHub.
    #[arg(long)]
    pub inline: bool,
    /// Comment on pull requests from forks, too: a second workflow comments, and the first one may only read; only for GitHub.
    #[arg(long)]
    pub forks: bool,
    /// Print the file without writing it.
    #[arg(long, conflicts_with = "force")]
    pub print: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

impl CiArguments {
    /// Runs the command.
    pub fn run(&self) -> Result<ExitCode> {
        let CiCommand::Init(arguments) = &self.command;
        arguments.run()
    }
}

impl InitArguments {
    /// Writes or prints the job.
    fn run(&self) -> Result<ExitCode> {
        let terminal = Terminal::default();
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        let repository = Repository::discover(&folder)?;
        let root = repository.root();
        let service = self.service;
        let shards = self.shards.filter(|shards| shards.get() > 1);
        let branch = repository.default_branch_name().unwrap_or_else(|| "main".to_owned());
        if service != Service::Github && (self.inline || self.forks) {
            return Err(Error::usage("--inline and --forks are for GitHub").hint("leave them out"));
        }
        let folder = project(&folder, manifest.as_deref(), root)?;
        let job = Job { service, shards, inline: self.inline, forks: self.forks, branch, folder };
        let own = service.path();
        let file = if service == Service::Gitlab && root.join(own).exists() { GITLAB_INCLUDED } else { own };
        let mut files = vec![(file, job.render())];
        files.extend(self.forks.then(|| (FORKS_PATH, job.render_forks())));
        if self.print {
            let texts: Vec<String> = files.into_iter().map(|(_, text)| text).collect();
            term::print(&texts.join("---\n"));
            return Ok(ExitCode::Success);
        }
        let exists = |(file, _): &&(&str, String)| root.join(file).symlink_metadata().is_ok();
        if let Some((file, _)) = files.iter().find(exists).filter(|_| !self.force) {
            return Err(Error::usage(format!("{file} already exists"))
                .hint("use `--force` to overwrite it, or `--print` to print the job"));
        }
        for (file, text) in &files {
            fs::write(&root.join(file), text)?;
            terminal.status("Wrote", file);
        }
        if service == Service::Generic {
            fs::make_executable(&root.join(file))?;
        }
        let next = match (service, file) {
            (Service::Github, _) => "commit and push it to get a check named perfunit on pull requests",
            (Service::Gitlab, GITLAB_INCLUDED) => "add it to .gitlab-ci.yml and commit both:",
            (Service::Gitlab, _) => "commit and push it to get a job named perfunit on merge requests",
            (Service::Generic, _) => "commit it, and run it in a job with Rust and the full history of the repository",
        };
        terminal.status("Next", next);
        if file == GITLAB_INCLUDED {
            term::print(&format!("include:\n  - local: {GITLAB_INCLUDED}\n"));
        }
        Ok(ExitCode::Success)
    }
}

/// Returns the project's folder in the repository: that of the named or enclosing manifest, otherwise that of the only
/// one.
fn project(folder: &Path, manifest: Option<&Path>, root: &Path) -> Result<String> {
    let cargo = Cargo::find(folder)?;
    let found = match cargo::locate(&cargo, folder, manifest) {
        Ok(found) => found.workspace_root,
        Err(error) if manifest.is_some() => return Err(error),
        Err(error) => match &manifests(root)[..] {
            [manifest] => root.join(manifest).parent().unwrap_or(root).to_owned(),
            _ => return Err(error),
        },
    };
    let relative = found.strip_prefix(root).map_err(|_| {
        Error::setup(format!("the workspace {} is outside the repository {}", found.display(), root.display()))
            .hint("run this in a project of the repository")
    })?;
    Ok(relative.to_string_lossy().into_owned())
}
