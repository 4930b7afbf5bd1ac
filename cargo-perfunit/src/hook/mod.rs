//! The `pre-push` hook: its text, where it goes, what was there before, and who else manages hooks.
//!
//! Input: the folder of hooks ([`HooksFolder`](perfunit_project::git::HooksFolder)) and what to store in the hook ([`Stored`]).
//! Output: what is there ([`State`]) and what was done about it ([`Installed`], [`Removed`]).
//!
//! Invariants:
//! - A hook that is not ours is never changed, only renamed to stand beside ours and be called first; removing ours gives it
//!   its name back, byte for byte, with its mode.
//! - A hook of ours that was edited is neither replaced nor removed.

mod files;
mod managers;
mod manifests;
mod script;
pub mod unchecked;

pub use files::{Installed, Removed, State, install, state, uninstall};
pub use managers::Managing;
pub use manifests::manifests;
pub use script::{OnFailure, Origin, Stored, command_in, words_of};
