//! The name of a function in a call.

use super::functions::Callable;
use super::index::ModuleId;
use super::kinds::{Chosen, Kind};
use super::names::{Definition, Names};

/// Returns the source that names the function in a module, with the types chosen for its parameters; `None` if the
/// function cannot be named there.
pub fn callee(names: &Names<'_>, callable: &Callable, chosen: &Chosen, from: ModuleId) -> Option<String> {
    let function = &names.index.functions[callable.id];
    let turbofish = turbofish(names, callable, chosen, from);
    let Some(self_kind) = &callable.self_kind else {
        let path = names.path(&Definition::Function(callable.id), Some(from))?;
        // A variable of the call may have the function's name.
        let outer = if path.contains("::") { "" } else { "super::" };
        return Some(format!("{outer}{path}{turbofish}"));
    };
    let self_kind = self_kind.with(chosen);
    let printed = self_kind.print(names, from);
    let ident = &function.ident;
    if let Some(bound) = &callable.of_trait {
        let bound = bound.with(chosen).print(names, from)?;
        if printed == "_" && !callable.has_receiver {
            return None;
        }
        return Some(format!("<{printed} as {bound}>::{ident}{turbofish}"));
    }
    if !names.index.sees(Some(from), function.visible) || printed == "_" {
        return None;
    }
    let is_plain = matches!(&self_kind, Kind::Local { arguments, .. } if arguments.is_empty());
    let printed = if is_plain { printed } else { format!("<{printed}>") };
    Some(format!("{printed}::{ident}{turbofish}"))
}

/// Returns explicit types for parameters that no argument determines.
fn turbofish(names: &Names<'_>, callable: &Callable, chosen: &Chosen, from: ModuleId) -> String {
    let decided = |name: &String| callable.inputs.iter().any(|input| names_parameter(&input.kind, name));
    if callable.own.iter().all(decided) {
        return String::new();
    }
    let kinds =
        callable.own.iter().map(|name| chosen.get(name).map_or_else(|| "_".to_owned(), |kind| kind.print(names, from)));
    format!("::<{}>", kinds.collect::<Vec<_>>().join(", "))
}

fn names_parameter(kind: &Kind, name: &str) -> bool {
    match kind {
        Kind::Parameter(own) => own == name,
        Kind::Local { arguments, .. } | Kind::Std { arguments, .. } | Kind::Foreign { arguments, .. } => {
            arguments.iter().any(|argument| names_parameter(argument, name))
        }
        Kind::Reference { to, .. } => names_parameter(to, name),
        Kind::Slice(of) => names_parameter(of, name),
        Kind::Array { of, length } => names_parameter(of, name) || names_parameter(length, name),
        Kind::Tuple(parts) => parts.iter().any(|part| names_parameter(part, name)),
        Kind::Function { inputs, output } => {
            inputs.iter().any(|input| names_parameter(input, name)) || names_parameter(output, name)
        }
        _ => false,
    }
}
