//! The settings with key, type and default, in layers of which the first one that sets a key wins.

use super::source::{At, Source, Sourced};
use super::tables::OverrideTable;
use super::values::{Auto, Deny, Features, Gates, Limit, NoTests, Revision, Time, Value};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Engine, Explain, Generated, Ignored, Instructions, Lto, Metric, Strategy, Threshold};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;

/// A setting as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Key in the configuration file.
    pub key: &'static str,
    /// Value in the syntax of the configuration.
    pub value: String,
    /// Source of the value.
    pub from: Source,
}

/// Declares all settings: field, type, key, and default value.
macro_rules! settings {
    ($($(#[doc = $doc:literal])* $field:ident: $type:ty, $key:literal, $default:expr;)*) => {
        /// Settings from one source, each of them optional.
        #[derive(Debug, Clone, Default)]
        pub struct Layer {
            $($(#[doc = $doc])* pub $field: Option<Sourced<$type>>,)*
        }

        #[derive(Debug, Clone)]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: Sourced<$type>,)*
        }

        /// A profile of the configuration file.
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "kebab-case")]
        #[schemars(rename = "Profile", deny_unknown_fields)]
        pub struct ProfileTable {
            $($(#[doc = $doc])* $field: Option<At<$type>>,)*
            /// Settings that override the profile for some tests. If several overrides match a test, the first one wins.
            pub overrides: Vec<OverrideTable>,
        }

        impl Layer {
            /// Merges two layers. Values of `self` take precedence over `below`.
            #[must_use]
            pub fn or(self, below: Layer) -> Layer {
                Layer { $($field: self.$field.or(below.$field),)* }
            }

            /// Fills unset settings with their defaults.
            pub fn fill_defaults(self) -> Settings {
                let from = || Source::BuiltIn { profile: "default".to_owned() };
                Settings { $($field: self.$field.unwrap_or_else(|| Sourced { value: $default, from: from() }),)* }
            }

            /// Returns the settings of a profile in the file.
            pub fn of_table(table: &ProfileTable, place: &dyn Fn(Range<usize>) -> Source) -> Layer {
                let mut layer = Layer::default();
                $(layer.$field = table.$field.as_ref().map(|at| Sourced {
                    value: at.value().clone(),
                    from: place(at.span()),
                });)*
                layer
            }

            /// Reads the settings from the environment, for example `threshold` from `PERFUNIT_THRESHOLD`. `variable` returns
            /// the value of a variable that is set.
            pub fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Layer> {
                let mut layer = Layer::default();
                $(layer.$field = {
                    let name = variable_of($key);
                    match variable(&name).map(|text| <$type>::read(&text)).transpose() {
                        Ok(value) => value.map(|value| Sourced { value, from: Source::Environment { name } }),
                        Err(problem) => return Err(Error::usage(format!("the environment variable {name}: {problem}"))
                            .hint(format!("unset {name}, or set it to a value that `{}` accepts in the configuration", $key))),
                    }
                };)*
                Ok(layer)
            }
        }

        impl Settings {
            /// Returns all settings in the order of the documentation.
            pub fn rows(&self) -> Vec<Row> {
                vec![$(Row { key: $key, value: self.$field.value.shown(), from: self.$field.from.clone() },)*]
            }
        }
    };
}

/// Returns the environment variable of a key, for example `PERFUNIT_PER_TEST_BUDGET` for `per-test-budget`.
pub fn variable_of(key: &str) -> String {
    format!("PERFUNIT_{}", key.to_uppercase().replace('-', "_"))
}

settings! {
    /// Smallest change that counts as slower or faster.
    threshold: Threshold, "threshold", Threshold::default();
    /// Largest change that an unchanged test can have: a test that certainly changed by less is reported as unchanged within this bound.
    bound: Threshold, "bound", Threshold::of_inconclusive();
    /// The metrics that decide whether a test got slower or faster. The others are measured and shown.
    metrics: Gates, "metrics", Gates(vec![Metric::Time]);
    /// Time budget for the entire run, including builds. Tests that did not fit are listed.
    budget: Limit, "budget", Limit(None);
    /// Time budget for measuring one test.
    per_test_budget: Time, "per-test-budget", Time(Duration::from_secs(10));
    /// Timeout for each measured process.
    timeout: Time, "timeout", Time(Duration::from_secs(10));
    /// How instructions are counted.
    instructions: Instructions, "instructions", Instructions::default();
    /// Older revision to compare with as well, to catch gradual regressions; `none` disables the comparison.
    ratchet: Revision, "ratchet", Revision(None);
    /// Functions to generate workloads for.
    generated: Generated, "generated", Generated::default();
    /// Tests for which to find the responsible functions.
    explain: Explain, "explain", Explain::default();
    /// Quantity to count when looking for responsible functions.
    engine: Auto<Engine>, "engine", Auto(None);
    /// Functions to time when looking for responsible functions.
    strategy: Auto<Strategy>, "strategy", Auto(None);
    /// Counts how the work of functions grows with the length of their input.
    growth: bool, "growth", false;
    /// Tests to run by default: an expression in nextest's filterset language.
    default_filter: String, "default-filter", "all()".to_owned();
    /// Tests marked `#[ignore]` to run.
    run_ignored: Ignored, "run-ignored", Ignored::default();
    /// Exit code when there is nothing to measure.
    no_tests: NoTests, "no-tests", NoTests::Pass;
    /// Findings that fail the run in addition to regressions: inconclusive tests (exit code 105), only those of them that are probably slower (105), changed functions that no test executes (106), functions whose work grows with a higher power of their input's length (100), slower generated workloads (100).
    deny: Vec<Deny>, "deny", Vec::new();
    /// Cargo profile that builds both versions.
    cargo_profile: String, "cargo-profile", "bench".to_owned();
    /// Link-time optimization (LTO) of builds: as in the cargo profile, or off.
    lto: Lto, "lto", Lto::default();
    /// Features to activate.
    features: Features, "features", Features(Vec::new());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uppermost_layer_counts() {
        let ten_percent: Threshold = "10%".parse().unwrap();
        let above =
            Layer { timeout: Some(Sourced::from_command_line(Time(Duration::from_secs(1)))), ..Layer::default() };
        let below = Layer {
            timeout: Some(Sourced::from_command_line(Time(Duration::from_secs(2)))),
            threshold: Some(Sourced::from_command_line(ten_percent)),
            ..Layer::default()
        };
        let settings = above.or(below).fill_defaults();
        assert_eq!(settings.timeout.value.0, Duration::from_secs(1));
        assert_eq!(settings.threshold, Sourced::from_command_line(ten_percent));
        assert_eq!(settings.budget.from, Source::BuiltIn { profile: "default".to_owned() });
    }

    #[test]
    fn every_setting_has_a_variable() {
        let layer =
            Layer::of_environment(&|name| (name == "PERFUNIT_PER_TEST_BUDGET").then(|| "2s".to_owned())).unwrap();
        let found = layer.per_test_budget.unwrap();
        assert_eq!(found.value.0, Duration::from_secs(2));
        assert_eq!(found.from.to_string(), "PERFUNIT_PER_TEST_BUDGET");
        let error = Layer::of_environment(&|name| (name == "PERFUNIT_EXPLAIN").then(|| "nevr".to_owned())).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("PERFUNIT_EXPLAIN: invalid value `nevr`") && error.contains("did you mean never?"),
            "{error}"
        );
    }

    #[test]
    fn all_settings_are_shown_as_they_can_be_written() {
        let rows = Layer::default().fill_defaults().rows();
        assert!(rows.iter().all(|row| row.from.to_string() == "built in"));
        let value = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.value.as_str());
        assert_eq!(
            (value("threshold"), value("budget"), value("default-filter")),
            (Some("1%"), Some("none"), Some("all()"))
        );
    }
}
