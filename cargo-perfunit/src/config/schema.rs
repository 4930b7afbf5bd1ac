//! The JSON schema of the configuration file, for editors; and through it the keys that there are.

use super::file::Tables;
use schemars::generate::SchemaSettings;
use serde_json::Value;

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
