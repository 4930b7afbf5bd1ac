//! Which two versions are compared, and what files each of them has.
//!
//! Input: what the user typed ([`Request`]) and the repository around a folder ([`Repository`]).
//! Output: two [`Version`]s with a note about the choice ([`Comparison`]), and for each its files ([`FileSet`]).
//!
//! Invariants:
//! - Nothing is ever written: not to the index (status does not refresh it), the object database, refs, worktrees
//!   or hooks' reach. A test compares the whole repository byte by byte and time by time, before and after.
//! - A version is a value: the contents of changed files are held in memory, so that edits made while we build or
//!   measure do not leak into it. Files too large for that are refused if they changed in between.
//! - An entry's id is the blob hash of exactly the bytes that [`Repository::read`] returns for it.
//! - A `git` process is started only to convert files on checkout where attributes ask for it (`filters.rs`). No network
//!   is used.

mod collect;
mod command;
mod discover;
mod files;
mod filters;
mod hooks;
mod lfs;
pub mod path;
mod problem;
mod pushed;
mod request;
mod trailers;
mod versions;
mod walk;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
#[cfg(test)]
mod tests;

pub use command::LOCAL_VARIABLES;
pub use discover::Repository;
pub use files::{Entry, FileSet, Mode, Moves, Source};
pub use git2::Oid;
pub use hooks::{HooksFolder, HooksOwner};
pub use pushed::{Pushed, PushedPair, PushedVersions};
pub use request::{Comparison, Request, Version};
pub use trailers::{Trailer, Trailers};
pub use versions::Versions;
pub use walk::{DiffLine, Steps, Walk};
