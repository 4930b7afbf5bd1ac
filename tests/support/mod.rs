//! Projects in temporary folders, and runs of the tool on them as by a user.

#![allow(dead_code, reason = "each test target uses its own part")]

mod case;
mod project;
mod refuse;
mod run;
mod skip;

#[allow(unused_imports, reason = "each test target uses its own part")]
pub use case::{Case, QUICK_DEPENDENCIES, announced, first_responsible, repository_root, to_announce};
#[allow(unused_imports, reason = "each test target uses its own part")]
pub use project::{NATURAL_LAYOUT, Project};
#[allow(unused_imports, reason = "each test target uses its own part")]
pub use refuse::{PINNING, RANDOM_ADDRESSES, Refused, keep_on_one_core, refuse};
pub use run::Run;
#[allow(unused_imports, reason = "each test target uses its own part")]
pub use skip::skipped;
