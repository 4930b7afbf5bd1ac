//! Where we are: repository, workspace, toolchain, our folder and its lock.

use super::archived::{self, Archive};
use super::not_interrupted;
use super::options::Options;
use super::toolchains;
use crate::build::shadow::{Injections, Tree};
use crate::cargo::{self, Cargo, Location, Workspace};
use crate::error::{Error, Result};
use crate::git::{Comparison, Entry, FileSet, Repository, Version};
use crate::model::{Side, Sides};
use crate::system::cache;
use crate::system::fs;
use crate::system::os;
use crate::system::os::unix::fs::MetadataExt as _;
use crate::system::term::Terminal;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two looks at a lock that another run holds.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Everything that the later steps stand on.
pub struct Setup {
    /// The toolchain, that of head.
    pub cargo: Cargo,
    /// That of base, where it is another one.
    pub base_cargo: Option<Cargo>,
    /// The user's repository, read only.
    pub repository: Repository,
    /// Where the user stands.
    pub location: Location,
    /// The workspace as it is in the user's tree.
    pub live: Workspace,
    /// Our folder below cargo's target folder.
    pub ours: PathBuf,
    pub comparison: Comparison,
    /// The files of both.
    pub files: Sides<FileSet>,
    pub tree: Tree,
    pub terminal: Terminal,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Whether builds go into an archive or come out of one.
    pub archive: Archive,
    /// Held until the end of the run.
    _lock: File,
}

impl Setup {
    /// The toolchain that a side is built with.
    pub fn cargo_of(&self, side: Side) -> &Cargo {
        match (side, &self.base_cargo) {
            (Side::Base, Some(base)) => base,
            _ => &self.cargo,
        }
    }

    /// The compilers of both sides in words.
    pub fn rustc(&self) -> String {
        let head = self.cargo.rustc_release();
        match &self.base_cargo {
            Some(base) => format!("{head}, base {}", base.rustc_release()),
            None => head.to_owned(),
        }
    }

