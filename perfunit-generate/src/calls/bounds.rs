//! Types for type parameters, chosen by their bounds.

use super::functions::{Parameter, add_parameters};
use super::implements::{implements, is_same_trait};
use super::index::ImplDef;
use super::kinds::{Bound, Chosen, Kind, is_number};
use super::names::{Definition, Names};
use super::types::{Place, associated_type};
use syn::Generics;

/// Largest nesting of proposals, because the type for a bound may have bounded parameters itself.
const DEEPEST: usize = 4;
/// Numbers of implementors to examine: for the requested bound, and for the bounds below it.
const MOST: usize = 12;
const MOST_BELOW: usize = 2;

/// Returns ways to choose the open parameters, best first. Empty if a bound is not understood.
pub fn choices(names: &Names<'_>, parameters: &[Parameter], chosen: &Chosen) -> Vec<Chosen> {
    (0..3).filter_map(|rank| choice(names, parameters, chosen, (rank, DEEPEST))).fold(Vec::new(), |mut all, one| {
        if !all.contains(&one) {
            all.push(one);
        }
        all
    })
}

/// Returns the choice that takes the proposal of this rank for each parameter, or the last one if there are fewer.
fn choice(
    names: &Names<'_>,
    parameters: &[Parameter],
    chosen: &Chosen,
    (rank, depth): (usize, usize),
) -> Option<Chosen> {
    let depth = depth.checked_sub(1)?;
    let mut chosen = chosen.clone();
    // Associated types such as `T::Item` are part of the choice for `T` or follow from it.
    let (projected, plain): (Vec<_>, Vec<_>) = parameters.iter().partition(|parameter| parameter.name.contains("::"));
    for parameter in &plain {
        if chosen.contains_key(&parameter.name) {
            continue;
        }
        if let Some(kind) = &parameter.constant {
            let value = if *kind == Kind::primitive("bool") { "true" } else { "8" };
            chosen.insert(parameter.name.clone(), Kind::Constant(value.to_owned()));
            continue;
        }
        let found = proposals(names, parameter, depth);
        let kind = found.get(rank).or(found.last())?;
        chosen.insert(parameter.name.clone(), kind.clone());
    }
    for parameter in projected {
        let (of, name) = parameter.name.split_once("::")?;
        let known = chosen.get(of).and_then(|of| associated_type(names, of, name));
        let kind = match known {
            Some(kind) if !matches!(&kind, Kind::Parameter(own) if *own == parameter.name) => kind,
            _ => proposals(names, parameter, depth).first()?.clone(),
        };
        chosen.insert(parameter.name.clone(), kind);
    }
    // Choices may refer to each other.
    for _ in 0..3 {
        let before = chosen.clone();
        for kind in chosen.values_mut() {
            *kind = kind.with(&before);
        }
    }
    for kind in chosen.values_mut() {
        *kind = without_parameters(names, kind);
    }
    Some(chosen)
}

/// Replaces open associated types, which have no bound of their own.
fn without_parameters(names: &Names<'_>, kind: &Kind) -> Kind {
    let mut rest = Chosen::new();
    for (name, of) in projections(kind) {
        let known = of.and_then(|(of, name)| associated_type(names, &of, &name));
        rest.insert(name, known.unwrap_or_else(|| Kind::primitive("u64")));
    }
    kind.with(&rest)
}

type Projection = (String, Option<(Kind, String)>);

fn projections(kind: &Kind) -> Vec<Projection> {
    match kind {
        Kind::Parameter(name) => vec![(name.clone(), None)],
        Kind::Local { arguments, .. } | Kind::Std { arguments, .. } | Kind::Foreign { arguments, .. } => {
            arguments.iter().flat_map(projections).collect()
        }
        Kind::Reference { to: of, .. } | Kind::Slice(of) | Kind::Array { of, .. } => projections(of),
        Kind::Tuple(parts) => parts.iter().flat_map(projections).collect(),
        Kind::Function { inputs, output } => inputs.iter().chain([&**output]).flat_map(projections).collect(),
        _ => Vec::new(),
    }
}

