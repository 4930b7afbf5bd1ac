//! Index of a crate: modules with their names, types, traits, impl blocks and functions.

use super::syntax::{UnsafeWords, attributes, imports};
use perfunit_model::ModulePlace;
use perfunit_select::source::{Condition, Configuration, ModuleTree, bare, is_test};
use std::collections::BTreeMap;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Fields, Generics, ImplItem, Item, ItemImpl, ItemTrait, Meta, Path, Signature, Token, TraitItem,
    TraitItemFn, Visibility,
};

pub type ModuleId = usize;
pub type TypeId = usize;
pub type TraitId = usize;
pub type FunctionId = usize;

/// The scope in which a name is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visible {
    Everywhere,
    Within(ModuleId),
}

/// The meaning of a name in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Module(ModuleId),
    Type(TypeId),
    Trait(TraitId),
    Function(FunctionId),
    Alias(usize),
    /// A `use` that is not resolved yet.
    Import(Vec<String>),
}

pub struct Name {
    pub ident: String,
    pub visible: Visible,
    pub meaning: Meaning,
}

pub struct Module {
    pub parent: Option<ModuleId>,
    pub place: ModulePlace,
    pub names: Vec<Name>,
    /// Paths of `use path::*`.
    pub globs: Vec<(Vec<String>, Visible)>,
    pub has_unsafe: bool,
}

pub enum Shape {
    Struct(Fields),
    /// Names and fields of the variants.
    Enum(Vec<(String, Fields)>),
    Union,
}

impl Shape {
    /// Returns the fields of a struct, or of all variants.
    pub fn fields(&self) -> impl Iterator<Item = &Fields> {
        let (of_struct, variants) = match self {
            Self::Struct(fields) => (Some(fields), &[][..]),
            Self::Enum(variants) => (None, &variants[..]),
            Self::Union => (None, &[][..]),
        };
        of_struct.into_iter().chain(variants.iter().map(|(_, fields)| fields))
    }
}

pub struct TypeDef {
    pub ident: String,
    pub module: ModuleId,
    pub generics: Generics,
    pub shape: Shape,
    pub derives: Vec<String>,
}

pub struct AliasDef {
    pub ident: String,
    pub module: ModuleId,
    pub generics: Generics,
    pub of: syn::Type,
}

pub struct TraitDef {
    pub ident: String,
    pub generics: Generics,
    /// True if `impl Trait for Type {}` suffices. Traits without items do not count, because implementing them has a
    /// meaning.
    pub has_all_defaults: bool,
}

pub struct ImplDef {
    pub module: ModuleId,
    pub generics: Generics,
    pub self_type: syn::Type,
    pub implements: Option<syn::Path>,
    /// Associated types of the block.
    pub associated: Vec<(String, syn::Type)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    Impl(usize),
    Trait(TraitId),
}

pub struct FunctionDef {
    pub ident: String,
    pub file: String,
    pub line: usize,
    pub module: ModuleId,
    pub visible: Visible,
    pub owner: Owner,
    pub signature: Signature,
    pub body: Option<Block>,
    pub is_test: bool,
}

/// The items of a crate.
#[derive(Default)]
pub struct Index {
    pub modules: Vec<Module>,
    pub types: Vec<TypeDef>,
    pub aliases: Vec<AliasDef>,
    pub traits: Vec<TraitDef>,
    pub impls: Vec<ImplDef>,
    pub functions: Vec<FunctionDef>,
    pub unsafe_words: UnsafeWords,
}

pub const ROOT: ModuleId = 0;

impl Index {
    /// Builds the index of the crate with this root file, for a given build configuration.
    pub fn new(root: &str, tree: &ModuleTree, files: &BTreeMap<&String, syn::File>, build: &Configuration<'_>) -> Self {
        let of_crate = files.iter().filter(|(path, _)| tree.files.contains_key(**path));
        let unsafe_words = UnsafeWords::of(of_crate.map(|(_, parsed)| parsed));
        let mut reader = Reader { index: Self { unsafe_words, ..Self::default() }, tree, files, build };
        if let Some(parsed) = files.get(&root.to_owned()) {
            let place = ModulePlace { file: root.to_owned(), inline: Vec::new() };
            reader.module(None, place, &parsed.items);
        }
        reader.index
    }

    /// Returns whether `inner` is `outer` or a module below it.
    pub fn is_within(&self, inner: ModuleId, outer: ModuleId) -> bool {
        let mut at = Some(inner);
        while let Some(module) = at {
            if module == outer {
                return true;
            }
            at = self.modules[module].parent;
        }
        false
    }

