//! The shadow tree: one folder that holds base, then head, at the same path.
//!
//! Input: the files of a version ([`FileSet`](perfunit_project::git::FileSet)), and the changes to crate roots
//! ([`Injections`]). Output: a folder with exactly these files ([`Tree`]), and counts of the work done ([`Stats`]).
//!
//! Invariants:
//! - Only files that differ are written, because cargo rebuilds files by modification time. A written file gets the
//!   current time, even if the tree had the same content before.
//! - After a checkout the folder contains nothing else: files from tests and builds are removed.
//! - Nothing outside the folder is written, whatever symbolic links a version or a test put into it.
//! - The next checkout repairs a crash at any moment.
//! - Line numbers do not change: text is only appended, except in crates that are compiled empty.
//!
//! The caller must make sure that no two runs use a tree at the same time.

mod files;
mod inject;
mod plan;
mod state;
mod tree;

#[cfg(test)]
mod tests;

pub use inject::{CalledWhole, GROWTH_CFG, Injected, Injections, MACROS, PROBES_CFG, ROOT_CFG};
pub use inject::{called_whole, has_probes, has_unit_benches, is_bench, probes_text, root_key};
pub use tree::{Tree, place_in_tree};
