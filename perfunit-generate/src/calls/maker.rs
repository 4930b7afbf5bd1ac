//! Builds values of any type: primitive, of the standard library, and of the crate.

use super::bounds::{choices, for_bounds};
use super::callee::callee;
use super::functions::Callable;
use super::index::{AliasDef, ModuleId, TypeId};
use super::invariants::Invariants;
use super::kinds::{Chosen, Kind};
use super::literals::{Literal, Literals};
use super::names::{Definition, Names};
use super::producers::{Producers, Product, Way, made};
use super::shapes::{Reach, build_shapes};
use super::std_values;
use super::types::Place;
use super::value::{Borrows, Fresh, Make, Size, Value, Wish};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Largest nesting of producers, because producers may need values of others.
pub const DEEPEST: usize = 4;
/// Number of values built for one function before the search ends.
const FUEL: usize = 4000;
/// Number of strings from which the longest are chosen, and their greatest length.
const SOME_TEXTS: usize = 40;
const LONGEST_TEXT: usize = 120;
/// Traits that a generated implementor derives.
const IMPLEMENTOR_DERIVES: &str = "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]";
/// Number of producers of one type that are tried.
const MOST_PRODUCERS: usize = 14;

pub struct Maker<'a> {
    pub names: &'a Names<'a>,
    pub callables: &'a [Callable],
    pub invariants: Invariants,
    literals: &'a Literals,
    producers: Producers,
    /// Names of the crate's functions.
    functions: BTreeSet<&'a str>,
    /// Module for which the values are built.
    pub from: Cell<ModuleId>,
    fresh: Fresh,
    fuel: Cell<usize>,
    /// Types under construction.
    open: RefCell<Vec<Kind>>,
}

impl<'a> Maker<'a> {
    pub fn new(names: &'a Names<'a>, callables: &'a [Callable], literals: &'a Literals) -> Self {
        let invariants = Invariants::of(names, callables);
        let producers = Producers::new(names, callables, &invariants);
        Self {
            names,
            callables,
            invariants,
            literals,
            producers,
            functions: names.index.functions.iter().map(|function| function.ident.as_str()).collect(),
            from: Cell::new(0),
            fresh: Fresh::default(),
            fuel: Cell::new(FUEL),
            open: RefCell::default(),
        }
    }

    /// Begins the calls of another function.
    pub fn begin(&self, from: ModuleId) {
        self.from.set(from);
        self.fresh.reset();
        self.fuel.set(FUEL);
    }

    /// Returns the alternatives for each argument of a call, or the type of the argument that cannot be built.
    pub fn arguments(&self, callable: &Callable, chosen: &Chosen, wish: &Wish<'_>) -> Result<Vec<Vec<Value>>, Kind> {
        let function = &self.names.index.functions[callable.id];
        let owner = function.owner_name(self.names.index);
        let mut all = Vec::new();
        for (position, input) in callable.inputs.iter().enumerate() {
            let kind = input.kind.with(chosen);
            let wish = Wish { owner: &owner, function: &function.ident, position, name: &input.name, ..wish.clone() };
            let values = self.make(&kind, &wish);
            if values.is_empty() {
                return Err(kind);
            }
            all.push(values);
        }
        Ok(all)
    }

    /// Builds values of a type of this or another crate.
    fn build_defined(&self, kind: &Kind, wish: &Wish<'_>) -> Vec<Value> {
        let (Some(product), Some(depth)) = (Product::of(kind), wish.depth.checked_sub(1)) else { return Vec::new() };
        if self.open.borrow().contains(kind) {
            return Vec::new();
        }
        self.open.borrow_mut().push(kind.clone());
        let inner = Wish { depth, ..wish.clone() };
        let most = if wish.depth == DEEPEST { 4 } else { 2 };
        let mut found = Vec::new();
        let producers = self.producers.making(&product);
        for producer in producers.iter().take(MOST_PRODUCERS) {
            if found.len() >= most {
                break;
            }
            found.extend(self.build_produced(&self.callables[*producer], kind, &inner).into_iter().take(2));
        }
        if found.len() < most {
            found.extend(self.build_foreign(kind));
            found.extend(self.default(kind));
            // Constructors keep the invariants of private fields.
            let reach = if found.is_empty() { Reach::Private } else { Reach::Public };
            found.extend(build_shapes(self, kind, reach, &inner));
        }
        self.open.borrow_mut().pop();
        found.truncate(most + 1);
        if wish.size == Size::N && !wish.is_element && !found.iter().any(|value| value.is_sized) {
            let filled: Vec<Value> =
                found.iter().take(2).filter_map(|value| self.fill_collection(value, kind, &inner)).collect();
            found.splice(0..0, filled);
        }
        found.sort_by_key(|value| !value.is_sized);
        found
    }

