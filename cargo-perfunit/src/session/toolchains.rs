//! The toolchain of each version, where `rust-toolchain.toml` differs between them.

use super::options::Options;
use super::setup::Setup;
use crate::cargo::Cargo;
use crate::cargo::rustup::{self, Asked, Overridden};
use crate::git::FileSet;
use crate::model::{Side, Sides};
use std::path::{Path, PathBuf};

/// A version's file, and what it asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    /// From the repository's root; none if the version has no file.
    file: Option<PathBuf>,
    asked: Option<Asked>,
}

/// Gives base its own toolchain, and head its own, if they ask for different ones that are both here; else both head's.
pub fn settle(setup: &mut Setup, options: &Options) {
    let folder = options.folder.strip_prefix(setup.repository.root()).unwrap_or(Path::new("")).to_owned();
    let wishes = setup.files.as_ref().map(|files| wish(setup, files, &folder));
    if wishes.base.asked == wishes.head.asked {
        return;
    }
    let name = |side: Side| {
        let asked = wishes.get(side).asked.as_ref();
        asked.map_or_else(|| format!("{side} for none"), |asked| format!("{side} for {asked}"))
    };
    let asked = format!("the versions ask for different toolchains ({}, {})", name(Side::Base), name(Side::Head));
    if let Some(overridden) = rustup::overridden(&options.folder) {
        let why = match overridden {
            Overridden::NoRustup => "rustup is not there to find them",
            Overridden::ByName => "that one was chosen by name",
        };
        let used = setup.cargo.rustc_release();
        setup.warnings.push(format!("{asked}; both are built with {used}: {why}"));
        return;
    }
    let root = setup.repository.root().to_owned();
    let found = wishes.as_ref().map(|wish| {
        let folder = wish.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        rustup::find(wish.asked.as_ref(), &root.join(folder))
    });
    assign(setup, found, &asked);
}

/// The nearest file above the user's folder, as rustup looks for it.
fn wish(setup: &Setup, files: &FileSet, folder: &Path) -> Wish {
    let places = folder.ancestors().flat_map(|folder| rustup::FILES.map(|name| folder.join(name)));
    let Some(file) = places.into_iter().find(|path| files.entries.contains_key(path)) else { return Wish::default() };
    let text = setup.read_file(files, &file.to_string_lossy()).unwrap_or_default();
    Wish { asked: Asked::read(&String::from_utf8_lossy(&text)), file: Some(file) }
}

fn assign(setup: &mut Setup, found: Sides<Option<Cargo>>, asked: &str) {
    let missing: Vec<String> =
        Side::BOTH.iter().filter(|side| found.get(**side).is_none()).map(Side::to_string).collect();
    setup.cargo = found.head.unwrap_or_else(|| setup.cargo.clone());
    match found.base {
        Some(base) if missing.is_empty() && base.version != setup.cargo.version => {
            let (base_release, head_release) = (base.rustc_release(), setup.cargo.rustc_release());
            setup.warnings.push(format!(
                "{asked}: base is built with {base_release}, head with {head_release}, and every test counts as changed"
            ));
            setup.base_cargo = Some(base);
        }
        // Two names of one toolchain.
        Some(_) if missing.is_empty() => {}
        _ => {
            let (missing, used) = (missing.join(" and "), setup.cargo.rustc_release());
            setup.warnings.push(format!(
                "{asked}, and that of {missing} is not installed (`rustup toolchain install` does it): both are built with {used}"
            ));
        }
    }
}
