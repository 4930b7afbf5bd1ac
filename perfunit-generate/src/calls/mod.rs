//! Calls of functions with generated arguments. Pure: sources in, source out.
//!
//! Input: the sources of a crate and the wanted functions. Output: a few calls of each function, most promising first,
//! or the reason why there are none. Trials have to show whether a call compiles, executes the function and repeats
//! itself.
//!
//! A call is meant for a module inside the function's own module, with `use super::*` and `extern crate std`.

mod bounds;
mod callee;
mod callers;
mod candidates;
mod constructor_calls;
mod functions;
mod implements;
mod index;
mod invariants;
mod kinds;
mod literals;
mod maker;
mod names;
mod producers;
mod shapes;
mod std_values;
mod syntax;
mod types;
mod value;

use callers::callers;
use candidates::candidates;
use functions::callables;
use index::Index;
use literals::Literals;
use maker::Maker;
use names::Names;
use perfunit_model::{Function, GeneratedCall, NotGenerated};
use perfunit_select::source::{Configuration, modules};
use std::collections::{BTreeMap, BTreeSet};

/// Calls kept per function.
const MOST: usize = 5;

/// Sources of a crate.
pub struct CrateSources<'a> {
    /// The Rust files of the package, including tests and examples, by path from the repository's root.
    pub files: &'a BTreeMap<String, String>,
    /// Root file of the crate.
    pub root: &'a str,
    /// Name of the crate in other crates.
    pub name: &'a str,
    /// Enabled features; `None` if unknown.
    pub features: Option<&'a BTreeSet<String>>,
}

/// Returns calls of the wanted functions, and the functions without a call.
pub fn calls(sources: &CrateSources<'_>, wanted: &[Function]) -> (Vec<GeneratedCall>, Vec<(Function, NotGenerated)>) {
    let parsed: BTreeMap<&String, syn::File> =
        sources.files.iter().filter_map(|(path, text)| Some((path, syn::parse_file(text).ok()?))).collect();
    let literals = Literals::new(parsed.iter().map(|(path, file)| (path.as_str(), file)));
    let tree = modules(sources.root, &|path| sources.files.get(path).map(|text| text.clone().into_bytes()));
    let index = Index::new(sources.root, &tree, &parsed, &Configuration::of_unit_tests(sources.features));
    let names = Names::new(&index, sources.name);
    let callables = callables(&names);
    let maker = Maker::new(&names, &callables, &literals);
    let mut found = (Vec::new(), Vec::new());
    for function in wanted {
        match of_function(&maker, function) {
            Ok(calls) => found.0.extend(calls),
            Err(reason) => found.1.push((function.clone(), reason)),
        }
    }
    found
}

fn of_function(maker: &Maker<'_>, wanted: &Function) -> Result<Vec<GeneratedCall>, NotGenerated> {
    let mut known = maker.callables.iter();
    let callable = known.find(|callable| {
        let function = &maker.names.index.functions[callable.id];
        function.file == wanted.file && function.line == wanted.line
    });
    let callable = callable.ok_or(NotGenerated::NotInSource)?;
    if callable.is_unsafe {
        return Err(NotGenerated::Unsafe);
    }
    let is_fragile = maker.invariants.may_break(callable);
    let mut calls = Vec::new();
    let direct = if is_fragile { Err(NotGenerated::ReliesOnInvariants) } else { candidates(maker, callable, wanted) };
    let reason = match direct {
        Ok(direct) => {
            calls = direct;
            None
        }
        Err(reason) => Some(reason),
    };
    if calls.is_empty() {
        for caller in callers(maker, callable) {
            calls.extend(candidates(maker, caller, wanted).into_iter().flatten().take(2));
        }
    }
    calls.truncate(MOST);
    match reason {
        Some(reason) if calls.is_empty() => Err(reason),
        _ => Ok(calls),
    }
}

#[cfg(test)]
mod tests;
