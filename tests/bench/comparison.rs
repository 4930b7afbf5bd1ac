//! A comparison by `cargo perfunit diff`.

use super::Result;
use super::tool::Tool;
use perfunit_model::error::ExitCode;
use perfunit_report::json::Document;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Result of the tool.
pub enum Answer<D = Document> {
    /// The document, or the needed part of it.
    Compared(Box<D>),
    /// Reason for the missing document, in one line.
    Refused(String),
}

/// Exit codes that describe the tests and not an error of the tool.
const COMPARED: [ExitCode; 3] = [ExitCode::Success, ExitCode::Regression, ExitCode::TestsFailOnBase];

/// Compares two versions: a base with the working tree, or `BASE..HEAD`.
pub fn compare<D: DeserializeOwned>(tool: &Tool, tree: &Path, versions: &str, more: &[&str]) -> Result<Answer<D>> {
    let mut command = tool.command(tree, "diff", versions);
    command.args(more);
    // Explanations are only for benchmarks that request them.
    if command.get_args().all(|argument| argument != "--explain") {
        command.args(["--explain", "never"]);
    }
    let output = command.output()?;
    let is = |code: ExitCode| output.status.code() == Some(i32::from(code as u8));
    if COMPARED.into_iter().any(is) {
        let document: Value = serde_json::from_slice(&output.stdout)?;
        if document["interrupted"] == true {
            return Err("interrupted".into());
        }
        return Ok(Answer::Compared(Box::new(serde_json::from_value(document)?)));
    }
    let why = last_words(&output);
    // Errors that would occur every time, or an interruption.
    if [ExitCode::Usage, ExitCode::Interrupted].into_iter().any(is) || output.status.code().is_none() {
        return Err(format!("`cargo perfunit diff`: {}: {why}", output.status).into());
    }
    Ok(Answer::Refused(if is(ExitCode::BuildFailed) { "does not compile".to_owned() } else { why }))
}

fn last_words(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let said = error.lines().find(|line| line.starts_with("error")).or_else(|| error.lines().last());
    format!("{} {}", output.status, said.unwrap_or_default()).trim().to_owned()
}
