//! Arguments shared by several subcommands, and their meaning for the stages.

mod comparing;
mod measuring;
mod output;
mod project;

pub use comparing::{CommonArguments, refuse};
pub use measuring::MeasuringArguments;
pub use output::{MessageFormat, ReportingArguments, terminal, text_options};
pub use project::{ConfigurationArguments, folder, place, real};
