//! `cargo perfunit ci init`.

use crate::cargo::{self, Cargo};
use crate::ci::{Job, Service};
use crate::error::{Error, ExitCode, Result};
use crate::git::Repository;
use crate::hook::manifests;
use crate::system::fs;
use crate::system::term::{self, Terminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Where the job goes for `GitLab` if there are other jobs already.
const GITLAB_INCLUDED: &str = ".gitlab/perfunit.gitlab-ci.yml";

/// A job to write.
#[derive(Debug, Clone)]
pub struct CiInit {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub service: Service,
    pub shards: Option<NonZeroUsize>,
    /// Where the text goes.
    pub output: CiOutput,
}

/// Where the text of a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CiOutput {
    Print,
    /// To the service's file, which must not exist.
    Write,
    /// To the service's file, over what is there.
    Overwrite,
}

/// Writes or prints a ready job.
pub fn ci_init(request: &CiInit, terminal: Terminal) -> Result<ExitCode> {
    let repository = Repository::discover(&request.folder)?;
    let root = repository.root();
    let folder = project(request, root)?;
    let text = Job { service: request.service, shards: request.shards, folder }.render();
    if request.output == CiOutput::Print {
        term::print(&text);
        return Ok(ExitCode::Success);
    }
    let own = request.service.path();
    let file = if request.service == Service::Gitlab && root.join(own).exists() { GITLAB_INCLUDED } else { own };
    let path = root.join(file);
    if request.output != CiOutput::Overwrite && path.symlink_metadata().is_ok() {
        return Err(
            Error::usage(format!("{file} exists")).hint("--force overwrites it, --print shows what would be written")
        );
    }
    fs::write(&path, text)?;
    if request.service == Service::Generic {
        fs::make_executable(&path)?;
    }
    terminal.status("Wrote", file);
    let next = match (request.service, file) {
        (Service::Github, _) => "commit and push it; pull requests then have a check named perfunit",
        (Service::Gitlab, GITLAB_INCLUDED) => "add it to .gitlab-ci.yml and commit both:",
        (Service::Gitlab, _) => "commit and push it; merge requests then have a job named perfunit",
        (Service::Generic, _) => "commit it, and run it in a job that has the repository with its history, and Rust",
    };
    terminal.status("Next", next);
    if file == GITLAB_INCLUDED {
        term::print(&format!("include:\n  - local: {GITLAB_INCLUDED}\n"));
    }
    Ok(ExitCode::Success)
}

/// The project's folder in the repository: where the user stands or what is named, else the only one that there is.
fn project(request: &CiInit, root: &Path) -> Result<String> {
    let cargo = Cargo::find(&request.folder)?;
    let found = match cargo::locate(&cargo, &request.folder, request.manifest.as_deref()) {
        Ok(found) => found.workspace_root,
        Err(error) if request.manifest.is_some() => return Err(error),
        Err(error) => match &manifests(root)[..] {
            [manifest] => root.join(manifest).parent().unwrap_or(root).to_owned(),
            _ => return Err(error),
        },
    };
    let relative = found.strip_prefix(root).map_err(|_| {
        Error::setup(format!("the workspace {} lies outside of the repository {}", found.display(), root.display()))
            .hint("run this in a project of the repository")
    })?;
    Ok(relative.to_string_lossy().into_owned())
}
