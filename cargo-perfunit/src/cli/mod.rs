//! The command line: arguments as typed ([`Arguments`]), then resolved into what the stages take.

mod arguments;
mod resolve;
mod values;

pub use arguments::{
    Arguments, CalibrateArguments, CleanArguments, Command, DemoArguments, DiffArguments, DoctorArguments,
    ListArguments, MessageFormat, NoTests, parse,
};
pub use resolve::{calibrate_request, calibrate_terminal, clean_options, diff_options, folder, list_options, terminal};
