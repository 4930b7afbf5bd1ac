//! The `pre-push` hook: its text, its place, earlier hooks, and hook managers.
//!
//! Input: the hooks folder ([`HooksFolder`](perfunit_project::git::HooksFolder)) and what to store in the hook
//! ([`Stored`]). Output: the state ([`State`]) and the result of a change ([`Installed`], [`Removed`]).
//!
//! Invariants:
//! - A foreign hook is never changed, only renamed next to ours, which calls it first. Removing ours restores its name;
//!   content and mode stay.
//! - A hook of ours that the user edited is neither replaced nor removed.

mod files;
mod managers;
mod manifests;
mod script;
pub mod unchecked_pushes;

pub use files::{Installed, Removed, State, install, state, uninstall};
pub use managers::Managing;
pub use manifests::manifests;
pub use script::{OnFailure, Origin, Stored, command_in, words_of};
