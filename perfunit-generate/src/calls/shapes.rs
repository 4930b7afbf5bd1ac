//! Values built from the shape of their type: struct literals and enum variants.

use super::index::Shape;
use super::kinds::{Chosen, Kind};
use super::names::Definition;
use super::types::Place;
use super::value::{Borrows, Make, Value, Wish};
use syn::Fields;

/// Fields that may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Public,
    Private,
}

/// Builds a struct literal or enum variants, unless code may rely on the fields.
pub fn build_shapes(make: &dyn Make, kind: &Kind, reach: Reach, wish: &Wish<'_>) -> Vec<Value> {
    let Kind::Local { id, arguments } = kind else { return Vec::new() };
    if !make.may_shape(*id) {
        return Vec::new();
    }
    let definition = &make.names().index.types[*id];
    let Some(path) = make.names().path(&Definition::Type(*id), Some(make.from())) else { return Vec::new() };
    let mut place = Place::new(make.names(), definition.module, &definition.generics);
    let chosen: Chosen = place.parameters.iter().cloned().zip(arguments.iter().cloned()).collect();
    place.self_kind = Some(kind.clone());
    match &definition.shape {
        Shape::Union => Vec::new(),
        Shape::Struct(fields) => {
            let is_in_reach = |field: &syn::Field| {
                let visible = make.names().index.visibility(&field.vis, definition.module);
                let is_public = matches!(field.vis, syn::Visibility::Public(_));
                make.names().index.sees(Some(make.from()), visible)
                    && (is_public || reach == Reach::Private && make.may_set_private(*id))
            };
            if fields.iter().all(is_in_reach) {
                literal(make, &path, fields, (&place, &chosen), wish).into_iter().collect()
            } else {
                Vec::new()
            }
        }
        Shape::Enum(variants) => {
            let mut variants: Vec<_> = variants.iter().collect();
            variants.sort_by_key(|(_, fields)| fields.is_empty());
            let each = variants.into_iter().take(8).filter_map(|(ident, fields)| {
                let path = format!("{path}::{ident}");
                literal(make, &path, fields, (&place, &chosen), wish)
            });
            each.take(3).collect()
        }
    }
}

/// Builds `path { field: value }`.
fn literal(
    make: &dyn Make,
    path: &str,
    fields: &Fields,
    (place, chosen): (&Place<'_>, &Chosen),
    wish: &Wish<'_>,
) -> Option<Value> {
    let mut parts = Vec::new();
    for field in fields {
        let name = field.ident.as_ref().map(ToString::to_string);
        let wish = Wish { name: name.as_deref().unwrap_or(wish.name), ..wish.clone() };
        let values = make.make(&place.kind(&field.ty).with(chosen), &wish);
        parts.push(values.into_iter().next()?);
    }
    let code = |codes: &[String]| match fields {
        Fields::Unit => path.to_owned(),
        Fields::Unnamed(_) => format!("{path}({})", codes.join(", ")),
        Fields::Named(named) => {
            let idents = named.named.iter().filter_map(|field| field.ident.as_ref());
            let pairs: Vec<String> = idents.zip(codes).map(|(ident, code)| format!("{ident}: {code}")).collect();
            format!("{path} {{ {} }}", pairs.join(", "))
        }
    };
    Some(Value::of(parts, Borrows::LikeItsParts, code))
}
