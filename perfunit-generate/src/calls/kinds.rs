//! Types with resolved names.

use super::index::{Index, ModuleId, TraitId};
use super::names::{Definition, Names};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Local {
        id: usize,
        arguments: Vec<Kind>,
    },
    /// A type of the standard library, by its path below `std`.
    Std {
        path: String,
        arguments: Vec<Kind>,
    },
    /// A type of another crate, by its path; a single segment if the origin of the name is unknown.
    Foreign {
        path: String,
        arguments: Vec<Kind>,
    },
    /// Numbers, `bool`, `char`, `str`.
    Primitive(String),
    /// A type parameter, `T`, or an associated type of one, `T::Item`.
    Parameter(String),
    Reference {
        is_mutable: bool,
        is_static: bool,
        to: Box<Kind>,
    },
    Pointer,
    Slice(Box<Kind>),
    Array {
        of: Box<Kind>,
        length: Box<Kind>,
    },
    Tuple(Vec<Kind>),
    Function {
        inputs: Vec<Kind>,
        output: Box<Kind>,
    },
    Dynamic(Vec<Bound>),
    Opaque(Vec<Bound>),
    /// A local type that implements a trait whose items all have defaults.
    Implementor(TraitId),
    /// The value of a constant parameter.
    Constant(String),
    Infer,
    Never,
    Unknown(String),
}

/// A trait that a type must implement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub of: Definition,
    pub arguments: Vec<Kind>,
    /// Specified associated types, e.g. `Item = u8`.
    pub associated: Vec<(String, Kind)>,
}

impl Bound {
    /// Returns the last segment of the trait's name, with its module if two traits have the same name.
    pub fn name(&self) -> &str {
        match &self.of {
            Definition::Std(path) if path == "fmt::Write" || path == "io::Write" => path,
            Definition::Std(path) => path.rsplit("::").next().unwrap_or(path),
            _ => "",
        }
    }
}

pub type Chosen = BTreeMap<String, Kind>;

impl Kind {
    pub fn primitive(name: &str) -> Self {
        Self::Primitive(name.to_owned())
    }

    pub fn std(path: &str, arguments: Vec<Self>) -> Self {
        Self::Std { path: path.to_owned(), arguments }
    }

    pub fn unit() -> Self {
        Self::Tuple(Vec::new())
    }

    pub fn shared_reference(to: Self) -> Self {
        Self::Reference { is_mutable: false, is_static: false, to: Box::new(to) }
    }

    /// Replaces type parameters by the chosen types.
    pub fn with(&self, chosen: &Chosen) -> Self {
        let all = |kinds: &[Self]| kinds.iter().map(|kind| kind.with(chosen)).collect::<Vec<_>>();
        let one = |kind: &Self| Box::new(kind.with(chosen));
        match self {
            Self::Parameter(name) => chosen.get(name).cloned().unwrap_or_else(|| self.clone()),
            Self::Local { id, arguments } => Self::Local { id: *id, arguments: all(arguments) },
            Self::Std { path, arguments } => Self::Std { path: path.clone(), arguments: all(arguments) },
            Self::Foreign { path, arguments } => Self::Foreign { path: path.clone(), arguments: all(arguments) },
            Self::Reference { is_mutable, is_static, to } => {
                Self::Reference { is_mutable: *is_mutable, is_static: *is_static, to: one(to) }
            }
            Self::Slice(of) => Self::Slice(one(of)),
            Self::Array { of, length } => Self::Array { of: one(of), length: one(length) },
            Self::Tuple(parts) => Self::Tuple(all(parts)),
            Self::Function { inputs, output } => Self::Function { inputs: all(inputs), output: one(output) },
            Self::Dynamic(bounds) => Self::Dynamic(bounds.iter().map(|bound| bound.with(chosen)).collect()),
            Self::Opaque(bounds) => Self::Opaque(bounds.iter().map(|bound| bound.with(chosen)).collect()),
            _ => self.clone(),
        }
    }

    /// Binds the parameters of `self` so that it equals `other`. Returns false if this is impossible.
    pub fn unify(&self, other: &Self, chosen: &mut Chosen) -> bool {
        let all = |these: &[Self], others: &[Self], chosen: &mut Chosen| {
            // Parameters with a default may be left out.
            these.iter().zip(others).all(|(this, other)| this.unify(other, chosen))
        };
        match (self, other) {
            (Self::Parameter(name), other) => {
                if let Some(known) = chosen.get(name) {
                    return *other == Self::Infer || known == other;
                }
                if !matches!(other, Self::Infer | Self::Parameter(_)) {
                    chosen.insert(name.clone(), other.clone());
                }
                true
            }
            (_, Self::Infer | Self::Parameter(_)) => true,
            (Self::Local { id, arguments }, Self::Local { id: other, arguments: others }) => {
                id == other && all(arguments, others, chosen)
            }
            (Self::Std { path, arguments }, Self::Std { path: other, arguments: others })
            | (Self::Foreign { path, arguments }, Self::Foreign { path: other, arguments: others }) => {
                path == other && all(arguments, others, chosen)
            }
            (Self::Reference { is_mutable, to, .. }, Self::Reference { is_mutable: other, to: others, .. }) => {
                is_mutable == other && to.unify(others, chosen)
            }
            (Self::Slice(of), Self::Slice(other)) => of.unify(other, chosen),
            (Self::Array { of, length }, Self::Array { of: other, length: others }) => {
                of.unify(other, chosen) && length.unify(others, chosen)
            }
            (Self::Tuple(parts), Self::Tuple(others)) => parts.len() == others.len() && all(parts, others, chosen),
            _ => self == other,
        }
    }

