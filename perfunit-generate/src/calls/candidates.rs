//! Candidate calls of one function.

use super::bounds::choices;
use super::callee::callee;
use super::functions::Callable;
use super::implements::implements;
use super::index::{Index, Owner};
use super::kinds::{Bound, Chosen, Kind};
use super::maker::{DEEPEST, Maker};
use super::names::{Definition, Names};
use super::value::{Let, Make, Size, Value, Wish, name_variables};
use perfunit_model::{Function, GeneratedCall, NotGenerated};

/// Limit on the items that are taken of an iterator, which may be endless.
const MOST_ITEMS: usize = 4096;

/// Traits with a `fmt` method, and the format strings that call it.
const FORMATS: [(&str, &str); 9] = [
    ("fmt::Display", "{}"),
    ("fmt::Debug", "{:?}"),
    ("fmt::LowerHex", "{:x}"),
    ("fmt::UpperHex", "{:X}"),
    ("fmt::Octal", "{:o}"),
    ("fmt::Binary", "{:b}"),
    ("fmt::LowerExp", "{:e}"),
    ("fmt::UpperExp", "{:E}"),
    ("fmt::Pointer", "{:p}"),
];

/// Returns calls of `callable` with different arguments; `wanted` is the function that they should execute.
pub fn candidates(
    maker: &Maker<'_>,
    callable: &Callable,
    wanted: &Function,
) -> Result<Vec<GeneratedCall>, NotGenerated> {
    let names = maker.names;
    let module = names.index.functions[callable.id].module;
    let mut found: Vec<GeneratedCall> = Vec::new();
    let mut missing = NotGenerated::NoValue { of: bounds_of(names.index, callable) };
    for chosen in choices(names, &callable.parameters, &Chosen::new()) {
        maker.begin(module);
        match with_types(maker, callable, &chosen) {
            Ok(calls) => {
                let new = calls.into_iter().map(|call| build_call(call, maker, callable, wanted));
                for call in new.collect::<Vec<_>>() {
                    if !found.contains(&call) {
                        found.push(call);
                    }
                }
            }
            Err(kind) if found.is_empty() => missing = NotGenerated::NoValue { of: kind.describe(names.index) },
            Err(_) => {}
        }
    }
    found.sort_by_key(|call| !call.is_sized);
    if found.is_empty() { Err(missing) } else { Ok(found) }
}

/// Describes the bounds for which no types were found.
fn bounds_of(index: &Index, callable: &Callable) -> String {
    let bounds = callable.parameters.iter().filter(|parameter| !parameter.bounds.is_empty());
    let described = bounds.map(|parameter| {
        let kind = Kind::Opaque(parameter.bounds.clone());
        format!("{}: {}", parameter.name, kind.describe(index).trim_start_matches("impl "))
    });
    described.collect::<Vec<_>>().join(", ")
}

/// Returns expressions that call the function, before they are printed.
fn with_types(maker: &Maker<'_>, callable: &Callable, chosen: &Chosen) -> Result<Vec<Value>, Kind> {
    let names = maker.names;
    let module = names.index.functions[callable.id].module;
    let wish =
        Wish { depth: DEEPEST, size: Size::N, is_element: false, owner: "", function: "", position: 0, name: "value" };
    if let Some(kind) = format_string(names.index, callable) {
        let lent = Kind::shared_reference(kind.1.with(chosen));
        let values = maker.make(&lent, &wish);
        if values.is_empty() {
            return Err(lent);
        }
        let call = |value: Value| {
            Value::open(vec![value], false, |codes| format!("std::format!(\"{}\", {})", kind.0, codes[0]))
        };
        return Ok(values.into_iter().map(call).collect());
    }
    let takes_formatter = callable.inputs.iter().any(|input| is_formatter(&input.kind));
    let arguments: Vec<Vec<Value>> = maker.arguments(callable, chosen, &wish)?;
    let Some(callee) = callee(names, callable, chosen, module) else {
        return Err(callable.self_kind.clone().unwrap_or(Kind::Unknown("its path".to_owned())));
    };
    let output = callable.output.with(chosen);
    let count = arguments.iter().map(Vec::len).max().unwrap_or(1).min(4);
    let calls = (0..count).map(|at| {
        let parts = arguments.iter().zip(&callable.inputs).map(|(values, input)| {
            let value = values[at.min(values.len() - 1)].clone();
            // Arguments that do not borrow are created before the call.
            if value.borrows { value } else { value.held(maker.fresh().name(&input.name), false) }
        });
        let borrows = output.may_borrow(names.index);
        Value::open(parts.collect(), borrows, |codes| {
            let call = format!("{callee}({})", codes.join(", "));
            if takes_formatter {
                return through_formatter(&call);
            }
            match special(callable) {
                Some(Special::Drop) => format!("std::mem::drop({})", codes[0].trim_start_matches("&mut ")),
                Some(Special::Next) => repeat(&call),
                None if callable.is_async => poll(&call),
                None if is_iterator(names, &output) => drain(&call),
                None => call,
            }
        })
    });
    Ok(calls.collect())
}

