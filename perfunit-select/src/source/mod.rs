//! What differs between two versions of the source, in the units that people know: functions, types, constants, manifests.
//!
//! Input: the files that differ, as bytes of both versions. Output: a [`SourceDiff`], every changed file accounted for as
//! changed items, a changed input, or irrelevant with its reason. Beside it [`modules`]: which files make up a crate, and
//! [`overlay`]: a version with the test code of the other; [`instrument`]: a file with probes on its functions, and
//! [`may_hold_tests`].
//!
//! Invariants: no I/O and no cargo (a file is read through a function of the caller); comments, documentation, white
//! space and line shifts are never a change; a file that cannot be parsed is compared more coarsely, never skipped.

mod attributes;
mod change;
mod compare;
mod condition;
mod holds_tests;
mod inputs;
mod items;
mod macros;
mod manifests;
mod modules;
mod normalise;
mod overlay;
mod parse;
mod probes;
mod splice;
mod surroundings;

pub use attributes::{Asked, asks, is_test};
pub use change::{ChangedInput, ChangedItem, FileChange, InputKind, ItemKind, SourceDiff};
pub use compare::diff;
pub use condition::{Condition, Configuration, compiled};
pub use holds_tests::{holds_tests, may_hold_tests};
pub use inputs::is_document;
pub use items::{Item, items};
pub use manifests::{LockedChange, changed_keys, locked_changes, packages_with_path};
pub use modules::{FileInTarget, ModuleTree, modules};
pub use normalise::{Code, bare};
pub use overlay::{Holder, holds, overlay};
pub use probes::{LeftOut, Place, Returns, Site, extents, instrument};
