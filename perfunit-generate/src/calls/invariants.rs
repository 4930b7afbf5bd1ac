//! Calls that may be unsound with arbitrary arguments, although they need no `unsafe`.
//!
//! A function or type that other crates can use promises to be sound for any arguments. Unsafe code of the crate may
//! rely on the arguments of all others. Code is recognized by names, so some sound calls are left out too.

use super::functions::{Callable, is_public};
use super::index::{FunctionDef, FunctionId, Index, TypeDef, TypeId};
use super::names::{Definition, Names};
use super::syntax::idents;
use std::collections::BTreeSet;

pub struct Invariants {
    /// Functions that must not be called with arbitrary arguments.
    fragile: BTreeSet<FunctionId>,
    /// Functions that other crates can call.
    public: BTreeSet<FunctionId>,
    /// Names in functions with unsafe code, including types and the names inside these types.
    relied_on: BTreeSet<String>,
    /// Names in the body of each function.
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
        // Calls of unsafe functions are in `unsafe` blocks themselves.
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

    /// Returns whether the body of a function contains one of these names.
    pub fn is_named_in(&self, id: FunctionId, idents: &BTreeSet<&str>) -> bool {
        names_one(&self.in_bodies[id], idents)
    }

    /// Returns whether a call with arbitrary arguments may be unsound although the function is not marked unsafe.
    pub fn may_break(&self, callable: &Callable) -> bool {
        self.fragile.contains(&callable.id)
    }

    /// Returns whether the function may create a value that no public function creates, of a type that unsafe code
    /// relies on.
    pub fn relies_on_makers(&self, index: &Index, callable: &Callable, made: TypeId) -> bool {
        !self.public.contains(&callable.id) && self.relied_on.contains(&index.types[made].ident)
    }

    /// Returns whether values of the type must not be built from fields, because only the crate can do so and unsafe
    /// code relies on the type.
    pub fn relies_on_shape(&self, names: &Names<'_>, id: TypeId) -> bool {
        let is_hidden = names.path(&Definition::Type(id), None).is_none();
        is_hidden && self.relied_on.contains(&names.index.types[id].ident)
    }

    /// Returns whether private fields of the type must not be set, because unsafe code may rely on them.
    pub fn relies_on_private_fields(&self, index: &Index, id: TypeId) -> bool {
        let TypeDef { ident, module, .. } = &index.types[id];
        index.modules[*module].has_unsafe || self.relied_on.contains(ident)
    }
}

/// Adds the names in the types of these names, because the invariants of a value may rest on those of its fields.
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
