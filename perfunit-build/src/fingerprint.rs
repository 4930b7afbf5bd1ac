//! Inputs of a build that its version does not contain: variables, and files outside of the tree.
//!
//! Code (`env!`, `include_str!`) and build scripts (`cargo:rerun-if-env-changed`) name these inputs, so they are known
//! only after a build. Their names are stored under the key of what is known before. Together with their current values
//! they form the key of the side, so a side is reused only if all its inputs are unchanged.

use super::cargo_layout;
use perfunit_model::TargetId;
use perfunit_model::error::Result;
use perfunit_project::cargo::user_folder;
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::fs;
use perfunit_system::json;
use perfunit_system::os::unix::ffi::OsStringExt;
use perfunit_system::os::unix::fs::MetadataExt;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Number of lists to keep, larger than the number of sides.
const KEPT: usize = 64;
/// Prefixes of variables that cargo sets from the version's content.
const CARGOS: [&str; 7] = [
    "CARGO_BIN_",
    "CARGO_CRATE_NAME",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_TMPDIR",
    "OUT_DIR",
];

/// Names of the inputs, and what was built.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    variables: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
    /// Key shared by builds that differ only in their targets.
    #[serde(default)]
    pub family: String,
    #[serde(default)]
    pub targets: BTreeSet<TargetId>,
}

/// Locations in which a build recorded its inputs.
#[derive(Debug, Default, Clone)]
pub(super) struct Traces {
    /// Folders with compiled units and rustc's dep-info files (`.d`).
    compiled: BTreeSet<PathBuf>,
    /// Build scripts that ran, by `OUT_DIR`, with the folder of their package unless it was downloaded.
    scripts: BTreeMap<PathBuf, Option<PathBuf>>,
}

impl Traces {
    /// Adds a compiled unit, by rustc's output files.
    pub fn add_compiled<'a>(&mut self, files: impl Iterator<Item = &'a Path>) {
        self.compiled.extend(files.filter_map(Path::parent).map(Path::to_owned));
    }

    /// Adds a build script, with cargo's ID of its package.
    pub fn add_script(&mut self, out_dir: PathBuf, package: &str) {
        let folder = package.strip_prefix("path+file://").and_then(|url| url.split('#').next());
        self.scripts.insert(out_dir, folder.map(decode_path));
    }
}

/// Finds the manifest of the package that a source file belongs to.
fn manifest_of(file: &Path) -> Option<PathBuf> {
    let is_source = file.extension().is_some_and(|extension| extension == "rs");
    let folders = file.ancestors().skip(1).filter(|_| is_source);
    folders.map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file())
}

