//! The position of an item in a file: inline modules, impl block or trait. They decide its name.

use super::attributes::{is_attribute_macro, is_test_only, may_read_documentation};
use super::condition::Condition;
use super::normalise::{Code, bare};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, ItemImpl, ItemTrait, Type};

/// The impl block or trait around an item.
#[derive(Debug, Default, Clone)]
pub(super) struct Owner {
    /// Type of the impl block or name of the trait.
    pub ident: String,
    /// Name of the trait that the impl block implements; empty if there is none.
    pub implements: String,
    /// Header of the impl block; empty if there is none.
    pub header: String,
}

impl Owner {
    /// Creates the owner for an impl block with this [header](impl_header).
    pub fn of_impl(item: &ItemImpl, header: &Code) -> Self {
        let implements = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        let implements = implements.map(|segment| bare(&segment.ident)).unwrap_or_default();
        Self { ident: type_name(&item.self_ty), implements, header: header.text.clone() }
    }

    pub fn of_trait(item: &ItemTrait) -> Self {
        Self { ident: bare(&item.ident), ..Self::default() }
    }
}

/// Everything around an item.
#[derive(Debug, Default, Clone)]
pub(super) struct Surroundings {
    /// Enclosing inline modules and functions.
    pub scope: Vec<String>,
    /// Enclosing impl block or trait, unless a function inside it is closer.
    pub owner: Owner,
    pub test_only: bool,
    /// Condition under which everything here is compiled.
    pub condition: Condition,
    /// Surrounding text that affects the content: conditions, attribute macros, and preceding tokens in a macro call.
    pub decided_by: String,
    /// True if an attribute macro is applied here.
    pub documentation_counts: bool,
}

impl Surroundings {
    /// Returns the name of an item here: `parser::Parser::parse_line`.
    pub fn name(&self, ident: &str) -> String {
        let owner = Some(self.owner.ident.as_str()).filter(|owner| !owner.is_empty());
        let segments = self.scope.iter().map(String::as_str).chain(owner).chain([ident]);
        segments.collect::<Vec<_>>().join("::")
    }

    /// Adds attributes that may restrict an item to tests, or pass it to a macro.
    pub fn below(&self, attributes: &[Attribute]) -> Self {
        let deciding = attributes.iter().filter(|attribute| {
            let path = attribute.path();
            path.is_ident("cfg") || is_attribute_macro(path)
        });
        let deciding = deciding.map(ToTokens::to_token_stream);
        Self {
            test_only: self.test_only || is_test_only(attributes),
            condition: self.condition.and(Condition::of(attributes)),
            documentation_counts: self.documentation_counts || may_read_documentation(attributes),
            ..self.behind(deciding)
        }
    }

    /// Adds preceding texts.
    pub fn behind(&self, texts: impl Iterator<Item = TokenStream>) -> Self {
        let mut around = self.clone();
        texts.for_each(|text| around.decided_by.push_str(&Code::of(text).text));
        around
    }

    /// Normalizes an item with these attributes.
    pub fn code(&self, attributes: &[Attribute], tokens: impl ToTokens) -> Code {
        if self.documentation_counts || may_read_documentation(attributes) {
            Code::with_documentation(tokens)
        } else {
            Code::of(tokens)
        }
    }

    /// Enters an impl block or trait.
    pub fn owned_by(&self, owner: Owner) -> Self {
        Self { owner, ..self.clone() }
    }

    /// Enters an inline module, or the body of a function.
    pub fn inside(&self, ident: &str) -> Self {
        Self { scope: vec![self.name(ident)], owner: Owner::default(), ..self.clone() }
    }
}

/// Returns the code of an impl block without attributes and content.
pub(super) fn impl_header(item: &ItemImpl) -> Code {
    Code::of(ItemImpl {
        attrs: Vec::new(),
        modifiers: item.modifiers.clone(),
        unsafety: item.unsafety,
        impl_token: item.impl_token,
        generics: item.generics.clone(),
        trait_: item.trait_.clone(),
        self_ty: item.self_ty.clone(),
        brace_token: item.brace_token,
        items: Vec::new(),
    })
}

/// Returns the last name of a type: `Foo` for `&'a mut crate::Foo<T>`. For other types, returns the first name in it.
fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|segment| bare(&segment.ident)).unwrap_or_default(),
        Type::Reference(reference) => type_name(&reference.elem),
        Type::Group(group) => type_name(&group.elem),
        Type::Paren(paren) => type_name(&paren.elem),
        Type::Slice(slice) => type_name(&slice.elem),
        Type::Array(array) => type_name(&array.elem),
        Type::Ptr(pointer) => type_name(&pointer.elem),
        other => Code::of(other).names.into_iter().next().unwrap_or_default(),
    }
}
