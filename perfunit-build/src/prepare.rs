//! Runs the steps that prepare a version in the shadow tree, and keeps what they made.
//!
//! A step sees the files of the version and writes next to them. What it made becomes part of the version, so that all
//! stages treat it as if git had it. Its output and its variables are kept under a key of everything that decides them.

use super::builder::{Builder, Place};
use super::capture_role::users_environment;
use super::shadow::Injections;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Side, Warning};
use perfunit_project::config::{Step, StepKind, program_in};
use perfunit_project::git::{Entry, FileSet};
use perfunit_runtime::page::INSIDE_VARIABLE;
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::progress::Progress;
use perfunit_system::{fs, interrupt, json, process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Folder for everything that concerns steps, in our state folder.
const FOLDER: &str = "prepared";
/// Number of results to keep.
const KEPT: usize = 32;
/// Name of the record in a result's folder. It is written last.
const NOTE: &str = "step.json";
/// Maximum number of changed files that a warning names.
const NAMED: usize = 3;
/// Number of lines of a failed step's output to show.
const SHOWN: usize = 40;
/// Variables that would let git in a step change the user's repository.
const OF_GIT: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// The result of a step.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StepResult {
    files: Vec<MadeFile>,
    /// Variables for tests.
    pub variables: BTreeMap<String, String>,
}

/// A file that a step added, changed or removed.
#[derive(Debug, Serialize, Deserialize)]
struct MadeFile {
    /// Path in the version itself.
    path: PathBuf,
    /// Hash of the version's own content, if the version has the file.
    before: Option<String>,
    /// Our copy; `None` if the step removed the file.
    kept: Option<PathBuf>,
}

impl StepResult {
    /// Adds the files to those of the version.
    pub fn add_to(&self, files: &mut FileSet) -> Result<()> {
        for MadeFile { path, kept, .. } in &self.files {
            let name = files.name(path);
            match kept {
                Some(kept) => drop(files.entries.insert(name, Entry::of_disk(kept)?)),
                None => drop(files.entries.remove(&name)),
            }
        }
        Ok(())
    }

    /// Returns a warning about changed files that the version has in git.
    fn warning(&self, step: &Step, side: Side) -> Option<Warning> {
        let changed = self.files.iter().filter(|file| file.before.is_some()).map(|file| file.path.clone());
        let mut files: Vec<PathBuf> = changed.collect();
        let more = files.len().saturating_sub(NAMED);
        files.truncate(NAMED);
        (!files.is_empty()).then(|| Warning::StepChangesFiles { step: step.to_string(), side, files, more })
    }

    /// Checks whether the version has the content that the step found in the files that it changed.
    fn fits(&self, files: &FileSet) -> bool {
        self.files.iter().all(|file| hash_in(files, &file.path) == file.before)
    }
}

fn hash_in(files: &FileSet, path: &Path) -> Option<String> {
    files.entries.get(&files.name(path)).map(|entry| entry.id.to_string())
}

/// The version in which a step runs.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub side: Side,
    pub files: &'a FileSet,
    pub injections: &'a Injections,
}

