//! `cargo perfunit explain`.

use super::comparing::{folder, real};
use super::{MessageFormat, values};
use crate::commands::{self, ExplainView};
use crate::error::{ExitCode, Result};
use crate::model::{Engine, Strategy};
use crate::pipeline::{Explain, ExplainRequest, Explaining};
use crate::term::{self, ColorChoice, Terminal};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Tests of the last `diff`: whole names, or parts of them.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// TESTs are whole names.
    #[arg(long)]
    pub exact: bool,
    /// Instead, the tests that a function matters to: `line`, `Parser::line`, `parser::Parser::line`.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["hot", "flamegraph"])]
    pub function: Option<String>,
    /// Instead, the functions that take most of the tests' time, and all tests' calls in one tree.
    #[arg(long, conflicts_with = "flamegraph")]
    pub hot: bool,
    /// Also write where the time of one test goes, head against base: an .svg, or stacks for other tools.
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// What is counted; one that is named here explains anew what is explained already.
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<ExplainEngine>,
    /// Which functions are timed; one that is named here explains anew what is explained already.
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub strategy: Option<ExplainStrategy>,
    /// Longest run, builds included.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub budget: Option<Duration>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Print the result only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// What to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainEngine {
    /// Time, and instructions of those tests that time does not explain or that probes distort too much.
    #[default]
    Auto,
    /// Time, by a probe in each function.
    Probes,
    /// Instructions, also of functions that are inlined or too small for a probe (needs valgrind).
    Callgrind,
}

/// Which functions to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainStrategy {
    /// By how much the test changed and how much it calls; more than one if the first does not find anybody.
    #[default]
    Auto,
    /// All at once.
    Complete,
    /// What the test calls, then what those call that changed, and so on.
    Levelwise,
    /// Those on the ways from the test to functions whose source changed.
    UntilSourceChange,
}

impl ExplainArguments {
    /// Explains and prints.
    pub fn run(&self) -> Result<ExitCode> {
        term::set_color(self.color);
        let (terminal, json) = (Terminal { quiet: self.quiet }, self.message_format == MessageFormat::Json);
        commands::explain(&self.request()?, &self.view(), json, terminal)
    }

    fn view(&self) -> ExplainView {
        match self {
            ExplainArguments { function: Some(path), .. } => ExplainView::Function(path.clone()),
            ExplainArguments { hot: true, .. } => ExplainView::Hot,
            ExplainArguments { flamegraph, .. } => ExplainView::Blame { flamegraph: flamegraph.clone() },
        }
    }

    fn request(&self) -> Result<ExplainRequest> {
        let manifest = self.manifest_path.as_deref().map(real).transpose()?;
        Ok(ExplainRequest {
            folder: manifest.as_deref().and_then(Path::parent).map_or_else(folder, |parent| Ok(parent.to_owned()))?,
            manifest,
            target_dir: self.target_dir.clone(),
            tests: self.tests.clone(),
            exact: self.exact,
            explaining: Explaining {
                explain: Explain::Always,
                engine: self.engine.and_then(engine),
                strategy: self.strategy.and_then(strategy),
                ..Explaining::default()
            },
            again: self.strategy.is_some() || self.engine.is_some(),
            budget: self.budget,
        })
    }
}

/// The engine that is meant.
pub fn engine(typed: ExplainEngine) -> Option<Engine> {
    match typed {
        ExplainEngine::Auto => None,
        ExplainEngine::Probes => Some(Engine::Probes),
        ExplainEngine::Callgrind => Some(Engine::Callgrind),
    }
}

/// The strategy that is meant.
pub fn strategy(typed: ExplainStrategy) -> Option<Strategy> {
    match typed {
        ExplainStrategy::Auto => None,
        ExplainStrategy::Complete => Some(Strategy::Complete),
        ExplainStrategy::Levelwise => Some(Strategy::Levelwise),
        ExplainStrategy::UntilSourceChange => Some(Strategy::UntilSourceChange),
    }
}
