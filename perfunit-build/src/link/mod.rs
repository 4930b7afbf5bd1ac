//! The linker wrapper: stores the inputs of each test executable and of each workspace binary.
//!
//! Rustc deletes the objects of a crate after linking, and they show better than the executable which code belongs to
//! which function. We therefore replace rustc's linker: store the inputs, call the real linker with the same arguments,
//! and write a [`LinkRecord`] next to the executable. Invariants: the executable is the same as without us; storing
//! never makes a link fail; the record lists everything that could not be stored, so that it is not taken for
//! unchanged.

mod arguments;
mod comparable;
mod inputs;
mod linkers;
mod place;
mod record;
mod relink;
mod role;

pub(super) use inputs::carry;
pub use linkers::{Dialect, Linker, Linkers};
pub(super) use place::{place_for, users_linker};
pub use record::LinkRecord;
pub(super) use record::{LIBRARIES, executable_of};
pub use relink::{
    ALIGNMENT, Extra, Freed, Position, Relink, can_decode, code_unit, free, relink, relink_with_debug_information,
};
pub use role::{is_link, link};