    /// Paths of the files that differ, as text.
    pub fn changed_paths(&self) -> BTreeSet<String> {
        let changed = self.files.base.changed(&self.files.head);
        changed.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// The content of a file of a version, if it has it.
    pub fn read_file(&self, files: &FileSet, path: &str) -> Option<Vec<u8>> {
        let path = Path::new(path);
        files.entries.get(path).and_then(|entry| self.repository.read(entry, path).ok())
    }

    /// A version with its label and short commit, for people.
    pub fn name(version: &Version) -> String {
        let name = &version.name;
        let commit = name.commit.get(..7).unwrap_or(&name.commit);
        if name.label.starts_with(commit) { name.label.clone() } else { format!("{}, {commit}", name.label) }
    }
}

/// Finds everything and takes the lock.
pub fn open(options: &Options, terminal: Terminal) -> Result<Setup> {
    os::supported()?;
    let mut repository = Repository::discover(&options.folder)?;
    let cargo = Cargo::find(&options.folder)?;
    let location = cargo::locate(&cargo, &options.folder, options.manifest.as_deref())?;
    if !location.workspace_root.starts_with(repository.root()) {
        let (workspace, git) = (location.workspace_root.display(), repository.root().display());
        return Err(Error::setup(format!("the workspace root {workspace} lies outside of the git repository {git}"))
            .hint("run the tool in a package whose workspace is part of its repository"));
    }
    let ours = our_folder(&location, options.target_dir.as_deref())?;
    repository.exclude(&[location.target_directory.clone(), ours.clone()])?;
    repository.ignore(&options.results)?;
    let comparison = repository.resolve(&options.request)?;
    if let Some(note) = &comparison.note {
        terminal.status("Comparing", note.strip_prefix("comparing ").unwrap_or(note));
    }
    let lock = lock(&ours, terminal)?;
    let versions = &comparison.versions;
    let files = Sides { base: repository.files(&versions.base)?, head: repository.files(&versions.head)? };
    let warnings = files.head.warnings.clone();
    let live = cargo::load(&cargo, repository.root(), &location.workspace_root.join("Cargo.toml"))?;
    let outside = live.outside.iter().map(PathBuf::as_path);
    let tree = open_tree(&ours.join("shadow"), repository.root(), outside)?;
    let archive = Archive::default();
    let mut setup = Setup {
        cargo,
        base_cargo: None,
        repository,
        location,
        live,
        ours,
        comparison,
        files,
        tree,
        terminal,
        warnings,
        archive,
        _lock: lock,
    };
    toolchains::settle(&mut setup, options);
    if let Some(file) = &options.archive {
        archived::install(&mut setup, file)?;
    }
    Ok(setup)
}

/// Our folder, for who asks about runs that were.
pub fn home(folder: &Path, manifest: Option<&Path>, target_dir: Option<&Path>) -> Result<PathBuf> {
    let cargo = Cargo::find(folder)?;
    let location = cargo::locate(&cargo, folder, manifest)?;
    our_folder(&location, target_dir)
}

/// Our folder: `perfunit` below the target folder, apart by workspace where several share one target folder.
pub fn our_folder(location: &Location, target_dir: Option<&Path>) -> Result<PathBuf> {
    let target = match target_dir {
        Some(dir) => std::path::absolute(dir)
            .map_err(|error| Error::usage(format!("--target-dir {}: {error}", dir.display())))?,
        None => location.target_directory.clone(),
    };
    if target.starts_with(&location.workspace_root) {
        return Ok(target.join("perfunit"));
    }
    let workspace = cache::hash(location.workspace_root.as_os_str().as_encoded_bytes())?;
    Ok(target.join(format!("perfunit-{workspace}")).join("perfunit"))
}

/// One run at a time: they share the tree. Ends when the file is closed.
pub fn lock(ours: &Path, terminal: Terminal) -> Result<File> {
    let path = ours.join("lock");
    let mut announced = false;
    loop {
        not_interrupted()?;
        fs::create_dir_all(ours)?;
        // Not every project ignores its target folder.
        let ignore = ours.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n")?;
        }
        let file = fs::create(&path)?;
        match file.try_lock() {
            // `clean` may have removed the file that we opened: nobody else would see our lock on it.
            Ok(()) if is_still_there(&file, &path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                if !announced {
                    terminal.status("Blocking", "waiting for another `cargo perfunit` in this workspace");
                }
                announced = true;
                // Not a blocking call: Ctrl-C has to end the wait.
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

/// Gives both versions the same lock file policy: a version without one takes the other's; if neither has one it is
/// made once, kept in our folder, and used for both from then on.
pub fn settle_lock_file(setup: &mut Setup, workspace_root: &str) -> Result<()> {
    let path = Path::new(workspace_root).join("Cargo.lock");
    let entry = |files: &FileSet| files.entries.get(&path).cloned();
    let entry = match (entry(&setup.files.base), entry(&setup.files.head)) {
        (Some(_), Some(_)) => return Ok(()),
        (Some(entry), None) | (None, Some(entry)) => entry,
        (None, None) => {
            let kept = setup.ours.join("Cargo.lock");
            let text = match fs::read_if_exists(&kept)? {
                Some(text) => text,
                None => make_lock_file(setup, &path, &kept)?,
            };
            Entry::snapshot(text)
        }
    };
    for files in [&mut setup.files.base, &mut setup.files.head] {
        files.entries.entry(path.clone()).or_insert_with(|| entry.clone());
    }
    Ok(())
}

fn make_lock_file(setup: &mut Setup, path: &Path, kept: &Path) -> Result<Vec<u8>> {
    setup.tree.checkout(&setup.repository, &setup.files.head, &Injections::none())?;
    let lock = setup.tree.path(path);
    cargo::generate_lock_file(&setup.cargo, &lock.with_file_name("Cargo.toml"))?;
    let text = fs::read(&lock)?;
    fs::write_atomically(kept, &text)?;
    Ok(text)
}

/// Opens a tree that lives in the folder `home`, with links to what of the project lies outside of the repository, so that
/// relative path dependencies on it resolve.
pub fn open_tree<'a>(home: &Path, root: &Path, outside: impl Iterator<Item = &'a Path>) -> Result<Tree> {
    let outside: Vec<&Path> = outside.collect();
    let common = outside.iter().fold(root.to_owned(), |common, path| common_ancestor(&common, path));
    let relative = |path: &Path| path.strip_prefix(&common).unwrap_or(path).to_string_lossy().into_owned();
    let mut tree = Tree::open(home, &if outside.is_empty() { String::new() } else { relative(root) })?;
    for path in outside {
        tree.link_outside(&relative(path), path);
    }
    Ok(tree)
}

fn common_ancestor(a: &Path, b: &Path) -> PathBuf {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}
