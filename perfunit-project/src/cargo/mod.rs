//! The cargo side of a version: packages, targets and their dependencies, from `cargo metadata`.
//!
//! Input: a manifest path. Output: plain data with paths relative to the git root. Invariant: in the user's own tree,
//! only `cargo metadata --no-deps` runs, which never writes a lock file.

mod command;
mod context;
mod load;
mod manifest;
mod resolver;
pub mod rustup;
pub mod toolchains;
mod workspace;

pub use cargo_metadata::DependencyKind;
pub use command::{Cargo, make_absolute, user_folder};
pub use context::Context;
pub use load::{
    Location, Resolution, Resolved, add_patched, external_dependencies, features, generate_lock_file, load, locate,
    package_graph, target_kind,
};
pub use resolver::{FeatureResolver, Features};
pub use workspace::{Counterpart, Dependency, OwnPackage, Package, Target, Workspace};