    /// Builds the results of a call of the producer.
    fn build_produced(&self, producer: &Callable, kind: &Kind, wish: &Wish<'_>) -> Vec<Value> {
        let Some((_, way)) = made(&producer.output) else { return Vec::new() };
        let mut chosen = Chosen::new();
        if !way.of(&producer.output).unify(kind, &mut chosen) {
            return Vec::new();
        }
        let Some(chosen) = choices(self.names, &producer.parameters, &chosen).into_iter().next() else {
            return Vec::new();
        };
        let Some(callee) = callee(self.names, producer, &chosen, self.from.get()) else { return Vec::new() };
        let Ok(arguments) = self.arguments(producer, &chosen, wish) else { return Vec::new() };
        let borrows = if producer.output.with(&chosen).may_borrow(self.names.index) {
            Borrows::LikeItsParts
        } else {
            Borrows::Nothing
        };
        let count = arguments.iter().map(Vec::len).max().unwrap_or(1).min(3);
        let each = (0..count).map(|at| {
            let parts = arguments.iter().map(|values| values[at.min(values.len() - 1)].clone()).collect();
            Value::of(parts, borrows, |codes| way.take_from(&format!("{callee}({})", codes.join(", "))))
        });
        let mut found: Vec<Value> = each.collect();
        found.splice(0..0, self.first_accepted(producer, way, &callee, wish));
        found
    }

    /// Tries several strings and takes the first that the parser accepts.
    fn first_accepted(&self, producer: &Callable, way: Way, callee: &str, wish: &Wish<'_>) -> Option<Value> {
        let accept = match way {
            Way::Result => ".ok()",
            Way::Option => "",
            Way::Plain | Way::First => return None,
        };
        let [input] = producer.inputs.as_slice() else { return None };
        let convert = match &input.kind {
            Kind::Reference { to, is_mutable: false, .. } if **to == Kind::primitive("str") => "",
            Kind::Reference { to, is_mutable: false, .. } if **to == Kind::Slice(Box::new(Kind::primitive("u8"))) => {
                ".as_bytes()"
            }
            Kind::Std { path, .. } if path == "string::String" => ".into()",
            _ => return None,
        };
        let function = &self.names.index.functions[producer.id];
        let owner = function.owner_name(self.names.index);
        let own = Wish { owner: &owner, function: &function.ident, position: 0, name: &input.name, ..wish.clone() };
        let texts: Vec<String> = self.texts(&own).into_iter().take(8).map(|text| format!("{text:?}")).collect();
        if texts.is_empty() {
            return None;
        }
        let find = format!(
            "[{}].iter().copied().find_map(|text: &'static str| {callee}(text{convert}){accept})",
            texts.join(", ")
        );
        Some(Value::plain(format!("{find}.unwrap()")))
    }

    /// Builds a type of another crate as tests do, by its name or by an alias in this crate.
    fn build_foreign(&self, kind: &Kind) -> Vec<Value> {
        let Kind::Foreign { path, .. } = kind else { return Vec::new() };
        let is_it = |alias: &&AliasDef| {
            let of = Place::new(self.names, alias.module, &alias.generics).kind(&alias.of);
            Product::of(&of) == Product::of(kind)
        };
        let aliases = self.names.index.aliases.iter().filter(is_it).map(|alias| alias.ident.as_str());
        let outer = if path.contains("::") { "::" } else { "" };
        let codes = path.rsplit("::").take(1).chain(aliases).flat_map(|name| self.literals.constructed.of(name));
        codes.take(2).map(|code| Value::plain(format!("{outer}{path}::{code}"))).collect()
    }

    fn default(&self, kind: &Kind) -> Option<Value> {
        let Kind::Local { id, .. } = kind else {
            // The compiler checks whether the type has a default.
            return Some(Value::plain("std::default::Default::default()"));
        };
        if !self.names.index.types[*id].derives.iter().any(|derived| derived == "Default") {
            return None;
        }
        let printed = kind.print(self.names, self.from.get());
        // Without a name, nothing determines the type.
        if printed == "_" {
            return None;
        }
        Some(Value::plain(format!("<{printed} as std::default::Default>::default()")))
    }

