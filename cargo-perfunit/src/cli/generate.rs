//! `cargo perfunit generate`.

use super::arguments::{CommonArguments, MessageFormat, folder, text_options};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_project::config::{Layer, Limit, Value as _};
use perfunit_report::generate;
use perfunit_session as session;
use perfunit_session::{GenerateRequest, Generating, Measuring};
use perfunit_system::fs;
use perfunit_system::process;
use perfunit_system::term;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of `generate`.
#[derive(Debug, Args)]
#[command(
    mut_arg("filter", |argument| argument.value_name("FUNCTION").help("Functions to generate calls for, by the end of their path").long_help(
        "Functions to generate calls for, by the end of their path.\n\nFor example `next_line` or `Parser::next_line`; tests may execute them or not."
    )),
    mut_arg("filterset", |argument| argument.hide(true)),
    mut_arg("exact", |argument| argument.hide(true)),
    mut_arg("skip", |argument| argument.hide(true)),
    mut_arg("partition", |argument| argument.hide(true)),
    mut_arg("run_ignored", |argument| argument.hide(true)),
    mut_arg("ignore_default_filter", |argument| argument.hide(true)),
    after_long_help = "\
Examples:
  cargo perfunit generate                      generate calls for changed functions without tests
  cargo perfunit generate main Parser::next    generate calls for one function
  cargo perfunit generate --write tests/generated.rs
                                               write the calls as tests
"
)]
pub struct GenerateArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// Generate calls for all functions of the selected libraries and binaries, executed by tests or not.
    #[arg(long, conflicts_with = "filter", help_heading = "Tests")]
    pub all: bool,
    /// Time budget for the entire run, including builds, or `none` [default: none].
    #[arg(long, value_name = "TIME", value_parser = Limit::read, help_heading = "Measuring")]
    pub budget: Option<Limit>,
    /// Also write the calls as plain tests that assert base's results where these can be printed.
    ///
    /// FILE must be new. Move each of its modules into the file that the first line of the module names.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub write: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
}

impl GenerateArguments {
    /// Rejects options that select tests.
    fn check(&self) -> Result<()> {
        let CommonArguments { filterset, exact, skip, run_ignored, ignore_default_filter, .. } = &self.common;
        let given = [
            ("--filterset", !filterset.is_empty()),
            ("--exact", *exact),
            ("--skip", !skip.is_empty()),
            ("--run-ignored", run_ignored.is_some()),
            ("--ignore-default-filter", *ignore_default_filter),
        ];
        let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        Err(Error::usage(format!("{name} cannot be used with `generate`: it selects tests, not functions"))
            .hint("name functions: `cargo perfunit generate BASE FUNCTION`"))
    }

    /// Generates and prints the calls.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        self.check()?;
        let file = self.write.as_ref().map(|path| Ok::<_, Error>(folder()?.join(path))).transpose()?;
        if let Some(file) = file.as_ref().filter(|file| file.exists()) {
            return Err(Error::usage(format!("{} already exists", file.display()))
                .hint("name a new file with `--write`, or remove this one"));
        }
        let resolved = self.common.resolve(Layer::default())?;
        let budget = self.budget.as_ref().and_then(|budget| budget.0);
        let mut options = self.common.options(&resolved, Measuring { budget, ..Measuring::default() })?;
        let names = std::mem::take(&mut options.filter.names);
        let request = GenerateRequest { options, names, all: self.all };
        let Generating { versions, generation } = session::generate(&request, terminal)?;
        if let Some(file) = file {
            fs::write(&file, perfunit_generate::write_plain_tests(&generation.workloads))?;
            // Without rustfmt, only the formatting differs.
            let _ = process::output(Command::new("rustfmt").args(["--edition", "2021"]).arg(&file));
        }
        term::print(&match self.message_format {
            MessageFormat::Json => generate::render(&versions, &generation),
            MessageFormat::Human => generate::text(&versions, &generation, &text_options(self.common.verbose > 0)),
        });
        Ok(ExitCode::Success)
    }
}
