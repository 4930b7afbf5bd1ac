//! Splits a Rust file into items: functions, methods, types, constants, ..., each with its own code.

use super::attributes::{is_beside_the_work, is_test, is_test_only};
use super::change::ItemKind;
use super::condition::Condition;
use super::macros::{InnerFn, makes_tests, take_functions};
use super::normalise::{Code, bare};
use super::parse::parse;
use super::surroundings::{Owner, Surroundings, impl_header};
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, ImplItem, ItemFn, ItemImpl, ItemMacro, ItemMod, ItemTrait, ItemUse, TraitItem, UseTree};

/// An item of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Inline modules, type or trait, and name.
    pub name: String,
    /// Last segment; for an impl block, the type.
    pub ident: String,
    /// Type of the enclosing impl block or name of the enclosing trait; empty if there is none.
    pub owner: String,
    /// Name of the trait that the enclosing impl block implements; empty if there is none.
    pub implements: String,
    /// Enclosing inline modules: `a::b`.
    pub scope: String,
    /// Header of the enclosing impl block (or of the item itself); empty if there is none.
    pub header: String,
    /// Kind of the item.
    pub kind: ItemKind,
    /// Line of its name, counted from 1.
    pub line: usize,
    /// True if it is a test or below `#[cfg(test)]`.
    pub test_only: bool,
    /// True if it is a test function.
    pub is_test: bool,
    /// Condition under which it is compiled; unknown below a macro.
    pub condition: Condition,
    /// Surrounding text that affects it: see [`Surroundings`].
    pub decided_by: String,
    /// Tokens. For an impl block, trait or inline module, only the header, because its content is separate items.
    pub code: Code,
    /// For a test, its tokens without attributes that do not affect its work, such as `#[ignore]`.
    pub workload: Option<String>,
}

impl Item {
    /// Creates a single item for the whole file, if the file cannot be parsed.
    pub fn file(path: &str, code: Code) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self {
            name: name.to_owned(),
            ident: name.trim_end_matches(".rs").to_owned(),
            owner: String::new(),
            implements: String::new(),
            scope: String::new(),
            header: String::new(),
            kind: ItemKind::Other,
            line: 1,
            test_only: false,
            is_test: false,
            condition: Condition::default(),
            decided_by: String::new(),
            code,
            workload: None,
        }
    }
}

/// Parses the items of a Rust file in order; `None` if it cannot be parsed.
pub fn items(content: &[u8]) -> Option<Vec<Item>> {
    let file = parse(std::str::from_utf8(content).ok()?)?;
    let mut collector = Collector { found: Vec::new(), around: Surroundings::default().below(&file.attrs) };
    let attributes = Code::of(tokens_of(&file.attrs));
    if !attributes.text.is_empty() {
        collector.add(ItemKind::Attributes, "#![..]".to_owned(), 1, attributes);
    }
    collector.items(file.items);
    Some(collector.found)
}

/// Returns the code of a file that cannot be parsed: its tokens if it has any, else its text.
pub fn coarse(path: &str, content: &[u8]) -> Item {
    let text = String::from_utf8_lossy(content);
    let code = match text.trim_start_matches('\u{feff}').parse::<TokenStream>() {
        Ok(tokens) => Code::of(tokens),
        Err(_) => Code { text: text.into_owned(), names: Vec::new() },
    };
    Item::file(path, code)
}

fn tokens_of(attributes: &[Attribute]) -> TokenStream {
    attributes.iter().map(ToTokens::to_token_stream).collect()
}

fn line(span: Span) -> usize {
    span.start().line
}

struct Collector {
    found: Vec<Item>,
    around: Surroundings,
}

/// Adds an item of an impl block or a trait, which have the same kinds but different types.
macro_rules! associated_item {
    ($collector:ident, $item:ident, $kind:ident) => {
        match $item {
            $kind::Fn(mut item) => {
                let (ident, attributes) = (item.sig.ident.clone(), std::mem::take(&mut item.attrs));
                let test_only = is_test_only(&attributes);
                $collector.any_function(ItemKind::Method, &ident, &attributes, test_only, item.into_token_stream());
            }
            $kind::Const(item) => $collector.collect_named(ItemKind::Const, &item.ident, &item.attrs, &item),
            $kind::Type(item) => $collector.collect_named(ItemKind::Type, &item.ident, &item.attrs, &item),
            $kind::Macro(item) => $collector.macro_call(&item.mac.path, &item.attrs, &item),
            other => $collector.other(other.to_token_stream()),
        }
    };
}

