//! The files of each target in both versions.

use super::reach::Files;
use super::source;
use crate::git::{FileSet, Versions};
use crate::model::{Sides, TargetId};
use std::collections::BTreeMap;

/// The files of each target, on each side.
pub type TargetFiles = BTreeMap<TargetId, Sides<Files>>;

/// The files of the target with this root.
pub fn modules(versions: &Versions, files: &FileSet, root: &str) -> Files {
    source::modules(root, &|path| versions.read_file(files, path)).files
}
