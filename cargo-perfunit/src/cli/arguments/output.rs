//! How results are printed and written.

use clap::{Args, ValueEnum};
use perfunit_model::Denied;
use perfunit_project::config::{Deny, Layer, NoTests, Sourced};
use perfunit_report::{Rendering, TextOptions, WhenFine};
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

/// What reports leave open.
#[derive(Debug, Args)]
pub struct ReportingArguments {
    /// Also fail for these: in the exit code of `diff`, and as failed test cases with `junit`.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output")]
    pub deny: Vec<Deny>,
    /// What Markdown says when nothing got slower or faster.
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Output")]
    pub when_fine: WhenFine,
}

impl ReportingArguments {
    /// With so many `-v`, and these tests counted as failures.
    pub fn rendering(&self, verbose: u8, deny: &[Deny]) -> Rendering {
        Rendering { text: text_options(verbose > 0), when_fine: self.when_fine, denied: denied(deny) }
    }

    /// What was typed of the settings that the configuration knows, too.
    pub fn layer(&self, no_tests: Option<NoTests>) -> Layer {
        Layer {
            no_tests: no_tests.map(Sourced::typed),
            deny: (!self.deny.is_empty()).then(|| Sourced::typed(self.deny.clone())),
            ..Layer::default()
        }
    }
}

fn denied(deny: &[Deny]) -> Denied {
    Denied {
        inconclusive: deny.contains(&Deny::Inconclusive),
        unconfirmed: deny.contains(&Deny::Unconfirmed),
        uncovered: deny.contains(&Deny::Uncovered),
        growth: deny.contains(&Deny::Growth),
        generated: deny.contains(&Deny::Generated),
        // An option of its own.
        nothing_measured: false,
    }
}

/// Fixes the use of colours, and says whether to print notes.
pub fn terminal(color: ColorChoice, quiet: bool) -> Terminal {
    term::set_color(color);
    Terminal { quiet }
}

/// Text for the terminal on standard output.
pub fn text_options(verbose: bool) -> TextOptions {
    TextOptions { width: term::width(), verbose, unicode: term::unicode() }
}
