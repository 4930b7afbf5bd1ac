//! The compiled files, by the compiler's names, with enough detail to validate positions in them.

use perfunit_model::error::Result;
use perfunit_project::git::path::is_rust;
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Name of the record in a side's folder.
pub(super) const NOTE: &str = "compiled.json";

/// Files of a build.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledFiles {
    extents: BTreeMap<String, Extent>,
    /// Compilations of a target, by root file. Several if several builds compiled it differently.
    #[serde(default)]
    compilations: Compilations<String>,
    /// Identifiers in files that build scripts wrote, because callers are not searched there.
    #[serde(default)]
    generated_names: BTreeSet<String>,
}

/// Compilations by root file.
pub(super) type Compilations<P> = BTreeMap<P, BTreeSet<Compilation>>;

/// Compiler options that decide which parts of the source are compiled.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Compilation {
    pub features: BTreeSet<String>,
    /// Unknown for packages that are not members, because our wrapper does not see their compilation.
    pub debug_assertions: Option<bool>,
}

/// Size of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    lines: u32,
    /// Length of the longest line in characters.
    columns: u32,
}

impl Extent {
    fn of(text: &str) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let columns = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        Self { lines: count(text.lines().count()), columns: count(columns) }
    }
}

impl CompiledFiles {
    /// Adds a file with this content.
    pub fn insert(&mut self, name: &str, text: &str) {
        self.extents.insert(name.to_owned(), Extent::of(text));
    }

    /// Checks whether a position, counted from 1, is in a compiled file.
    pub fn holds(&self, file: &str, line: u32, column: u32) -> bool {
        // A position can be behind the last character.
        let is_inside = |extent: &Extent| line <= extent.lines && column <= extent.columns.saturating_add(1);
        line > 0 && column > 0 && self.extents.get(file).is_some_and(is_inside)
    }

    /// Adds the compilations of targets, by root file.
    pub(super) fn with_compilations(mut self, compilations: &Compilations<PathBuf>, workspace: &Path) -> Self {
        for (root, compilations) in compilations {
            let name = root.strip_prefix(workspace).unwrap_or(root).to_string_lossy().into_owned();
            self.compilations.entry(name).or_default().extend(compilations.iter().cloned());
        }
        self
    }

    /// Adds the identifiers in these files, which build scripts wrote.
    pub(super) fn with_generated<'a>(mut self, names: impl Iterator<Item = &'a String>) -> Self {
        for name in names {
            let Ok(bytes) = std::fs::read(name) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            self.generated_names.extend(words.map(str::to_owned));
        }
        self
    }

    /// Checks whether code from a build script contains this identifier.
    pub fn is_named_by_generated_code(&self, ident: &str) -> bool {
        self.generated_names.contains(ident)
    }

    /// Returns the compilations of the target with this root file.
    pub fn compilations(&self, root: &str) -> Option<&BTreeSet<Compilation>> {
        self.compilations.get(root)
    }

    /// Reads the record in a side's folder. Returns an empty one if it does not exist.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(json::read_if_exists(&folder.join(NOTE))?.unwrap_or_default())
    }

    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        json::write(&folder.join(NOTE), self)
    }

    /// Reads the Rust files among `names`, which the compiler printed when it ran in `workspace`.
    pub(super) fn of(names: &BTreeSet<String>, workspace: &Path) -> Self {
        let mut files = Self::default();
        for name in names.iter().filter(|name| is_rust(name)) {
            let path = workspace.join(name);
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let extent = Extent::of(&String::from_utf8_lossy(&bytes));
            files.extents.insert(name.clone(), extent);
            // Cargo's lists have absolute paths. The compiler's paths are relative to the workspace's root, such as
            // `src/../shared/codec.rs` for `#[path = "../shared/codec.rs"]`.
            for path in [&path, &fs::normal(&path)] {
                let relative = path.strip_prefix(workspace).ok().and_then(Path::to_str);
                files.extents.extend(relative.map(|relative| (relative.to_owned(), extent)));
            }
        }
        files
    }
}

/// Returns possible paths of rustc's dep-info file for an output file.
pub(super) fn lists(written: &Path) -> [PathBuf; 2] {
    alongside(written, ".d")
}

