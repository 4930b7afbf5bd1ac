//! The command line: arguments as typed ([`Arguments`]), then resolved into what the stages take.

mod arguments;
mod resolve;
mod values;

pub use arguments::{
    Arguments, CalibrateArguments, CleanArguments, Command, DemoArguments, DiffArguments, DoctorArguments,
    ExplainArguments, ListArguments, MessageFormat, NoTests, parse,
};
pub use resolve::{
    calibrate_request, calibrate_terminal, clean_options, diff_options, explain_request, explain_terminal,
    explain_view, folder, list_options, terminal,
};
