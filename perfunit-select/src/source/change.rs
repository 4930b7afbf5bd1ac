//! Types that describe a source difference.

use perfunit_model::{ChangeKind, CodeChange, Irrelevance};

/// A file that differs between the two versions. A rename is a removal and an addition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Path relative to the root of the repository, with `/`.
    pub path: String,
    /// Content in base, unless the file is new.
    pub base: Option<Vec<u8>>,
    /// Content in head, unless the file was removed.
    pub head: Option<Vec<u8>>,
}

/// The differences, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceDiff {
    /// Changed items of Rust files.
    pub items: Vec<ChangedItem>,
    /// Other changed files that can affect a build or a run.
    pub inputs: Vec<ChangedInput>,
    /// Changed files that cannot, by path, with the reason.
    pub irrelevant: Vec<(String, Irrelevance)>,
}

impl SourceDiff {
    /// Checks whether nothing changed that could affect a test.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.inputs.is_empty()
    }

    /// Checks whether a changed file is data, neither code nor part of the build.
    pub fn is_data(&self, path: &str) -> bool {
        self.inputs.iter().any(|input| input.path == path && input.kind == InputKind::Data)
    }
}

/// An item with tokens that differ, or that exists on one side only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedItem {
    /// File in head, or in base if the item was removed.
    pub path: String,
    /// Line in that file, counted from 1.
    pub line: usize,
    /// Inline modules, type or trait, and name: `parser::Parser::parse_line`.
    pub name: String,
    /// Last segment, to match names in other code. For an impl block, the type.
    pub ident: String,
    /// Type of the enclosing impl block or name of the enclosing trait; empty if there is none.
    pub owner: String,
    /// Name of the trait that the enclosing impl block implements; empty if there is none.
    pub implements: String,
    /// Kind of the item.
    pub kind: ItemKind,
    /// Kind of the change.
    pub change: ChangeKind,
    /// For a moved item, its file in base if that differs.
    pub from: Option<String>,
    /// True if it is a test or below `#[cfg(test)]`. Files of test targets only are not considered here: see `reach`.
    pub test_only: bool,
    /// True if it is a `#[test]` function or similar.
    pub is_test: bool,
}

impl ChangedItem {
    /// Returns its name for messages: `Parser::line`, `impl Parser`, `use Parser`, `thread_local!`.
    pub fn label(&self) -> String {
        match self.kind {
            ItemKind::Impl => format!("impl {}", self.name),
            ItemKind::Use => format!("use {}", self.name),
            ItemKind::Module => format!("mod {}", self.name),
            ItemKind::Macro | ItemKind::MacroCall => format!("{}!", self.name),
            ItemKind::Attributes => "attributes of the file".to_owned(),
            _ => self.name.clone(),
        }
    }

    /// Returns the parts that a report shows.
    pub fn code_change(&self) -> CodeChange {
        CodeChange { change: self.change, item: self.label(), path: self.path.clone(), line: self.line }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    Function,
    /// A function of an impl block or trait.
    Method,
    /// The header of an impl block: generics, trait, type, bounds.
    Impl,
    /// Struct, enum, union, type alias or associated type.
    Type,
    /// The header of a trait, or a trait alias.
    Trait,
    /// A constant, including an associated one.
    Const,
    Static,
    Macro,
    /// One imported name (`use a::{b, c}` is two), or `extern crate`.
    Use,
    /// A module declaration or the header of an inline module.
    Module,
    /// A macro call in item position, without the functions written in it.
    MacroCall,
    /// The inner attributes of a file.
    Attributes,
    /// Anything else: foreign blocks, unknown syntax, a file that cannot be parsed.
    Other,
}

/// A changed file other than Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedInput {
    /// Path relative to the root of the repository.
    pub path: String,
    pub kind: InputKind,
}

/// Kinds of input other than Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputKind {
    /// A `Cargo.toml` with changed keys that can affect the code of its package.
    Manifest,
    /// A `Cargo.toml` with changed keys that affect the whole workspace: profiles, patches, inherited values.
    WorkspaceManifest,
    /// A `Cargo.toml` in which only the version number changed (visible in `env!("CARGO_PKG_VERSION")`).
    ManifestVersion,
    LockFile {
        /// External packages with a changed version, source or checksum. Empty means unknown, so any may have.
        packages: Vec<String>,
    },
    /// A `build.rs` next to a manifest.
    BuildScript,
    CargoConfig,
    /// Any other file, which the code may include or read.
    Data,
}
