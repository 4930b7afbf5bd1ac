//! `cargo perfunit hook install` and `uninstall`.

use super::super::arguments::{folder, real};
use super::super::diff::{DiffArguments, DiffRequest};
use super::check::{CheckArguments, only_manifest};
use crate::hook::{self, Installed, Managing, Origin, Removed, Stored};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_project::cargo::{self, Cargo};
use perfunit_project::git::{HooksFolder, HooksOwner, PushedPair, PushedVersions, Repository};
use perfunit_session as session;
use perfunit_session::Options;
use perfunit_system::term::{self, Terminal};
use std::path::{Path, PathBuf};

/// Arguments of `hook install`.
#[derive(Debug, Args)]
pub struct InstallArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub check: CheckArguments,
    /// Install the hook even if other repositories share the hooks folder, or next to a hook manager.
    #[arg(long)]
    pub force: bool,
    /// Build the remote's version now, so that the first push is faster.
    #[arg(long)]
    pub build: bool,
}

impl InstallArguments {
    /// Writes the hook, or prints what to add to the hook manager's configuration.
    pub fn run(&self) -> Result<ExitCode> {
        // Invalid options of `diff` are reported now instead of at the next push.
        let diff = self.check.diff_arguments()?;
        diff.resolve()?;
        let terminal = Terminal::default();
        let folder = folder()?;
        let repository = Repository::discover(&folder)?;
        names_no_version(&diff, &repository)?;
        if let Some(base) = &self.check.base {
            repository.require_commit(base)?;
        }
        let root = repository.root();
        let HooksFolder { path, owner } = repository.hooks_folder()?;
        let manifest = project(&folder, self.check.manifest_path.as_deref(), root)?;
        let stored = self.check.options_to_store(&manifest);
        let state = hook::state(&path)?;
        // A hook that we wrote is ours, whatever else is in the repository.
        let foreign = state.text.as_deref().filter(|_| state.origin == Origin::Foreign);
        let managing = Managing::find(root, foreign).filter(|_| !self.force && state.origin != Origin::Ours);
        if let Some(managing) = managing {
            print_snippet(&managing, &stored, terminal);
            return Ok(ExitCode::Success);
        }
        if owner == HooksOwner::Others && !self.force {
            return Err(not_only_here(&path));
        }
        announce(&hook::install(&path, &stored)?, &shown(&path, root), terminal);
        if owner == HooksOwner::Project {
            terminal.status("Note", "core.hooksPath names a folder of the project: commit the hook to share it");
        }
        let (manifest, build) = (root.join(&manifest), self.check.diff_arguments()?);
        let target_dir = build.common.cargo.target_dir.as_deref();
        let project = manifest.parent().unwrap_or(root);
        let is_built =
            || session::home(project, Some(&manifest), target_dir).is_ok_and(|ours| ours.join("sides").exists());
        if self.build || !is_built() && term::asks("Build the remote's version now, so that the first push is faster?")
        {
            self.build(&repository, &manifest, terminal)?;
        }
        Ok(ExitCode::Success)
    }
}

/// Checks that the options of `diff` leave the versions to the push.
fn names_no_version(diff: &DiffArguments, repository: &Repository) -> Result<()> {
    let is_version = |word: &&String| word.contains("..") || repository.has_commit(word);
    let named = match (&diff.common.head, &diff.use_archive) {
        (Some(_), _) => Some("--head".to_owned()),
        (_, Some(_)) => Some("--use-archive".to_owned()),
        _ => diff.common.filter.iter().find(is_version).map(|word| format!("the version `{word}`")),
    };
    named.map_or(Ok(()), |named| {
        Err(Error::usage(format!("{named} cannot be among the options of `diff` after `--`: each push names its versions"))
            .hint("`hook install --base REV` compares with the merge base with a revision; `-E 'test(NAME)'` selects tests that are named like one"))
    })
}