fn proposals(names: &Names<'_>, parameter: &Parameter, depth: usize) -> Vec<Kind> {
    let special = parameter.bounds.iter().flat_map(|bound| special(names, bound, &parameter.name, depth));
    let special: Vec<Kind> = special.collect();
    let open: Vec<Kind> = if special.is_empty() {
        ["u64", "u8", "f64"].into_iter().map(Kind::primitive).chain([Kind::std("string::String", Vec::new())]).collect()
    } else {
        special
    };
    let fits = |kind: &Kind| parameter.bounds.iter().all(|bound| implements(names, kind, bound));
    open.into_iter().filter(fits).collect()
}

/// Returns types for `impl Trait`.
pub fn for_bounds(names: &Names<'_>, bounds: &[Bound]) -> Vec<Kind> {
    let parameter = Parameter { name: "impl".to_owned(), bounds: bounds.to_vec(), constant: None };
    let found = proposals(names, &parameter, DEEPEST);
    found.iter().map(|kind| without_parameters(names, kind)).collect()
}

/// Returns types that implement a bound which not every type implements.
fn special(names: &Names<'_>, bound: &Bound, parameter: &str, depth: usize) -> Vec<Kind> {
    match &bound.of {
        Definition::Trait(_) => return implementors(names, bound, depth),
        Definition::Foreign(path) => {
            let own = implementors(names, bound, depth);
            return if own.is_empty() { of_other_crates(path) } else { own };
        }
        _ => {}
    }
    let first = || bound.arguments.first().cloned().unwrap_or_else(|| Kind::primitive("u64"));
    let given = |name: &str| {
        let known = bound.associated.iter().find(|(known, _)| known == name);
        known.map_or_else(|| Kind::Parameter(format!("{parameter}::{name}")), |(_, kind)| kind.clone())
    };
    let plain = |path: &str| vec![Kind::std(path, Vec::new())];
    match bound.name() {
        "Iterator" | "ExactSizeIterator" | "DoubleEndedIterator" | "FusedIterator" => {
            vec![Kind::std("vec::IntoIter", vec![given("Item")])]
        }
        "IntoIterator" => vec![Kind::std("vec::Vec", vec![given("Item")])],
        "AsRef" | "Borrow" | "AsMut" | "BorrowMut" => vec![owned_kind(&first())],
        "Into" | "TryInto" => vec![first()],
        "From" if is_byte_like(&first()) => vec![first()],
        "Deref" | "DerefMut" => vec![Kind::std("boxed::Box", vec![given("Target")])],
        "Read" | "BufRead" | "Seek" => {
            vec![Kind::std("io::Cursor", vec![Kind::std("vec::Vec", vec![Kind::primitive("u8")])])]
        }
        "io::Write" => vec![Kind::std("vec::Vec", vec![Kind::primitive("u8")])],
        "fmt::Write" => plain("string::String"),
        "Fn" | "FnMut" | "FnOnce" => {
            vec![Kind::Function { inputs: bound.arguments.clone(), output: Box::new(given("Output")) }]
        }
        "Future" | "IntoFuture" => vec![Kind::std("future::Ready", vec![given("Output")])],
        "Hasher" => plain("collections::hash_map::DefaultHasher"),
        "BuildHasher" => {
            let hasher = Kind::std("collections::hash_map::DefaultHasher", Vec::new());
            vec![Kind::std("hash::BuildHasherDefault", vec![hasher])]
        }
        "Extend" | "FromIterator" => vec![Kind::std("vec::Vec", vec![first()])],
        "Error" => plain("fmt::Error"),
        "RangeBounds" => vec![Kind::std("ops::Range", vec![first()])],
        "Pattern" => vec![Kind::primitive("char")],
        "Neg" => signed_integers(),
        "TryFrom" => match bound.arguments.first() {
            Some(Kind::Reference { to, .. }) if matches!(**to, Kind::Slice(_)) => {
                let Kind::Slice(of) = &**to else { return Vec::new() };
                vec![Kind::Array { of: of.clone(), length: Box::new(Kind::Constant("8".to_owned())) }]
            }
            _ => Vec::new(),
        },
        "ToSocketAddrs" => plain("net::SocketAddr"),
        "Display" | "ToString" => vec![Kind::std("string::String", Vec::new()), Kind::primitive("u64")],
        _ => Vec::new(),
    }
}

