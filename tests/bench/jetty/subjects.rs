//! What all edits of a run, and all of a clone, share; and the null edits of a clone.

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
    /// The folder for all that is made.
    pub work: &'a Path,
    /// The tool.
    pub tool: Tool,
    /// What it was built from.
    pub commit: String,
    /// Of the draws.
    pub seed: u64,
    /// Of the waits' loop, on this machine.
    pub ns_a_round: f64,
    /// By what versions are compared.
    pub compare: Compare,
}

/// A clone of the experiment.
pub struct Subject<'a> {
    /// The run.
    pub experiment: &'a Experiment<'a>,
    /// Names it.
    pub name: &'a str,
    /// The copy.
    pub tree: PathBuf,
    /// The commit that it is set back to.
    pub commit: String,
    /// Its files there.
    pub sources: Sources,
    /// The functions that are edited, by file and line; all if nothing is said.
    pub only: Option<BTreeSet<(String, usize)>>,
}

/// A row with what it belongs to; a later run takes over those that are its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Of<R> {
    /// The clone.
    pub clone: String,
    /// Its commit.
    pub at: String,
    /// Of the draw.
    pub draw: u64,
    /// Names the tool and its options.
    pub asked: String,
    /// The commit of the tool.
    pub tool_commit: String,
    /// What came of it.
    pub row: R,
}

/// The clones by the names of their folders.
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

    /// Names the tool, its options and what it measures.
    pub fn asked(&self) -> String {
        let measured = if self.only.is_some() { " generated" } else { "" };
        format!("{}{measured}", self.experiment.tool.key)
    }

    /// Undoes all edits.
    pub fn set_back(&self) -> Result<()> {
        copy::git(&self.tree, &["checkout", "--quiet", "--force", "--detach", &self.commit]).map(drop)
    }

    /// The row that an earlier run left for this, else a new one, which is kept. Either is printed.
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

    /// Null edits until so many of each sort were measured, or there are no more.
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

/// How many modules to try for one that counts: some do not compile.
const TRIES: usize = 3;
