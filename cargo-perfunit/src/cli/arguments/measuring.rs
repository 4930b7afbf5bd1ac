//! How to measure, decide and explain.

use super::comparing::CommonArguments;
use clap::Args;
use perfunit_model::error::Result;
use perfunit_model::{Engine, Explain, Instructions, Metric, Placement, Strategy, Threshold};
use perfunit_project::config::{self, Auto, Gates, Layer, Limit, Resolved, Settings, Sourced, Time, Value};
use perfunit_session::{Explaining, Measuring, Options};
use std::time::Duration;

/// How to measure and decide. What is not typed here may be set in the environment or in the configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArguments {
    /// Smallest change that counts as slower or faster, as `2%` or a fraction [default: 1%].
    ///
    /// Smaller changes that are certain are shown as changed, and never fail the run. First calls are judged from 5 % on,
    /// and tests whose code placement cannot be controlled from 15 % on.
    #[arg(long, value_name = "CHANGE")]
    pub threshold: Option<Threshold>,
    /// Metrics that decide whether a test got slower or faster, separated by commas [default: time].
    ///
    /// The other metrics are measured, and shown where they changed.
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = config::metric())]
    pub metric: Vec<Metric>,
    /// How to count instructions [default: auto].
    ///
    /// By the processor where it has a counter and lets us read it, or in callgrind, which is slow and needs valgrind.
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    pub instructions: Option<Instructions>,
    /// Longest run of one measured process [default: 10s].
    ///
    /// A process that takes longer is killed and its test is reported; the run goes on.
    #[arg(long, value_name = "TIME", value_parser = config::duration, hide_short_help = true)]
    pub timeout: Option<Duration>,
    /// Longest whole run, builds included, or `none` [default: none].
    ///
    /// As many tests as fit are measured, those most likely to have changed first; the others are listed.
    #[arg(long, value_name = "TIME", value_parser = Limit::read)]
    pub budget: Option<Limit>,
    /// Longest measurement of one test, and again for its confirmation [default: 10s].
    ///
    /// Most are decided in a fraction of a second. What is not decided by then is inconclusive, with the interval so far.
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub per_test_budget: Option<Duration>,
    /// Find the responsible functions [default: auto].
    ///
    /// By executed instructions, or by time, in separate builds. `cargo perfunit explain` does it later.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub explain: Option<Explain>,
    /// What to count to find the responsible functions [default: auto].
    #[arg(long, value_name = "ENGINE", hide_short_help = true)]
    pub engine: Option<Auto<Engine>>,
    /// Which functions to time to find the responsible ones [default: auto].
    #[arg(long, value_name = "STRATEGY", hide_short_help = true)]
    pub strategy: Option<Auto<Strategy>>,
    /// Seed of the random shifts of address spaces and of the random numbers that tests draw [default: drawn].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Tests that runs besides this one measure, with which it shares one error rate: of a harness that asks for each
    /// test by itself.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub others: usize,
    /// Where the code of both versions lies: what did not change at the same places, or wherever the linker put it.
    #[arg(long, value_enum, default_value_t, value_name = "PLACEMENT", hide = true)]
    pub layout: Placement,
}

impl MeasuringArguments {
    /// What was typed.
    pub fn layer(&self) -> Layer {
        Layer {
            threshold: self.threshold.map(Sourced::typed),
            metrics: (!self.metric.is_empty()).then(|| Sourced::typed(Gates::of(&self.metric))),
            instructions: self.instructions.map(Sourced::typed),
            timeout: self.timeout.map(Time).map(Sourced::typed),
            budget: self.budget.map(Sourced::typed),
            per_test_budget: self.per_test_budget.map(Time).map(Sourced::typed),
            explain: self.explain.map(Sourced::typed),
            engine: self.engine.map(Sourced::typed),
            strategy: self.strategy.map(Sourced::typed),
            ..Layer::default()
        }
    }

    /// What to compare and how, with what was settled.
    pub fn options(&self, common: &CommonArguments, resolved: &Resolved) -> Result<Options> {
        let settings = &resolved.settings;
        Ok(Options { explaining: explaining(settings), ..common.options(resolved, self.measuring(settings))? })
    }

    /// How to measure and decide, with what was settled.
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

/// How to find the responsible functions, with what was settled.
fn explaining(settings: &Settings) -> Explaining {
    Explaining {
        explain: settings.explain.value,
        engine: settings.engine.value.0,
        strategy: settings.strategy.value.0,
        ..Explaining::default()
    }
}
