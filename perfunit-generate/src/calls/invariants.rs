//! What may be unsound with arbitrary arguments, although no `unsafe` stands at the call.
//!
//! What other crates can call or make is a promise: any arguments are sound. What they cannot, unsafe code of the crate may
//! rely on. Code is recognised by names: rather too much is left out.

use super::functions::{Callable, is_public};
use super::index::{FunctionDef, FunctionId, Index, TypeDef, TypeId};
use super::names::{Definition, Names};
use super::syntax::idents;
use std::collections::BTreeSet;

pub struct Invariants {
    /// Functions that not everybody may call with any arguments.
    fragile: BTreeSet<FunctionId>,
    /// Functions that other crates can call.
    public: BTreeSet<FunctionId>,
    /// Names in functions with unsafe code, those of types among them, and of what is in these types.
    relied_on: BTreeSet<String>,
    /// By function the names in its body.
    in_bodies: Vec<BTreeSet<String>>,
}

impl Invariants {
    pub fn of(names: &Names<'_>, callables: &[Callable]) -> Self {
        let index = names.index;
        let public: BTreeSet<FunctionId> =
            callables.iter().filter(|callable| is_public(names, callable)).map(|callable| callable.id).collect();
        let in_body = |function: &FunctionDef| function.body.as_ref().map(idents).unwrap_or_default();
        let in_bodies: Vec<BTreeSet<String>> = index.functions.iter().map(in_body).collect();
        let is_unsafe = |id: FunctionId| !in_bodies[id].is_disjoint(&index.unsafe_words.words);
        let mut relied_on = index.unsafe_words.in_macros.clone();
        for (id, function) in index.functions.iter().enumerate().filter(|(id, _)| is_unsafe(*id)) {
            relied_on.extend(idents(&function.signature));
            relied_on.extend(in_bodies[id].iter().cloned());
            relied_on.insert(function.owner_name(index));
        }
        relied_on = with_parts(relied_on, index);
        let hidden: Vec<FunctionId> =
            callables.iter().map(|callable| callable.id).filter(|id| !public.contains(id)).collect();
        let is_fragile = |id: &FunctionId| is_raw(&index.functions[*id]) || is_unsafe(*id);
        let mut fragile: BTreeSet<FunctionId> = hidden.iter().copied().filter(is_fragile).collect();
        // Around a call of an unsafe function stands `unsafe` itself.
        let is_safe = |id: &FunctionId| !callables[*id].is_unsafe;
        loop {
            let by_name: BTreeSet<&str> =
                fragile.iter().filter(|id| is_safe(id)).map(|id| index.functions[*id].ident.as_str()).collect();
            let calls_one = |id: &FunctionId| !fragile.contains(id) && names_one(&in_bodies[*id], &by_name);
            let more: Vec<FunctionId> = hidden.iter().copied().filter(calls_one).collect();
            if more.is_empty() {
                return Self { fragile, public, relied_on, in_bodies };
            }
            fragile.extend(more);
        }
    }

    /// Whether the body of a function has one of these names.
    pub fn is_named_in(&self, id: FunctionId, idents: &BTreeSet<&str>) -> bool {
        names_one(&self.in_bodies[id], idents)
    }

    /// Whether a call with arbitrary arguments may be unsound although the function is safe by name.
    pub fn may_break(&self, callable: &Callable) -> bool {
        self.fragile.contains(&callable.id)
    }

    /// Whether the function may make a value of this type that none for other crates makes, and that unsafe code takes for
    /// sound.
    pub fn relies_on_makers(&self, index: &Index, callable: &Callable, made: TypeId) -> bool {
        !self.public.contains(&callable.id) && self.relied_on.contains(&index.types[made].ident)
    }

    /// Whether a value of a type must not be made up of its fields, as far as other crates could not do it either.
    pub fn relies_on_shape(&self, names: &Names<'_>, id: TypeId) -> bool {
        let is_hidden = names.path(&Definition::Type(id), None).is_none();
        is_hidden && self.relied_on.contains(&names.index.types[id].ident)
    }

    /// Whether the fields of a type that other crates cannot set must not be set.
    pub fn relies_on_private_fields(&self, index: &Index, id: TypeId) -> bool {
        let TypeDef { ident, module, .. } = &index.types[id];
        index.modules[*module].has_unsafe || self.relied_on.contains(ident)
    }
}

/// With the names in the types of these names: what holds of a value may rest on what holds of its fields.
fn with_parts(mut names: BTreeSet<String>, index: &Index) -> BTreeSet<String> {
    loop {
        let before = names.len();
        for of in index.types.iter().filter(|of| names.contains(&of.ident)).collect::<Vec<_>>() {
            names.extend(of.shape.fields().flat_map(idents));
        }
        if names.len() == before {
            return names;
        }
    }
}

fn names_one(body: &BTreeSet<String>, idents: &BTreeSet<&str>) -> bool {
    body.iter().any(|ident| idents.contains(ident.as_str()))
}

fn is_raw(function: &FunctionDef) -> bool {
    let signature = &function.signature;
    let types = quote::quote!(#signature).to_string();
    ["* const", "* mut", "NonNull", "MaybeUninit"].iter().any(|word| types.contains(word))
}
