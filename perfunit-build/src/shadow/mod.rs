//! The shadow tree: one folder that holds base, then head, at the same path.
//!
//! Input: the files of a version ([`FileSet`](perfunit_project::git::FileSet)), and which of them get our line ([`Injections`]).
//! Output: a folder with exactly those files ([`Tree`]), and what had to be done for it ([`Stats`]).
//!
//! Invariants:
//! - Only files that differ are written, so that cargo, which goes by modification times, rebuilds only what differs.
//!   What is written gets a fresh time, even if the content was there before at another time.
//! - After a checkout nothing else is in the folder: what tests and builds left there is gone.
//! - Nothing outside the folder is written, whatever symbolic links a version or a test put into it.
//! - A crash at any moment is repaired by the next checkout.
//! - No line number changes: text is only ever appended, but for crates that are compiled empty.
//!
//! Who calls must see to it that two runs do not use one tree at the same time.

mod disk;
mod inject;
mod plan;
mod state;
mod tree;

#[cfg(test)]
mod tests;

pub use inject::{CalledWhole, GROWTH_CFG, Injected, Injections, MACROS, PROBES_CFG, ROOT_CFG};
pub use inject::{called_whole, has_probes, has_unit_benches, is_bench, probes_text, root_key};
pub use tree::{Tree, place_in_tree};
