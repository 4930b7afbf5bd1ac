//! Completion scripts and man pages, made from the tree of subcommands: what is typed there is completed and described
//! here without further ado.
//!
//! Pure: a [`clap::Command`] comes in, text goes out.

mod completions;
mod facts;
mod page;

pub use completions::{Shell, completions};
pub use facts::{ENVIRONMENT, FILES};
pub use page::{ManPage, man_pages};
