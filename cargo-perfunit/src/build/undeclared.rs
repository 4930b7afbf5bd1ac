//! What a build may read without telling cargo, which would then take for fresh what it made of the other version: files
//! of build scripts that do not name them, of procedural macros, of tools that cargo's configuration names, and of
//! vendored packages, which cargo takes for constant.

use crate::cargo::Package;
use crate::error::Result;
use crate::git::path::{is_below, is_rust};
use crate::git::{Entry, FileSet, Repository};
use crate::system::cache::KeyBuilder;
use crate::system::fs;
use crate::system::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Name of the note in cargo's target folder: the key of what each may read, as it was last built there.
const NOTE: &str = "undeclared.json";
/// Stands for all packages.
const ALL: &str = "*";
/// Packages whose macros take in whole folders.
const EMBEDDING: [&str; 2] = ["include_dir", "rust-embed"];
/// What makes a folder a vendored package.
const VENDORED: &str = ".cargo-checksum.json";

/// One version, with what is known of it.
pub struct Version<'a> {
    pub repository: &'a Repository,
    pub files: &'a FileSet,
    pub packages: &'a [Package],
    /// Cargo's configuration files.
    pub configuration: &'a [String],
}

/// Has cargo build again what it last built in this folder from other files than those of this version.
pub fn forget_stale(target_dir: &Path, version: &Version<'_>) -> Result<()> {
    let note = target_dir.join(NOTE);
    let now = version.keys();
    let before: BTreeMap<String, String> = json::read_if_exists(&note).ok().flatten().unwrap_or_default();
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let stale: BTreeSet<&str> =
        names.into_iter().filter(|name| before.get(*name) != now.get(*name)).map(String::as_str).collect();
    if stale.is_empty() {
        return Ok(());
    }
    for profile in profiles(target_dir)? {
        for unit in fs::list_dir(&profile)? {
            let name = unit.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // `<package>-<hash>`
            let package = name.rsplit_once('-').map_or(name.as_str(), |(package, _)| package);
            if stale.contains(ALL) || stale.contains(package) {
                fs::remove_dir_all(&unit)?;
            }
        }
    }
    json::write(&note, &now)
}

/// The folders in which cargo keeps what it knows of units: `release/.fingerprint`, `<triple>/release/.fingerprint`.
fn profiles(target_dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    let folders = |folder: &Path| -> Result<Vec<std::path::PathBuf>> {
        let all = if folder.is_dir() { fs::list_dir(folder)? } else { Vec::new() };
        Ok(all.into_iter().filter(|path| path.is_dir()).collect())
    };
    for outer in folders(target_dir)? {
        found.push(outer.join(".fingerprint"));
        found.extend(folders(&outer)?.into_iter().map(|inner| inner.join(".fingerprint")));
    }
    found.retain(|folder| folder.is_dir());
    Ok(found)
}

impl Version<'_> {
    /// By the name of a package the key of all files that its build may read without telling cargo.
    fn keys(&self) -> BTreeMap<String, String> {
        let mut keys: BTreeMap<String, KeyBuilder> = BTreeMap::new();
        let mut add = |name: &str, path: &Path, entry: &Entry| {
            let key = keys.remove(name).unwrap_or_default();
            let key = key.with(path.as_os_str().as_encoded_bytes()).with(entry.id.to_string());
            keys.insert(name.to_owned(), key);
        };
        let reading: Vec<&Package> = self.packages.iter().filter(|package| self.may_read(package)).collect();
        let vendored = self.vendored();
        for (path, entry) in &self.files.entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = path.to_string_lossy();
            if let Some((_, package)) = vendored.iter().find(|(folder, _)| is_below(&text, folder)) {
                add(package, path, entry);
                continue;
            }
            if is_rust(path) || ["Cargo.toml", "Cargo.lock"].contains(&&*name) {
                continue;
            }
            if self.configuration.iter().any(|configuration| configuration.contains(&*name)) {
                add(ALL, path, entry);
            }
            let holders = self.packages.iter().filter(|package| is_below(&text, &package.dir));
            let nearest = holders.max_by_key(|package| package.dir.len());
            // What is in no package may be read by any of them, and by a package what lies in others around it.
            let may_read = |package: &&&Package| {
                nearest.is_none_or(|nearest| nearest.name == package.name || nearest.dir.is_empty())
            };
            for package in reading.iter().filter(may_read) {
                add(&package.name, path, entry);
            }
        }
        keys.into_iter().map(|(name, key)| (name, key.finish())).collect()
    }

    /// Whether the build of a package may read files that cargo is not told of.
    fn may_read(&self, package: &Package) -> bool {
        let embeds = package.elsewhere.iter().any(|dependency| EMBEDDING.contains(&dependency.package.as_str()));
        embeds || package.build_script.is_some() || self.uses_own_macros(package)
    }

    /// Whether a package depends on a procedural macro of the repository.
    fn uses_own_macros(&self, package: &Package) -> bool {
        package.dependencies.iter().any(|dependency| {
            let own = self.packages.iter().filter(|own| own.name == dependency.package);
            own.into_iter().any(|own| {
                let manifest = Path::new(&own.dir).join("Cargo.toml");
                let text =
                    self.files.entries.get(&manifest).and_then(|entry| self.repository.read(entry, &manifest).ok());
                text.is_some_and(|text| String::from_utf8_lossy(&text).contains("proc-macro"))
            })
        })
    }

    /// The folders of vendored packages, with their names.
    fn vendored(&self) -> Vec<(String, String)> {
        let sums = self.files.entries.keys().filter(|path| path.ends_with(VENDORED));
        let folders = sums.filter_map(|path| path.parent()).map(|folder| folder.to_string_lossy().into_owned());
        folders.map(|folder| (folder.clone(), package_of(&folder).to_owned())).collect()
    }
}

/// The package in a folder that `cargo vendor` made: `itoa`, or `itoa-1.0.4` where there are several versions.
fn package_of(folder: &str) -> &str {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let version = name.rsplit_once('-').filter(|(_, end)| end.starts_with(|c: char| c.is_ascii_digit()));
    version.map_or(name, |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::package_of;

    #[test]
    fn vendored_packages_may_have_their_version_in_the_folder() {
        assert_eq!(package_of("vendor/itoa"), "itoa");
        assert_eq!(package_of("vendor/itoa-1.0.4"), "itoa");
        assert_eq!(package_of("vendor/proc-macro2"), "proc-macro2");
    }
}
