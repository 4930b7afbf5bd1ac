//! Opens the repository, workspace and toolchains, and locks our folder.

use super::archived::{self, Archive};
use super::options::Options;
use perfunit_model::Warning;
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo::toolchains::{self, Toolchains};
use perfunit_project::cargo::{self, Cargo, Context, Location};
use perfunit_project::git::{Repository, Versions};
use perfunit_system::cache;
use perfunit_system::fs;
use perfunit_system::interrupt;
use perfunit_system::os;
use perfunit_system::os::unix::fs::MetadataExt as _;
use perfunit_system::term::Terminal;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval between attempts to take a lock that another run holds.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// The lock of our folder. Dropping it releases the lock.
pub struct Lock {
    _file: File,
}

/// Everything that a comparison needs.
pub struct Opened {
    pub context: Context,
    pub versions: Versions,
    pub archive: Archive,
    /// Warnings of opening.
    pub warnings: Vec<Warning>,
    /// The lock of our folder, unless the caller holds it.
    pub lock: Option<Lock>,
}

/// Opens everything, and takes the lock of our folder unless the caller holds it.
pub fn open(options: &Options, terminal: Terminal, held: Option<&Lock>) -> Result<Opened> {
    os::check_support()?;
    let mut repository = Repository::discover(&options.folder)?;
    let cargo = Cargo::find(&options.folder)?.with(&options.build.arguments);
    let location = cargo::locate(&cargo, &options.folder, options.manifest.as_deref())?;
    if !location.workspace_root.starts_with(repository.root()) {
        let (workspace, git) = (location.workspace_root.display(), repository.root().display());
        return Err(Error::setup(format!("the workspace root {workspace} is outside the git repository {git}"))
            .hint("run cargo-perfunit in a package with a workspace inside its repository"));
    }
    let ours = our_folder(&location, options.target_dir.as_deref())?;
    repository.exclude(&[location.target_directory.clone(), ours.clone()])?;
    repository.ignore(&options.results)?;
    let comparison = repository.resolve(&options.request)?;
    if let Some(note) = &comparison.note {
        terminal.status("Comparing", note.strip_prefix("comparing ").unwrap_or(note));
    }
    let lock = if held.is_none() { Some(lock(&ours, terminal)?) } else { None };
    let mut versions = Versions::read(repository, comparison.versions)?;
    let mut warnings = versions.files.head.warnings.clone();
    let root = versions.repository.root();
    let live = cargo::load(&cargo, root, &location.workspace_root.join("Cargo.toml"))?;
    let Toolchains { cargo, base: base_cargo, warning } = toolchains::settle(cargo, &versions, &options.folder);
    warnings.extend(warning);
    let context = Context { cargo, base_cargo, location, live, ours, terminal };
    let archive = match &options.archive {
        Some(file) => archived::install(&context, &mut versions, file)?,
        None => Archive::None,
    };
    Ok(Opened { context, versions, archive, warnings, lock })
}

/// Returns the state directory that contains saved runs.
pub fn home(folder: &Path, manifest: Option<&Path>, target_dir: Option<&Path>) -> Result<PathBuf> {
    let cargo = Cargo::find(folder)?;
    let location = cargo::locate(&cargo, folder, manifest)?;
    our_folder(&location, target_dir)
}

/// Returns our folder: `perfunit` below the target folder, with a separate one for each workspace that shares a target
/// folder.
pub fn our_folder(location: &Location, target_dir: Option<&Path>) -> Result<PathBuf> {
    let target = match target_dir {
        Some(dir) => std::path::absolute(dir)
            .map_err(|error| Error::usage(format!("--target-dir {}: {error}", dir.display())))?,
        None => location.target_directory.clone(),
    };
    if target.starts_with(&location.workspace_root) {
        return Ok(target.join(fs::OUR_FOLDER));
    }
    let workspace = cache::hash(location.workspace_root.as_os_str().as_encoded_bytes());
    Ok(target.join(format!("perfunit-{workspace}")).join(fs::OUR_FOLDER))
}

/// Locks our folder. Only one run at a time may use the tree.
pub fn lock(ours: &Path, terminal: Terminal) -> Result<Lock> {
    let path = ours.join("lock");
    let mut announced = false;
    loop {
        interrupt::check()?;
        fs::create_dir_all(ours)?;
        // Not every project ignores its target folder.
        let ignore = ours.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n")?;
        }
        let file = fs::create(&path)?;
        match file.try_lock() {
            // `clean` may have removed the opened file; other processes would not see a lock on it.
            Ok(()) if is_still_there(&file, &path) => return Ok(Lock { _file: file }),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                if !announced {
                    terminal.status("Blocking", "waiting for another `cargo perfunit` in this workspace");
                }
                announced = true;
                // Polls, because Ctrl-C must be able to end the wait.
                std::thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::setup(format!("cannot lock {}: {error}", path.display())));
            }
        }
    }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (ours, theirs) = (file.metadata().map(identity), path.metadata().map(identity));
    matches!((ours, theirs), (Ok(a), Ok(b)) if a == b)
}
