//! How results are printed and written.

use clap::{Args, ValueEnum};
use perfunit_model::{Denied, Run, Threshold};
use perfunit_project::config::{Deny, Layer, NoTests, Sourced};
use perfunit_report::{Detail, Rendering, TextOptions, WhenFine};
use perfunit_system::term::{self, ColorChoice, Terminal};

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MessageFormat {
    /// A summary for people.
    #[default]
    #[value(name = "text", alias = "human")]
    Human,
    /// One versioned JSON document.
    Json,
}

/// Options of reports.
#[derive(Debug, Args)]
pub struct ReportingArguments {
    /// Also fail on these findings: in the exit code of `diff`, and as failed test cases with `junit`.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Output")]
    pub deny: Vec<Deny>,
    /// Only report tests as inconclusive if they may have changed by at least this much [default: 10%].
    ///
    /// A test without a verdict that certainly changed by less is reported as unchanged within 1, 2, 5 or 10 %, or
    /// within this bound. `--deny inconclusive` does not fail on it.
    #[arg(long, value_name = "CHANGE", help_heading = "Output")]
    pub bound: Option<Threshold>,
    /// Content of Markdown reports if no test got slower or faster.
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Output")]
    pub when_fine: WhenFine,
}

impl ReportingArguments {
    /// Returns the options for rendering.
    pub fn rendering(&self, verbose: u8, deny: &[Deny]) -> Rendering {
        Rendering { text: text_options(verbose > 0), when_fine: self.when_fine, denied: parse_denied(deny) }
    }

    /// Applies the typed bound to a saved run.
    pub fn judge(&self, run: &mut Run) {
        if let Some(bound) = self.bound {
            run.set_bound(bound);
        }
    }

    /// Returns the typed options that are also settings of the configuration.
    pub fn layer(&self, no_tests: Option<NoTests>) -> Layer {
        Layer {
            no_tests: no_tests.map(Sourced::from_command_line),
            bound: self.bound.map(Sourced::from_command_line),
            deny: (!self.deny.is_empty()).then(|| Sourced::from_command_line(self.deny.clone())),
            ..Layer::default()
        }
    }
}

fn parse_denied(deny: &[Deny]) -> Denied {
    Denied {
        inconclusive: deny.contains(&Deny::Inconclusive),
        unconfirmed: deny.contains(&Deny::Unconfirmed),
        uncovered: deny.contains(&Deny::Uncovered),
        growth: deny.contains(&Deny::Growth),
        functions: deny.contains(&Deny::Functions),
        generated: deny.contains(&Deny::Generated),
        // A separate option (`--no-tests`).
        nothing_measured: false,
    }
}

/// Sets the use of colors, and whether to print notes.
pub fn terminal(color: ColorChoice, quiet: bool) -> Terminal {
    term::set_color(color);
    Terminal { quiet }
}

/// Returns the options for text on standard output.
pub fn text_options(verbose: bool) -> TextOptions {
    let detail = if verbose { Detail::Full } else { Detail::Brief };
    TextOptions { width: term::width(), detail, glyphs: term::glyphs() }
}
