//! What the configuration file may hold; its JSON schema, for editors; and through it the keys that there are.

use super::settings::ProfileTable;
use super::tables::{DataTable, SkipTable};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where all keys are.
pub const ALL_KEYS: &str =
    "docs/configuration.md describes all keys; `cargo perfunit show-config --schema` prints them for editors";

/// The configuration of cargo-perfunit: `.config/perfunit.toml` beside the workspace's `Cargo.toml`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Configuration", deny_unknown_fields)]
pub struct Tables {
    /// Profiles by name, chosen with `--profile`. All others build upon `default`.
    pub profile: BTreeMap<String, ProfileTable>,
    /// Tests that are never measured, with the reason.
    pub skip: Vec<SkipTable>,
    /// What changed data files mean.
    pub data: Vec<DataTable>,
}

/// The schema as text.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&value()).unwrap_or_default();
    text.push('\n');
    text
}

fn value() -> Value {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<Tables>().to_value()
}

/// The keys of a table, by its name in the schema, sorted.
pub fn keys(table: &str) -> Vec<String> {
    let schema = value();
    let table = if schema["title"] == table { &schema } else { &schema["definitions"][table] };
    let properties = table["properties"].as_object().into_iter().flatten();
    let mut keys: Vec<String> = properties.map(|(key, _)| key.clone()).collect();
    keys.sort();
    keys
}