/// Decodes the percent-encoded bytes in the path of a URL.
fn decode_path(path: &str) -> PathBuf {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.extend(std::iter::once(byte).chain(part[2..].bytes())),
            None => bytes.extend(b"%".iter().copied().chain(part.bytes())),
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Folders with files that another key covers.
struct Covered(Vec<PathBuf>);

impl Fingerprint {
    /// Reads the list stored under a key, if it exists.
    pub fn load(ours: &Path, key: &str) -> Option<Self> {
        cache::load(&place(ours, key)).ok()?
    }

    /// Returns the builds of a family that have these targets, with their keys, those with the fewest targets first.
    pub fn with_more(ours: &Path, family: &str, targets: &BTreeSet<TargetId>) -> Vec<(String, Self)> {
        let files = place(ours, "").parent().and_then(|folder| fs::list_dir(folder).ok()).unwrap_or_default();
        let read = |file: &PathBuf| Some((file.file_stem()?.to_str()?.to_owned(), json::read::<Self>(file).ok()?));
        let has_more = |built: &Self| built.family == family && built.targets.is_superset(targets);
        let mut all: Vec<_> = files.iter().filter_map(read).filter(|(_, built)| has_more(built)).collect();
        all.sort_by_key(|(_, built)| built.targets.len());
        all
    }

    pub fn save(&self, ours: &Path, key: &str) -> Result<()> {
        cache::store(&place(ours, key), self, KEPT)
    }

    /// Returns the key of a side, from the key of what is known before the build and the current state of the inputs.
    pub fn key(&self, before: &str) -> String {
        let mut key = KeyBuilder::default().with(before);
        for name in &self.variables {
            let value = std::env::var_os(name);
            let value = value.as_deref().map(OsStr::as_encoded_bytes);
            key = key.with(name).with([u8::from(value.is_some())]).with(value.unwrap_or_default());
        }
        for file in &self.files {
            key = add_stamps(key.with(file.as_os_str().as_encoded_bytes()), file);
        }
        key.finish()
    }

    /// Collects the inputs of a build. `ours` is our state folder; paths from rustc are relative to `workspace`.
    pub fn of(traces: &Traces, ours: &Path, sysroot: &Path, workspace: &Path) -> Result<Self> {
        let mut inputs = Self::default();
        let mut files = BTreeSet::new();
        for folder in &traces.compiled {
            let lists = if folder.is_dir() { fs::list_dir(folder)? } else { Vec::new() };
            for list in lists.iter().filter(|path| path.extension().is_some_and(|extension| extension == "d")) {
                let text = fs::read(list)?;
                inputs.add_list(&String::from_utf8_lossy(&text), workspace, &mut files);
            }
        }
        for (out_dir, package) in &traces.scripts {
            let text = fs::read_if_exists(&cargo_layout::script_output(out_dir))?.unwrap_or_default();
            inputs.add_script(&String::from_utf8_lossy(&text), package.as_deref(), &mut files);
        }
        let covered = Covered::new(ours, sysroot);
        inputs.files = files.into_iter().filter_map(|file| covered.outside(&file)).collect();
        let manifests: Vec<PathBuf> = inputs.files.iter().filter_map(|file| manifest_of(file)).collect();
        inputs.files.extend(manifests);
        Ok(inputs)
    }

    /// Parses a dep-info file: a line `file:` for each file, and one for each variable. Spaces are escaped.
    fn add_list(&mut self, list: &str, workspace: &Path, files: &mut BTreeSet<PathBuf>) {
        for line in list.lines() {
            if let Some(variable) = line.strip_prefix("# env-dep:") {
                self.add_variable(variable.split('=').next().unwrap_or(variable));
            } else if let Some(file) = line.strip_suffix(':') {
                files.insert(workspace.join(file.replace("\\ ", " ")));
            }
        }
    }

    /// Parses the output of a build script.
    fn add_script(&mut self, output: &str, package: Option<&Path>, files: &mut BTreeSet<PathBuf>) {
        let mut says_what_it_reads = false;
        for line in output.lines() {
            let Some(directive) = line.strip_prefix("cargo::").or_else(|| line.strip_prefix("cargo:")) else {
                continue;
            };
            says_what_it_reads |= directive.starts_with("rerun-if-");
            match directive.split_once('=') {
                Some(("rerun-if-env-changed", name)) => self.add_variable(name),
                Some(("rerun-if-changed", path)) => {
                    let path = package.map_or_else(|| PathBuf::from(path), |package| package.join(path));
                    files.extend(Some(path).filter(|path| path.is_absolute()));
                }
                _ => {}
            }
        }
        if !says_what_it_reads {
            // Without `rerun-if` lines, cargo watches the whole package.
            files.extend(package.map(Path::to_owned));
        }
    }

    fn add_variable(&mut self, name: &str) {
        if !CARGOS.iter().any(|cargos| name.starts_with(cargos)) {
            self.variables.insert(name.to_owned());
        }
    }
}

fn place(ours: &Path, key: &str) -> PathBuf {
    ours.join("inputs").join(format!("{key}.json"))
}

/// Adds the time and size of a file to the key, as cargo does, or of all files in a folder.
fn add_stamps(key: KeyBuilder, path: &Path) -> KeyBuilder {
    let Ok(data) = path.metadata() else { return key.with("gone") };
    let key = key.with(data.mtime().to_le_bytes()).with(data.mtime_nsec().to_le_bytes()).with(data.len().to_le_bytes());
    let below = if data.is_dir() { fs::list_dir(path).unwrap_or_default() } else { Vec::new() };
    // Links may form a cycle.
    below
        .into_iter()
        .filter(|path| !path.is_symlink())
        .fold(key, |key, path| add_stamps(key.with(path.as_os_str().as_encoded_bytes()), &path))
}

impl Covered {
    /// Collects the covered folders: ours holds versions with keys and builds, cargo never changes downloads, and the
    /// toolchain has its own key.
    fn new(ours: &Path, sysroot: &Path) -> Self {
        let home = user_folder().unwrap_or_default();
        let folders = [ours.to_owned(), sysroot.to_owned(), home.join("registry"), home.join("git")];
        let real = |folder: &PathBuf| folder.canonicalize().ok();
        Self(folders.iter().filter_map(real).chain(folders.iter().cloned()).collect())
    }

    /// Resolves all links of a file. Returns `None` if it is inside a covered folder.
    fn outside(&self, file: &Path) -> Option<PathBuf> {
        // A missing file may exist again later.
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        (!self.0.iter().any(|folder| real.starts_with(folder))).then_some(real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_scripts_name_variables_and_files() {
        let mut inputs = Fingerprint::default();
        let mut files = BTreeSet::new();
        let list = "/t/deps/a.d: src/lib.rs /a\\ b/c\n\nsrc/lib.rs:\n/a\\ b/c:\n\n# env-dep:A=1\n# env-dep:B\n# env-dep:CARGO_PKG_NAME=x\n";
        inputs.add_list(list, Path::new("/w"), &mut files);
        let output = "words\ncargo:rerun-if-env-changed=C\ncargo::rerun-if-env-changed=D\ncargo:rerun-if-changed=../x\ncargo::rerun-if-changed=/y\n";
        inputs.add_script(output, Some(Path::new("/p")), &mut files);
        inputs.add_script("cargo:rerun-if-changed=unknown\n", None, &mut files);
        inputs.add_script("cargo:rustc-cfg=x\n", Some(Path::new("/silent")), &mut files);
        assert_eq!(inputs.variables, ["A", "B", "C", "D"].map(str::to_owned).into());
        assert_eq!(files, ["/a b/c", "/p/../x", "/silent", "/w/src/lib.rs", "/y"].map(PathBuf::from).into());
    }

    #[test]
    fn paths_in_urls_are_decoded() {
        let check = |url: &str, path: &str| assert_eq!(decode_path(url), Path::new(path));
        check("/a/b", "/a/b");
        check("/a%20b/%C3%A4%", "/a b/ä%");
        check("/50%/x", "/50%/x");
    }

    #[test]
    fn a_key_changes_with_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let (sub, file) = (folder.path().join("sub"), folder.path().join("sub/file"));
        let inputs = Fingerprint {
            variables: BTreeSet::from(["HOME".to_owned()]),
            files: BTreeSet::from([sub]),
            ..Fingerprint::default()
        };
        let gone = inputs.key("x");
        assert_ne!(gone, inputs.key("y"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "1").unwrap();
        let there = inputs.key("x");
        assert_ne!(there, gone);
        assert_eq!(there, inputs.key("x"));
        fs::write(&file, "12").unwrap();
        assert_ne!(there, inputs.key("x"));
    }

    #[test]
    fn what_lies_in_our_folder_is_no_input_unless_a_link_leads_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        fs::write(&ours.join("inside"), "").unwrap();
        fs::write(&other.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&other, ours.join("link")).unwrap();
        let covered = Covered::new(&ours, Path::new("/nowhere"));
        assert_eq!(covered.outside(&ours.join("inside")), None);
        assert_eq!(covered.outside(&ours.join("link/file")), Some(other.canonicalize().unwrap().join("file")));
    }
}