    /// Returns whether a name of this visibility can be used in a module; `None` stands for other crates.
    pub fn sees(&self, from: Option<ModuleId>, visible: Visible) -> bool {
        match visible {
            Visible::Everywhere => true,
            Visible::Within(outer) => from.is_some_and(|from| self.is_within(from, outer)),
        }
    }

    pub fn visibility(&self, visibility: &Visibility, module: ModuleId) -> Visible {
        match visibility {
            Visibility::Public(_) => Visible::Everywhere,
            Visibility::Inherited => Visible::Within(module),
            Visibility::Restricted(restricted) => {
                let mut at = ROOT;
                if restricted.path.is_ident("self") {
                    at = module;
                } else if restricted.path.segments.first().is_some_and(|first| first.ident == "super") {
                    at = module;
                    for _ in &restricted.path.segments {
                        at = self.modules[at].parent.unwrap_or(ROOT);
                    }
                }
                Visible::Within(at)
            }
        }
    }
}

struct Reader<'a> {
    index: Index,
    tree: &'a ModuleTree,
    files: &'a BTreeMap<&'a String, syn::File>,
    build: &'a Configuration<'a>,
}

impl Reader<'_> {
    fn is_compiled(&self, attributes: &[Attribute]) -> bool {
        self.build.may_satisfy(&Condition::of(attributes))
    }

    fn module(&mut self, parent: Option<ModuleId>, place: ModulePlace, items: &[Item]) -> ModuleId {
        let id = self.index.modules.len();
        let module = Module { parent, place, names: Vec::new(), globs: Vec::new(), has_unsafe: false };
        self.index.modules.push(module);
        for item in items {
            self.item(id, item);
        }
        id
    }

    fn item(&mut self, module: ModuleId, item: &Item) {
        if !self.is_compiled(attributes(item)) {
            return;
        }
        if !matches!(item, Item::Mod(_)) && self.index.unsafe_words.are_in(item) {
            self.index.modules[module].has_unsafe = true;
        }
        match item {
            Item::Mod(item) => {
                let ident = bare(&item.ident);
                let mut place = self.index.modules[module].place.clone();
                place.inline.push(ident.clone());
                let id = if let Some((_, items)) = &item.content {
                    self.module(Some(module), place, items)
                } else {
                    let declared = self.tree.file_of(&place.file, &place.inline.join("::"), self.build);
                    let Some((file, parsed)) = declared.and_then(|file| self.files.get_key_value(&file.to_owned()))
                    else {
                        return;
                    };
                    if !self.is_compiled(&parsed.attrs) {
                        return;
                    }
                    let place = ModulePlace { file: (*file).clone(), inline: Vec::new() };
                    self.module(Some(module), place, &parsed.items)
                };
                self.name(module, ident, &item.vis, Meaning::Module(id));
            }
            Item::Struct(item) => {
                let shape = Shape::Struct(self.compiled_fields(&item.fields));
                self.type_def(module, &item.ident, &item.vis, (&item.generics, shape, &item.attrs));
            }
            Item::Enum(item) => {
                let variants = item.variants.iter().filter(|variant| self.is_compiled(&variant.attrs));
                let each = variants.map(|variant| (bare(&variant.ident), self.compiled_fields(&variant.fields)));
                let shape = Shape::Enum(each.collect());
                self.type_def(module, &item.ident, &item.vis, (&item.generics, shape, &item.attrs));
            }
            Item::Union(item) => {
                self.type_def(module, &item.ident, &item.vis, (&item.generics, Shape::Union, &item.attrs));
            }
            Item::Type(item) => {
                let (ident, generics) = (bare(&item.ident), item.generics.clone());
                let alias = AliasDef { ident, module, generics, of: (*item.ty).clone() };
                self.index.aliases.push(alias);
                let id = self.index.aliases.len() - 1;
                self.name(module, bare(&item.ident), &item.vis, Meaning::Alias(id));
            }
            Item::Trait(item) => self.trait_def(module, item),
            Item::Impl(item) => self.impl_block(module, item),
            Item::Fn(item) => {
                let visible = self.index.visibility(&item.vis, module);
                let code = (&item.sig, Some((*item.block).clone()), is_test(&item.attrs));
                let id = self.function(module, visible, Owner::Nobody, code);
                self.name(module, bare(&item.sig.ident), &item.vis, Meaning::Function(id));
            }
            Item::Use(item) => {
                let mut leaves = Vec::new();
                imports(&item.tree, Vec::new(), &mut leaves);
                for (ident, path) in leaves {
                    if ident == "*" {
                        let visible = self.index.visibility(&item.vis, module);
                        self.index.modules[module].globs.push((path, visible));
                    } else {
                        self.name(module, ident, &item.vis, Meaning::Import(path));
                    }
                }
            }
            Item::ExternCrate(item) => {
                let ident = item.rename.as_ref().map_or_else(|| bare(&item.ident), |(_, name)| bare(name));
                self.name(module, ident, &item.vis, Meaning::Import(vec![bare(&item.ident)]));
            }
            // Some macros take items and keep them mostly unchanged, e.g. `pin_project!`.
            Item::Macro(item) if item.ident.is_none() => {
                let inner = syn::parse2::<syn::File>(item.mac.tokens.clone());
                inner.into_iter().flat_map(|file| file.items).for_each(|item| self.item(module, &item));
            }
            _ => {}
        }
    }

    fn compiled_fields(&self, fields: &Fields) -> Fields {
        let mut fields = fields.clone();
        let list = match &mut fields {
            Fields::Named(named) => &mut named.named,
            Fields::Unnamed(unnamed) => &mut unnamed.unnamed,
            Fields::Unit => return fields,
        };
        *list = std::mem::take(list).into_iter().filter(|field| self.is_compiled(&field.attrs)).collect();
        fields
    }

    /// Returns the last segments of the derived traits' names.
    fn derives(&self, attributes: &[Attribute]) -> Vec<String> {
        let applied = self.build.applicable_attributes(attributes);
        let lists = applied.iter().filter_map(|meta| match meta {
            Meta::List(list) if list.path.is_ident("derive") => {
                list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).ok()
            }
            _ => None,
        });
        lists.flatten().filter_map(|path| Some(path.segments.last()?.ident.to_string())).collect()
    }

    fn name(&mut self, module: ModuleId, ident: String, visibility: &Visibility, meaning: Meaning) {
        let visible = self.index.visibility(visibility, module);
        self.index.modules[module].names.push(Name { ident, visible, meaning });
    }

    fn type_def(
        &mut self,
        module: ModuleId,
        ident: &syn::Ident,
        visibility: &Visibility,
        (generics, shape, attributes): (&Generics, Shape, &[Attribute]),
    ) {
        self.index.types.push(TypeDef {
            ident: bare(ident),
            module,
            generics: generics.clone(),
            shape,
            derives: self.derives(attributes),
        });
        let id = self.index.types.len() - 1;
        self.name(module, bare(ident), visibility, Meaning::Type(id));
    }

    fn trait_def(&mut self, module: ModuleId, item: &ItemTrait) {
        let has_all_defaults = !item.items.is_empty()
            && item.supertraits.is_empty()
            && item.generics.params.is_empty()
            && item.items.iter().all(|inner| matches!(inner, TraitItem::Fn(TraitItemFn { default: Some(_), .. })));
        self.index.traits.push(TraitDef {
            ident: bare(&item.ident),
            generics: item.generics.clone(),
            has_all_defaults,
        });
        let id = self.index.traits.len() - 1;
        self.name(module, bare(&item.ident), &item.vis, Meaning::Trait(id));
        for inner in &item.items {
            if let TraitItem::Fn(function) = inner
                && self.is_compiled(&function.attrs)
            {
                let code = (&function.sig, function.default.clone(), false);
                self.function(module, Visible::Everywhere, Owner::Trait(id), code);
            }
        }
    }

    fn impl_block(&mut self, module: ModuleId, item: &ItemImpl) {
        let associated = item.items.iter().filter_map(|inner| match inner {
            ImplItem::Type(associated) => Some((bare(&associated.ident), associated.ty.clone())),
            _ => None,
        });
        self.index.impls.push(ImplDef {
            module,
            generics: item.generics.clone(),
            self_type: (*item.self_ty).clone(),
            implements: item.trait_.as_ref().map(|(path, _)| path.clone()),
            associated: associated.collect(),
        });
        let id = self.index.impls.len() - 1;
        for inner in &item.items {
            if let ImplItem::Fn(function) = inner
                && self.is_compiled(&function.attrs)
            {
                let visible = match item.trait_ {
                    Some(_) => Visible::Everywhere,
                    None => self.index.visibility(&function.vis, module),
                };
                self.function(module, visible, Owner::Impl(id), (&function.sig, Some(function.block.clone()), false));
            }
        }
    }

    fn function(
        &mut self,
        module: ModuleId,
        visible: Visible,
        owner: Owner,
        (signature, body, is_test): (&Signature, Option<Block>, bool),
    ) -> FunctionId {
        self.index.functions.push(FunctionDef {
            ident: bare(&signature.ident),
            file: self.index.modules[module].place.file.clone(),
            line: signature.ident.span().start().line,
            module,
            visible,
            owner,
            signature: signature.clone(),
            body,
            is_test,
        });
        self.index.functions.len() - 1
    }
}
