//! Tables of the configuration file that concern some tests or files, as parsed.

use super::source::At;
use super::values::{Gates, Time};
use perfunit_model::Threshold;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[[profile.NAME.overrides]]`: settings for some tests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Override", deny_unknown_fields)]
pub struct OverrideTable {
    /// Tests that the override applies to: an expression in nextest's filterset language.
    pub filter: At<String>,
    /// Smallest change that counts as slower or faster.
    #[serde(default)]
    pub threshold: Option<At<Threshold>>,
    /// Time budget for measuring one test.
    #[serde(default)]
    pub per_test_budget: Option<At<Time>>,
    /// Timeout for each measured process.
    #[serde(default)]
    pub timeout: Option<At<Time>>,
    /// Metrics that decide whether a test got slower or faster.
    #[serde(default)]
    pub metrics: Option<At<Gates>>,
}

/// `[[skip]]`: tests to skip.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Skip", deny_unknown_fields)]
pub struct SkipTable {
    /// Tests to skip: an expression in nextest's filterset language.
    pub filter: At<String>,
    /// Reason for skipping the tests; reports show it.
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

/// `[[data]]`: effect of changes to some data files.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Data", deny_unknown_fields)]
pub struct DataTable {
    /// Path patterns, relative to the repository's root: `*` and `?` match within a name, `**` matches any folders; `{a,b}` and `[a-z]` also work.
    pub paths: At<Vec<String>>,
    /// Ignores changes to these files.
    #[serde(default)]
    pub ignore: Option<At<bool>>,
    /// Only tests that may read these files: an expression in nextest's filterset language.
    #[serde(default)]
    pub reaches: Option<At<String>>,
}
