//! The keys of the configuration file: the JSON schema, and errors for unknown keys with line and suggestion.

use super::settings::ProfileTable;
use super::source::position;
use super::tables::{AcceptTable, DataTable, PrepareTable, SkipTable};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_ignored::Path;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Hint that says where the keys are documented.
pub const ALL_KEYS: &str =
    "docs/configuration.md describes all keys; `cargo perfunit show-config --schema` prints a JSON schema for editors";

/// Configuration of cargo-perfunit: `.config/perfunit.toml` next to the workspace's `Cargo.toml`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Configuration", deny_unknown_fields)]
pub struct Tables {
    /// Profiles by name, selected with `--profile`. All of them inherit from `default`.
    pub profile: BTreeMap<String, ProfileTable>,
    /// Tests to skip, with the reason.
    pub skip: Vec<SkipTable>,
    /// Tests affected by changed data files.
    pub data: Vec<DataTable>,
    /// Slowdowns that are accepted for some time.
    pub accept: Vec<AcceptTable>,
    /// Commands that prepare each version.
    pub prepare: Vec<PrepareTable>,
}

/// Returns the schema as text.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&value()).unwrap_or_default();
    text.push('\n');
    text
}

fn value() -> Value {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<Tables>().to_value()
}

/// Returns the sorted keys of a table, given by its name in the schema.
pub fn keys(table: &str) -> Vec<String> {
    let schema = value();
    let table = if schema["title"] == table { &schema } else { &schema["definitions"][table] };
    let properties = table["properties"].as_object().into_iter().flatten();
    let mut keys: Vec<String> = properties.map(|(key, _)| key.clone()).collect();
    keys.sort();
    keys
}

/// One step of the path to a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// Returns the path to a key from the top level.
pub fn steps(path: &Path<'_>) -> Vec<Step> {
    let (parent, own) = match path {
        Path::Root => return Vec::new(),
        Path::Map { parent, key } => (parent, Some(Step::Key(key.clone()))),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = steps(parent);
    steps.extend(own);
    steps
}

/// Returns an error that lists all unknown keys, if there are any.
pub fn refuse(path: &str, text: &str, ignored: &[Vec<Step>]) -> Result<()> {
    if ignored.is_empty() {
        return Ok(());
    }
    let table = DeTable::parse(text).ok();
    let line = |steps: &Vec<Step>| {
        let offset = table.as_ref().and_then(|table| find(table.get_ref(), steps)).unwrap_or(0);
        let line = position(text, offset).0;
        let Some(Step::Key(key)) = steps.last() else { return format!("{path}:{line}: unknown entry") };
        let known = keys(kind(steps));
        let near = suggest::hint(&suggest::near(key, known.iter().map(String::as_str), "\0"));
        let hint = near.unwrap_or_else(|| format!("expected one of {}", known.join(", ")));
        format!("{path}:{line}: unknown key `{key}`: {hint}")
    };
    let lines: Vec<String> = ignored.iter().map(line).collect();
    Err(Error::usage(lines.join("\n")).hint(ALL_KEYS))
}

/// Returns the schema's name for the table that holds the last key of the path.
fn kind(steps: &[Step]) -> &'static str {
    let keys: Vec<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .collect();
    match keys.as_slice() {
        ["profile", _, "overrides", ..] if keys.len() > 3 => "Override",
        ["profile", _, _] => "Profile",
        ["skip", _] => "Skip",
        ["data", _] => "Data",
        ["accept", _] => "Accept",
        ["prepare", _] => "Prepare",
        _ => "Configuration",
    }
}

/// Finds the byte offset of the last key of the path.
fn find(table: &DeTable<'_>, steps: &[Step]) -> Option<usize> {
    let (Step::Key(first), rest) = steps.split_first()? else { return None };
    let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == first)?;
    let mut value = value.get_ref();
    let mut rest = rest;
    while let (DeValue::Array(array), Some((Step::Index(index), further))) = (value, rest.split_first()) {
        value = array.get(*index)?.get_ref();
        rest = further;
    }
    match value {
        DeValue::Table(below) if !rest.is_empty() => find(below, rest),
        _ => Some(key.span().start),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::File;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = File::read("perfunit.toml", text).err().map(|error| error.message().to_owned()).unwrap_or_default();
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn unknown_keys_are_named_with_line_and_near_key() {
        check(
            "[profile.default]\ntreshold = \"2%\"\n",
            &["perfunit.toml:2: unknown key `treshold`: did you mean threshold?"],
        );
        check(
            "[profile.ci]\n[[profile.ci.overrides]]\nfilter = \"all()\"\nbudgt = 1\ntimeot = \"1s\"\n",
            &[
                "perfunit.toml:4: unknown key `budgt`: expected one of filter, metrics, per-test-budget, \
             threshold, timeout",
                "perfunit.toml:5: unknown key `timeot`: did you mean timeout?",
            ],
        );
        check(
            "[[skip]]\nfilter = \"all()\"\nreason = \"x\"\n[[skip]]\nfilter = \"all()\"\nreason = \"x\"\nresaon = \"y\"\n",
            &["perfunit.toml:7: unknown key `resaon`: did you mean reason?"],
        );
        check("[profiles.default]\n", &["perfunit.toml:1: unknown key `profiles`: did you mean profile?"]);
        check("", &[]);
    }
}
