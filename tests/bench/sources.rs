//! The Rust files of a clone: those that may be edited, and uses of names.

use super::edits::{Edit, Place};
use super::sites::{self, is_for_tests};
use super::{Result, copy};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, ItemMod};

/// Folders of code that no test of the crate runs, or that is test code.
const LEFT_ALONE: [&str; 6] = ["tests", "benches", "examples", "fuzz", "fuzz_targets", "testdata"];

/// Traits that formatting calls through pointers.
const CALLED_BY_POINTER: [&str; 5] = ["Display", "Debug", "LowerHex", "UpperHex", "Write"];

/// Files to edit.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Folders to edit; empty for the whole repository.
    pub below: Vec<String>,
    /// Folders of path dependencies.
    pub dependencies: Vec<String>,
}

/// The Rust files of a clone.
pub struct Sources {
    files: BTreeMap<String, String>,
    scope: Scope,
}

impl Sources {
    /// Reads the tracked files.
    pub fn read(tree: &Path, scope: Scope) -> Result<Self> {
        let listed = copy::git(tree, &["ls-files", "*.rs"])?;
        let read = |path: &str| Some((path.to_owned(), std::fs::read_to_string(tree.join(path)).ok()?));
        Ok(Self { files: listed.lines().filter_map(read).collect(), scope })
    }

    /// Returns the content of a file.
    pub fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    /// Returns every edit of every file that may be edited.
    pub fn edits(&self) -> Vec<Edit> {
        let dynamic = self.dynamic_traits();
        let found = self.editable().into_iter();
        found.flat_map(|(path, text, place)| sites::sites(path, text, place, &dynamic)).collect()
    }

    /// Returns path, text and relation to the tests of the files that may be edited.
    pub fn editable(&self) -> Vec<(&str, &str, Place)> {
        let for_tests = self.test_modules();
        let files = self.files.iter().filter(|(path, _)| !for_tests.contains(Path::new(path)));
        files.filter_map(|(path, text)| Some((path.as_str(), text.as_str(), self.place(path)?))).collect()
    }

    fn place(&self, path: &str) -> Option<Place> {
        let components: Vec<&str> = path.split('/').collect();
        let below = &self.scope.below;
        let is_left_alone = components.iter().any(|name| LEFT_ALONE.contains(name) || *name == "tests.rs");
        if is_left_alone || !(below.is_empty() || below.iter().any(|folder| Path::new(path).starts_with(folder))) {
            return None;
        }
        if components.last() == Some(&"build.rs") && !components.contains(&"src") {
            return Some(Place::BuildScript);
        }
        let is_dependency = self.scope.dependencies.iter().any(|folder| Path::new(path).starts_with(folder));
        let place = if is_dependency { Place::Dependency } else { Place::Source };
        components.contains(&"src").then_some(place)
    }

    /// Returns the files of modules that are declared below `#[cfg(test)]`.
    fn test_modules(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for (path, text) in &self.files {
            let Ok(file) = syn::parse_file(text) else { continue };
            let path = Path::new(path);
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let own = path.parent().unwrap_or(Path::new(""));
            let folder = if ["lib", "main", "mod"].contains(&stem) { own.to_owned() } else { own.join(stem) };
            for item in &file.items {
                if let Item::Mod(ItemMod { attrs, ident, content: None, .. }) = item
                    && is_for_tests(attrs)
                {
                    let module = folder.join(ident.to_string());
                    found.insert(module.with_extension("rs"));
                    let inner = self.files.keys().map(Path::new).filter(|path| path.starts_with(&module));
                    found.extend(inner.map(Path::to_owned));
                }
            }
        }
        found
    }

    /// Returns the names of the traits that are called through a pointer.
    fn dynamic_traits(&self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = CALLED_BY_POINTER.map(str::to_owned).into();
        for text in self.files.values() {
            if let Ok(tokens) = text.parse::<TokenStream>() {
                traits_after_dyn(tokens, &mut found);
            }
        }
        found
    }

    /// Returns the lines with one of these names, by file.
    pub fn naming(&self, names: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<usize>> {
        let mut found = BTreeMap::new();
        for (path, text) in &self.files {
            let mut lines = BTreeSet::new();
            if names.iter().any(|name| text.contains(name))
                && let Ok(tokens) = text.parse::<TokenStream>()
            {
                lines_naming(tokens, names, &mut lines);
            }
            if !lines.is_empty() {
                found.insert(path.clone(), lines);
            }
        }
        found
    }
}

fn traits_after_dyn(tokens: TokenStream, found: &mut BTreeSet<String>) {
    // Last segment of the path after `dyn`, while one is read.
    let mut path: Option<Option<String>> = None;
    for token in tokens {
        match (&token, &mut path) {
            (TokenTree::Ident(word), _) if word == "dyn" => path = Some(None),
            (TokenTree::Ident(word), Some(last)) => *last = Some(word.to_string()),
            (TokenTree::Punct(punct), Some(_)) if punct.as_char() == ':' => {}
            (_, Some(last)) => {
                found.extend(last.take());
                path = None;
            }
            _ => {}
        }
        if let TokenTree::Group(group) = token {
            traits_after_dyn(group.stream(), found);
        }
    }
    found.extend(path.flatten());
}

fn lines_naming(tokens: TokenStream, names: &BTreeSet<String>, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => lines_naming(group.stream(), names, lines),
            TokenTree::Ident(ident) if names.contains(&ident.to_string()) => {
                lines.insert(ident.span().start().line);
            }
            _ => {}
        }
    }
}
