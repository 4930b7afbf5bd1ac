//! Queries of the syntax of items.

use perfunit_select::source::bare;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::Visit;
use syn::{Attribute, ImplItemMacro, Item, ItemMacro, Macro, UseTree};

/// Returns the attributes of an item.
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

/// Returns all names in the code, and names of called macros with their `!`.
pub fn idents(code: &impl ToTokens) -> BTreeSet<String> {
    fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) => {
                    let word = bare(&word);
                    if matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '!') {
                        found.insert(macro_name(&word));
                    }
                    found.insert(word);
                }
                TokenTree::Group(group) => collect(group.stream(), found),
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    collect(code.to_token_stream(), &mut found);
    found
}

/// Returns the form of a called macro's name in [`idents`].
fn macro_name(name: &str) -> String {
    format!("{name}!")
}

/// Words that mark unsafe code in a crate.
#[derive(Default)]
pub struct UnsafeWords {
    /// `unsafe`, and calls of the crate's own macros that expand to it.
    pub words: BTreeSet<String>,
    /// Names in such macros, and in their arguments outside of functions.
    pub in_macros: BTreeSet<String>,
}

impl UnsafeWords {
    pub fn of<'a>(files: impl Iterator<Item = &'a syn::File>) -> Self {
        let mut macros = Macros::default();
        files.for_each(|file| macros.visit_file(file));
        let mut words = BTreeSet::from(["unsafe".to_owned()]);
        loop {
            let is_new = |(name, inside): &&(String, BTreeSet<String>)| {
                !words.contains(&macro_name(name)) && !inside.is_disjoint(&words)
            };
            let more: Vec<String> = macros.defined.iter().filter(is_new).map(|(name, _)| macro_name(name)).collect();
            if more.is_empty() {
                break;
            }
            words.extend(more);
        }
        let all = macros.defined.into_iter().chain(macros.called);
        let in_macros =
            all.filter(|(name, _)| words.contains(&macro_name(name))).flat_map(|(_, inside)| inside).collect();
        Self { words, in_macros }
    }

    pub fn are_in(&self, code: &impl ToTokens) -> bool {
        !idents(code).is_disjoint(&self.words)
    }
}

/// Macros of a crate, and calls of macros as items, each with the names inside.
#[derive(Default)]
struct Macros {
    defined: Vec<(String, BTreeSet<String>)>,
    called: Vec<(String, BTreeSet<String>)>,
}

impl Macros {
    fn call(&mut self, call: &Macro) {
        let name = call.path.segments.last().map(|last| bare(&last.ident)).unwrap_or_default();
        self.called.push((name, idents(&call.tokens)));
    }
}

impl<'ast> Visit<'ast> for Macros {
    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        match &item.ident {
            Some(ident) => self.defined.push((bare(ident), idents(&item.mac.tokens))),
            None => self.call(&item.mac),
        }
    }

    fn visit_impl_item_macro(&mut self, item: &'ast ImplItemMacro) {
        self.call(&item.mac);
    }
}

/// Collects the names that a `use` imports, each with its path.
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
