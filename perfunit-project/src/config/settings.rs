//! The settings: every key with its type and what is built in, in layers of which the uppermost counts.

use super::source::{At, Source, Sourced};
use super::tables::OverrideTable;
use super::values::{Auto, Deny, Features, Gates, Limit, NoTests, Revision, Time, Value};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Engine, Explain, Generated, Ignored, Instructions, Lto, Metric, Strategy, Threshold};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;

/// A setting for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key of the configuration file.
    pub key: &'static str,
    /// The value as it could be written.
    pub value: String,
    /// Where it was set.
    pub from: Source,
}

/// Declares all settings: field, type, key and what is built in for the profile `default`.
macro_rules! settings {
    ($($(#[doc = $doc:literal])* $field:ident: $type:ty, $key:literal, $default:expr;)*) => {
        /// Some settings; those of a layer above count more.
        #[derive(Debug, Clone, Default)]
        pub struct Layer {
            $($(#[doc = $doc])* pub $field: Option<Sourced<$type>>,)*
        }

        #[derive(Debug, Clone)]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: Sourced<$type>,)*
        }

        /// A profile, as it stands in the file.
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "kebab-case")]
        #[schemars(rename = "Profile", deny_unknown_fields)]
        pub struct ProfileTable {
            $($(#[doc = $doc])* $field: Option<At<$type>>,)*
            /// Other settings for some tests. Of several that take a test the first counts.
            pub overrides: Vec<OverrideTable>,
        }

        impl Layer {
            /// What is set here, else what is set below.
            #[must_use]
            pub fn or(self, below: Layer) -> Layer {
                Layer { $($field: self.$field.or(below.$field),)* }
            }

            /// All settings; what is set nowhere has the value that is built in.
            pub fn settled(self) -> Settings {
                let from = || Source::BuiltIn { profile: "default".to_owned() };
                Settings { $($field: self.$field.unwrap_or_else(|| Sourced { value: $default, from: from() }),)* }
            }

            /// The settings of a profile of the file.
            pub fn of_table(table: &ProfileTable, place: &dyn Fn(Range<usize>) -> Source) -> Layer {
                let mut layer = Layer::default();
                $(layer.$field = table.$field.as_ref().map(|at| Sourced {
                    value: at.value().clone(),
                    from: place(at.span()),
                });)*
                layer
            }

            /// The settings of the environment: `PERFUNIT_THRESHOLD` is `threshold`, and so on. `variable` gives the
            /// content of a variable that is set.
            pub fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Layer> {
                let mut layer = Layer::default();
                $(layer.$field = {
                    let name = variable_of($key);
                    match variable(&name).map(|text| <$type>::read(&text)).transpose() {
                        Ok(value) => value.map(|value| Sourced { value, from: Source::Environment { name } }),
                        Err(problem) => return Err(Error::usage(format!("the environment variable {name}: {problem}"))
                            .hint(format!("unset {name}, or set it to what `{}` accepts in the configuration", $key))),
                    }
                };)*
                Ok(layer)
            }
        }

        impl Settings {
            /// All of them in the order of the documentation.
            pub fn rows(&self) -> Vec<Row> {
                vec![$(Row { key: $key, value: self.$field.value.shown(), from: self.$field.from.clone() },)*]
            }
        }
    };
}

/// `PERFUNIT_PER_TEST_BUDGET` for `per-test-budget`.
pub fn variable_of(key: &str) -> String {
    format!("PERFUNIT_{}", key.to_uppercase().replace('-', "_"))
}

settings! {
    /// Smallest change that counts as slower or faster.
    threshold: Threshold, "threshold", Threshold::default();
    /// The change that an inconclusive test may have reached: a test that certainly changed by less is reported as unchanged within a bound.
    bound: Threshold, "bound", Threshold::of_inconclusive();
    /// The metrics that decide whether a test got slower or faster. The others are measured and shown.
    metrics: Gates, "metrics", Gates(vec![Metric::Time]);
    /// Longest whole run, builds included; what did not fit is listed.
    budget: Limit, "budget", Limit(None);
    /// Longest measuring of one test.
    per_test_budget: Time, "per-test-budget", Time(Duration::from_secs(10));
    /// Longest life of one measured process.
    timeout: Time, "timeout", Time(Duration::from_secs(10));
    /// How instructions are counted.
    instructions: Instructions, "instructions", Instructions::default();
    /// An older version to compare with as well, so that small losses add up; `none` for no such comparison.
    ratchet: Revision, "ratchet", Revision(None);
    /// For which functions to compare generated calls, too.
    generated: Generated, "generated", Generated::default();
    /// For which tests to find the responsible functions.
    explain: Explain, "explain", Explain::default();
    /// What to count to find the responsible functions.
    engine: Auto<Engine>, "engine", Auto(None);
    /// Which functions to time to find the responsible ones.
    strategy: Auto<Strategy>, "strategy", Auto(None);
    /// Whether to count how the work of functions grows with the length of their input.
    growth: bool, "growth", false;
    /// The tests to run unless others are asked for: an expression of nextest's filterset language.
    default_filter: String, "default-filter", "all()".to_owned();
    /// Which tests marked `#[ignore]` to take.
    run_ignored: Ignored, "run-ignored", Ignored::default();
    /// What to do when there is nothing to measure.
    no_tests: NoTests, "no-tests", NoTests::Pass;
    /// What fails the run besides regressions: inconclusive tests (exit code 105), of these only those that are probably slower (105), changed functions that no test executes (106), functions whose work grows with a larger power of their input's length (100), generated calls that got slower (100).
    deny: Vec<Deny>, "deny", Vec::new();
    /// Cargo profile to build both versions with.
    cargo_profile: String, "cargo-profile", "bench".to_owned();
    /// Whether builds keep the link-time optimization (LTO) of cargo's profile.
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
        let above = Layer { timeout: Some(Sourced::typed(Time(Duration::from_secs(1)))), ..Layer::default() };
        let below = Layer {
            timeout: Some(Sourced::typed(Time(Duration::from_secs(2)))),
            threshold: Some(Sourced::typed(ten_percent)),
            ..Layer::default()
        };
        let settings = above.or(below).settled();
        assert_eq!(settings.timeout.value.0, Duration::from_secs(1));
        assert_eq!(settings.threshold, Sourced::typed(ten_percent));
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
        let rows = Layer::default().settled().rows();
        assert!(rows.iter().all(|row| row.from.to_string() == "built in"));
        let value = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.value.as_str());
        assert_eq!(
            (value("threshold"), value("budget"), value("default-filter")),
            (Some("1%"), Some("none"), Some("all()"))
        );
    }
}
