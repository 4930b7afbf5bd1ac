//! Types as written in the source.

use super::index::ModuleId;
use super::kinds::{Bound, Chosen, Kind, is_primitive};
use super::names::{Definition, Names};
use syn::{GenericArgument, PathArguments, ReturnType, Type, TypeParamBound};

/// Scope in which types are resolved.
pub struct Place<'a> {
    pub names: &'a Names<'a>,
    pub module: ModuleId,
    /// Type of `Self`, if there is one.
    pub self_kind: Option<Kind>,
    /// Names of type parameters and constant parameters.
    pub parameters: Vec<String>,
    /// Number of aliases and associated types that may still be followed; two of the same name may seem to refer to
    /// each other.
    steps: usize,
}

impl<'a> Place<'a> {
    /// Creates the scope of a module with these type parameters.
    pub fn new(names: &'a Names<'a>, module: ModuleId, generics: &syn::Generics) -> Self {
        Self { names, module, self_kind: None, parameters: parameter_names(generics), steps: 8 }
    }

    pub fn kind(&self, of: &Type) -> Kind {
        match of {
            Type::Path(path) => self.path_kind(path),
            Type::Reference(reference) => Kind::Reference {
                is_mutable: reference.mutability.is_some(),
                is_static: reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static"),
                to: Box::new(self.kind(&reference.elem)),
            },
            Type::Slice(slice) => Kind::Slice(Box::new(self.kind(&slice.elem))),
            Type::Array(array) => {
                Kind::Array { of: Box::new(self.kind(&array.elem)), length: Box::new(self.constant(&array.len)) }
            }
            Type::Tuple(tuple) => Kind::Tuple(tuple.elems.iter().map(|part| self.kind(part)).collect()),
            Type::Paren(inner) => self.kind(&inner.elem),
            Type::Group(inner) => self.kind(&inner.elem),
            Type::Ptr(_) => Kind::Pointer,
            Type::Never(_) => Kind::Never,
            Type::Infer(_) => Kind::Infer,
            Type::FnPtr(pointer) => Kind::Function {
                inputs: pointer.inputs.iter().map(|input| self.kind(&input.ty)).collect(),
                output: Box::new(self.output(&pointer.output)),
            },
            Type::ImplTrait(opaque) => Kind::Opaque(self.bounds(&opaque.bounds)),
            Type::TraitObject(object) => Kind::Dynamic(self.bounds(&object.bounds)),
            other => Kind::Unknown(quote::quote!(#other).to_string()),
        }
    }

    pub fn output(&self, of: &ReturnType) -> Kind {
        match of {
            ReturnType::Default => Kind::unit(),
            ReturnType::Type(_, kind) => self.kind(kind),
        }
    }

    fn constant(&self, of: &syn::Expr) -> Kind {
        let text = quote::quote!(#of).to_string();
        if self.parameters.contains(&text) { Kind::Parameter(text) } else { Kind::Constant(text) }
    }

    fn path_kind(&self, of: &syn::TypePath) -> Kind {
        let unknown = || Kind::Unknown(quote::quote!(#of).to_string().replace(' ', ""));
        let segments: Vec<String> = segments(&of.path);
        if let Some(self_type) = &of.qself {
            let associated = segments.last().cloned().unwrap_or_default();
            return self.associated_type(self.kind(&self_type.ty), &associated).unwrap_or_else(unknown);
        }
        let arguments = of.path.segments.last().map(|last| self.arguments(&last.arguments)).unwrap_or_default();
        match segments.as_slice() {
            [name] if name == "Self" => self.self_kind.clone().unwrap_or_else(unknown),
            [name] if self.parameters.contains(name) => Kind::Parameter(name.clone()),
            [name, associated] if name == "Self" => {
                let found = self.self_kind.clone().and_then(|kind| self.associated_type(kind, associated));
                found.unwrap_or_else(unknown)
            }
            [name, associated] if self.parameters.contains(name) => Kind::Parameter(format!("{name}::{associated}")),
            [name] if is_primitive(name) => Kind::primitive(name),
            path => self.resolve(path, arguments).unwrap_or_else(unknown),
        }
    }

    fn associated_type(&self, of: Kind, name: &str) -> Option<Kind> {
        match of {
            Kind::Parameter(parameter) => Some(Kind::Parameter(format!("{parameter}::{name}"))),
            of => associated_in(self.names, &of, name, self.steps),
        }
    }

    fn resolve(&self, path: &[String], arguments: Vec<Kind>) -> Option<Kind> {
        let found = self.names.resolve(self.module, path);
        let first =
            found.into_iter().find(|found| !matches!(found, Definition::Function(_) | Definition::Module(_)))?;
        match first {
            Definition::Type(id) => Some(Kind::Local { id, arguments }),
            Definition::Alias(id) => {
                let alias = &self.names.index.aliases[id];
                let mut place = Place::new(self.names, alias.module, &alias.generics);
                place.steps = self.steps.checked_sub(1)?;
                let chosen: Chosen = place.parameters.iter().cloned().zip(arguments).collect();
                Some(place.kind(&alias.of).with(&chosen))
            }
            Definition::Std(path) => Some(std_kind(path, arguments)),
            Definition::Foreign(path) => Some(Kind::Foreign { path, arguments }),
            _ => None,
        }
    }

    fn arguments(&self, of: &PathArguments) -> Vec<Kind> {
        let PathArguments::AngleBracketed(arguments) = of else { return Vec::new() };
        let kinds = arguments.args.iter().filter_map(|argument| match argument {
            GenericArgument::Type(kind) => Some(self.kind(kind)),
            GenericArgument::Const(value) => Some(self.constant(value)),
            _ => None,
        });
        kinds.collect()
    }

    pub fn bounds<'b>(&self, of: impl IntoIterator<Item = &'b TypeParamBound>) -> Vec<Bound> {
        let traits = of.into_iter().filter_map(|bound| match bound {
            TypeParamBound::Trait(bound) if bound.maybe.is_none() => Some(self.bound(&bound.path)),
            _ => None,
        });
        traits.collect()
    }

    /// Resolves a trait in a bound or in the header of an impl block.
    pub fn bound(&self, path: &syn::Path) -> Bound {
        let found = self.names.resolve(self.module, &segments(path));
        let is_trait =
            |found: &Definition| matches!(found, Definition::Trait(_) | Definition::Std(_) | Definition::Foreign(_));
        let of = found.into_iter().find(is_trait);
        let of = of.unwrap_or_else(|| Definition::Foreign(quote::quote!(#path).to_string().replace(' ', "")));
        let mut bound = Bound { of, arguments: Vec::new(), associated: Vec::new() };
        match path.segments.last().map(|last| &last.arguments) {
            Some(arguments @ PathArguments::AngleBracketed(inner)) => {
                bound.arguments = self.arguments(arguments);
                bound.associated.extend(inner.args.iter().filter_map(|argument| match argument {
                    GenericArgument::AssocType(given) => Some((given.ident.to_string(), self.kind(&given.ty))),
                    _ => None,
                }));
            }
            Some(PathArguments::Parenthesized(call)) => {
                bound.arguments = call.inputs.iter().map(|input| self.kind(&input.ty)).collect();
                bound.associated.push(("Output".to_owned(), self.output(&call.output)));
            }
            _ => {}
        }
        bound
    }
}

/// Returns an associated type of a known type.
pub fn associated_type(names: &Names<'_>, of: &Kind, name: &str) -> Option<Kind> {
    associated_in(names, of, name, 8)
}

fn associated_in(names: &Names<'_>, of: &Kind, name: &str, steps: usize) -> Option<Kind> {
    let steps = steps.checked_sub(1)?;
    match (of, name) {
        (Kind::Std { path, arguments }, "Item" | "IntoIter") if name == "Item" => match path.as_str() {
            "collections::HashMap" | "collections::BTreeMap" => Some(Kind::Tuple(arguments.clone())),
            _ => arguments.first().cloned(),
        },
        (Kind::Std { arguments, .. }, "IntoIter") => Some(Kind::std("vec::IntoIter", arguments.clone())),
        (Kind::Std { arguments, .. }, "Target") => arguments.first().cloned(),
        (Kind::Primitive(_), "Output") => Some(of.clone()),
        (Kind::Primitive(number), "Err") if number.starts_with(['u', 'i']) => {
            Some(Kind::std("num::ParseIntError", Vec::new()))
        }
        _ => names.index.impls.iter().find_map(|block| {
            let (_, given) = block.associated.iter().find(|(known, _)| known == name)?;
            let mut place = Place::new(names, block.module, &block.generics);
            place.steps = steps;
            let self_kind = place.kind(&block.self_type);
            let mut chosen = Chosen::new();
            if matches!(self_kind, Kind::Parameter(_)) || !self_kind.unify(of, &mut chosen) {
                return None;
            }
            // Another associated type of the same block would lead in a circle.
            place.self_kind = None;
            let is_of_self = quote::quote!(#given).to_string().starts_with("Self");
            (!is_of_self).then(|| place.kind(given).with(&chosen))
        }),
    }
}

/// Expands `io::Result<T>` and similar aliases.
fn std_kind(path: String, arguments: Vec<Kind>) -> Kind {
    let result = |error: &str, arguments: Vec<Kind>| {
        let value = arguments.into_iter().next().unwrap_or_else(Kind::unit);
        Kind::std("result::Result", vec![value, Kind::std(error, Vec::new())])
    };
    match path.as_str() {
        "io::Result" | "thread::Result" => result("io::Error", arguments),
        "fmt::Result" => result("fmt::Error", arguments),
        _ if is_primitive(&path) => Kind::Primitive(path),
        _ => Kind::Std { path, arguments },
    }
}

pub fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| perfunit_select::source::bare(&segment.ident)).collect()
}

/// Returns the names of type and constant parameters, without lifetimes.
pub fn parameter_names(generics: &syn::Generics) -> Vec<String> {
    let names = generics.params.iter().filter_map(|parameter| match parameter {
        syn::GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
        syn::GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
        syn::GenericParam::Lifetime(_) => None,
    });
    names.collect()
}
