//! The edited project: a copy of a clone, or our sample crate.

use super::invocation::Place;
use super::{Result, copy};
use clap::Args;
use std::path::{Path, PathBuf};

/// Arguments of the programs that make edits.
#[derive(Debug, Args)]
pub struct Subject {
    /// Clone to take the code from; it is copied, never changed
    clone: Option<PathBuf>,
    /// Use the sample crate instead of a clone
    #[arg(long, conflicts_with = "clone")]
    pub sample: bool,
    /// Seed of the draw. With the same seed, a later run continues an earlier one
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Edit only below these folders of the clone
    #[arg(long, value_name = "FOLDER")]
    pub below: Vec<String>,
    #[command(flatten)]
    pub place: Place,
}

/// The copy.
pub struct Copy {
    /// Folder of the copy.
    pub tree: PathBuf,
    /// Commit to which the copy is reset.
    pub commit: String,
}

impl Subject {
    /// Copies the clone into `work`; `sample` writes the sample crate.
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
