//! Selects the two versions to compare and lists the files of each.
//!
//! Input: the user's arguments ([`Request`]) and the repository around a folder ([`Repository`]).
//! Output: two [`Version`]s with a note about the choice ([`Comparison`]), and the files of each ([`FileSet`]).
//!
//! Invariants:
//! - Nothing is ever written: not to the index (status does not refresh it), the object database, refs, worktrees or
//!   hooks. A test compares contents and times of the whole repository before and after.
//! - A version is a value: the contents of changed files are held in memory, so that edits during a build or
//!   measurement have no effect. Files too large for that are refused if they change.
//! - An entry's id is the blob hash of exactly the bytes that [`Repository::read`] returns for it.
//! - A `git` process runs only to convert files on checkout where attributes demand it (`filters.rs`). The network is
//!   never used.

mod collect;
mod command;
mod discover;
mod files;
mod filters;
mod hooks;
mod lfs;
pub mod path;
mod problem;
mod push;
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
pub use push::{PushedPair, PushedRef, PushedVersions};
pub use request::{Comparison, Request, Version};
pub use trailers::{Trailer, Trailers};
pub use versions::Versions;
pub use walk::{DiffLine, Steps, Walk};