/// Returns code that consumes all items of an iterator.
fn drain(call: &str) -> String {
    let items = format!("std::iter::Iterator::take({call}, {MOST_ITEMS})");
    format!("std::iter::Iterator::count(std::iter::Iterator::map({items}, std::hint::black_box))")
}

/// Returns code that repeats the call until it returns `None`.
fn repeat(call: &str) -> String {
    format!(
        "{{ let mut count = 0usize; while count < {MOST_ITEMS} && std::hint::black_box({call}).is_some() \
         {{ count += 1; }} count }}"
    )
}

/// Returns the format string and the type for a function that formatting calls.
fn format_string<'c>(index: &Index, callable: &'c Callable) -> Option<(&'static str, &'c Kind)> {
    let Definition::Std(path) = &callable.of_trait.as_ref()?.of else { return None };
    let (_, pattern) = FORMATS.iter().find(|(known, _)| known == path)?;
    let is_impl = matches!(index.functions[callable.id].owner, Owner::Impl(_));
    is_impl.then_some((*pattern, callable.self_kind.as_ref()?))
}

fn is_formatter(kind: &Kind) -> bool {
    matches!(kind, Kind::Reference { to, .. } if matches!(&**to, Kind::Std { path, .. } if path == "fmt::Formatter"))
}

enum Special {
    Drop,
    Next,
}

fn special(callable: &Callable) -> Option<Special> {
    let Definition::Std(path) = &callable.of_trait.as_ref()?.of else { return None };
    match path.as_str() {
        "ops::Drop" => Some(Special::Drop),
        "iter::Iterator" | "iter::DoubleEndedIterator" if is_option(&callable.output) => {
            // `last` consumes the iterator.
            let is_next = matches!(&callable.inputs[..], [one] if matches!(one.kind, Kind::Reference { .. }));
            is_next.then_some(Special::Next)
        }
        _ => None,
    }
}

fn is_option(kind: &Kind) -> bool {
    matches!(kind, Kind::Std { path, .. } if path == "option::Option")
}

/// Returns whether the result is a lazy iterator.
fn is_iterator(names: &Names<'_>, kind: &Kind) -> bool {
    match kind {
        Kind::Opaque(bounds) => bounds.iter().any(|bound| bound.name().ends_with("Iterator")),
        Kind::Local { .. } => {
            let of = Definition::Std("iter::Iterator".to_owned());
            implements(names, kind, &Bound { of, arguments: Vec::new(), associated: Vec::new() })
        }
        _ => false,
    }
}

/// Returns code that gets a formatter, which the standard library only lends, and makes the call.
fn through_formatter(call: &str) -> String {
    format!(
        "{{ struct Shown<F>(std::cell::Cell<std::option::Option<F>>); \
         impl<F: FnOnce(&mut std::fmt::Formatter<'_>)> std::fmt::Display for Shown<F> {{ \
         fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{ \
         if let std::option::Option::Some(call) = self.0.take() {{ call(formatter); }} std::result::Result::Ok(()) }} }} \
         let shown = Shown(std::cell::Cell::new(std::option::Option::Some(|formatter: &mut std::fmt::Formatter<'_>| {{ \
         std::hint::black_box({call}); }}))); \
         std::format!(\"{{}}\", shown) }}"
    )
}

