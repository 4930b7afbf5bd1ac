//! Functions that create values of a type, and methods that fill them.

use super::functions::Callable;
use super::index::TypeId;
use super::invariants::Invariants;
use super::kinds::Kind;
use super::names::Names;
use perfunit_model::guesses::FILLING_METHODS;
use std::collections::BTreeMap;

/// A type that a function can create.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    Local(TypeId),
    /// A type of another crate, by its path.
    Foreign(String),
}

impl Product {
    pub fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::Local { id, .. } => Some(Self::Local(*id)),
            Kind::Foreign { path, .. } => Some(Self::Foreign(path.clone())),
            _ => None,
        }
    }
}

/// Functions by the type that they create or fill.
pub struct Producers {
    making: BTreeMap<Product, Vec<usize>>,
    filling: BTreeMap<TypeId, Vec<usize>>,
}

impl Producers {
    pub fn new(names: &Names<'_>, callables: &[Callable], invariants: &Invariants) -> Self {
        let mut making: BTreeMap<Product, Vec<usize>> = BTreeMap::new();
        let mut filling: BTreeMap<TypeId, Vec<usize>> = BTreeMap::new();
        for callable in callables {
            let function = &names.index.functions[callable.id];
            if callable.is_unsafe || callable.is_async || function.is_test || invariants.may_break(callable) {
                continue;
            }
            let is_relied_on = |product: &Product| match product {
                Product::Local(id) => invariants.relies_on_makers(names.index, callable, *id),
                Product::Foreign(_) => false,
            };
            if let Some((product, _)) = made(&callable.output).filter(|(product, _)| !is_relied_on(product)) {
                making.entry(product).or_default().push(callable.id);
            }
            if let Some(Kind::Reference { is_mutable: true, to, .. }) = callable.inputs.first().map(|input| &input.kind)
                && callable.has_receiver
                && callable.inputs.len() > 1
                && let Kind::Local { id, .. } = **to
                && FILLING_METHODS.contains(&function.ident.as_str())
            {
                filling.entry(id).or_default().push(callable.id);
            }
        }
        for (product, found) in &mut making {
            found.sort_by_key(|producer| difficulty(names, &callables[*producer], product));
        }
        for found in filling.values_mut() {
            found.sort_by_key(|method| {
                FILLING_METHODS.iter().position(|name| *name == names.index.functions[*method].ident)
            });
        }
        Self { making, filling }
    }

    /// Returns the functions that create the type, simplest first.
    pub fn making(&self, product: &Product) -> &[usize] {
        self.making.get(product).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn filling(&self, id: TypeId) -> &[usize] {
        self.filling.get(&id).map(Vec::as_slice).unwrap_or_default()
    }
}

/// How a value is extracted from a function's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    Option,
    Result,
    /// First element of a tuple.
    First,
}

impl Way {
    pub fn of(self, output: &Kind) -> &Kind {
        match (self, output) {
            (Self::First, Kind::Tuple(parts)) => &parts[0],
            (Self::Option | Self::Result, Kind::Std { arguments, .. }) => &arguments[0],
            _ => output,
        }
    }

    pub fn take_from(self, call: &str) -> String {
        match self {
            Self::Plain => call.to_owned(),
            Self::Option => format!("{call}.unwrap()"),
            // The error may not implement `Debug`.
            Self::Result => format!("{call}.ok().unwrap()"),
            Self::First => format!("{call}.0"),
        }
    }
}

/// Returns the type that a function with this output creates.
pub fn made(output: &Kind) -> Option<(Product, Way)> {
    let (kind, way) = match output {
        Kind::Std { path, arguments } => match path.as_str() {
            "option::Option" => (arguments.first()?, Way::Option),
            "result::Result" => (arguments.first()?, Way::Result),
            _ => return None,
        },
        Kind::Tuple(parts) => (parts.first()?, Way::First),
        other => (other, Way::Plain),
    };
    Some((Product::of(kind)?, way))
}

fn difficulty(names: &Names<'_>, producer: &Callable, product: &Product) -> (usize, usize) {
    let function = &names.index.functions[producer.id];
    let is_own = producer.self_kind.as_ref().and_then(Product::of).as_ref() == Some(product);
    let start = match (producer.has_receiver, is_own) {
        (false, true) => 0,
        (false, false) => 4,
        (true, false) => 8,
        // It needs a value of the type that it creates.
        (true, true) => 20,
    };
    let name = function.ident.as_str();
    let preferred = ["new", "default", "from_str", "parse", "from", "from_iter"];
    let start = if preferred.contains(&name) || name.starts_with("from_") || name.starts_with("with_") {
        start
    } else {
        start + 2
    };
    let start = if name == "from_iter" || name == "parse" || name == "from_str" { start } else { start + 1 };
    (start + producer.inputs.len(), producer.id)
}
