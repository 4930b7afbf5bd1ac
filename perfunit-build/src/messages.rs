//! What cargo says on stdout while it builds.

use super::kept::Artifacts;
use cargo_metadata::{Message, diagnostic::DiagnosticLevel, diagnostic::DiagnosticSpan};
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo;
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Child;

/// A place in the source with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// In the tree.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    pub message: String,
}

/// All messages of a call.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub artifacts: Artifacts,
    /// Root files of targets with errors, with the first error of each.
    pub roots: BTreeMap<PathBuf, String>,
    /// Root files of the test executables that were built.
    pub built: BTreeSet<PathBuf>,
    /// Places of errors, in files as rustc names them.
    pub places: Vec<ErrorPlace>,
    /// The errors, as rustc renders them.
    pub errors: String,
}

/// Reads cargo's messages to their end, and adds what was built.
pub(super) fn read_messages(child: &mut Child, artifacts: Artifacts) -> Result<Messages> {
    let mut messages = Messages { artifacts, ..Messages::default() };
    let Some(stdout) = child.stdout.take() else { return Ok(messages) };
    for message in Message::parse_stream(BufReader::new(stdout)) {
        match message.map_err(|error| Error::setup(format!("cannot read cargo's messages: {error}")))? {
            Message::CompilerArtifact(artifact) => {
                messages.artifacts.add_artifact(&artifact)?;
                let Some(executable) = artifact.executable else { continue };
                let target = &artifact.target;
                if artifact.profile.test {
                    messages.built.insert(fs::normal(target.src_path.as_std_path()));
                    messages.artifacts.tests.push((executable.into(), cargo::target_kind(target), target.name.clone()));
                } else if target.is_bin() {
                    messages.artifacts.binaries.push(executable.into());
                }
            }
            Message::BuildScriptExecuted(script) => {
                messages.artifacts.reported.add_script(&script);
                messages.artifacts.traces.add_script(script.out_dir.into(), &script.package_id.repr);
            }
            Message::CompilerMessage(message) if message.message.level == DiagnosticLevel::Error => {
                let first = &message.message.message;
                messages
                    .roots
                    .entry(fs::normal(message.target.src_path.as_std_path()))
                    .or_insert_with(|| first.clone());
                for primary in message.message.spans.iter().filter(|span| span.is_primary) {
                    // "mismatched types" alone says little.
                    let label = primary.label.iter().filter(|label| label.starts_with("expected "));
                    let message = label.fold(first.clone(), |message, label| format!("{message}: {label}"));
                    messages.places.extend(outwards(primary).map(|span| ErrorPlace {
                        file: PathBuf::from(&span.file_name),
                        line: span.line_start,
                        message: message.clone(),
                    }));
                }
                messages.errors.push_str(&message.message.rendered.unwrap_or_default());
            }
            _ => {}
        }
    }
    Ok(messages)
}

/// A place in the source and, if a macro made what is there, where that was called, outwards.
fn outwards(span: &DiagnosticSpan) -> impl Iterator<Item = &DiagnosticSpan> {
    std::iter::successors(Some(span), |span| Some(&span.expansion.as_ref()?.span))
}
