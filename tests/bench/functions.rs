//! The functions of a clone outside of test code.

use super::{Result, copy};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemImpl, ItemMod, Signature, TraitItemFn};

/// Functions by file, from the root of the clone, and line of their name.
pub type Functions = BTreeMap<(String, usize), Found>;

/// A function outside of test code.
#[derive(Debug, Clone)]
pub struct Found {
    /// Offset after the opening brace of the body.
    pub start: usize,
    /// Line of the closing brace.
    pub last: usize,
    pub is_const: bool,
    statements: usize,
}

impl Found {
    /// Returns whether the function does more than call another one.
    pub fn is_wanted(&self) -> bool {
        self.statements > 1
    }
}

/// Returns all functions of a clone.
pub fn of(tree: &Path) -> Result<Functions> {
    let mut found = Functions::new();
    for path in copy::git(tree, &["ls-files", "*.rs"])?.lines() {
        let is_elsewhere = |folder: &str| path.split('/').any(|part| part == folder);
        let text = fs::read_to_string(tree.join(path))?;
        if ["tests", "benches", "examples", "fuzz"].into_iter().any(is_elsewhere) || text.starts_with('\u{feff}') {
            continue;
        }
        if let Ok(file) = syn::parse_str::<syn::File>(&text) {
            Finder { path, found: &mut found }.visit_file(&file);
        }
    }
    Ok(found)
}

struct Finder<'a> {
    path: &'a str,
    found: &'a mut Functions,
}

impl Finder<'_> {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        if is_test(attributes) {
            return;
        }
        let braces = &body.brace_token.span;
        let found = Found {
            start: braces.open().byte_range().end,
            last: braces.close().end().line,
            is_const: signature.constness.is_some(),
            statements: body.stmts.len(),
        };
        self.found.insert((self.path.to_owned(), signature.ident.span().start().line), found);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = quote::quote!(#attribute).to_string().replace(' ', "");
        text == "#[test]" || text == "#[cfg(test)]" || text.starts_with("#[cfg(all(test")
    })
}
