//! `.config/perfunit-ratchet.toml`: the version that serves as baseline, and the accepted losses since that version.

use super::layers::problem;
use super::settings::Layer;
use super::source::{Source, Sourced};
use super::values::Revision;
use perfunit_model::error::{Error, Result};
use perfunit_model::{AcceptedLoss, AcceptedVersion};
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Path of the file, relative to the workspace's root.
pub const PATH: &str = ".config/perfunit-ratchet.toml";
/// Version of the file format.
const FORMAT: u32 = 1;
const HEAD: &str = "# Written by `cargo perfunit ratchet`. Commit this file.\n\n";
const HINT: &str = "`cargo perfunit ratchet set REV` recreates the file, without accepted losses";

/// The baseline to compare with in addition to base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatchetRequest {
    pub revision: String,
    /// Source of the revision.
    #[serde(default)]
    pub from: Source,
    /// Content of the project's ratchet file.
    pub accepted: Option<AcceptedVersion>,
}

/// The ratchet file as stored on disk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    format: u32,
    revision: String,
    commit: String,
    #[serde(default)]
    accepted: Vec<AcceptedLoss>,
}

/// Fields that every format has.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

/// Reads the ratchet file of the workspace with this root, if it exists.
pub fn read_accepted(root: &Path) -> Result<Option<AcceptedVersion>> {
    let Some(text) = fs::read_if_exists(&root.join(PATH))? else { return Ok(None) };
    let text = String::from_utf8(text).map_err(|_| Error::usage(format!("{PATH} is not valid UTF-8")).hint(HINT))?;
    parse(&text).map(Some)
}

fn parse(text: &str) -> Result<AcceptedVersion> {
    let wrong = |error: toml::de::Error| problem(PATH, text, &error, HINT);
    let Header { format } = toml::from_str(text).map_err(wrong)?;
    if format != FORMAT {
        return Err(Error::usage(format!("{PATH} has format {format}; this cargo-perfunit reads format {FORMAT}"))
            .hint("install the cargo-perfunit version that wrote the file"));
    }
    let Table { revision, commit, accepted: losses, .. } = toml::from_str(text).map_err(wrong)?;
    if let Some(odd) = losses.iter().find(|accepted| !(accepted.loss.is_finite() && accepted.loss > 0.0)) {
        return Err(Error::usage(format!("{PATH}: the accepted loss of `{}` is not a positive number", odd.test))
            .hint("accept it again: `cargo perfunit ratchet accept TEST --reason REASON`"));
    }
    if let Some(odd) = losses.iter().find(|accepted| accepted.reason.trim().is_empty()) {
        return Err(Error::usage(format!("{PATH}: the reason of the accepted loss of `{}` is empty", odd.test))
            .hint("say why the loss is accepted; reports show the reason"));
    }
    Ok(AcceptedVersion { revision, commit, losses })
}

/// Writes the ratchet file of the workspace with this root.
pub fn write_accepted(root: &Path, accepted: &AcceptedVersion) -> Result<PathBuf> {
    let AcceptedVersion { revision, commit, losses } = accepted.clone();
    let table = Table { format: FORMAT, revision, commit, accepted: losses };
    let text = toml::to_string(&table).map_err(|error| Error::setup(format!("cannot write {PATH}: {error}")))?;
    let path = root.join(PATH);
    fs::create_dir_all(&root.join(".config"))?;
    fs::write_atomically(&path, HEAD.to_owned() + &text)?;
    Ok(path)
}

/// Returns the setting that the ratchet file implies.
pub fn layer(accepted: &AcceptedVersion) -> Layer {
    let value = Revision(Some(accepted.revision.clone()));
    // Line of `revision` in the file.
    let line = HEAD.lines().count() + 2;
    Layer { ratchet: Some(Sourced { value, from: Source::File { path: PATH.to_owned(), line } }), ..Layer::default() }
}

