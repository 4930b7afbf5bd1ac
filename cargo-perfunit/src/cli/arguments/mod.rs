//! Arguments shared by several subcommands, and their meaning for the stages.

mod comparison;
mod measurement;
mod output;
mod project;

pub use comparison::{CommonArguments, refuse};
pub use measurement::MeasuringArguments;
pub use output::{MessageFormat, ReportingArguments, terminal, text_options};
pub use project::{ConfigurationArguments, folder, place, real};
