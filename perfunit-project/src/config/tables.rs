//! Tables of the configuration file that speak of some tests or files, as they stand in it.

use super::source::At;
use super::values::{Gates, Time};
use perfunit_model::Threshold;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[[profile.NAME.overrides]]`, as it stands in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Override", deny_unknown_fields)]
pub struct OverrideTable {
    /// The tests: an expression of nextest's filterset language.
    pub filter: At<String>,
    /// Smallest change that counts as slower or faster.
    #[serde(default)]
    pub threshold: Option<At<Threshold>>,
    /// Longest measuring of one test.
    #[serde(default)]
    pub per_test_budget: Option<At<Time>>,
    /// Longest life of one measured process.
    #[serde(default)]
    pub timeout: Option<At<Time>>,
    /// The metrics that decide.
    #[serde(default)]
    pub metrics: Option<At<Gates>>,
}

/// `[[skip]]`, as it stands in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Skip", deny_unknown_fields)]
pub struct SkipTable {
    /// The tests: an expression of nextest's filterset language.
    pub filter: At<String>,
    /// Why they are not measured; shown in the report.
    pub reason: At<String>,
}

/// `[[accept]]`, as it stands in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Accept", deny_unknown_fields)]
pub struct AcceptTable {
    /// A test or a responsible function, by its name or the end of its path; `*` for all tests.
    pub name: At<String>,
    /// The largest slowdown that is accepted: `5%`.
    pub at_most: At<String>,
    /// Why it is accepted; shown in the report.
    pub because: At<String>,
    /// The last day on which it is accepted: `2026-12-31`.
    pub until: At<String>,
}

/// `[[data]]`, as it stands in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Data", deny_unknown_fields)]
pub struct DataTable {
    /// Patterns of paths from the root of the repository: `*` and `?` within a name, `**` for any folders, `{a,b}`, `[a-z]`.
    pub paths: At<Vec<String>>,
    /// Ignore changes of these files.
    #[serde(default)]
    pub ignore: Option<At<bool>>,
    /// The tests that may read these files, and no others: an expression of nextest's filterset language.
    #[serde(default)]
    pub reaches: Option<At<String>>,
}