impl InstallArguments {
    /// Builds the version that the next push is compared with, or the checked-out version.
    fn build(&self, repository: &Repository, manifest: &Path, terminal: Terminal) -> Result<()> {
        let next = match repository.next_push()? {
            Some((remote, pushed)) => repository.select_pushed(&pushed, &remote, self.check.base.as_deref())?,
            None => PushedVersions::Nothing(String::new()),
        };
        let base = match next {
            PushedVersions::Two(pair) => pair.base,
            PushedVersions::Nothing(_) => "HEAD".to_owned(),
        };
        let pair = PushedPair { head: base.clone(), base_name: base.clone(), base, same_files: true };
        let DiffRequest { options, .. } = self.check.resolve(&pair, Some(manifest), None)?;
        session::list(&Options { all_tests: true, ..options }, terminal)?;
        terminal.status("Built", &format!("{}; a push only builds what changed", pair.base_name));
        Ok(())
    }
}

/// Returns the hook's path, relative to the root of the repository if inside it.
fn shown(hooks: &Path, root: &Path) -> String {
    let path = hooks.join("pre-push");
    path.strip_prefix(root).unwrap_or(&path).display().to_string()
}

fn announce(installed: &Installed, path: &str, terminal: Terminal) {
    match installed {
        Installed::New => terminal.status("Installed", path),
        Installed::Before(before) => {
            let before = before.file_name().unwrap_or_default().to_string_lossy();
            terminal.status("Installed", &format!("{path}; the existing hook is now {before} and runs first"));
        }
        Installed::Changed => terminal.status("Installed", &format!("{path}, replacing one with other options")),
        Installed::Unchanged => terminal.status("Unchanged", &format!("{path} is already installed")),
    }
}

/// Removes the hook. An earlier hook gets its name back.
pub fn uninstall(folder: &Path, terminal: Terminal) -> Result<ExitCode> {
    let repository = Repository::discover(folder)?;
    let HooksFolder { path, .. } = repository.hooks_folder()?;
    let shown = shown(&path, repository.root());
    match hook::uninstall(&path)? {
        Removed::Gone => terminal.status("Removed", &shown),
        Removed::Restored => {
            terminal.status("Removed", &format!("{shown}; the earlier hook is restored"));
        }
        Removed::Nothing => match Managing::find(repository.root(), None).filter(|managing| managing.runs_us) {
            Some(Managing { manager, configuration, .. }) => {
                let place = configuration.display();
                return Err(Error::usage(format!(
                    "{} runs the hook, not a file that `hook install` wrote",
                    manager.name()
                ))
                .hint(format!("remove `cargo perfunit hook run` from {place}")));
            }
            None => terminal.status("Unchanged", &format!("cargo-perfunit's hook is not installed at {shown}")),
        },
    }
    Ok(ExitCode::Success)
}

/// Prints what to add to a hook manager's configuration.
fn print_snippet(managing: &Managing, stored: &Stored, terminal: Terminal) {
    let (name, place) = (managing.manager.name(), managing.configuration.display());
    if managing.runs_us {
        terminal.status("Unchanged", &format!("{name} already runs it, according to {place}"));
        return;
    }
    terminal.warning(&format!(
        "nothing was installed: {name} writes the hooks of this repository; add this to {place} \
         (to install a hook alongside it, use --force)"
    ));
    term::print(&managing.manager.snippet(stored));
}

/// Returns the project's manifest, relative to the root of the repository: the named one, otherwise that of the folder,
/// otherwise the only one.
fn project(folder: &Path, named: Option<&Path>, root: &Path) -> Result<PathBuf> {
    let location = || cargo::locate(&Cargo::find(folder)?, folder, None);
    let found = match named {
        Some(named) => Some(real(named)?),
        None => location().ok().map(|found| found.workspace_root.join("Cargo.toml")),
    };
    match (found.as_deref().and_then(|manifest| manifest.strip_prefix(root).ok()), named) {
        (Some(relative), _) => Ok(relative.to_owned()),
        (None, Some(named)) => {
            Err(Error::usage(format!("{} is outside the repository {}", named.display(), root.display()))
                .hint("name the Cargo.toml of a project in this repository"))
        }
        (None, None) => only_manifest(root),
    }
}

fn not_only_here(path: &Path) -> Error {
    Error::setup(format!(
        "core.hooksPath is {}, outside this repository: a hook there runs in every repository that uses this folder",
        path.display()
    ))
    .hint(
        "`git config core.hooksPath .git/hooks` gives this repository its own hooks, \
         --force installs the hook there for all of them",
    )
}
