//! How results are printed and written.

use clap::{Args, ValueEnum};
use perfunit_model::{Denied, Run, Threshold};
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
    /// Report tests as inconclusive only if they may have changed by this much or more [default: 10%].
    ///
    /// A test without a verdict that certainly changed by less is "unchanged within" 1, 2, 5 or 10 % or this bound, and
    /// `--deny inconclusive` does not fail for it.
    #[arg(long, value_name = "CHANGE", help_heading = "Output")]
    pub bound: Option<Threshold>,
    /// What Markdown says when nothing got slower or faster.
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Output")]
    pub when_fine: WhenFine,
}

impl ReportingArguments {
    /// With so many `-v`, and these tests counted as failures.
    pub fn rendering(&self, verbose: u8, deny: &[Deny]) -> Rendering {
        Rendering { text: text_options(verbose > 0), when_fine: self.when_fine, denied: denied(deny) }
    }

    /// Applies the bound that was typed to a run that was measured before.
    pub fn judge(&self, run: &mut Run) {
        if let Some(bound) = self.bound {
            run.set_bound(bound);
        }
    }

    /// What was typed of the settings that the configuration knows, too.
    pub fn layer(&self, no_tests: Option<NoTests>) -> Layer {
        Layer {
            no_tests: no_tests.map(Sourced::typed),
            bound: self.bound.map(Sourced::typed),
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
