//! Data shared by all edits of a run or of a clone, and the null edits of a clone.

use super::sources::{Scope, Sources};
use super::tool::Tool;
use super::trial::{Compare, Trial};
use super::{Result, calls, copy, hot, kept, nulls, rows, unrelated};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A run of this program.
pub struct Experiment<'a> {
    /// Folder for all files.
    pub work: &'a Path,
    /// The tool.
    pub tool: Tool,
    /// Commit that the tool was built from.
    pub commit: String,
    /// Seed of the draws.
    pub seed: u64,
    /// Time of one round of the waits' loop on this machine, ns.
    pub ns_a_round: f64,
    /// Function that compares versions.
    pub compare: Compare,
}

/// A clone of the experiment.
pub struct Subject<'a> {
    /// The run.
    pub experiment: &'a Experiment<'a>,
    /// Name of the clone.
    pub name: &'a str,
    /// Folder of the copy.
    pub tree: PathBuf,
    /// Commit to which the copy is reset.
    pub commit: String,
    /// Files of the copy.
    pub sources: Sources,
    /// Functions to edit, by file and line; all if `None`.
    pub only: Option<BTreeSet<(String, usize)>>,
}

/// A row with its context; a later run reuses rows of the same context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Of<R> {
    /// Name of the clone.
    pub clone: String,
    /// Commit of the clone.
    pub at: String,
    /// Seed of the draw.
    pub draw: u64,
    /// Version and options of the tool.
    pub asked: String,
    /// Commit of the tool.
    pub tool_commit: String,
    /// The result.
    pub row: R,
}

/// Returns the clones by the names of their folders.
pub fn named(folders: &[PathBuf]) -> Result<Vec<(String, PathBuf)>> {
    let mut clones: Vec<(String, PathBuf)> = Vec::new();
    for folder in folders {
        let folder = copy::typed(folder);
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((_, other)) = clones.iter().find(|(other, _)| *other == name) {
            let (one, two) = (other.display(), folder.display());
            return Err(format!("two clones are named `{name}`: {one} and {two}; rename one of the folders").into());
        }
        clones.push((name, folder));
    }
    Ok(clones)
}

impl<'a> Subject<'a> {
    /// Copies the clone.
    pub fn new(experiment: &'a Experiment<'a>, name: &'a str, clone: &Path) -> Result<Self> {
        let tree = copy::of(clone, &experiment.work.join(name))?.canonicalize()?;
        let commit = copy::git(&tree, &["rev-parse", "HEAD"])?;
        let sources = Sources::read(&tree, Scope::default())?;
        Ok(Self { experiment, name, tree, commit, sources, only: None })
    }

    /// Returns a key of the tool, its options and the measured code.
    pub fn asked(&self) -> String {
        let measured = if self.only.is_some() { " generated" } else { "" };
        format!("{}{measured}", self.experiment.tool.key)
    }

    /// Reverts all edits.
    pub fn set_back(&self) -> Result<()> {
        copy::git(&self.tree, &["checkout", "--quiet", "--force", "--detach", &self.commit]).map(drop)
    }

    /// Returns the row of an earlier run, or creates and stores a new one. Prints the row.
    pub fn row<R>(
        &self,
        file: &str,
        asked: &str,
        is_it: impl Fn(&R) -> bool,
        make: impl FnOnce() -> Result<R>,
    ) -> Result<Of<R>>
    where
        R: Serialize + DeserializeOwned + Display,
    {
        let Experiment { work, seed, commit, .. } = self.experiment;
        let path = work.join(file);
        let is_ours = |of: &Of<R>| {
            of.clone == self.name && of.at == self.commit && of.draw == *seed && of.asked == asked && is_it(&of.row)
        };
        let of = if let Some(of) = kept::known(&path, is_ours)?.pop() {
            of
        } else {
            let of = Of {
                clone: self.name.to_owned(),
                at: self.commit.clone(),
                draw: *seed,
                asked: asked.to_owned(),
                tool_commit: commit.clone(),
                row: make()?,
            };
            kept::keep(&path, &of)?;
            of
        };
        println!("{}: {}", self.name, of.row);
        Ok(of)
    }

    /// Makes null edits until this many of each kind were measured, or there are no more.
    pub fn nulls(&self, hot: usize, unrelated: usize) -> Result<Vec<Of<rows::Row>>> {
        let seed = self.experiment.seed;
        let mut sites = self.sources.edits();
        if let Some(only) = &self.only {
            sites.retain(|edit| calls::is_of(&edit.path, &edit.evidence, only));
        }
        let executed = hot::edits(&sites, &mut fastrand::Rng::with_seed(seed));
        let tries = TRIES * unrelated;
        let elsewhere = unrelated::edits(&sites, &self.sources, tries, &mut fastrand::Rng::with_seed(seed));
        let trial = Trial {
            tree: &self.tree,
            commit: &self.commit,
            tool: &self.experiment.tool,
            sources: &self.sources,
            seed,
            effect: None,
            all_tests: false,
            compare: self.experiment.compare,
        };
        let mut made = self.measured(&trial, executed, hot)?;
        made.extend(self.measured(&Trial { all_tests: true, ..trial }, elsewhere, unrelated)?);
        Ok(made)
    }

    fn measured(&self, trial: &Trial<'_>, drawn: Vec<nulls::Null>, wanted: usize) -> Result<Vec<Of<rows::Row>>> {
        let mut made: Vec<Of<rows::Row>> = Vec::new();
        for null in drawn {
            if made.iter().filter(|of| of.row.refused.is_none()).count() >= wanted {
                break;
            }
            let key = trial.key(&null);
            made.push(self.row("nulls.jsonl", &self.asked(), |row: &rows::Row| row.key == key, || trial.row(&null))?);
        }
        Ok(made)
    }
}

/// Modules to try per counted edit, because some do not compile.
const TRIES: usize = 3;