/// Guesses types that implement a trait of another crate, by its name.
fn of_other_crates(path: &str) -> Vec<Kind> {
    let bytes = || Kind::std("vec::Vec", vec![Kind::primitive("u8")]);
    match path.rsplit("::").next().unwrap_or(path) {
        "Float" | "FloatCore" | "FloatConst" | "Real" => vec![Kind::primitive("f64"), Kind::primitive("f32")],
        "Signed" => signed_integers(),
        "AsyncRead" | "AsyncBufRead" | "AsyncSeek" => vec![Kind::std("io::Cursor", vec![bytes()])],
        "AsyncWrite" => vec![bytes()],
        _ => Vec::new(),
    }
}

fn signed_integers() -> Vec<Kind> {
    vec![Kind::primitive("i64"), Kind::primitive("i32")]
}

fn is_byte_like(kind: &Kind) -> bool {
    !matches!(kind, Kind::Primitive(name) if is_number(name))
}

/// Returns the owned type for a borrowed one.
fn owned_kind(kind: &Kind) -> Kind {
    match kind {
        Kind::Primitive(name) if name == "str" => Kind::std("string::String", Vec::new()),
        Kind::Slice(of) => Kind::std("vec::Vec", vec![(**of).clone()]),
        Kind::Std { path, .. } if path == "path::Path" => Kind::std("path::PathBuf", Vec::new()),
        Kind::Std { path, .. } if path == "ffi::OsStr" => Kind::std("ffi::OsString", Vec::new()),
        other => other.clone(),
    }
}

fn number_of_bounds(generics: &Generics) -> usize {
    let own: usize = generics.type_params().map(|parameter| parameter.bounds.len()).sum();
    own + generics.where_clause.as_ref().map_or(0, |clause| clause.predicates.len())
}

/// Returns types for which the crate has an impl block of the trait.
fn implementors(names: &Names<'_>, wanted: &Bound, depth: usize) -> Vec<Kind> {
    let mut found = Vec::new();
    let most = if depth + 1 < DEEPEST { MOST_BELOW } else { MOST };
    // Types without bounds come first: there are as many adapters of adapters as ways to combine them.
    let mut blocks: Vec<&ImplDef> = names.index.impls.iter().collect();
    blocks.sort_by_key(|block| number_of_bounds(&block.generics));
    for block in blocks {
        if found.len() >= most {
            break;
        }
        let Some(path) = &block.implements else { continue };
        let place = Place::new(names, block.module, &block.generics);
        let bound = place.bound(path);
        if !is_same_trait(&bound.of, &wanted.of) {
            continue;
        }
        let mut chosen = Chosen::new();
        if !bound.arguments.iter().zip(&wanted.arguments).all(|(own, wanted)| own.unify(wanted, &mut chosen)) {
            continue;
        }
        let mut parameters = Vec::new();
        add_parameters(&place, &block.generics, &mut parameters);
        let Some(chosen) = choice(names, &parameters, &chosen, (0, depth)) else { continue };
        let kind = place.kind(&block.self_type).with(&chosen);
        let is_sized = !matches!(&kind, Kind::Slice(_) | Kind::Dynamic(_) | Kind::Pointer | Kind::Unknown(_))
            && kind != Kind::primitive("str");
        if is_sized && !found.contains(&kind) {
            found.push(kind);
        }
    }
    if let Definition::Trait(id) = &wanted.of
        && names.index.traits[*id].has_all_defaults
    {
        found.push(Kind::Implementor(*id));
    }
    found.sort_by_key(|kind| match kind {
        // Types in test code cannot be named elsewhere.
        Kind::Local { id, .. } if names.path(&Definition::Type(*id), None).is_none() => 6,
        Kind::Implementor(_) => 5,
        // They implement the traits of the types that they point to.
        Kind::Std { path, .. } if ["sync::Arc", "rc::Rc", "boxed::Box"].contains(&path.as_str()) => 4,
        Kind::Std { .. } => 0,
        Kind::Primitive(_) => 1,
        Kind::Local { arguments, .. } if arguments.is_empty() => 2,
        Kind::Local { .. } => 3,
        _ => 4,
    });
    found.truncate(6);
    found
}
