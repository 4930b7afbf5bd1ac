//! Functions and the types in their signatures.

use super::index::{FunctionDef, FunctionId, Index, Owner, Visible};
use super::kinds::{Bound, Kind};
use super::literals::snake_case;
use super::names::{Definition, Names};
use super::types::{Place, parameter_names, segments};
use perfunit_select::source::bare;
use std::collections::BTreeMap;
use syn::{FnArg, GenericParam, Generics, Pat, ReceiverKind, Safety, Type, WherePredicate};

pub struct Callable {
    pub id: FunctionId,
    /// Type of `Self`.
    pub self_kind: Option<Kind>,
    /// Trait that has the function.
    pub of_trait: Option<Bound>,
    pub has_receiver: bool,
    /// Arguments; the receiver comes first.
    pub inputs: Vec<Input>,
    pub output: Kind,
    /// Type parameters of the function and of the enclosing item.
    pub parameters: Vec<Parameter>,
    /// Names of the function's own parameters.
    pub own: Vec<String>,
    pub is_async: bool,
    pub is_unsafe: bool,
}

pub struct Input {
    pub name: String,
    pub kind: Kind,
}

/// A type parameter or constant parameter to choose.
#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    pub bounds: Vec<Bound>,
    /// Type of a constant parameter.
    pub constant: Option<Kind>,
}

/// Returns all functions of a crate, in the order of the index.
pub fn callables(names: &Names<'_>) -> Vec<Callable> {
    (0..names.index.functions.len()).map(|id| callable(names, id)).collect()
}

fn callable(names: &Names<'_>, id: FunctionId) -> Callable {
    let index = names.index;
    let function = &index.functions[id];
    let signature = &function.signature;
    let own = parameter_names(&signature.generics);
    let mut place = Place::new(names, function.module, &signature.generics);
    let mut parameters = Vec::new();
    let mut of_trait = None;
    match function.owner {
        Owner::Nobody => {}
        Owner::Impl(block) => {
            let block = &index.impls[block];
            place.parameters.extend(parameter_names(&block.generics));
            place.self_kind = Some(place.kind(&block.self_type));
            of_trait = block.implements.as_ref().map(|path| place.bound(path));
            add_parameters(&place, &block.generics, &mut parameters);
        }
        Owner::Trait(id) => {
            let definition = &index.traits[id];
            let arguments = parameter_names(&definition.generics);
            place.parameters.extend(arguments.clone());
            place.parameters.push("Self".to_owned());
            place.self_kind = Some(Kind::Parameter("Self".to_owned()));
            let arguments = arguments.into_iter().map(Kind::Parameter).collect();
            let bound = Bound { of: Definition::Trait(id), arguments, associated: Vec::new() };
            let bounds = vec![bound.clone()];
            parameters.push(Parameter { name: "Self".to_owned(), bounds, constant: None });
            add_parameters(&place, &definition.generics, &mut parameters);
            of_trait = Some(bound);
        }
    }
    add_parameters(&place, &signature.generics, &mut parameters);
    Callable {
        id,
        has_receiver: signature.receiver().is_some(),
        inputs: signature.inputs.iter().map(|input| self::input(&place, input)).collect(),
        output: place.output(&signature.output),
        self_kind: place.self_kind,
        of_trait,
        parameters,
        own,
        is_async: signature.asyncness.is_some(),
        is_unsafe: matches!(signature.safety, Safety::Unsafe(_)),
    }
}

fn input(place: &Place<'_>, input: &FnArg) -> Input {
    let own = || place.self_kind.clone().unwrap_or(Kind::Infer);
    match input {
        FnArg::Receiver(receiver) => {
            let kind = match &receiver.kind {
                ReceiverKind::Value => own(),
                ReceiverKind::Reference(_, _, mutability) => {
                    Kind::Reference { is_mutable: mutability.is_some(), is_static: false, to: Box::new(own()) }
                }
                ReceiverKind::Typed(_, kind) => place.kind(kind),
                // Receiver kinds unknown to this version of the parser.
                _ => Kind::Unknown("self".to_owned()),
            };
            Input { name: receiver_name(place), kind }
        }
        FnArg::Typed(typed) => {
            let name = match &*typed.pat {
                Pat::Ident(pattern) => bare(&pattern.ident),
                _ => "value".to_owned(),
            };
            Input { name, kind: place.kind(&typed.ty) }
        }
    }
}

/// Returns the `snake_case` of the receiver's type as its name.
fn receiver_name(place: &Place<'_>) -> String {
    let Some(Kind::Local { id, .. }) = place.self_kind else { return "value".to_owned() };
    snake_case(&place.names.index.types[id].ident)
}

/// Adds the parameters that generics declare, with their bounds.
pub fn add_parameters(place: &Place<'_>, generics: &Generics, found: &mut Vec<Parameter>) {
    let mut bounds: BTreeMap<String, Vec<Bound>> = BTreeMap::new();
    for parameter in &generics.params {
        match parameter {
            GenericParam::Type(parameter) => {
                bounds.entry(parameter.ident.to_string()).or_default().extend(place.bounds(&parameter.bounds));
            }
            GenericParam::Const(parameter) => found.push(Parameter {
                name: parameter.ident.to_string(),
                bounds: Vec::new(),
                constant: Some(place.kind(&parameter.ty)),
            }),
            GenericParam::Lifetime(_) => {}
        }
    }
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        let WherePredicate::Type(predicate) = predicate else { continue };
        if let Type::Path(_) = predicate.bounded_ty
            && let Kind::Parameter(name) = place.kind(&predicate.bounded_ty)
        {
            bounds.entry(name).or_default().extend(place.bounds(&predicate.bounds));
        }
    }
    for (name, bounds) in bounds {
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => known.bounds.extend(bounds),
            None => found.push(Parameter { name, bounds, constant: None }),
        }
    }
}

impl FunctionDef {
    /// Returns the last segment of the enclosing type's or trait's name.
    pub fn owner_name(&self, index: &Index) -> String {
        match self.owner {
            Owner::Nobody => String::new(),
            Owner::Trait(id) => index.traits[id].ident.clone(),
            Owner::Impl(id) => match &index.impls[id].self_type {
                Type::Path(path) => segments(&path.path).pop().unwrap_or_default(),
                _ => String::new(),
            },
        }
    }
}

/// Returns whether other crates can call the function, which promises that any arguments are sound.
pub fn is_public(names: &Names<'_>, callable: &Callable) -> bool {
    let function = &names.index.functions[callable.id];
    if function.visible != Visible::Everywhere {
        return false;
    }
    let has_path = |definition| names.path(definition, None).is_some();
    let is_of_public_trait =
        callable.of_trait.as_ref().is_none_or(|bound| !matches!(bound.of, Definition::Trait(_)) || has_path(&bound.of));
    is_of_public_trait
        && match &callable.self_kind {
            Some(Kind::Local { id, .. }) => has_path(&Definition::Type(*id)),
            Some(_) => true,
            None => has_path(&Definition::Function(callable.id)),
        }
}
