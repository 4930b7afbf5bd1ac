//! The configuration: `.config/perfunit.toml`, the environment and what is built in, in layers.
//!
//! Input: the text of the file, variables, and the options of the command line as a [`Layer`]. Output: [`Settings`], each
//! with the place that it comes from, and [`Rules`], which name tests by filtersets. Apart from finding the file all of it
//! is pure. Invariant: what is wrong in the file is named with its line, and an unknown key is never silent.

mod built_in;
pub mod filterset;
mod keys;
mod layers;
mod open;
mod ratchet;
mod rules;
mod settings;
mod source;
mod tables;
mod terms;
mod values;

pub use keys::schema;
pub use open::{Configuration, Resolved};
pub use ratchet::{PATH as RATCHET_FILE, RatchetRequest, read_accepted, request as ratchet_request, write_accepted};
pub use rules::{DataFate, DataRule, Override, Rules, SkipRule};
pub use settings::{Layer, Row, Settings};
pub use source::{Source, Sourced};
pub use terms::Terms;
pub use values::{Auto, Deny, Features, Gates, Limit, NoTests, Revision, Time, Value, duration, metric, word_of};
