//! The example projects: do the strategies agree on the responsible function?

use super::tool::{self, Tool};
use super::{Result, asked, explained};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Folder of the examples.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");

/// Prints the first named function by every strategy, for each slower test of each example.
pub fn show(work: &Path, tool: &Tool, strategies: &[String]) -> Result<()> {
    println!("| story | test | {} |", strategies.join(" | "));
    println!("|-|-|{}", "-|".repeat(strategies.len()));
    let mut stories = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let entry = entry?;
        if entry.path().join("case.toml").exists() {
            stories.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    stories.sort_unstable();
    for story in stories {
        let folder = work.join(&story);
        if !folder.exists() {
            make(&story, &folder, work)?;
        }
        let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for strategy in strategies {
            for test in asked(tool, &folder, "HEAD~1", strategy, &[])? {
                if test.verdict != "slower" {
                    continue;
                }
                let found = test.explanation.as_ref();
                let nobody = || test.explanation.as_ref().map_or(&test.notes, |found| &found.notes).join("; ");
                said.entry(test.name.clone())
                    .or_default()
                    .push(found.and_then(explained::first).unwrap_or_else(|| format!("nobody: {}", nobody())));
            }
        }
        for (test, first) in said {
            println!("| {story} | {test} | {} |", first.join(" | "));
        }
    }
    Ok(())
}

/// Creates the project with its history of two versions.
fn make(story: &str, folder: &Path, work: &Path) -> Result<()> {
    let output = tool::clean("bash", work).arg(format!("{FOLDER}/make.sh")).arg(story).arg(folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("make.sh {story}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
