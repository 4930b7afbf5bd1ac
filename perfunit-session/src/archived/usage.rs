//! What a run has to do with archives: it makes one, uses one, or neither.

use super::recipe::Recipe;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Side, TargetId};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub enum Archive {
    None,
    Making,
    /// It uses this one.
    Using {
        file: PathBuf,
        /// How its builds came about.
        recipes: Vec<Recipe>,
    },
}

impl Archive {
    /// The recipe for a pairing; none if builds are made. An archive without it is an error.
    pub fn recipe(&self, tests_of: Side, targets: &BTreeSet<TargetId>) -> Result<Option<Recipe>> {
        let Self::Using { file, recipes } = self else { return Ok(None) };
        let found = recipes.iter().find_map(|recipe| recipe.narrowed(tests_of, targets));
        found.map(Some).ok_or_else(|| missing(file, targets))
    }

    /// True if both pairings are to be ready before anything is measured.
    pub fn is_in_use(&self) -> bool {
        !matches!(self, Self::None)
    }
}

fn missing(file: &Path, targets: &BTreeSet<TargetId>) -> Error {
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    Error::setup(format!("{} holds no build of {}", file.display(), names.join(", ")))
        .hint("leave out --use-archive to build here, or make the archive anew with the same options")
}