    /// Returns whether values of the type can hold a borrow.
    pub fn may_borrow(&self, index: &Index) -> bool {
        match self {
            Self::Local { id, arguments } => {
                index.types[*id].generics.lifetimes().next().is_some()
                    || arguments.iter().any(|argument| argument.may_borrow(index))
            }
            Self::Std { path, arguments } => {
                ["borrow::Cow", "str::Chars", "slice::Iter", "fmt::Arguments"].contains(&path.as_str())
                    || arguments.iter().any(|argument| argument.may_borrow(index))
            }
            Self::Reference { is_static, .. } => !is_static,
            Self::Slice(of) | Self::Array { of, .. } => of.may_borrow(index),
            Self::Tuple(parts) => parts.iter().any(|part| part.may_borrow(index)),
            Self::Primitive(_) | Self::Constant(_) | Self::Never | Self::Function { .. } | Self::Implementor(_) => {
                false
            }
            _ => true,
        }
    }

    /// Prints the type as source in a module; a type that cannot be named there is `_`.
    pub fn print(&self, names: &Names<'_>, from: ModuleId) -> String {
        let list = |kinds: &[Self]| kinds.iter().map(|kind| kind.print(names, from)).collect::<Vec<_>>().join(", ");
        let generic = |path: String, arguments: &[Self]| match arguments {
            [] => path,
            arguments => format!("{path}<{}>", list(arguments)),
        };
        match self {
            Self::Local { id, arguments } => names
                .path(&Definition::Type(*id), Some(from))
                .map_or_else(|| "_".to_owned(), |path| generic(path, arguments)),
            Self::Std { path, arguments } => generic(format!("std::{path}"), arguments),
            Self::Foreign { path, arguments } if path.contains("::") => generic(format!("::{path}"), arguments),
            Self::Primitive(name) | Self::Constant(name) => name.clone(),
            Self::Reference { is_mutable, is_static, to } => {
                let lifetime = if *is_static { "'static " } else { "" };
                format!("&{lifetime}{}{}", if *is_mutable { "mut " } else { "" }, to.print(names, from))
            }
            Self::Slice(of) => format!("[{}]", of.print(names, from)),
            Self::Array { of, length } => format!("[{}; {}]", of.print(names, from), length.print(names, from)),
            Self::Tuple(parts) if parts.len() == 1 => format!("({},)", list(parts)),
            Self::Tuple(parts) => format!("({})", list(parts)),
            Self::Function { inputs, output } => format!("fn({}) -> {}", list(inputs), output.print(names, from)),
            _ => "_".to_owned(),
        }
    }

    /// Describes the type for messages.
    pub fn describe(&self, index: &Index) -> String {
        let list = |kinds: &[Self]| kinds.iter().map(|kind| kind.describe(index)).collect::<Vec<_>>().join(", ");
        let generic = |name: &str, arguments: &[Self]| match arguments {
            [] => name.to_owned(),
            arguments => format!("{name}<{}>", list(arguments)),
        };
        let bounds = |bounds: &[Bound]| {
            let names = bounds.iter().map(|bound| match &bound.of {
                Definition::Trait(id) => index.traits[*id].ident.clone(),
                Definition::Std(path) | Definition::Foreign(path) => path.clone(),
                _ => "_".to_owned(),
            });
            names.collect::<Vec<_>>().join(" + ")
        };
        match self {
            Self::Local { id, arguments } => generic(&index.types[*id].ident, arguments),
            Self::Std { path, arguments } | Self::Foreign { path, arguments } => {
                generic(path.rsplit("::").next().unwrap_or(path), arguments)
            }
            Self::Primitive(name) | Self::Parameter(name) | Self::Constant(name) | Self::Unknown(name) => name.clone(),
            Self::Reference { is_mutable, to, .. } => {
                format!("&{}{}", if *is_mutable { "mut " } else { "" }, to.describe(index))
            }
            Self::Pointer => "a raw pointer".to_owned(),
            Self::Slice(of) => format!("[{}]", of.describe(index)),
            Self::Array { of, length } => format!("[{}; {}]", of.describe(index), length.describe(index)),
            Self::Tuple(parts) => format!("({})", list(parts)),
            Self::Function { inputs, output } => format!("fn({}) -> {}", list(inputs), output.describe(index)),
            Self::Dynamic(of) => format!("dyn {}", bounds(of)),
            Self::Opaque(of) => format!("impl {}", bounds(of)),
            Self::Implementor(id) => format!("impl {}", index.traits[*id].ident),
            Self::Infer => "_".to_owned(),
            Self::Never => "!".to_owned(),
        }
    }
}

impl Bound {
    pub fn with(&self, chosen: &Chosen) -> Self {
        Self {
            of: self.of.clone(),
            arguments: self.arguments.iter().map(|kind| kind.with(chosen)).collect(),
            associated: self.associated.iter().map(|(name, kind)| (name.clone(), kind.with(chosen))).collect(),
        }
    }

    /// Prints the trait with its arguments as source in a module.
    pub fn print(&self, names: &Names<'_>, from: ModuleId) -> Option<String> {
        let mut text = names.path(&self.of, Some(from))?;
        if !self.arguments.is_empty() {
            let arguments: Vec<String> = self.arguments.iter().map(|kind| kind.print(names, from)).collect();
            write!(text, "<{}>", arguments.join(", ")).ok()?;
        }
        Some(text)
    }
}

pub fn is_primitive(name: &str) -> bool {
    is_number(name) || ["bool", "char", "str"].contains(&name)
}

pub fn is_number(name: &str) -> bool {
    is_integer(name) || name == "f32" || name == "f64"
}

pub fn is_integer(name: &str) -> bool {
    name.strip_prefix(['u', 'i']).is_some_and(|size| ["8", "16", "32", "64", "128", "size"].contains(&size))
}
