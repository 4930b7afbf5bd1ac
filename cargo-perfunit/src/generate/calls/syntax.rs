//! Questions to the syntax of items.

use crate::select::source::bare;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::{Attribute, Item, UseTree};

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether the word `unsafe` is in the code.
pub fn has_unsafe(code: &impl ToTokens) -> bool {
    fn search(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "unsafe",
            TokenTree::Group(group) => search(group.stream()),
            _ => false,
        })
    }
    search(code.to_token_stream())
}

/// All names in the code.
pub fn idents(code: &impl ToTokens) -> BTreeSet<String> {
    fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => drop(found.insert(bare(&word))),
                TokenTree::Group(group) => collect(group.stream(), found),
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    collect(code.to_token_stream(), &mut found);
    found
}

/// The names that a `use` brings in, each with its path.
pub fn imports(tree: &UseTree, before: Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    let with = |ident: &syn::Ident| before.iter().cloned().chain([bare(ident)]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => imports(&path.tree, with(&path.ident), leaves),
        UseTree::Name(name) if name.ident == "self" => {
            leaves.extend(before.last().cloned().map(|last| (last, before)));
        }
        UseTree::Name(name) => leaves.push((bare(&name.ident), with(&name.ident))),
        UseTree::Rename(rename) if rename.ident == "self" => leaves.push((bare(&rename.rename), before)),
        UseTree::Rename(rename) => leaves.push((bare(&rename.rename), with(&rename.ident))),
        UseTree::Glob(_) => leaves.push(("*".to_owned(), before)),
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, before.clone(), leaves)),
    }
}
