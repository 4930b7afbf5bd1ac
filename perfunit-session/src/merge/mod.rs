//! `cargo perfunit merge`: joins the runs of all shards, as if one machine had measured all tests.
//!
//! Nothing is measured or judged again. Each test has the verdict of its shard, which was made at the error rate of the
//! whole run. It only remains to check that the shards belong to one run, each exactly once.

mod check;
mod join;

use super::open;
use super::options::Options;
use super::runs::{self, Record};
use check::Shard;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Run, Warning};
use perfunit_system::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default)]
pub struct MergeRequest {
    /// Saved runs, or folders that contain saved runs.
    pub shards: Vec<PathBuf>,
    /// Folder for the merged run; defaults to the workspace's saved runs.
    pub output: Option<PathBuf>,
    /// The user's current folder.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
}

/// Joins the shards and saves the run.
pub fn merge(request: &MergeRequest) -> Result<Run> {
    if let Some(output) = &request.output {
        runs::make_folder_of_results(output)?;
    }
    let mut shards = Vec::new();
    for path in files(&request.shards)? {
        shards.push(Shard { record: runs::read(&path)?, path });
    }
    let shards = check::in_order(shards)?;
    let options = Options {
        folder: request.folder.clone(),
        manifest: request.manifest.clone(),
        target_dir: request.target_dir.clone(),
        partition: None,
        ..shards[0].record.options.clone()
    };
    let contents = shards[0].record.contents.clone();
    let mut record = Record::new(options, contents, join::join(&shards));
    record.of_ratchet.clone_from(&shards[0].record.of_ratchet);
    for shard in &shards {
        record.profiles.extend(shard.record.profiles.clone());
    }
    // The results are reported even if they cannot be saved.
    if let Err(error) = keep(request, &mut record) {
        record.run.warnings.push(Warning::NotKept { merged: true, why: error.message().to_owned() });
    }
    Ok(record.run)
}

fn keep(request: &MergeRequest, record: &mut Record) -> Result<()> {
    if let Some(output) = &request.output {
        return runs::save(&output.join(runs::FILE), record);
    }
    let ours = open::home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref())?;
    runs::keep(&ours, record).map(drop)
}

/// Returns the named files, each once.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in named {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        search(path, &mut found)?;
        if found.len() == before {
            return Err(Error::usage(format!("no {} in {} or below", runs::FILE, path.display()))
                .hint("run `cargo perfunit diff --partition .. --output DIR` to write one to DIR"));
        }
    }
    // A folder and one of its files may both be named.
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(found)
}

/// Searches without following links to folders, which may form cycles.
fn search(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for path in fs::list_dir(folder)? {
        if path.is_dir() && !path.is_symlink() {
            search(&path, found)?;
        } else if path.file_name().is_some_and(|name| name == runs::FILE) {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
