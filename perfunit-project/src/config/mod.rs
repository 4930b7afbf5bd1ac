//! The configuration, in layers: the command line, the environment, `.config/perfunit.toml`, and built-in values.
//!
//! Input: the text of the file, variables, and the options of the command line as a [`Layer`]. Output: [`Settings`],
//! each with its source, and [`Rules`], which select tests by filtersets. Everything except finding the file is pure.
//! Invariants: every error in the file names its line, and no unknown key is ignored.

mod built_in;
pub mod filterset;
mod keys;
mod layers;
mod open;
mod ratchet;
mod rules;
mod settings;
mod source;
mod steps;
mod tables;
mod terms;
mod values;

pub use keys::schema;
pub use open::{Configuration, Resolved};
pub use ratchet::{PATH as RATCHET_FILE, RatchetRequest, read_accepted, request as ratchet_request, write_accepted};
pub use rules::{DataFate, DataRule, Override, Rules, SkipRule};
pub use settings::{Layer, Row, Settings};
pub use source::{Source, Sourced};
pub use steps::{Step, program_in};
pub use tables::StepKind;
pub use terms::Terms;
pub use values::{Auto, Deny, Features, Gates, Limit, NoTests, Revision, Time, Value, duration, metric, word_of};
