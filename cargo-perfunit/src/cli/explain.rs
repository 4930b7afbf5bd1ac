//! `cargo perfunit explain`.

use super::MessageFormat;
use super::comparing::{folder, real};
use crate::commands::{self, ExplainView};
use crate::config::{self, Auto};
use crate::error::{ExitCode, Result};
use crate::model::{Engine, Explain, Strategy};
use crate::session::{ExplainRequest, Explaining};
use crate::system::term::{self, ColorChoice, Terminal};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit explain                           what the last `diff` found slower or faster
  cargo perfunit explain parser::long              of that, tests whose name contains `parser::long`
  cargo perfunit explain --engine callgrind        in instructions: exact, and for inlined functions
  cargo perfunit explain --function Parser::line   which tests a function matters to, and how much
  cargo perfunit explain --hot                     which functions take the tests' time
  cargo perfunit explain parser::long --flamegraph line.svg
                                                   where the time goes, head against base

How functions are found to be to blame is told in docs/method.md.
")]
pub struct ExplainArguments {
    /// Tests of the last `diff`: whole names, or parts of them.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// TESTs are whole names.
    #[arg(long)]
    pub exact: bool,
    /// Instead, the tests that a function matters to.
    ///
    /// By its name or the end of its path: `line`, `Parser::line`, `parser::Parser::line`.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["hot", "flamegraph"])]
    pub function: Option<String>,
    /// Instead, the functions that take most of the tests' time, and all tests' calls in one tree.
    #[arg(long, conflicts_with = "flamegraph")]
    pub hot: bool,
    /// Also write where the time of one test goes, head against base.
    ///
    /// An .svg is a differential flamegraph (in a build with `--features flamegraph`); any other file gets stacks, one a
    /// line, for other tools.
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// What is counted to find out who is to blame.
    ///
    /// One that is named here explains anew what is explained already.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Auto<Engine>>,
    /// Which functions are timed to find out who is to blame.
    ///
    /// One that is named here explains anew what is explained already.
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: Option<Auto<Strategy>>,
    /// Longest run, builds included.
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub budget: Option<Duration>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY", hide_short_help = true)]
    pub target_dir: Option<PathBuf>,
    /// Print the result only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Coloring of the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
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
                engine: self.engine.and_then(|engine| engine.0),
                strategy: self.strategy.and_then(|strategy| strategy.0),
                ..Explaining::default()
            },
            again: self.strategy.is_some() || self.engine.is_some(),
            budget: self.budget,
        })
    }
}
