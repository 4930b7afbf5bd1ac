//! Rows that are stored for later runs, one line of JSON each.

use super::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// Returns the wanted rows of earlier runs.
pub fn known<T: DeserializeOwned>(path: &Path, is_wanted: impl Fn(&T) -> bool) -> Result<Vec<T>> {
    let Ok(file) = File::open(path) else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for line in BufReader::new(file).lines() {
        let row: T = serde_json::from_str(&line?)?;
        rows.extend(Some(row).filter(&is_wanted));
    }
    Ok(rows)
}

/// Appends a row to the file.
pub fn keep(path: &Path, row: &impl Serialize) -> Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", serde_json::to_string(row)?)?)
}
