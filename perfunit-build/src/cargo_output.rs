//! Reads cargo's output during a build, for progress and for errors.

use super::side_build::Artifacts;
use cargo_metadata::{Message, diagnostic::DiagnosticLevel, diagnostic::DiagnosticSpan};
use perfunit_model::error::{Error, Result};
use perfunit_model::guesses::{NOT_COMPILED, OF_TEST_CODE, PROGRESS_VERBS};
use perfunit_project::cargo;
use perfunit_system::fs;
use perfunit_system::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, ChildStderr};

/// Shows what cargo compiles in the progress line, and returns its other output in case the build fails.
pub(super) fn follow(stderr: ChildStderr, progress: &Progress) -> String {
    let mut output = String::new();
    // Cargo redraws its progress bar after a carriage return, and ends the line only to print something else.
    let pieces = Pieces(BufReader::new(stderr));
    for drawn in pieces {
        let plain = anstream::adapter::strip_str(&drawn).to_string();
        if let Some(message) = compiling(plain.trim()) {
            progress.message(message);
        }
        match plain.trim() {
            bar if left(bar).is_some() => {}
            "" => output.extend(drawn.ends_with('\n').then_some('\n')),
            _ => output.push_str(drawn.trim_start_matches("\u{1b}[K").trim_end_matches('\r')),
        }
    }
    output
}

/// Iterator over the parts of a stream, each up to and including a carriage return or line feed.
struct Pieces<R>(R);

impl<R: BufRead> Iterator for Pieces<R> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut piece = Vec::new();
        loop {
            let read = match self.0.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap_or_default(),
            };
            let end = read.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let used = end.map_or(read.len(), |end| end + 1);
            piece.extend_from_slice(&read[..used]);
            self.0.consume(used);
            if end.is_some() || used == 0 {
                return (!piece.is_empty()).then(|| String::from_utf8_lossy(&piece).into_owned());
            }
        }
    }
}

/// Extracts the progress from a line of cargo.
fn compiling(line: &str) -> Option<String> {
    let verb = || PROGRESS_VERBS.iter().any(|verb| line.starts_with(verb));
    left(line).or_else(|| verb().then(|| line.split(" (").next().unwrap_or(line).to_owned()))
}

/// Extracts `12/37: serde, syn` from cargo's progress bar.
fn left(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix("Building [")?.split_once("] ")?;
    rest.contains('/').then(|| rest.to_owned())
}

/// Checks whether only test code failed. Cargo ends with a line like: could not compile `demo` (lib test) due to 1
/// previous error.
pub(super) fn only_tests(output: &str) -> bool {
    let plain = anstream::adapter::strip_str(output).to_string();
    let mut failures = plain.lines().filter(|line| line.contains(NOT_COMPILED)).peekable();
    failures.peek().is_some() && failures.all(|line| OF_TEST_CODE.iter().any(|test| line.contains(test)))
}

/// Position of an error in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// Path in the tree.
    pub file: PathBuf,
    /// Line number, counted from 1.
    pub line: usize,
    pub message: String,
}

/// Messages of one cargo call.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub artifacts: Artifacts,
    /// Root files of targets with errors, with the first error of each.
    pub roots: BTreeMap<PathBuf, String>,
    /// Root files of the test executables that were built.
    pub built: BTreeSet<PathBuf>,
    /// Positions of errors, in files as rustc names them.
    pub places: Vec<ErrorPlace>,
    /// Errors as rendered by rustc.
    pub errors: String,
}

/// Reads all of cargo's messages, and adds the built artifacts.
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
                    // "mismatched types" alone is not enough to understand the error.
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

/// Returns a span, followed by the macro calls that it was expanded from, outwards.
fn outwards(span: &DiagnosticSpan) -> impl Iterator<Item = &DiagnosticSpan> {
    std::iter::successors(Some(span), |span| Some(&span.expansion.as_ref()?.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_own_progress_is_shown() {
        assert_eq!(compiling("Building [====>      ] 12/37: serde, syn").as_deref(), Some("12/37: serde, syn"));
        assert_eq!(compiling("Compiling serde v1.0.0 (/x)").as_deref(), Some("Compiling serde v1.0.0"));
        assert_eq!(compiling("error: could not compile `demo`"), None);
    }

    #[test]
    fn a_progress_bar_is_seen_before_its_line_ends() {
        let said = "Building [=>  ] 1/2: a\rBuilding [==> ] 2/2: b\r\u{1b}[K   Compiling b\nwarning: \u{e4}";
        let pieces: Vec<String> = Pieces(BufReader::with_capacity(3, said.as_bytes())).collect();
        let expected =
            ["Building [=>  ] 1/2: a\r", "Building [==> ] 2/2: b\r", "\u{1b}[K   Compiling b\n", "warning: \u{e4}"];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn failures_of_test_targets_are_told_from_failures_of_the_code() {
        assert!(only_tests("error: could not compile `demo` (lib test) due to 1 previous error\n"));
        assert!(only_tests("error: could not compile `demo` (test \"it\") due to 2 previous errors\n"));
        assert!(only_tests("error: could not compile `demo` (bench \"it\") due to 2 previous errors\n"));
        assert!(only_tests("error: could not compile `demo` (bin \"demo\" test) due to 2 previous errors\n"));
        assert!(!only_tests("error: could not compile `demo` (lib) due to 1 previous error\n"));
        assert!(!only_tests("error: failed to select a version for `x`\n"));
    }
}
