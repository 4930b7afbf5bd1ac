//! The context of a comparison: the user's project, its toolchains, and our state folder.

use super::{Cargo, Location, Workspace};
use perfunit_model::Side;
use perfunit_system::term::Terminal;
use std::path::PathBuf;

/// Facts that all steps of a comparison share, independent of the versions compared.
pub struct Context {
    /// Head's toolchain.
    pub cargo: Cargo,
    /// Base's toolchain, if it differs from head's.
    pub base_cargo: Option<Cargo>,
    /// The workspace and target folder of the user.
    pub location: Location,
    /// The workspace as it is in the user's tree.
    pub live: Workspace,
    /// Our state folder, below cargo's target folder.
    pub ours: PathBuf,
    pub terminal: Terminal,
}

impl Context {
    /// Returns the toolchain that builds `side`.
    pub fn cargo_of(&self, side: Side) -> &Cargo {
        match (side, &self.base_cargo) {
            (Side::Base, Some(base)) => base,
            _ => &self.cargo,
        }
    }

    /// Describes the compilers of both sides.
    pub fn rustc(&self) -> String {
        let head = self.cargo.rustc_release();
        match &self.base_cargo {
            Some(base) => format!("{head}, base {}", base.rustc_release()),
            None => head.to_owned(),
        }
    }
}
