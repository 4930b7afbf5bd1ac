//! A project: a git repository in a temporary folder with its own target folder.

use super::{Run, repository_root};
use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature, Time};
use std::ffi::OsStr;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};
use tempfile::TempDir;

/// Ending that files of a fixture lose in a project, so that neither cargo nor git takes them for their own.
const DISARMED: &str = ".fixture";

/// Placeholder in such files for the folder of our repository, used by packages that depend on ours.
const REPOSITORY: &str = "@REPOSITORY@";

/// Variables that cargo and the tool read; a test must not depend on the environment that runs it.
const UNSET: [&str; 15] = [
    "PERFUNIT_LAYOUT",
    "PERFUNIT_PROFILE",
    "GITHUB_ACTIONS",
    "GITHUB_OUTPUT",
    "GITHUB_STEP_SUMMARY",
    "RUNNER_TEMP",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TERM_COLOR",
    "CARGO_MANIFEST_DIR",
    "CARGO_PRIMARY_PACKAGE",
    "RUSTFLAGS",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "RUST_TEST_THREADS",
];

/// Variable that keeps the linker's placement of code: measuring then links nothing and takes a sixth of the processor
/// time. For tests of the steps around a measurement, with changes far beyond the 15 % that placement can fake.
pub const NATURAL_LAYOUT: (&str, &str) = ("PERFUNIT_LAYOUT", "natural");

/// A repository with the files and commits of a test; removed when dropped.
pub struct Project {
    folder: TempDir,
    repository: Repository,
    /// Variables of all runs of the tool.
    variables: Vec<(&'static str, &'static str)>,
}

impl Project {
    /// Creates an empty repository that ignores its target folder.
    pub fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("perfunit-test-").tempdir().unwrap();
        let repository =
            Repository::init_opts(folder.path(), RepositoryInitOptions::new().initial_head("main")).unwrap();
        let project = Self { folder, repository, variables: Vec::new() };
        project.write(".gitignore", "/target\n");
        project
    }

    /// Creates a library crate with two committed versions of `src/lib.rs`.
    pub fn library(base: &str, head: &str) -> Self {
        let project = Self::empty();
        project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        project.write("src/lib.rs", base);
        project.commit("base");
        project.write("src/lib.rs", head);
        project.commit("head");
        project
    }

    /// Keeps the linker's placement of code in all runs: see [`NATURAL_LAYOUT`].
    pub fn with_natural_layout(mut self) -> Self {
        self.variables.push(NATURAL_LAYOUT);
        self
    }

    /// Returns the folder of the project.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of the working tree.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Removes a file of the working tree.
    pub fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.path().join(path)).unwrap();
    }

    /// Copies the files of a fixture's side over the existing ones.
    pub fn overlay(&self, side: &Path) {
        for file in files(side) {
            let relative = file.strip_prefix(side).unwrap().to_str().unwrap();
            match relative.strip_suffix(DISARMED) {
                Some(armed) => {
                    let text = fs::read_to_string(&file).unwrap();
                    self.write(armed, text.replace(REPOSITORY, repository_root().to_str().unwrap()));
                }
                None => self.write(relative, fs::read(&file).unwrap()),
            }
        }
    }

    /// Commits the working tree with fixed author and time.
    pub fn commit(&self, message: &str) {
        let mut index = self.repository.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
        let tree = self.repository.find_tree(index.write_tree().unwrap()).unwrap();
        let author = Signature::new("Tester", "tester@example.org", &Time::new(1_700_000_000, 0)).unwrap();
        let parent = self.repository.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<_> = parent.iter().collect();
        self.repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents).unwrap();
    }

    /// Returns the id of the last commit.
    pub fn head(&self) -> String {
        self.repository.head().unwrap().target().unwrap().to_string()
    }

    /// Returns the paths that `git status` would list.
    pub fn status(&self) -> Vec<String> {
        let statuses = self.repository.statuses(Some(git2::StatusOptions::new().include_untracked(true))).unwrap();
        statuses.iter().filter_map(|entry| entry.path().map(str::to_owned).ok()).collect()
    }

    /// Runs the tool at the root of the repository.
    pub fn perfunit<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Run {
        self.perfunit_in("", arguments)
    }

    /// Runs the tool in a folder of the repository.
    pub fn perfunit_in<A: AsRef<OsStr>>(&self, folder: &str, arguments: impl IntoIterator<Item = A>) -> Run {
        let mut command = self.command(folder);
        command.args(arguments);
        Run::of(command)
    }

    /// Returns the tool without arguments, to be run in a folder of the repository.
    pub fn command(&self, folder: &str) -> Command {
        let mut command = Self::tool(&self.path().join(folder));
        command.envs(self.variables.iter().copied());
        command
    }

    /// Removes the variables from a command that describe other projects, and adds those of this project.
    pub fn prepare(&self, command: &mut Command) {
        Self::isolate(command);
        command.envs(self.variables.iter().copied());
    }

    /// Returns the tool without arguments, to be run in any folder.
    pub fn tool(folder: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-perfunit"));
        command.current_dir(folder);
        Self::isolate(&mut command);
        command
    }

    /// Removes the variables from a command that describe other projects.
    pub fn isolate(command: &mut Command) {
        for name in UNSET {
            command.env_remove(name);
        }
        command.env("PERFUNIT_CACHE_DIR", Self::cache());
    }

    /// Returns the cache shared by all tests. The tool builds once per toolchain, and the user's calibration is not
    /// used.
    pub fn cache() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfunit-cache")
    }

    /// Links a folder of the shared cache into another cache.
    pub fn share_cached(folder: &str, cache: &Path) {
        let common = Self::cache().join(folder);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&common).unwrap();
        symlink(common, cache.join(folder)).unwrap();
    }

    /// Runs `diff` on the last two commits with JSON output.
    pub fn diff(&self, arguments: &[&str]) -> Run {
        let explain: &[&str] = if arguments.contains(&"--explain") { &[] } else { &["--explain", "never"] };
        self.perfunit(["diff", "HEAD~1", "--message-format", "json"].iter().chain(explain).chain(arguments))
    }
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return found,
        entries => entries.unwrap(),
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
