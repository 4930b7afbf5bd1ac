//! Options for measuring, deciding and explaining.

use super::comparison::CommonArguments;
use clap::Args;
use perfunit_model::error::Result;
use perfunit_model::{Engine, Explain, Instructions, Metric, Placement, Strategy, Threshold};
use perfunit_project::config::{self, Auto, Gates, Layer, Limit, Resolved, Settings, Sourced, Time, Value};
use perfunit_session::{Explaining, Measuring, Options};
use std::time::Duration;

/// How to measure and decide. The environment or the configuration may set options that are not typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArguments {
    /// Smallest change that counts as slower or faster, such as `2%` or `0.02` [default: 1%].
    ///
    /// Smaller significant changes are shown as changed, and never fail the run. Tests that start processes, tests with
    /// their own harness, and first calls that need a process each must change by at least 5 %, and tests without
    /// controlled code placement by at least 15 %.
    #[arg(long, value_name = "CHANGE")]
    pub threshold: Option<Threshold>,
    /// Metrics that decide if a test got slower or faster, separated by commas [default: time].
    ///
    /// All other metrics are measured too, and shown if they changed.
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = config::metric())]
    pub metric: Vec<Metric>,
    /// How to count instructions [default: auto].
    ///
    /// callgrind is slow and needs valgrind, but counts in virtual machines, which mostly have no counter, too.
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    pub instructions: Option<Instructions>,
    /// Timeout for each measured process [default: 10s].
    ///
    /// A process that takes longer is killed and its test is reported; the run continues.
    #[arg(long, value_name = "TIME", value_parser = config::duration, hide_short_help = true)]
    pub timeout: Option<Duration>,
    /// Time budget for the entire run, including builds, or `none` [default: none].
    ///
    /// Measures as many tests as fit, those most likely to have changed first; the others are listed.
    #[arg(long, value_name = "TIME", value_parser = Limit::read)]
    pub budget: Option<Limit>,
    /// Time limit for measuring one test, and again for confirming its change [default: 10s].
    ///
    /// Most tests take a fraction of a second. A test without a decision by then is inconclusive, with its interval so
    /// far. Without `--budget`, slow and doubtful tests may take three times as much, until they have used six times as
    /// much together.
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub per_test_budget: Option<Duration>,
    /// For which tests to find the responsible functions [default: auto].
    ///
    /// Functions are found by counting instructions, or by timing in separate builds. `cargo perfunit explain` does
    /// this later.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub explain: Option<Explain>,
    /// What to count to find the responsible functions [default: auto].
    #[arg(long, value_name = "ENGINE", hide_short_help = true)]
    pub engine: Option<Auto<Engine>>,
    /// Which functions to time [default: auto].
    #[arg(long, value_name = "STRATEGY", hide_short_help = true)]
    pub strategy: Option<Auto<Strategy>>,
    /// Seed of the random shifts of address spaces and of the random numbers in tests [default: random].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Number of tests that other runs measure and that share one error rate with this run; for harnesses that run each
    /// test separately.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub others: usize,
    /// Whether unchanged code of both versions has matching addresses, or those that the linker chooses.
    #[arg(long, value_enum, default_value_t, value_name = "PLACEMENT", env = "PERFUNIT_LAYOUT", hide = true)]
    pub layout: Placement,
}

impl MeasuringArguments {
    /// Returns the typed options as a layer of the configuration.
    pub fn layer(&self) -> Layer {
        Layer {
            threshold: self.threshold.map(Sourced::from_command_line),
            metrics: (!self.metric.is_empty()).then(|| Sourced::from_command_line(Gates::of(&self.metric))),
            instructions: self.instructions.map(Sourced::from_command_line),
            timeout: self.timeout.map(Time).map(Sourced::from_command_line),
            budget: self.budget.map(Sourced::from_command_line),
            per_test_budget: self.per_test_budget.map(Time).map(Sourced::from_command_line),
            explain: self.explain.map(Sourced::from_command_line),
            engine: self.engine.map(Sourced::from_command_line),
            strategy: self.strategy.map(Sourced::from_command_line),
            ..Layer::default()
        }
    }

    /// Returns the options of a comparison with the resolved settings.
    pub fn options(&self, common: &CommonArguments, resolved: &Resolved) -> Result<Options> {
        let settings = &resolved.settings;
        Ok(Options { explaining: explaining(settings), ..common.options(resolved, self.measuring(settings))? })
    }

    /// Returns the options for measuring from the resolved settings.
    fn measuring(&self, settings: &Settings) -> Measuring {
        Measuring {
            threshold: settings.threshold.value,
            bound: settings.bound.value,
            timeout: settings.timeout.value.0,
            budget: settings.budget.value.0,
            per_test_budget: settings.per_test_budget.value.0,
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            others: self.others,
            placement: self.layout,
            gates: settings.metrics.value.0.clone(),
            instructions: settings.instructions.value,
            ..Measuring::default()
        }
    }
}

/// Returns the options for explaining from the resolved settings.
fn explaining(settings: &Settings) -> Explaining {
    Explaining {
        explain: settings.explain.value,
        engine: settings.engine.value.0,
        strategy: settings.strategy.value.0,
        ..Explaining::default()
    }
}
