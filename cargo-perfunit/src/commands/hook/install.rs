//! `cargo perfunit hook install` and `uninstall`.

use crate::cargo::{self, Cargo};
use crate::error::{Error, ExitCode, Result};
use crate::git::{HooksFolder, HooksOwner, Repository};
use crate::hook::{self, Installed, Managing, Origin, Removed, Stored, manifests};
use crate::system::term::{self, Terminal};
use std::path::{Path, PathBuf};

/// A hook to install.
#[derive(Debug, Clone)]
pub struct HookInstall {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    /// What to store in the hook; the manifest is added.
    pub stored: Stored,
    /// Write it even where other repositories or a hook manager have a say.
    pub force: bool,
}

/// Writes the hook, or says what to add to the configuration of the program that writes hooks here.
pub fn hook_install(request: &HookInstall, terminal: Terminal) -> Result<ExitCode> {
    let repository = Repository::discover(&request.folder)?;
    let HooksFolder { path, owner } = repository.hooks_folder()?;
    let stored = with_manifest(request, repository.root())?;
    let state = hook::state(&path)?;
    // What is ours was written by us whatever else is in the repository.
    let foreign = state.text.as_deref().filter(|_| state.origin == Origin::Foreign);
    let managing =
        Managing::find(repository.root(), foreign).filter(|_| !request.force && state.origin != Origin::Ours);
    if let Some(managing) = managing {
        managed(&managing, &stored, terminal);
        return Ok(ExitCode::Success);
    }
    if owner == HooksOwner::Others && !request.force {
        return Err(not_only_here(&path));
    }
    let shown = path.join("pre-push");
    let shown = shown.strip_prefix(repository.root()).unwrap_or(&shown).display();
    match hook::install(&path, &stored)? {
        Installed::New => terminal.status("Installed", &shown.to_string()),
        Installed::Before(before) => {
            let before = before.file_name().unwrap_or_default().to_string_lossy();
            terminal.status("Installed", &format!("{shown}; the hook that was there is now {before}, and runs first"));
        }
        Installed::Changed => terminal.status("Installed", &format!("{shown}, in place of one with other options")),
        Installed::Unchanged => terminal.status("Unchanged", &format!("{shown} is installed already")),
    }
    if owner == HooksOwner::Project {
        terminal.status("Note", "core.hooksPath names a folder of the project: commit the hook to share it");
    }
    Ok(ExitCode::Success)
}

/// Removes the hook; one that was there before gets its name back.
pub fn hook_uninstall(folder: &Path, terminal: Terminal) -> Result<ExitCode> {
    let repository = Repository::discover(folder)?;
    let HooksFolder { path, .. } = repository.hooks_folder()?;
    let shown = path.join("pre-push");
    let shown = shown.strip_prefix(repository.root()).unwrap_or(&shown).display();
    match hook::uninstall(&path)? {
        Removed::Gone => terminal.status("Removed", &shown.to_string()),
        Removed::Restored => {
            terminal.status("Removed", &format!("{shown}; the hook from before is back in its place"));
        }
        Removed::Nothing => match Managing::find(repository.root(), None).filter(|managing| managing.runs_us) {
            Some(Managing { manager, configuration, .. }) => {
                let place = configuration.display();
                return Err(Error::usage(format!("the hook is run by {}, not by a file of ours", manager.name()))
                    .hint(format!("remove `cargo perfunit hook run` from {place}")));
            }
            None => terminal.status("Unchanged", &format!("no hook of ours is installed at {shown}")),
        },
    }
    Ok(ExitCode::Success)
}

/// Says what to add where.
fn managed(managing: &Managing, stored: &Stored, terminal: Terminal) {
    let (name, place) = (managing.manager.name(), managing.configuration.display());
    if managing.runs_us {
        terminal.status("Unchanged", &format!("{name} runs it already, as {place} says"));
        return;
    }
    terminal.warning(&format!(
        "nothing was installed: {name} writes the hooks of this repository; add this to {place} \
         (or install a hook beside it all the same with --force)"
    ));
    term::print(&managing.manager.snippet(stored));
}

/// The options to store, with the manifest if the project does not lie at the top of the repository.
fn with_manifest(request: &HookInstall, root: &Path) -> Result<Stored> {
    let mut stored = request.stored.clone();
    let cargo = Cargo::find(&request.folder)?;
    let manifest = match &request.manifest {
        Some(manifest) => Some(manifest.clone()),
        // Where the user stands, if that is in a project of this repository.
        None => cargo::locate(&cargo, &request.folder, None).ok().map(|found| found.workspace_root.join("Cargo.toml")),
    };
    let relative = manifest.as_deref().and_then(|manifest| manifest.strip_prefix(root).ok()).map(Path::to_owned);
    let relative = match (relative, request.manifest.as_ref()) {
        (Some(relative), _) => relative,
        (None, Some(manifest)) => {
            return Err(Error::usage(format!(
                "{} lies outside of the repository {}",
                manifest.display(),
                root.display()
            ))
            .hint("name the Cargo.toml of a project in this repository"));
        }
        (None, None) => only(manifests(root), root)?,
    };
    if relative != Path::new("Cargo.toml") {
        stored.options.extend(["--manifest-path".to_owned(), relative.to_string_lossy().into_owned()]);
    }
    Ok(stored)
}

/// The only project of a repository.
pub fn only(mut manifests: Vec<PathBuf>, root: &Path) -> Result<PathBuf> {
    match (manifests.pop(), &manifests[..]) {
        (Some(manifest), []) => Ok(manifest),
        (None, _) => Err(Error::setup(format!("there is no Cargo project in {}", root.display()))
            .hint("name its Cargo.toml with `cargo perfunit hook install --manifest-path`")),
        (Some(last), others) => {
            let names: Vec<String> = others.iter().chain([&last]).map(|path| format!("`{}`", path.display())).collect();
            Err(Error::setup(format!("there are several Cargo projects in {}: {}", root.display(), names.join(", ")))
                .hint("choose one with `cargo perfunit hook install --manifest-path`"))
        }
    }
}

fn not_only_here(path: &Path) -> Error {
    Error::setup(format!(
        "core.hooksPath is {}, outside of this repository: a hook there runs in every repository that uses that folder",
        path.display()
    ))
    .hint(
        "`git config core.hooksPath .git/hooks` gives this repository hooks of its own, \
         --force installs the hook there for all of them",
    )
}