    /// Fills the collection with `n` elements.
    fn fill_collection(&self, value: &Value, kind: &Kind, wish: &Wish<'_>) -> Option<Value> {
        let Kind::Local { id, .. } = kind else { return None };
        self.producers.filling(*id).iter().find_map(|method| {
            let method = &self.callables[*method];
            let mut chosen = Chosen::new();
            if !method.self_kind.as_ref()?.unify(kind, &mut chosen) {
                return None;
            }
            let chosen = choices(self.names, &method.parameters, &chosen).into_iter().next()?;
            let callee = callee(self.names, method, &chosen, self.from.get())?;
            let function = &self.names.index.functions[method.id];
            let mut codes = vec!["&mut made".to_owned()];
            for (position, input) in method.inputs.iter().enumerate().skip(1) {
                let wish = Wish { position, name: &input.name, function: &function.ident, ..wish.element() };
                let made = self.make(&input.kind.with(&chosen), &wish).into_iter();
                codes
                    .push(made.filter(|value| !value.borrows && value.lets.is_empty()).map(|value| value.code).next()?);
            }
            let fill = format!("for i in 0..n {{ let _ = (i, {callee}({})); }}", codes.join(", "));
            let code = format!("{{ let mut made = {}; {fill} made }}", value.code);
            Some(Value { code, is_sized: true, ..value.clone() })
        })
    }

    fn reference(&self, to: &Kind, (is_mutable, is_static): (bool, bool), wish: &Wish<'_>) -> Vec<Value> {
        if let Kind::Std { path, .. } = to
            && path == "task::Context"
        {
            let code = "&mut std::task::Context::from_waker(std::task::Waker::noop())";
            return vec![Value { borrows: true, ..Value::plain(code) }];
        }
        if is_mutable && wish.depth == DEEPEST && *to == Kind::std("fmt::Formatter", Vec::new()) {
            // From a closure around the call.
            return vec![Value { borrows: true, ..Value::plain("formatter") }];
        }
        if !is_mutable && let Some(values) = std_values::build_borrowed(self, to, wish, is_static) {
            return values;
        }
        if is_static {
            return std_values::lasting(to);
        }
        let (owned, method) = match to {
            Kind::Primitive(name) if name == "str" => (Kind::std("string::String", Vec::new()), ".as_mut_str()"),
            Kind::Slice(of) => (Kind::std("vec::Vec", vec![(**of).clone()]), ".as_mut_slice()"),
            other => (other.clone(), ""),
        };
        let name = if wish.name == "self" { "value" } else { wish.name };
        let is_filled = is_mutable && to.may_borrow(self.names.index);
        let values = self.make(&owned, wish).into_iter().map(|value| {
            if value.is_closure() {
                return Value { code: format!("&{}{}", if is_mutable { "mut " } else { "" }, value.code), ..value };
            }
            if method.is_empty() {
                return value.lent(self.fresh.name(name), is_mutable);
            }
            let mut value = value.held(self.fresh.name(name), true);
            value.code = format!("{}{method}", value.code);
            value.borrows = true;
            value
        });
        values.map(|value| if is_filled { value.mark_filled() } else { value }).collect()
    }

    fn function(&self, inputs: &[Kind], output: &Kind, wish: &Wish<'_>) -> Vec<Value> {
        let names: Vec<String> = (0..inputs.len()).map(|at| format!("a{at}")).collect();
        let is_given = |input: &Kind| match (input, output) {
            (Kind::Reference { to, .. }, output) if **to == *output => false,
            (input, output) => input == output && *output != Kind::unit(),
        };
        if let Some(at) = inputs.iter().position(is_given) {
            let code = format!("|{}| a{at}", names.join(", "));
            return vec![Value { borrows: true, ..Value::plain(code) }];
        }
        let results = self.make(output, &wish.few()).into_iter().filter(|value| value.lets.is_empty());
        let closures = results.map(|value| {
            let code = format!("|{}| {}", vec!["_"; inputs.len()].join(", "), value.code);
            Value { borrows: true, ..Value::plain(code) }
        });
        closures.take(2).collect()
    }
}

