//! What may be unsound with arbitrary arguments, although no `unsafe` stands at the call.
//!
//! What other crates can call or make is a promise: any arguments are sound. What they cannot, unsafe code of the crate may
//! rely on. Code is recognised by names: rather too much is left out.

use super::functions::{Callable, is_public};
use super::index::{FunctionDef, FunctionId, Index, TypeId};
use super::names::{Definition, Names};
use super::syntax::{has_unsafe, idents};
use std::collections::BTreeSet;

pub struct Invariants {
    /// Functions that not everybody may call with any arguments.
    fragile: BTreeSet<FunctionId>,
    /// Functions that other crates can call.
    public: BTreeSet<FunctionId>,
    /// Names in functions with unsafe code, those of types among them.
    relied_on: BTreeSet<String>,
}

impl Invariants {
    pub fn of(names: &Names<'_>, callables: &[Callable]) -> Self {
        let index = names.index;
        let public: BTreeSet<FunctionId> =
            callables.iter().filter(|callable| is_public(names, callable)).map(|callable| callable.id).collect();
        let is_unsafe = |function: &FunctionDef| function.body.as_ref().is_some_and(has_unsafe);
        let mut relied_on = BTreeSet::new();
        for function in index.functions.iter().filter(|function| is_unsafe(function)) {
            relied_on.extend(idents(&function.signature));
            relied_on.extend(function.body.iter().flat_map(idents));
            relied_on.insert(function.owner_name(index));
        }
        let hidden = || callables.iter().filter(|callable| !public.contains(&callable.id));
        let mut fragile: BTreeSet<FunctionId> = hidden()
            .map(|callable| callable.id)
            .filter(|id| is_raw(&index.functions[*id]) || is_unsafe(&index.functions[*id]))
            .collect();
        let called: Vec<(FunctionId, BTreeSet<String>)> = hidden()
            .map(|callable| (callable.id, index.functions[callable.id].body.iter().flat_map(idents).collect()))
            .collect();
        // Around a call of an unsafe function stands `unsafe` itself.
        let is_safe = |id: &FunctionId| !callables[*id].is_unsafe;
        loop {
            let by_name: BTreeSet<&str> =
                fragile.iter().filter(|id| is_safe(id)).map(|id| index.functions[*id].ident.as_str()).collect();
            let calls_one = |(id, called): &&(FunctionId, BTreeSet<String>)| {
                !fragile.contains(id) && called.iter().any(|ident| by_name.contains(ident.as_str()))
            };
            let more: Vec<FunctionId> = called.iter().filter(calls_one).map(|(id, _)| *id).collect();
            if more.is_empty() {
                return Self { fragile, public, relied_on };
            }
            fragile.extend(more);
        }
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
}

fn is_raw(function: &FunctionDef) -> bool {
    let signature = &function.signature;
    let types = quote::quote!(#signature).to_string();
    ["* const", "* mut", "NonNull", "MaybeUninit"].iter().any(|word| types.contains(word))
}