/// Builds the request for the ratchet comparison from the setting and the file. Returns the error of a file that cannot
/// be read, unless the setting says that there is no ratchet.
pub fn request(
    setting: &Sourced<Revision>,
    accepted: Option<&Result<AcceptedVersion>>,
) -> Result<Option<RatchetRequest>> {
    let accepted = accepted.map(Result::as_ref).transpose().map_err(Error::clone);
    let Some(typed) = setting.value.0.clone() else {
        let is_chosen = !matches!(setting.from, Source::BuiltIn { .. });
        return if is_chosen { Ok(None) } else { accepted.map(|_| None) };
    };
    let accepted = accepted?;
    let is_of_file = matches!(&setting.from, Source::File { path, .. } if path == PATH);
    // A tag can move, so use the recorded commit.
    let pinned = accepted.filter(|_| is_of_file).map(|accepted| accepted.commit.clone());
    let revision = pinned.unwrap_or(typed);
    Ok(Some(RatchetRequest { revision, from: setting.from.clone(), accepted: accepted.cloned() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Mode;

    fn sample() -> AcceptedVersion {
        let reason = "checks for \"overflow\"".to_owned();
        let (test, date) = ("sample tests::mixes".to_owned(), "2026-11-23".to_owned());
        let losses = vec![AcceptedLoss { test, loss: 0.0412, mode: Mode::Steady, reason, date }];
        AcceptedVersion { revision: "v1.2.0".to_owned(), commit: "3f2a91c".to_owned(), losses }
    }

    #[test]
    fn the_file_reads_back_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read_accepted(root.path()).unwrap(), None);
        let path = write_accepted(root.path(), &sample()).unwrap();
        assert_eq!(read_accepted(root.path()).unwrap(), Some(sample()));
        let text = fs::read_to_string(&path).unwrap();
        let Some(Sourced { from: Source::File { line, .. }, .. }) = layer(&sample()).ratchet else { panic!() };
        assert_eq!(text.lines().nth(line - 1), Some("revision = \"v1.2.0\""), "{text}");
    }

    #[test]
    fn a_version_of_the_file_is_its_commit_and_another_one_what_was_typed() {
        let of_file = layer(&sample()).ratchet.unwrap();
        let revision = |setting: Sourced<Revision>| Some(request(&setting, Some(&Ok(sample()))).unwrap()?.revision);
        assert_eq!(revision(of_file).as_deref(), Some("3f2a91c"));
        assert_eq!(
            revision(Sourced::from_command_line(Revision(Some("v1.2.0".to_owned())))).as_deref(),
            Some("v1.2.0")
        );
        assert_eq!(revision(Sourced::from_command_line(Revision(None))), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_matters_only_to_a_ratchet() {
        let unread = parse("format = 2\n");
        let fails = |value: Option<&str>, from: Source| {
            let setting = Sourced { value: Revision(value.map(str::to_owned)), from };
            request(&setting, Some(&unread)).is_err()
        };
        assert!(fails(None, Source::BuiltIn { profile: "default".to_owned() }));
        assert!(fails(Some("v1"), Source::CommandLine));
        assert!(!fails(None, Source::CommandLine));
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named() {
        let check = |text: &str, words: &[&str]| {
            let error = parse(text).unwrap_err().to_string();
            let missing: Vec<_> = ["hint: ", PATH].iter().chain(words).filter(|word| !error.contains(**word)).collect();
            assert!(missing.is_empty(), "without {missing:?}: {error}");
        };
        let head = "format = 1\nrevision = \"v1\"\ncommit = \"3f\"\n";
        let loss = |loss: &str, reason: &str| {
            let rest = format!("mode = \"steady\"\nreason = \"{reason}\"\ndate = \"2026-11-23\"\n");
            format!("{head}[[accepted]]\ntest = \"sample a\"\nloss = {loss}\n{rest}")
        };
        check("", &["missing field `format`"]);
        check("format = 2\n", &["has format 2", "reads format 1"]);
        check("format = 1\nrevision = \"v1\"\n", &["missing field `commit`"]);
        check(&format!("{head}odd = 1\n"), &[":4:1", "unknown field `odd`"]);
        check(&loss("-0.1", "yes"), &["`sample a` is not a positive number"]);
        check(&loss("0.1", " "), &["`sample a` is empty"]);
        check(&loss("\"much\"", "yes"), &[":6:8", "invalid type"]);
    }
}
