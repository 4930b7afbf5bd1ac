//! Compares two versions of the source in units that users know: functions, types, constants, manifests.
//!
//! Input: the files that differ, as bytes of both versions. Output: a [`SourceDiff`] that classifies every changed file
//! as changed items, a changed input, or irrelevant with a reason. The module also contains [`modules`] (the files of a
//! crate), [`overlay`] (a version with the other's test code), [`instrument`] (a file with probes on its functions),
//! and [`may_hold_tests`].
//!
//! Invariants: no I/O and no cargo (the caller provides a function to read files); comments, documentation, white space
//! and line shifts are never changes; a file that cannot be parsed is compared more coarsely, never skipped.

mod attributes;
mod cfg_strip;
mod change;
mod compare;
mod condition;
mod holds_tests;
mod inputs;
mod items;
mod keys;
mod lock_file;
mod macros;
mod modules;
mod normalise;
mod overlay;
mod parse;
mod probes;
mod splice;
mod surroundings;
mod test_attributes;

pub use attributes::is_test;
pub use cfg_strip::strip_inactive_code;
pub use change::{ChangedInput, ChangedItem, FileChange, InputKind, ItemKind, SourceDiff};
pub use compare::diff;
pub use condition::{Condition, Configuration};
pub use holds_tests::{holds_tests, may_hold_tests};
pub use inputs::is_document;
pub use items::{Item, items};
pub use keys::changed_keys;
pub use lock_file::{Dependents, LockedChange, locked_changes, packages_with_path};
pub use modules::{FileInTarget, ModuleTree, modules};
pub use normalise::Code;
pub use normalise::bare;
pub use overlay::{Holder, holds, overlay};
pub use probes::{LeftOut, Place, Returns, Site, extents, instrument};
pub use test_attributes::{Directive, test_directives};
