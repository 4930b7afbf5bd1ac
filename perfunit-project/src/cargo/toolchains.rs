//! The toolchain of each version, where `rust-toolchain.toml` differs between them.

use super::Cargo;
use super::rustup::{self, Asked, Overridden};
use crate::git::{FileSet, Versions};
use perfunit_model::{Side, Sides, ToolchainsUsed, Warning};
use std::path::{Path, PathBuf};

/// A version's file, and what it asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    /// From the repository's root; none if the version has no file.
    file: Option<PathBuf>,
    asked: Option<Asked>,
}

/// The toolchains that two versions are built with.
#[derive(Debug)]
pub struct Toolchains {
    /// That of head.
    pub cargo: Cargo,
    /// That of base, where it is another one.
    pub base: Option<Cargo>,
    /// What the user should know.
    pub warning: Option<Warning>,
}

/// Base's own toolchain for base, and head's for head, if they ask for different ones that are both here; else head's
/// for both. `cargo` is that of the user's folder.
pub fn settle(cargo: Cargo, versions: &Versions, folder: &Path) -> Toolchains {
    let root = versions.repository.root();
    let inside = folder.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    let wishes = versions.files.as_ref().map(|files| wish(versions, files, &inside));
    if wishes.base.asked == wishes.head.asked {
        return Toolchains { cargo, base: None, warning: None };
    }
    let asked = wishes.as_ref().map(|wish| wish.asked.as_ref().map(Asked::to_string));
    if let Some(overridden) = rustup::overridden(folder) {
        let used = match overridden {
            Overridden::NoRustup => ToolchainsUsed::NoRustup(cargo.rustc_release().to_owned()),
            Overridden::ByName => ToolchainsUsed::ByName(cargo.rustc_release().to_owned()),
        };
        return Toolchains { cargo, base: None, warning: Some(Warning::Toolchains { asked, used }) };
    }
    let found = wishes.as_ref().map(|wish| {
        let folder = wish.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let found = rustup::find(wish.asked.as_ref(), &root.join(folder))?;
        Some(Cargo { offline: cargo.offline, ..found })
    });
    assign(cargo, found, asked)
}

/// The nearest file above the user's folder, as rustup looks for it.
fn wish(versions: &Versions, files: &FileSet, folder: &Path) -> Wish {
    let places = folder.ancestors().flat_map(|folder| rustup::FILES.map(|name| folder.join(name)));
    let Some(file) = places.into_iter().find(|path| files.entries.contains_key(path)) else { return Wish::default() };
    let text = versions.read_file(files, &file.to_string_lossy()).unwrap_or_default();
    Wish { asked: Asked::read(&String::from_utf8_lossy(&text)), file: Some(file) }
}

fn assign(live: Cargo, found: Sides<Option<Cargo>>, asked: Sides<Option<String>>) -> Toolchains {
    let missing: Vec<Side> = Side::BOTH.into_iter().filter(|side| found.get(*side).is_none()).collect();
    let cargo = found.head.unwrap_or(live);
    let release = |cargo: &Cargo| cargo.rustc_release().to_owned();
    match found.base {
        Some(base) if missing.is_empty() && base.version != cargo.version => {
            let used = ToolchainsUsed::Own(Sides { base: release(&base), head: release(&cargo) });
            Toolchains { cargo, base: Some(base), warning: Some(Warning::Toolchains { asked, used }) }
        }
        // Two names of one toolchain.
        Some(_) if missing.is_empty() => Toolchains { cargo, base: None, warning: None },
        _ => {
            let used = ToolchainsUsed::NotInstalled { used: release(&cargo), sides: missing };
            Toolchains { cargo, base: None, warning: Some(Warning::Toolchains { asked, used }) }
        }
    }
}
