//! Inputs of a build that cargo is not told about, so that it would reuse a unit of the other version: files read by
//! build scripts without `rerun-if-changed`, by procedural macros, by tools in cargo's configuration, and vendored
//! packages, which cargo takes for constant.

use super::bytes::contains;
use super::cargo_layout::fingerprints;
use perfunit_model::error::Result;
use perfunit_model::guesses::EMBEDDING_PACKAGES;
use perfunit_project::cargo::{Dependency, Package};
use perfunit_project::git::path::{is_below, is_rust};
use perfunit_project::git::{FileSet, Repository};
use perfunit_system::cache::KeyBuilder;
use perfunit_system::fs;
use perfunit_system::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Record in cargo's target folder: the key of each package's undeclared inputs at its last build.
const NOTE: &str = "undeclared.json";
/// Stands for all packages.
const ALL: &str = "*";
/// File that identifies a vendored package.
const VENDORED: &str = ".cargo-checksum.json";

/// A version and its packages.
pub struct Version<'a> {
    pub repository: &'a Repository,
    pub files: &'a FileSet,
    pub packages: &'a [Package],
    /// Content of cargo's configuration files.
    pub configuration: &'a [String],
}

/// Makes cargo rebuild packages in this folder with undeclared inputs that differ in this version.
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
    for unit in fingerprints(target_dir, &|package| stale.contains(ALL) || stale.contains(package))? {
        fs::remove_dir_all(&unit)?;
    }
    json::write(&note, &now)
}

impl Version<'_> {
    /// Returns a key of the undeclared inputs of each package's build, by package name.
    fn keys(&self) -> BTreeMap<String, String> {
        let mut keys: BTreeMap<&str, KeyBuilder> = BTreeMap::new();
        let macros = self.macros();
        let reading: Vec<&Package> = self.packages.iter().filter(|package| may_read(package, &macros)).collect();
        let vendored: Vec<String> = vendored_folders(self.files).collect();
        for (path, entry) in &self.files.entries {
            let text = path.to_string_lossy();
            let mut names: Vec<&str> = Vec::new();
            if let Some(folder) = vendored.iter().find(|folder| is_below(&text, folder)) {
                names.push(package_of(folder));
            } else if !is_told(path) {
                names.extend(self.configuration.iter().any(|told| names_file(told.as_bytes(), &text)).then_some(ALL));
                let holders = self.packages.iter().filter(|package| is_below(&text, &package.dir));
                let nearest = holders.max_by_key(|package| package.dir.len());
                // Any package may read a file outside of all packages, and a package may read files of packages around
                // it.
                let reading = reading.iter().filter(|package| {
                    nearest.is_none_or(|nearest| nearest.name == package.name || nearest.dir.is_empty())
                });
                names.extend(reading.map(|package| package.name.as_str()));
            }
            for name in names {
                let key = keys.remove(name).unwrap_or_default();
                keys.insert(name, key.with(path.as_os_str().as_encoded_bytes()).with(entry.id.to_string()));
            }
        }
        keys.into_iter().map(|(name, key)| (name.to_owned(), key.finish())).collect()
    }

    /// Returns the procedural macro packages of the repository.
    fn macros(&self) -> BTreeSet<&str> {
        let is_macro = |package: &&Package| {
            let manifest = Path::new(&package.dir).join("Cargo.toml");
            let entry = self.files.entries.get(&manifest);
            let text = entry.and_then(|entry| self.repository.read(entry, &manifest).ok());
            text.is_some_and(|text| contains(&text, b"proc-macro"))
        };
        self.packages.iter().filter(is_macro).map(|package| package.name.as_str()).collect()
    }
}

/// Checks whether the build of a package may read undeclared files.
fn may_read(package: &Package, macros: &BTreeSet<&str>) -> bool {
    let depends = |dependencies: &[Dependency], names: &dyn Fn(&str) -> bool| {
        dependencies.iter().any(|dependency| names(&dependency.package))
    };
    package.build_script.is_some()
        || depends(&package.elsewhere, &|name| EMBEDDING_PACKAGES.contains(&name))
        || depends(&package.dependencies, &|name| macros.contains(name))
}

/// Checks whether cargo tracks changes of a file anyway.
fn is_told(path: &Path) -> bool {
    is_rust(path) || ["Cargo.toml", "Cargo.lock"].iter().any(|name| path.ends_with(name))
}

/// Returns the folders of vendored packages.
pub fn vendored_folders(files: &FileSet) -> impl Iterator<Item = String> {
    let sums = files.entries.keys().filter(|path| path.ends_with(VENDORED));
    sums.filter_map(|path| path.parent()).map(|folder| folder.to_string_lossy().into_owned())
}

/// Checks whether cargo's configuration mentions the name of a file.
pub fn names_file(configuration: &[u8], path: &str) -> bool {
    contains(configuration, path.rsplit('/').next().unwrap_or(path).as_bytes())
}

/// Returns the package in a folder created by `cargo vendor`: `itoa`, or `itoa-1.0.4` if there are several versions.
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