/// Returns code that polls a future until it is ready; nothing wakes it.
fn poll(call: &str) -> String {
    format!(
        "{{ struct Idle; impl std::task::Wake for Idle {{ fn wake(self: std::sync::Arc<Self>) {{}} }} \
         let waker = std::task::Waker::from(std::sync::Arc::new(Idle)); \
         let mut context = std::task::Context::from_waker(&waker); \
         let mut future = std::boxed::Box::pin({call}); \
         loop {{ if let std::task::Poll::Ready(made) = std::future::Future::poll(future.as_mut(), &mut context) {{ \
         break made; }} }} }}"
    )
}

/// Returns whether the code only borrows the variable.
fn is_lent(code: &str, variable: &str) -> bool {
    code.match_indices(variable).all(|(at, _)| {
        let (before, behind) = (&code[..at], &code[at + variable.len()..]);
        before.ends_with('&') || before.ends_with("&mut ") || behind.starts_with(".as_")
    })
}

/// Returns whether the code contains the size `n` of the arguments.
pub fn names_size(code: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices('n').any(|(at, _)| {
        let (before, behind) = (&code[..at], &code[at + 1..]);
        // `n` may also be part of a field access, a path, or a line break in a string.
        let is_other = before.ends_with(|c: char| is_part(c) || c == ':' || c == '\\')
            || before.ends_with('.') && !before.ends_with("..");
        !is_other && !behind.starts_with(|c: char| is_part(c) || c == ':')
    })
}

fn tuple(values: &[Let]) -> String {
    match values {
        [one] => format!("({},)", one.code),
        all => format!("({})", all.iter().map(|value| value.code.clone()).collect::<Vec<_>>().join(", ")),
    }
}

/// Builds the call and its setup.
fn build_call(made: Value, maker: &Maker<'_>, callable: &Callable, wanted: &Function) -> GeneratedCall {
    let (inside, before): (Vec<Let>, Vec<Let>) = made.lets.into_iter().partition(|value| value.borrows);
    let inside: String = inside.iter().map(Let::print).collect();
    let text = format!("{inside}{}", made.code);
    let (lent, mut given): (Vec<Let>, Vec<Let>) =
        before.into_iter().partition(|value| !value.is_filled && is_lent(&text, &value.name));
    let mut variables = String::new();
    for (at, value) in given.iter().enumerate().filter(|(_, value)| value.is_filled) {
        variables.push_str(&Let { code: format!("input.{at}"), is_mutable: true, ..value.clone() }.print());
    }
    if names_size(&text) {
        variables += &Let { name: "n".to_owned(), code: format!("input.{}", given.len()), ..Let::default() }.print();
        given.push(Let { code: "n".to_owned(), ..Let::default() });
    }
    variables.push_str(&inside);
    let mut call = match made.code {
        code if variables.is_empty() => code,
        code if made.borrows => format!("{{ {variables}std::hint::black_box({code}); }}"),
        code => format!("{{ {variables}let made = {code}; made }}"),
    };
    for (variable, values) in [("input", &given), ("lent", &lent)] {
        for (at, value) in values.iter().enumerate().filter(|(_, value)| !value.is_filled && !value.name.is_empty()) {
            call = call.replace(&value.name, &format!("{variable}.{at}"));
        }
    }
    let index = maker.names.index;
    let function = &index.functions[callable.id];
    GeneratedCall {
        function: wanted.clone(),
        module: index.modules[function.module].place.clone(),
        setup: name_variables(&format!("{{ ({}, {}) }}", tuple(&given), tuple(&lent))),
        call: name_variables(&call),
        is_sized: made.is_sized,
        by_caller: function.file != wanted.file || function.line != wanted.line,
    }
}
