//! JSON Schemas of our documents: generated from the serialized types and published in `docs/schema`.

use super::{calibration, doctor, explanations, generate, history, json, list, saved_runs};
use clap::ValueEnum;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// A JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum DocumentKind {
    /// Document of `diff` and `report`.
    #[default]
    Diff,
    /// Document of `list`.
    List,
    /// Document of `explain`.
    Explain,
    /// Document of `log`.
    Log,
    /// Document of `log --by-tag`.
    Releases,
    /// Document of `bisect`.
    Bisect,
    /// Document of `report --list`.
    Runs,
    /// Document of `generate`.
    Generate,
    /// Document of `doctor`.
    Doctor,
    /// Document of `calibrate`.
    Calibrate,
}

/// Returns the schema of a document as pretty JSON with a trailing newline.
pub fn render(kind: DocumentKind) -> String {
    super::wire::pretty(&match kind {
        DocumentKind::Diff => schema::<json::Document>("cargo perfunit diff"),
        DocumentKind::List => schema::<list::ListDocument>("cargo perfunit list"),
        DocumentKind::Explain => schema::<explanations::Document>("cargo perfunit explain"),
        DocumentKind::Log => schema::<history::LogDocument>("cargo perfunit log"),
        DocumentKind::Releases => schema::<history::ReleasesDocument>("cargo perfunit log --by-tag"),
        DocumentKind::Bisect => schema::<history::BisectDocument>("cargo perfunit bisect"),
        DocumentKind::Runs => schema::<saved_runs::Document>("cargo perfunit report --list"),
        DocumentKind::Generate => schema::<generate::GenerateDocument>("cargo perfunit generate"),
        DocumentKind::Doctor => schema::<doctor::DoctorDocument<'_>>("cargo perfunit doctor"),
        DocumentKind::Calibrate => schema::<calibration::Document>("cargo perfunit calibrate"),
    })
}

/// Returns the schema for reading written documents: fields that are always present are required.
fn schema<T: JsonSchema>(title: &str) -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::error::Error;
    use perfunit_model::samples;
    use serde_json::Value;
    use std::path::{Path, PathBuf};

    /// Environment variable that rewrites the published schemas.
    const UPDATE: &str = "PERFUNIT_UPDATE_SCHEMAS";

    fn schema_file(kind: DocumentKind) -> PathBuf {
        let value = kind.to_possible_value().unwrap();
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema").join(format!("{}.json", value.get_name()))
    }

    #[test]
    fn the_published_schemas_are_those_of_the_types() {
        for kind in DocumentKind::value_variants() {
            let path = schema_file(*kind);
            let is = render(*kind);
            if std::env::var_os(UPDATE).is_some() {
                perfunit_system::fs::write(&path, &is).unwrap();
            }
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(said == is, "{} differs: {UPDATE}=1 cargo test writes it anew", path.display());
        }
    }

    #[track_caller]
    fn check(kind: DocumentKind, document: &str) {
        let schema: Value = serde_json::from_str(&render(kind)).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let document: Value = serde_json::from_str(document).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }

    #[test]
    fn documents_are_valid() {
        let run = samples::whole();
        check(DocumentKind::Diff, &json::render(&run));
        check(DocumentKind::Diff, &json::render(&samples::run(Vec::new())));
        let saved = |run| saved_runs::Saved { id: "1".to_owned(), path: PathBuf::from("1/run.json"), run };
        let runs = [saved(Ok(run)), saved(Err(Error::setup("is damaged")))];
        check(DocumentKind::Runs, &saved_runs::render(&runs, saved_runs::ListFormat::Json));
    }

    #[test]
    fn what_is_no_document_is_not_valid() {
        let schema: Value = serde_json::from_str(&render(DocumentKind::Diff)).unwrap();
        let mut document: Value = serde_json::from_str(&json::render(&samples::full())).unwrap();
        let is_valid = |document: &Value| jsonschema::is_valid(&schema, document);
        assert!(is_valid(&document));
        document["tests"][0]["verdict"] = "slow".into();
        assert!(!is_valid(&document));
        assert!(!is_valid(&serde_json::json!({"schema_version": 2})));
    }
}