impl Builder<'_> {
    /// Runs the steps before builds, unless their results are kept, and adds what they made to the version.
    pub fn prepare(&mut self, side: Side, files: &mut FileSet, steps: &[Step]) -> Result<Vec<Warning>> {
        let mut warnings = Vec::new();
        for step in steps.iter().filter(|step| step.kind == StepKind::Build) {
            let (result, warning) = self.step(step, Version { side, files, injections: &Injections::none() })?;
            result.add_to(files)?;
            files.variables.extend(result.variables);
            warnings.extend(warning);
        }
        Ok(warnings)
    }

    /// Runs a step in the tree of a version, unless its result is kept.
    pub fn step(&mut self, step: &Step, version: Version<'_>) -> Result<(StepResult, Option<Warning>)> {
        let _span = tracing::info_span!("step", command = step.command_line()).entered();
        let Version { side, files, .. } = version;
        let home = self.context().ours.join(FOLDER);
        let folder = home.join("kept").join(self.step_key(step, version)?);
        let kept = || json::read_if_understood::<StepResult>(&folder.join(NOTE)).ok().flatten();
        let result = match kept().filter(|result| step.is_repeatable() && result.fits(files)) {
            Some(result) => {
                cache::touch(&folder);
                result
            }
            None => self.run_step(step, version, &home, &folder)?,
        };
        let warning = result.warning(step, side);
        Ok((result, warning))
    }

    /// Returns a key of everything that decides what a step does.
    fn step_key(&self, step: &Step, version: Version<'_>) -> Result<String> {
        let Version { side, files, .. } = version;
        let cargo = self.context().cargo_of(side);
        let words = serde_json::to_vec(&(&step.command, step.relative_to, &step.env))
            .map_err(|error| Error::setup(error.to_string()))?;
        let mut key = KeyBuilder::default().with(words).with(&cargo.version).with(&self.context().live.root);
        key = match step.patterns()? {
            Some(patterns) => key.with(files.key_of(&|path| patterns.is_match(path))),
            None if step.kind == StepKind::Build => key.with(files.key()),
            None => key,
        };
        if !step.is_repeatable() {
            // Both pairings of a run need the result of their own run of the step.
            key = key.with(side.to_string());
        }
        for name in &step.variables {
            let value = std::env::var_os(name);
            let value = value.as_deref().map(OsStr::as_encoded_bytes);
            key = key.with(name).with([u8::from(value.is_some())]).with(value.unwrap_or_default());
        }
        Ok(key.finish())
    }

    fn run_step(&mut self, step: &Step, version: Version<'_>, home: &Path, folder: &Path) -> Result<StepResult> {
        interrupt::check()?;
        let Version { side, files, injections } = version;
        let name = format!("{side} ({})", self.names().get(side));
        let progress = Progress::spinner(self.context().terminal, "Preparing");
        progress.begin(format!("{name}: {}", step.command_line()));
        self.checkout(Place::Measured, files, injections)?;
        fs::create_dir_all(home)?;
        let [log, variables] = ["output.log", "variables"].map(|file| home.join(file));
        fs::write(&variables, "")?;
        let mut command = self.command_of(step, side, home)?;
        command.env("NEXTEST_ENV", &variables);
        let status = process::run_logged(&mut command, &log, step.timeout);
        let output = || last_lines(&fs::read(&log).unwrap_or_default());
        let tree: PathBuf = self.root(Place::Measured)?.components().collect();
        ended_well(step, &name, &tree, status).map_err(|error| match error.code() {
            ExitCode::Interrupted => error,
            _ => error.with_broken(side, output()),
        })?;
        let text = fs::read_if_exists(&variables)?.unwrap_or_default();
        let variables = step.parse_variables(&String::from_utf8_lossy(&text))?;
        let result = StepResult { files: self.keep_made(version, folder)?, variables };
        json::write(&folder.join(NOTE), &result)?;
        folder.parent().map_or(Ok(()), |above| cache::prune(above, KEPT, Duration::ZERO))?;
        Ok(result)
    }

    /// Builds the command of a step.
    fn command_of(&mut self, step: &Step, side: Side, home: &Path) -> Result<Command> {
        let tree = self.root(Place::Measured)?;
        let context = self.context();
        let (root, target) = (tree.join(&context.live.root), home.join("target"));
        let program = program_in(step, &target, &root);
        let program = program.as_deref().map_or_else(|| OsStr::new(&step.command[0]), Path::as_os_str);
        let mut command = Command::new(program);
        command.args(&step.command[1..]).current_dir(&root).env_clear().envs(users_environment());
        let cargo = context.cargo_of(side).command();
        command.envs(cargo.get_envs().filter_map(|(name, value)| Some((name, value?))));
        for name in OF_GIT {
            command.env_remove(name);
        }
        // Above the tree is the user's repository.
        command.env("GIT_CEILING_DIRECTORIES", tree.ancestors().nth(1).unwrap_or(&tree));
        command.env("CARGO_TARGET_DIR", &target).env(INSIDE_VARIABLE, "1");
        command.env("NEXTEST", "1").env("NEXTEST_PROFILE", "default").envs(&step.env);
        Ok(command)
    }

    /// Copies the files that a step added or changed into a result's folder.
    fn keep_made(&mut self, version: Version<'_>, folder: &Path) -> Result<Vec<MadeFile>> {
        let Version { files, injections, .. } = version;
        fs::remove_dir_all(folder)?;
        let copies = folder.join("files");
        fs::create_dir_all(&copies)?;
        let tree = self.root(Place::Measured)?;
        let mut made = Vec::new();
        for path in self.changes()? {
            let (name, place) = (files.name(&path), tree.join(&path));
            let own = files.entries.get(&name);
            let exists = place.symlink_metadata().is_ok();
            let entry = if exists { Some(Entry::of_disk(&place)?) } else { None };
            let is_same = |entry: &Entry| own.is_some_and(|own| (own.id, own.mode) == (entry.id, entry.mode));
            // Roots with injected code differ from the version in any case.
            if entry.as_ref().is_some_and(is_same) || injections.get(&name).is_some() || (own.is_none() && !exists) {
                continue;
            }
            let kept = copies.join(made.len().to_string());
            if let Some(entry) = &entry {
                entry.copy_to(&kept, &place)?;
            }
            let before = own.map(|own| own.id.to_string());
            made.push(MadeFile { path, before, kept: entry.map(|_| kept) });
        }
        Ok(made)
    }
}

/// Checks how a step ended. The error names the step, the version and the folder.
fn ended_well(step: &Step, name: &str, tree: &Path, status: Result<Option<ExitStatus>>) -> Result<()> {
    let failed = |message: String| Error::new(ExitCode::BuildFailed, message);
    Err(match status {
        Ok(Some(status)) if status.success() => return Ok(()),
        Ok(Some(status)) => failed(format!("{step} failed in {name}: {status}")).hint(format!(
            "see its output above; it ran in our copy of that version, {}; if a version does not have what the command \
            needs, let it do nothing there: command = [\"sh\", \"-c\", \"test ! -d bootstrap || cargo bootstrap\"]",
            tree.display()
        )),
        Ok(None) if interrupt::is_requested() => Error::new(ExitCode::Interrupted, "interrupted while preparing"),
        Ok(None) => failed(format!("{step} did not end within {:?} in {name}", step.timeout))
            .hint("see its output above; steps have no input, and `timeout = \"30m\"` gives it more time"),
        Err(error) => failed(format!("{step} in {name}: {}", error.message()))
            .hint("a program without a slash is searched in PATH, other paths start at the workspace's root"),
    })
}

/// Returns the last lines of an output.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    let mut last = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
    if !last.is_empty() {
        last.push('\n');
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_shown() {
        let lines = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let shown = last_lines(lines.as_bytes());
        assert_eq!((shown.lines().next(), shown.lines().last()), (Some("60"), Some("99")));
        assert_eq!(last_lines(b""), "");
        assert_eq!(last_lines(b"a"), "a\n");
    }
}
