//! A shard of a run, as it was saved.

use crate::runs::Record;
use std::path::PathBuf;

/// A saved run and its file.
pub struct Shard {
    pub path: PathBuf,
    pub record: Record,
}
