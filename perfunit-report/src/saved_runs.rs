//! `cargo perfunit report --list`: saved runs, one per line.

use super::json::Verdicts;
use super::ratchet;
use super::text::count_verdicts;
use super::wire::{SCHEMA_VERSION, pretty};
use perfunit_model::error::Error;
use perfunit_model::format::{Glyphs, one_line};
use perfunit_model::{Run, VersionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A saved run.
#[derive(Debug)]
pub struct Saved {
    /// Id of the run, which begins with its time.
    pub id: String,
    /// Path of the run's file.
    pub path: PathBuf,
    /// The run, or the error that prevents reading it.
    pub run: Result<Run, Error>,
}

/// Format of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFormat {
    /// For people.
    Text(Glyphs),
    /// For programs.
    Json,
}

/// The JSON document of `report --list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// Saved runs, the latest first.
    pub runs: Vec<SavedRun>,
}

/// A saved run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SavedRun {
    /// Id of the run, which begins with its time: `20261122T073000Z-ab12`.
    pub id: String,
    /// Path of the run's file.
    pub path: String,
    /// The version compared against; null if the file cannot be read.
    pub base: Option<VersionName>,
    /// The version under test.
    pub head: Option<VersionName>,
    /// Tests by verdict.
    pub verdicts: Option<Verdicts>,
    /// The reason if the file cannot be read.
    pub problem: Option<String>,
}

/// Formats the list with a trailing newline.
pub fn render(runs: &[Saved], format: ListFormat) -> String {
    match format {
        ListFormat::Text(glyphs) => text(runs, glyphs),
        ListFormat::Json => {
            pretty(&Document { schema_version: SCHEMA_VERSION, runs: runs.iter().map(SavedRun::from).collect() })
        }
    }
}

fn text(runs: &[Saved], glyphs: Glyphs) -> String {
    if runs.is_empty() {
        return "no saved runs in this workspace; `cargo perfunit diff` saves one\n".to_owned();
    }
    let mut text = String::new();
    for Saved { id, run, .. } in runs {
        // Writing into a string cannot fail.
        let _ = match run {
            Ok(run) => {
                let (base, head) = (one_line(&run.base.label), one_line(&run.head.label));
                let lost = ratchet::found(run).map(|found| format!(", {found}")).unwrap_or_default();
                writeln!(text, "{id}  {base} {} {head}: {}{lost}", glyphs.arrow(), count_verdicts(run, glyphs))
            }
            Err(error) => writeln!(text, "{id}  {}", one_line(error.message())),
        };
    }
    text
}

impl From<&Saved> for SavedRun {
    fn from(saved: &Saved) -> Self {
        let run = saved.run.as_ref().ok();
        Self {
            id: saved.id.clone(),
            path: saved.path.display().to_string(),
            base: run.map(|run| run.base.clone()),
            head: run.map(|run| run.head.clone()),
            verdicts: run.map(Verdicts::from),
            problem: saved.run.as_ref().err().map(|error| error.message().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::full;

    fn runs() -> Vec<Saved> {
        let saved = |id: &str, run| Saved { id: id.to_owned(), path: PathBuf::from("runs").join(id), run };
        vec![saved("2-0", Ok(full())), saved("1-0", Err(Error::setup("runs/1-0 is damaged:\n EOF")))]
    }

    #[test]
    fn a_line_tells_what_was_compared_and_what_came_out() {
        let expected = "\
2-0  main -> working tree: 2 slower, 1 faster, 2 changed by less than 10 %, 2 unchanged (within +-5 % to +-10 %), 1 inconclusive, 2 not measured
1-0  runs/1-0 is damaged: EOF
";
        assert_eq!(without_escapes(&render(&runs(), ListFormat::Text(Glyphs::Ascii))), expected);
        assert!(render(&[], ListFormat::Text(Glyphs::Ascii)).contains("cargo perfunit diff"));
    }

    #[test]
    fn programs_get_a_document() {
        let document: Document = serde_json::from_str(&render(&runs(), ListFormat::Json)).unwrap();
        let [good, bad] = &document.runs[..] else { panic!("not two: {document:?}") };
        assert_eq!((good.verdicts.unwrap().slower, good.base.as_ref().unwrap().label.as_str()), (2, "main"));
        assert_eq!((bad.path.as_str(), bad.verdicts), ("runs/1-0", None));
        assert!(bad.problem.as_ref().unwrap().contains("damaged"));
    }
}
