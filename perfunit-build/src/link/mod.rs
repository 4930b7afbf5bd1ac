//! The linker wrapper: keeps what goes into each test executable and each of the workspace's binaries.
//!
//! rustc deletes the objects of a crate when its executable is linked, and they say better than the executable what
//! belongs to which function. So our executable stands where rustc looks for its linker: it keeps the inputs, calls the
//! real linker with the same arguments, and leaves a [`LinkRecord`] beside the executable. Invariants: the executable
//! is the one that would be there without us; keeping never makes a link fail; what could not be kept is said in the
//! record, so that nobody takes it for unchanged.

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
pub use relink::{ALIGNMENT, Extra, Freed, Position, Relink, free, relink, relink_with_debug_information};
pub use role::{is_link, link};
