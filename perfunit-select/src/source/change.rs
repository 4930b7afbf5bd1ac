//! The vocabulary of a source difference.

use perfunit_model::{ChangeKind, CodeChange, Irrelevance};

/// A file that differs between the two versions. A rename is a removal and an addition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Content in base, unless the file is new.
    pub base: Option<Vec<u8>>,
    /// Content in head, unless the file was removed.
    pub head: Option<Vec<u8>>,
}

/// All that differs, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceDiff {
    /// Changed items of Rust files.
    pub items: Vec<ChangedItem>,
    /// Changed files besides Rust code that can reach a build or a run.
    pub inputs: Vec<ChangedInput>,
    /// Changed files that cannot, by path, with the reason.
    pub irrelevant: Vec<(String, Irrelevance)>,
}

impl SourceDiff {
    /// True if nothing changed that could reach a test.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.inputs.is_empty()
    }

    /// Whether a changed file is data: no code, and no part of the build.
    pub fn is_data(&self, path: &str) -> bool {
        self.inputs.iter().any(|input| input.path == path && input.kind == InputKind::Data)
    }
}

/// An item whose tokens differ, or that exists on one side only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedItem {
    /// File in head, or in base if the item was removed.
    pub path: String,
    /// Line in that file, from 1.
    pub line: usize,
    /// Inline modules, type or trait, and name: `parser::Parser::parse_line`.
    pub name: String,
    /// The last segment, to match names in other code. For an impl block the type.
    pub ident: String,
    /// Type of the impl block or name of the trait around it, otherwise empty.
    pub owner: String,
    /// Name of the trait that the impl block around it implements, otherwise empty.
    pub implements: String,
    /// What kind of item.
    pub kind: ItemKind,
    /// What happened to it.
    pub change: ChangeKind,
    /// For a moved item the file in base, if that is another one.
    pub from: Option<String>,
    /// True below `#[cfg(test)]` or for a test. Files that only test targets hold are not known here: see `reach`.
    pub test_only: bool,
    /// True for a `#[test]` function or one like it.
    pub is_test: bool,
}

impl ChangedItem {
    /// What to call it: `Parser::line`, `impl Parser`, `use Parser`, `thread_local!`.
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

    /// What of it a report shows.
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
    /// A constant, also an associated one.
    Const,
    Static,
    Macro,
    /// One imported name (`use a::{b, c}` is two), or `extern crate`.
    Use,
    /// A module declaration or the header of an inline module.
    Module,
    /// A macro call in the place of an item, without the functions spelled out in it.
    MacroCall,
    /// The inner attributes of a file.
    Attributes,
    /// Anything else: foreign blocks, syntax unknown to us, a file that does not parse.
    Other,
}

/// A file besides Rust code that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedInput {
    /// Path from the root of the repository.
    pub path: String,
    pub kind: InputKind,
}

/// Kinds of input besides Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputKind {
    /// A `Cargo.toml`, in keys that can reach the code of its package.
    Manifest,
    /// A `Cargo.toml`, in keys for the whole workspace: profiles, patches, inherited values.
    WorkspaceManifest,
    /// A `Cargo.toml`, in nothing but the version number (which `env!("CARGO_PKG_VERSION")` shows).
    ManifestVersion,
    LockFile {
        /// External packages with another version, source or checksum. Empty: unknown, that is any.
        packages: Vec<String>,
    },
    /// A `build.rs` beside a manifest.
    BuildScript,
    CargoConfig,
    /// Any other file; the code may include it or read it.
    Data,
}
