//! `cargo perfunit explain`.

use super::arguments::{MessageFormat, place, terminal, text_options};
use clap::Args;
use perfunit_explain::{forest, impact, ranking};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Engine, Explain, Profiles, Side, Strategy};
use perfunit_project::config::{self, Auto};
use perfunit_report as report;
use perfunit_report::{explanations, flamegraph};
use perfunit_session as session;
use perfunit_session::{Against, ExplainRequest, Explaining};
use perfunit_system::fs;
use perfunit_system::interrupt;
use perfunit_system::term::{self, ColorChoice, Terminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit explain                           explain all slower and faster tests of the last `diff`
  cargo perfunit explain parser::long              only explain tests with `parser::long` in their name
  cargo perfunit explain --ratchet                 explain the comparison with the ratchet's version
  cargo perfunit explain --engine callgrind        count instructions: exact, includes inlined functions
  cargo perfunit explain --function Parser::line   show which tests a function affects
  cargo perfunit explain --hot                     show which functions take most of the tests' time
  cargo perfunit explain parser::long --flamegraph line.svg
                                                   draw a flamegraph, head against base

See docs/method.md for how responsible functions are found.
")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ExplainArguments {
    /// Tests and generated calls of the last `diff`: names, or parts of names.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Explain the comparison with the ratchet's version instead of base.
    #[arg(long)]
    pub ratchet: bool,
    /// Match TESTs against whole test names.
    #[arg(long)]
    pub exact: bool,
    /// Show the tests that a function affects.
    ///
    /// A function's name or the end of its path: `line`, `Parser::line`, `parser::Parser::line`.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["hot", "flamegraph"])]
    pub function: Option<String>,
    /// Show the functions that take most of the tests' time, and the calls of all tests as one tree.
    #[arg(long, conflicts_with = "flamegraph")]
    pub hot: bool,
    /// Also write a flamegraph of one test, head against base.
    ///
    /// An .svg file is a differential flamegraph (requires a build with `--features flamegraph`). All other files
    /// contain folded stacks, one per line, for other tools.
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// What to count to find the responsible functions.
    ///
    /// Tests that are already explained are explained again. --function, --hot and --flamegraph show time unless it is
    /// `callgrind`.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Auto<Engine>>,
    /// Which functions to time to find the responsible ones.
    ///
    /// Tests that are already explained are explained again.
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: Option<Auto<Strategy>>,
    /// Time budget for the entire run, including builds.
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub budget: Option<Duration>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY", hide_short_help = true)]
    pub target_dir: Option<PathBuf>,
    /// Only print the result.
    #[arg(long, short)]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl ExplainArguments {
    /// Explains tests of the last run and prints the result. Missing explanations are not a failure.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, self.quiet);
        let (request, options) = (self.request()?, text_options(true));
        let json = self.message_format == MessageFormat::Json;
        let text = if let Some(function) = &self.function {
            let impact = impact(&profiles(&request, terminal)?, function).map_err(|none| none.error())?;
            if json { report::impact::json(&impact) } else { report::impact::text(&impact, &options) }
        } else if self.hot {
            let profiles = profiles(&request, terminal)?;
            let (ranking, trees) = (ranking(&profiles), forest(&profiles));
            if json {
                report::ranking::json(&ranking, &trees)
            } else {
                report::ranking::text(&ranking, &trees, &options)
            }
        } else {
            if let Some(path) = &self.flamegraph {
                draw(&request, path, terminal)?;
            }
            let found = session::explain(&request, terminal)?;
            if json { explanations::json(&found) } else { explanations::text(&found, &options) }
        };
        term::print(&text);
        Ok(if interrupt::is_requested() { ExitCode::Interrupted } else { ExitCode::Success })
    }

    fn request(&self) -> Result<ExplainRequest> {
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        Ok(ExplainRequest {
            folder,
            manifest,
            target_dir: self.target_dir.clone(),
            against: if self.ratchet { Against::Ratchet } else { Against::Base },
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

/// Profiles head's tests by time or instructions.
fn profiles(request: &ExplainRequest, terminal: Terminal) -> Result<Profiles> {
    let found = session::profiles(request, terminal)?;
    found.warnings.iter().for_each(|warning| terminal.warning(&warning.to_string()));
    if found.tests.is_empty() {
        return Err(Error::usage("the last run has no test with calls that can be timed")
            .hint("run `cargo perfunit diff --all-tests` to measure all tests"));
    }
    Ok(Profiles::of(found.engine, &found.tests, Side::Head))
}

/// Draws the flamegraph of the only matching test, with all functions timed.
fn draw(request: &ExplainRequest, path: &Path, terminal: Terminal) -> Result<()> {
    let is_picture = path.extension().is_some_and(|extension| extension == "svg");
    if is_picture {
        flamegraph::can_draw()?;
    }
    let found = session::profiles(request, terminal)?;
    let [explanation] = &found.tests[..] else {
        let error = Error::usage(format!("--flamegraph draws one test, not {}", found.tests.len()));
        let hint = found.warnings.first().map(ToString::to_string);
        let whole = || "name it: `cargo perfunit explain TEST --exact --flamegraph FILE`".to_owned();
        return Err(error.hint(hint.unwrap_or_else(whole)));
    };
    let text = if is_picture { flamegraph::svg(explanation)? } else { flamegraph::fold_stacks(explanation) };
    fs::write(path, text)?;
    terminal.status("Wrote", &path.display().to_string());
    Ok(())
}