impl Make for Maker<'_> {
    fn make(&self, kind: &Kind, wish: &Wish<'_>) -> Vec<Value> {
        let Some(fuel) = self.fuel.get().checked_sub(1) else { return Vec::new() };
        self.fuel.set(fuel);
        match kind {
            Kind::Local { .. } | Kind::Foreign { .. } => self.build_defined(kind, wish),
            Kind::Primitive(name) => {
                let passed = self.literals.passed_literals(wish.owner, wish.function, wish.position);
                std_values::primitive(name, wish, &passed)
            }
            Kind::Std { path, .. } if path == "fmt::Arguments" => {
                vec![Value { borrows: true, ..Value::plain("std::format_args!(\"{} and {}\", 12345, \"text\")") }]
            }
            Kind::Std { path, arguments } => std_values::build_owned(self, path, arguments, wish),
            Kind::Reference { is_mutable, is_static, to } => self.reference(to, (*is_mutable, *is_static), wish),
            Kind::Tuple(parts) => {
                let made: Vec<Vec<Value>> = parts.iter().map(|part| self.make(part, wish)).collect();
                if made.iter().any(Vec::is_empty) {
                    return Vec::new();
                }
                let count = made.iter().map(Vec::len).max().unwrap_or(1).min(3);
                let each = (0..count).map(|at| {
                    let parts = made.iter().map(|values| values[at.min(values.len() - 1)].clone()).collect();
                    Value::of(parts, Borrows::LikeItsParts, |codes| match codes {
                        [one] => format!("({one},)"),
                        codes => format!("({})", codes.join(", ")),
                    })
                });
                each.collect()
            }
            Kind::Array { of, length } => {
                let length = match &**length {
                    Kind::Constant(length) if length.parse::<usize>().is_ok() => format!("::<_, {length}, _>"),
                    _ => String::new(),
                };
                let elements =
                    self.make(of, &wish.element()).into_iter().filter(|value| !value.borrows && value.lets.is_empty());
                elements
                    .take(2)
                    .map(|value| {
                        Value::plain(format!("std::array::from_fn{length}(|i: usize| {{ let _ = i; {} }})", value.code))
                    })
                    .collect()
            }
            Kind::Function { inputs, output } => self.function(inputs, output, wish),
            Kind::Opaque(bounds) | Kind::Dynamic(bounds) => {
                // `Box<dyn Trait>` may implement the trait itself.
                let Some(depth) = wish.depth.checked_sub(1) else { return Vec::new() };
                let kinds = for_bounds(self.names, bounds).into_iter().take(2);
                kinds.flat_map(|kind| self.make(&kind, &Wish { depth, ..wish.clone() })).collect()
            }
            Kind::Implementor(id) => {
                let path = self.names.path(&Definition::Trait(*id), Some(self.from.get()));
                let code = |path| {
                    format!(
                        "{{ {IMPLEMENTOR_DERIVES} struct Implementor; impl {path} for Implementor {{}} Implementor }}"
                    )
                };
                path.map(|path| Value::plain(code(path))).into_iter().collect()
            }
            Kind::Parameter(_) | Kind::Infer => self.make(&Kind::primitive("u64"), wish),
            Kind::Unknown(_) if wish.depth == DEEPEST => vec![Value::plain("std::default::Default::default()")],
            Kind::Constant(_) | Kind::Pointer | Kind::Never | Kind::Unknown(_) | Kind::Slice(_) => Vec::new(),
        }
    }

    fn texts(&self, wish: &Wish<'_>) -> Vec<String> {
        let text = |literal: &Literal| match literal {
            Literal::Text(text) => Some(text.clone()),
            Literal::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
            _ => None,
        };
        let fits = |text: &String| text.len() <= LONGEST_TEXT && !text.is_empty();
        let passed = self.literals.passed_literals(wish.owner, wish.function, wish.position);
        let mut found: Vec<String> = passed.iter().filter_map(text).collect();
        found.sort_by_key(|text| text.len() < 3);
        if found.is_empty() {
            let related = self.literals.related_literals(wish.owner, &self.functions).into_iter();
            found.extend(related.filter_map(text).filter(fits).take(SOME_TEXTS));
        }
        if found.is_empty() {
            let any = self.literals.texts().filter_map(text).filter(fits);
            found.extend(any.take(SOME_TEXTS));
            found.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
        found
    }

    fn fresh(&self) -> &Fresh {
        &self.fresh
    }

    fn names(&self) -> &Names<'_> {
        self.names
    }

    fn may_shape(&self, id: TypeId) -> bool {
        !self.invariants.relies_on_shape(self.names, id)
    }

    fn may_set_private(&self, id: TypeId) -> bool {
        !self.invariants.relies_on_private_fields(self.names.index, id)
    }

    fn from(&self) -> ModuleId {
        self.from.get()
    }
}
