//! How to measure, decide and explain.

use super::explain::{ExplainEngine, ExplainStrategy, engine, strategy};
use super::values;
use crate::measure::{Instructions, Placement};
use crate::model::Metric;
use crate::pipeline::{Explain, Explaining, Measuring};
use clap::{Args, ValueEnum};
use std::time::Duration;

/// How to measure and decide.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArguments {
    /// Smallest change that counts as slower or faster, as `2%` or a fraction. First calls are judged from 5 % on, and
    /// where the place of the code cannot be controlled from 15 % on.
    #[arg(long, value_name = "CHANGE", default_value = "2%", value_parser = values::threshold)]
    pub threshold: f64,
    /// What decides whether a test got slower or faster, separated by commas. The others are measured and shown.
    #[arg(long, value_name = "METRICS", value_delimiter = ',', default_value = "time", value_parser = values::metric())]
    pub metric: Vec<Metric>,
    /// How instructions are counted: by the processor where it lets us, or in callgrind (slow, needs valgrind).
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub instructions: CountInstructions,
    /// Longest life of one measured process.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub timeout: Duration,
    /// Longest whole run, builds included; what did not fit is listed.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub budget: Option<Duration>,
    /// Longest measuring of one test.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub per_test_budget: Duration,
    /// Find out which functions are to blame, on executables with probes.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub explain: ExplainTests,
    /// What is counted to find out who is to blame.
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: ExplainEngine,
    /// Which functions are timed to find out who is to blame.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    pub strategy: ExplainStrategy,
    /// Seed of the random shifts of address spaces and of the random numbers that tests draw [default: drawn].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Where the code of both versions lies: what did not change at the same places, or wherever the linker put it.
    #[arg(long, value_enum, default_value_t, value_name = "PLACEMENT", hide = true)]
    pub layout: Layout,
    /// Let each process draw random numbers of its own.
    #[arg(long, hide = true)]
    pub unequal_seeds: bool,
    /// Let the optimiser see the constants in test bodies, as in an ordinary build.
    #[arg(long, hide = true)]
    pub transparent_constants: bool,
    /// Let the loops of the workspace's code begin at cache lines.
    #[arg(long, hide = true)]
    pub aligned_loops: bool,
}

/// Of which tests to find out who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainTests {
    /// Of the three that got slower by most.
    #[default]
    Auto,
    /// Of all slower and faster tests.
    Always,
    /// Of none.
    Never,
}

/// Where instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CountInstructions {
    /// The processor's counter, where there is one.
    #[default]
    Auto,
    /// callgrind, in a process of each version.
    Callgrind,
    /// Not at all.
    Never,
}

/// Where the code of the measured executables lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Layout {
    /// What is the same in both versions at the same places.
    #[default]
    Matched,
    /// Wherever the linker put it.
    Natural,
}

impl MeasuringArguments {
    /// How to measure and decide.
    pub fn measuring(&self) -> Measuring {
        Measuring {
            threshold: self.threshold,
            timeout: self.timeout,
            budget: self.budget,
            per_test_budget: self.per_test_budget,
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            equal_seeds: !self.unequal_seeds,
            placement: match self.layout {
                Layout::Matched => Placement::Matched,
                Layout::Natural => Placement::Natural,
            },
            // In the order of reports, whatever was typed.
            gates: Metric::ALL.into_iter().filter(|metric| self.metric.contains(metric)).collect(),
            instructions: match self.instructions {
                CountInstructions::Auto => Instructions::Auto,
                CountInstructions::Callgrind => Instructions::Callgrind,
                CountInstructions::Never => Instructions::Never,
            },
            ..Measuring::default()
        }
    }

    /// How to find out who is to blame.
    pub fn explaining(&self) -> Explaining {
        Explaining {
            explain: match self.explain {
                ExplainTests::Auto => Explain::Auto,
                ExplainTests::Always => Explain::Always,
                ExplainTests::Never => Explain::Never,
            },
            engine: engine(self.engine),
            strategy: strategy(self.strategy),
            ..Explaining::default()
        }
    }
}
