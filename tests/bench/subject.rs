//! What is edited: a copy of a clone, or of a crate of our own.

use super::invocation::Place;
use super::{Result, copy};
use clap::Args;
use std::path::{Path, PathBuf};

/// Arguments of the programs that make edits.
#[derive(Debug, Args)]
pub struct Subject {
    /// Clone to take the code from; it is copied, never written.
    clone: Option<PathBuf>,
    /// Use a small crate of our own instead of a clone.
    #[arg(long, conflicts_with = "clone")]
    pub sample: bool,
    /// Seed of the draw. The same seed goes on where an earlier run stopped.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Edit only below these folders of the clone.
    #[arg(long, value_name = "FOLDER")]
    pub below: Vec<String>,
    #[command(flatten)]
    pub place: Place,
}

/// The copy.
pub struct Copy {
    /// Its folder.
    pub tree: PathBuf,
    /// The commit that it is set back to.
    pub commit: String,
}

impl Subject {
    /// Copies what was asked for into `work`; `sample` writes the crate of our own.
    pub fn copy(&self, work: &Path, sample: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<Copy> {
        let clone = match &self.clone {
            Some(clone) => copy::typed(clone),
            None if self.sample => sample(work)?,
            None => return Err("which clone? give a folder, or --sample".into()),
        };
        let tree = copy::of(&clone, work)?.canonicalize()?;
        let commit = copy::git(&tree, &["rev-parse", "HEAD"])?;
        Ok(Copy { tree, commit })
    }
}