fn alongside(written: &Path, suffix: &str) -> [PathBuf; 2] {
    let stem = written.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = if written.extension().is_some() { stem.strip_prefix("lib").unwrap_or(&stem) } else { &stem };
    [name, &stem].map(|name| written.with_file_name(format!("{name}{suffix}")))
}

/// Suffix of our wrapper's note about debug assertions, next to rustc's output.
const ASSERTIONS_SUFFIX: &str = ".debug-assertions";

/// Records whether a crate is compiled with debug assertions. Only the rustc call tells: cargo's messages have the
/// profile's setting, which `RUSTFLAGS` may override.
pub(super) fn note_debug_assertions(out_dir: &Path, name: &str, on: bool) -> Result<()> {
    fs::write(&out_dir.join(format!("{name}{ASSERTIONS_SUFFIX}")), if on { "on" } else { "off" })
}

/// Returns whether debug assertions are enabled in rustc's output, if our wrapper saw the compilation.
pub(super) fn has_debug_assertions(written: &Path) -> Option<bool> {
    let notes = alongside(written, ASSERTIONS_SUFFIX);
    notes.iter().find_map(|note| std::fs::read(note).ok()).map(|text| text == b"on")
}

/// Parses the file names in a dep-info file.
pub(super) fn parse_file_names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).flat_map(|(_, files)| split(files)).collect()
}

/// Splits at white space, unless a backslash precedes it.
fn split(files: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = files.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&' ') => names.last_mut().expect("never empty").extend(characters.next()),
            ' ' => names.push(String::new()),
            _ => names.last_mut().expect("never empty").push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_lies_in_a_file_or_is_none() {
        let mut files = CompiledFiles::default();
        files.insert("src/lib.rs", "fn f() {\n    g()\n}\n");
        assert!(files.holds("src/lib.rs", 1, 1) && files.holds("src/lib.rs", 3, 9));
        assert!(!files.holds("src/lib.rs", 4, 1) && !files.holds("src/lib.rs", 1, 10));
        assert!(!files.holds("src/lib.rs", 0, 1) && !files.holds("lib.rs", 1, 1));
    }

    #[test]
    fn each_build_of_a_target_has_its_own_features() {
        let compilation = |name: &str| Compilation { features: [name.to_owned()].into(), debug_assertions: None };
        let both = BTreeSet::from([compilation("std"), compilation("alloc")]);
        let known = Compilations::from([(PathBuf::from("/w/src/lib.rs"), both.clone())]);
        let files = CompiledFiles::default().with_compilations(&known, Path::new("/w"));
        assert_eq!((files.compilations("src/lib.rs"), files.compilations("src/main.rs")), (Some(&both), None));
    }

    #[test]
    fn notes_about_debug_assertions_lie_alongside_the_output_of_rustc() {
        let dir = tempfile::tempdir().unwrap();
        note_debug_assertions(dir.path(), "app-1f", true).unwrap();
        note_debug_assertions(dir.path(), "it-2e", false).unwrap();
        let has = |name: &str| has_debug_assertions(&dir.path().join(name));
        assert_eq!(
            ["libapp-1f.rlib", "app-1f", "it-2e", "libother-1f.rlib"].map(has),
            [Some(true), Some(true), Some(false), None]
        );
    }

    #[test]
    fn files_are_listed_with_white_space_in_their_names() {
        let text = "/t/deps/it-1f.d: a\\ b/it.rs src/c.rs\n\n/t/deps/it-1f: a\\ b/it.rs src/c.rs\n\na\\ b/it.rs:\n\n# env-dep:A=b: c\n";
        assert_eq!(parse_file_names(text), BTreeSet::from(["a b/it.rs".to_owned(), "src/c.rs".to_owned()]));
    }

    #[test]
    fn lists_lie_alongside_the_output_of_rustc() {
        let has = |built: &str, list: &str| lists(Path::new(built)).contains(&PathBuf::from(list));
        assert!(has("/t/deps/it-1f", "/t/deps/it-1f.d"));
        assert!(has("/t/deps/libapp-1f.rlib", "/t/deps/app-1f.d"));
        assert!(has("/t/deps/libengine.so", "/t/deps/engine.d"));
        assert!(has("/t/build/own-binary/1f/out/own_binary", "/t/build/own-binary/1f/out/own_binary.d"));
    }
}
