//! The toolchains of both versions, if their `rust-toolchain.toml` differ.

use super::Cargo;
use super::rustup::{self, Overridden, ToolchainRequest};
use crate::git::{FileSet, Versions};
use perfunit_model::{Side, Sides, ToolchainsUsed, Warning};
use std::path::{Path, PathBuf};

/// The toolchain file of a version, and what it requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct ToolchainFile {
    /// Path from the repository's root; `None` if the version has no such file.
    file: Option<PathBuf>,
    asked: Option<ToolchainRequest>,
}

/// The toolchains that build the two versions.
#[derive(Debug)]
pub struct Toolchains {
    /// Head's toolchain.
    pub cargo: Cargo,
    /// Base's toolchain, if it differs from head's.
    pub base: Option<Cargo>,
    /// Warning to show to the user.
    pub warning: Option<Warning>,
}

/// Selects the toolchains for both versions. Each side gets its own if the versions request different ones and both are
/// installed; otherwise both get head's. `cargo` is the toolchain of the user's folder.
pub fn settle(cargo: Cargo, versions: &Versions, folder: &Path) -> Toolchains {
    let root = versions.repository.root();
    let inside = folder.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    let requests = versions.files.as_ref().map(|files| toolchain_file(versions, files, &inside));
    if requests.base.asked == requests.head.asked {
        return Toolchains { cargo, base: None, warning: None };
    }
    let asked = requests.as_ref().map(|request| request.asked.as_ref().map(ToolchainRequest::to_string));
    if let Some(overridden) = rustup::find_override(folder) {
        let used = match overridden {
            Overridden::NoRustup => ToolchainsUsed::NoRustup(cargo.rustc_release().to_owned()),
            Overridden::ByName => ToolchainsUsed::ByName(cargo.rustc_release().to_owned()),
        };
        return Toolchains { cargo, base: None, warning: Some(Warning::Toolchains { asked, used }) };
    }
    let found = requests.as_ref().map(|request| {
        let folder = request.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let found = rustup::find(request.asked.as_ref(), &root.join(folder))?;
        Some(Cargo { offline: cargo.offline, ..found })
    });
    assign(cargo, found, asked)
}

/// Finds the nearest toolchain file above the user's folder, as rustup does.
fn toolchain_file(versions: &Versions, files: &FileSet, folder: &Path) -> ToolchainFile {
    let places = folder.ancestors().flat_map(|folder| rustup::FILES.map(|name| folder.join(name)));
    let Some(file) = places.into_iter().find(|path| files.entries.contains_key(path)) else {
        return ToolchainFile::default();
    };
    let text = versions.read_file(files, &file.to_string_lossy()).unwrap_or_default();
    ToolchainFile { asked: ToolchainRequest::read(&String::from_utf8_lossy(&text)), file: Some(file) }
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
        // Both names stand for the same toolchain.
        Some(_) if missing.is_empty() => Toolchains { cargo, base: None, warning: None },
        _ => {
            let used = ToolchainsUsed::NotInstalled { used: release(&cargo), sides: missing };
            Toolchains { cargo, base: None, warning: Some(Warning::Toolchains { asked, used }) }
        }
    }
}