impl Collector {
    fn add(&mut self, kind: ItemKind, ident: String, line: usize, code: Code) -> &mut Item {
        let Surroundings { scope, owner, test_only, condition, decided_by, .. } = self.around.clone();
        let name = match kind {
            // The block is named like its type, which is already part of the surroundings for its header.
            ItemKind::Impl => self.around.owned_by(Owner::default()).name(&ident),
            _ => self.around.name(&ident),
        };
        self.found.push(Item {
            name,
            ident,
            owner: owner.ident,
            implements: owner.implements,
            scope: scope.join("::"),
            header: owner.header,
            kind,
            line,
            test_only,
            is_test: false,
            condition,
            decided_by,
            code,
            workload: None,
        });
        self.found.last_mut().expect("just pushed")
    }

    fn collect_named(&mut self, kind: ItemKind, ident: &Ident, attributes: &[Attribute], tokens: &dyn ToTokens) {
        let test_only = self.around.test_only || is_test_only(attributes);
        let code = self.around.code(attributes, tokens.to_token_stream());
        self.add(kind, bare(ident), line(ident.span()), code).test_only = test_only;
    }

    /// Runs `inside` with other surroundings.
    fn within(&mut self, around: Surroundings, inside: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.around, around);
        inside(self);
        self.around = outside;
    }

    fn items(&mut self, items: Vec<syn::Item>) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: syn::Item) {
        match item {
            syn::Item::Fn(item) => self.function(item),
            syn::Item::Impl(item) => self.impl_block(item),
            syn::Item::Trait(item) => self.trait_block(item),
            syn::Item::Mod(item) => self.module(item),
            syn::Item::Use(item) => self.import(&item),
            syn::Item::Macro(item) => self.macro_item(item),
            syn::Item::Const(item) => self.collect_named(ItemKind::Const, &item.ident, &item.attrs, &item),
            syn::Item::Static(item) => self.collect_named(ItemKind::Static, &item.ident, &item.attrs, &item),
            syn::Item::Enum(item) => self.collect_named(ItemKind::Type, &item.ident, &item.attrs, &item),
            syn::Item::Struct(item) => self.collect_named(ItemKind::Type, &item.ident, &item.attrs, &item),
            syn::Item::Union(item) => self.collect_named(ItemKind::Type, &item.ident, &item.attrs, &item),
            syn::Item::Type(item) => self.collect_named(ItemKind::Type, &item.ident, &item.attrs, &item),
            syn::Item::TraitAlias(item) => self.collect_named(ItemKind::Trait, &item.ident, &item.attrs, &item),
            syn::Item::ExternCrate(item) => self.collect_named(ItemKind::Use, &item.ident, &item.attrs, &item),
            other => self.other(other.to_token_stream()),
        }
    }

    /// Adds an item without a name: a foreign block or unknown syntax.
    fn other(&mut self, tokens: TokenStream) {
        let line = tokens.clone().into_iter().next().map_or(1, |tree| line(tree.span()));
        let code = self.around.code(&[], tokens);
        let ident = code.names.first().cloned().unwrap_or_default();
        self.add(ItemKind::Other, ident, line, code);
    }

    fn function(&mut self, item: ItemFn) {
        let ItemFn { attrs, vis, modifiers, sig, block } = item;
        let (ident, test_only) = (sig.ident.clone(), is_test_only(&attrs));
        let item = ItemFn { attrs: Vec::new(), vis, modifiers, sig, block };
        self.any_function(ItemKind::Function, &ident, &attrs, test_only, item.into_token_stream());
    }

    fn any_function(
        &mut self,
        kind: ItemKind,
        ident: &Ident,
        attributes: &[Attribute],
        test_only: bool,
        tokens: TokenStream,
    ) {
        let is_test = is_test(attributes);
        // A macro's expansion of a test is part of its work and does not depend on documentation.
        let (body, mut code) = if is_test {
            (Code::of(tokens), Code::of(tokens_of(attributes)))
        } else {
            (self.around.code(attributes, tokens), self.around.code(attributes, tokens_of(attributes)))
        };
        let workload = is_test.then(|| {
            let attributes = attributes.iter().filter(|attribute| !is_beside_the_work(attribute));
            let attributes = attributes.map(ToTokens::to_token_stream).collect::<TokenStream>();
            Code::of(attributes).text + &body.text
        });
        code.push(body);
        let test_only = self.around.test_only || test_only || is_test;
        let condition = self.around.condition.and(Condition::of(attributes));
        let item = self.add(kind, bare(ident), line(ident.span()), code);
        item.condition = condition;
        (item.test_only, item.is_test, item.workload) = (test_only, is_test, workload);
    }

    fn impl_block(&mut self, mut item: ItemImpl) {
        let inside = std::mem::take(&mut item.items);
        let attributes = std::mem::take(&mut item.attrs);
        let (line, header) = (line(item.impl_token.span), impl_header(&item));
        let owner = Owner::of_impl(&item, &header);
        let ident = owner.ident.clone();
        let mut code = self.around.code(&attributes, tokens_of(&attributes));
        code.push(header);
        self.within(self.around.below(&attributes).owned_by(owner), |collector| {
            collector.add(ItemKind::Impl, ident, line, code);
            for item in inside {
                associated_item!(collector, item, ImplItem);
            }
        });
    }

    fn trait_block(&mut self, mut item: ItemTrait) {
        let inside = std::mem::take(&mut item.items);
        let (around, owner) = (self.around.below(&item.attrs), Owner::of_trait(&item));
        self.within(around, |collector| collector.collect_named(ItemKind::Trait, &item.ident, &[], &item));
        self.within(self.around.below(&item.attrs).owned_by(owner), |collector| {
            for item in inside {
                associated_item!(collector, item, TraitItem);
            }
        });
    }

    fn module(&mut self, mut item: ItemMod) {
        let inside = item.content.take();
        // Without its content an inline module looks like a declaration, so moving `mod a {}` to a file does not change
        // it.
        self.within(self.around.below(&item.attrs), |collector| {
            collector.collect_named(ItemKind::Module, &item.ident, &[], &item);
            if let Some((_, items)) = inside {
                let around = collector.around.inside(&bare(&item.ident));
                collector.within(around, |collector| collector.items(items));
            }
        });
    }

    /// Adds an item for each imported name, because order and grouping do not matter.
    fn import(&mut self, item: &ItemUse) {
        let mut before = Code::of(tokens_of(&item.attrs));
        before.push(Code::of(&item.vis));
        let prefix = if item.leading_colon.is_some() { "::" } else { "" };
        let (line, mut leaves) = (line(item.use_token.span), Vec::new());
        collect_imports(&item.tree, prefix, &mut leaves);
        self.within(self.around.below(&item.attrs), |collector| {
            for (ident, path) in leaves {
                let mut code = before.clone();
                code.push(Code { text: format!("use {path}"), names: Vec::new() });
                collector.add(ItemKind::Use, ident, line, code);
            }
        });
    }

    fn macro_item(&mut self, mut item: ItemMacro) {
        if let Some(ident) = item.ident.clone() {
            return self.collect_named(ItemKind::Macro, &ident, &item.attrs, &item);
        }
        let (functions, rest) = take_functions(std::mem::take(&mut item.mac.tokens));
        item.mac.tokens = rest;
        self.macro_call(&item.mac.path, &item.attrs, &item);
        let all_tests = makes_tests(&item.mac.path);
        self.within(self.around.below(&item.attrs), |collector| {
            for function in functions {
                collector.inner_function(function, all_tests);
            }
        });
    }

    fn inner_function(&mut self, function: InnerFn, is_known_test: bool) {
        let InnerFn { scope, enclosing, ident, attributes, tokens } = function;
        let is_test = is_known_test || is_test(&attributes);
        let code = if is_test { Code::of(tokens) } else { Code::with_documentation(tokens) };
        let around = self.around.behind(enclosing.into_iter());
        let around = scope.iter().fold(around, |around, module| around.inside(module));
        let test_only = around.test_only || is_test || is_test_only(&attributes);
        let workload = is_test.then(|| code.text.clone());
        self.within(around, |collector| {
            let item = collector.add(ItemKind::Function, bare(&ident), line(ident.span()), code);
            item.condition = Condition::unknown();
            (item.test_only, item.is_test, item.workload) = (test_only, is_test, workload);
        });
    }

    fn macro_call(&mut self, path: &syn::Path, attributes: &[Attribute], tokens: &dyn ToTokens) {
        if let Some(last) = path.segments.last() {
            self.collect_named(ItemKind::MacroCall, &last.ident, attributes, tokens);
        }
    }
}

/// Collects the names that a `use` imports, each with its full path.
fn collect_imports(tree: &UseTree, prefix: &str, leaves: &mut Vec<(String, String)>) {
    match tree {
        UseTree::Path(path) => collect_imports(&path.tree, &format!("{prefix}{}::", bare(&path.ident)), leaves),
        UseTree::Name(name) if name.ident == "self" => {
            let path = prefix.trim_end_matches("::").to_owned();
            leaves.push((path.rsplit("::").next().unwrap_or(&path).to_owned(), path));
        }
        UseTree::Name(name) => leaves.push((bare(&name.ident), format!("{prefix}{}", bare(&name.ident)))),
        UseTree::Rename(rename) => {
            let path = format!("{prefix}{} as {}", bare(&rename.ident), bare(&rename.rename));
            leaves.push((bare(&rename.rename), path));
        }
        UseTree::Glob(_) => leaves.push(("*".to_owned(), format!("{prefix}*"))),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect_imports(tree, prefix, leaves)),
    }
}

#[cfg(test)]
mod tests;
