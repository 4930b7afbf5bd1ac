//! Where a comparison is made: the project around the user, its toolchains, our folder.

use super::{Cargo, Location, Workspace};
use perfunit_model::Side;
use perfunit_system::term::Terminal;
use std::path::PathBuf;

/// What is the same for all steps of a comparison, whatever its versions hold.
pub struct Context {
    /// The toolchain, that of head.
    pub cargo: Cargo,
    /// That of base, where it is another one.
    pub base_cargo: Option<Cargo>,
    /// Where the user stands.
    pub location: Location,
    /// The workspace as it is in the user's tree.
    pub live: Workspace,
    /// Our folder below cargo's target folder.
    pub ours: PathBuf,
    pub terminal: Terminal,
}

impl Context {
    /// The toolchain that a side is built with.
    pub fn cargo_of(&self, side: Side) -> &Cargo {
        match (side, &self.base_cargo) {
            (Side::Base, Some(base)) => base,
            _ => &self.cargo,
        }
    }

    /// The compilers of both sides in words.
    pub fn rustc(&self) -> String {
        let head = self.cargo.rustc_release();
        match &self.base_cargo {
            Some(base) => format!("{head}, base {}", base.rustc_release()),
            None => head.to_owned(),
        }
    }
}
