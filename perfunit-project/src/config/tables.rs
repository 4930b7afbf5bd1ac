//! Tables of the configuration file that concern some tests or files, as parsed.

use super::source::At;
use super::values::{Day, Gates, Time};
use perfunit_model::Threshold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[schemars(with = "String")]
    pub until: At<Day>,
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

/// A command: words as in a shell, or a list of words. No shell runs it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Command")]
pub enum CommandLine {
    /// Words separated by spaces, with quotes as in a shell.
    Text(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

/// The time at which a step runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PrepareKind")]
pub enum StepKind {
    /// Before a version is built. Files that the step makes belong to the version.
    #[default]
    Build,
    /// Before tests run, if there are tests to run.
    Test,
}

/// `[[prepare]]`: a command that prepares a version.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Prepare", deny_unknown_fields)]
pub struct PrepareTable {
    /// The command. It runs in the root of the workspace, in our copy of the version.
    pub command: At<CommandLine>,
    /// When the command runs: before a version is built (default), or before its tests.
    #[serde(default)]
    pub kind: StepKind,
    /// Patterns of files, relative to the repository's root. The command runs again only if they change. Without it, it runs again if any file changes (`build`) or in each run (`test`).
    #[serde(default)]
    pub files: Option<At<Vec<String>>>,
    /// Names of environment variables. The command runs again if their values change.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Only tests that need the command, with `kind = "test"`: an expression in nextest's filterset language.
    #[serde(default)]
    pub filter: Option<At<String>>,
    /// Time after which the command is ended and the run fails (default 10m).
    #[serde(default)]
    pub timeout: Option<At<Time>>,
}
