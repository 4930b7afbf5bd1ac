//! The command line: arguments as typed ([`Arguments`]), resolved into what the stages take.

mod archive;
mod arguments;
mod calibrate;
mod ci;
mod comparing;
mod diff;
mod explain;
mod hook;
mod list;
mod manual;
mod measuring;
mod merge;
mod report;
mod show_config;
mod upkeep;

pub use arguments::{Arguments, Command, MessageFormat, parse};
