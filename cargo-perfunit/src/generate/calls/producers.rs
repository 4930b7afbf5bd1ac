//! Which functions make a value of a type, and which methods fill one.

use super::functions::{Callable, relies_on_invariants};
use super::index::TypeId;
use super::kinds::Kind;
use super::names::Names;
use std::collections::BTreeMap;

/// Methods that put something into a collection, the simplest first.
const FILLING: [&str; 12] = [
    "push",
    "push_back",
    "insert",
    "push_str",
    "add",
    "append",
    "extend",
    "enqueue",
    "write_str",
    "put",
    "extend_from_slice",
    "set",
];

/// Functions by the type of the crate that they make or fill.
pub struct Producers {
    making: BTreeMap<TypeId, Vec<usize>>,
    filling: BTreeMap<TypeId, Vec<usize>>,
}

impl Producers {
    pub fn new(names: &Names<'_>, callables: &[Callable]) -> Self {
        let mut making: BTreeMap<TypeId, Vec<usize>> = BTreeMap::new();
        let mut filling: BTreeMap<TypeId, Vec<usize>> = BTreeMap::new();
        for callable in callables {
            let function = &names.index.functions[callable.id];
            if callable.is_unsafe || callable.is_async || function.is_test || relies_on_invariants(names, callable) {
                continue;
            }
            if let Some((id, _)) = made(&callable.output) {
                making.entry(id).or_default().push(callable.id);
            }
            if let Some(Kind::Reference { is_mutable: true, to, .. }) = callable.inputs.first().map(|input| &input.kind)
                && callable.has_receiver
                && callable.inputs.len() > 1
                && let Kind::Local { id, .. } = **to
                && FILLING.contains(&function.ident.as_str())
            {
                filling.entry(id).or_default().push(callable.id);
            }
        }
        for (id, found) in &mut making {
            found.sort_by_key(|producer| difficulty(names, &callables[*producer], *id));
        }
        for found in filling.values_mut() {
            found.sort_by_key(|method| FILLING.iter().position(|name| *name == names.index.functions[*method].ident));
        }
        Self { making, filling }
    }

    /// The simplest first.
    pub fn making(&self, id: TypeId) -> &[usize] {
        self.making.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn filling(&self, id: TypeId) -> &[usize] {
        self.filling.get(&id).map(Vec::as_slice).unwrap_or_default()
    }
}

/// How a value comes out of what a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    Option,
    Result,
    /// Of a tuple.
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

    pub fn taken(self, call: &str) -> String {
        match self {
            Self::Plain => call.to_owned(),
            Self::Option => format!("{call}.unwrap()"),
            // The error may not implement `Debug`.
            Self::Result => format!("{call}.ok().unwrap()"),
            Self::First => format!("{call}.0"),
        }
    }
}

/// The type of the crate that a function with this output makes.
pub fn made(output: &Kind) -> Option<(TypeId, Way)> {
    match output {
        Kind::Local { id, .. } => Some((*id, Way::Plain)),
        Kind::Std { path, arguments } => {
            let Kind::Local { id, .. } = arguments.first()? else { return None };
            match path.as_str() {
                "option::Option" => Some((*id, Way::Option)),
                "result::Result" => Some((*id, Way::Result)),
                _ => None,
            }
        }
        Kind::Tuple(parts) => match parts.first()? {
            Kind::Local { id, .. } => Some((*id, Way::First)),
            _ => None,
        },
        _ => None,
    }
}

fn difficulty(names: &Names<'_>, producer: &Callable, id: TypeId) -> (usize, usize) {
    let function = &names.index.functions[producer.id];
    let is_own = matches!(&producer.self_kind, Some(Kind::Local { id: own, .. }) if *own == id);
    let start = match (producer.has_receiver, is_own) {
        (false, true) => 0,
        (false, false) => 4,
        (true, false) => 8,
        // It needs what it makes.
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
