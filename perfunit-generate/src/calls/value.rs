//! Source code that builds a value.

use super::index::{ModuleId, TypeId};
use super::kinds::Kind;
use super::names::Names;
use std::cell::Cell;

/// An expression and the variables that it needs.
#[derive(Debug, Clone)]
pub struct Value {
    pub lets: Vec<Let>,
    pub code: String,
    /// True if the value refers to the variables, so that it cannot leave their scope.
    pub borrows: bool,
    /// True if the value grows with `n`.
    pub is_sized: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Let {
    pub name: String,
    pub code: String,
    pub is_mutable: bool,
    /// True if the variable refers to earlier ones.
    pub borrows: bool,
    /// True if a call may store references in the variable, which must then be declared after their targets.
    pub is_filled: bool,
}

impl Value {
    pub fn plain(code: impl Into<String>) -> Self {
        Self { lets: Vec::new(), code: code.into(), borrows: false, is_sized: false }
    }

    pub fn sized(code: impl Into<String>, size: Size) -> Self {
        Self { is_sized: size == Size::N, ..Self::plain(code) }
    }

    /// Returns whether the value is a closure; in a variable its arguments would have no types.
    pub fn is_closure(&self) -> bool {
        self.lets.is_empty() && self.code.starts_with('|')
    }

    /// Builds a value from parts by an expression with their codes.
    pub fn of(parts: Vec<Value>, borrows: Borrows, code: impl FnOnce(&[String]) -> String) -> Self {
        let is_borrowing = borrows == Borrows::LikeItsParts && parts.iter().any(|part| part.borrows);
        let value = Self::open(parts, is_borrowing, code);
        if is_borrowing { value } else { value.close() }
    }

    /// Builds a value like [`of`](Self::of), but leaves its variables outside even if it does not refer to them.
    pub fn open(parts: Vec<Value>, borrows: bool, code: impl FnOnce(&[String]) -> String) -> Self {
        let codes: Vec<String> = parts.iter().map(|part| part.code.clone()).collect();
        Self {
            is_sized: parts.iter().any(|part| part.is_sized),
            lets: parts.into_iter().flat_map(|part| part.lets).collect(),
            code: code(&codes),
            borrows,
        }
    }

    /// Moves the variables inside of the expression.
    fn close(self) -> Self {
        if self.lets.is_empty() || self.borrows {
            return self;
        }
        let lets: String = self.lets.iter().map(Let::print).collect();
        // Temporaries in the last expression of a block would outlive its variables.
        let code = format!("{{ {lets}let made = {}; made }}", self.code);
        Self { lets: Vec::new(), code, ..self }
    }

    /// Stores the value in a variable.
    pub fn held(self, name: String, is_mutable: bool) -> Self {
        let Self { mut lets, code, borrows, is_sized } = self.close();
        lets.push(Let { name: name.clone(), code, is_mutable, borrows, is_filled: false });
        Self { lets, code: name, borrows, is_sized }
    }

    /// Marks the last variable as one in which a call may store references.
    pub fn mark_filled(mut self) -> Self {
        self.lets.last_mut().into_iter().for_each(|value| value.is_filled = true);
        self
    }

    /// Borrows the value.
    pub fn lent(self, name: String, is_mutable: bool) -> Self {
        let mut value = self.held(name, is_mutable);
        value.code = format!("&{}{}", if is_mutable { "mut " } else { "" }, value.code);
        value.borrows = true;
        value
    }
}

impl Let {
    pub fn print(&self) -> String {
        format!("let {}{} = {}; ", if self.is_mutable { "mut " } else { "" }, self.name, self.code)
    }
}

/// The borrows of a value that is built from parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Borrows {
    LikeItsParts,
    Nothing,
}

/// Wanted size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    N,
    /// A few elements, for a value inside of a large one.
    Few,
}

impl Size {
    pub fn print(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::Few => "4",
        }
    }
}

/// Context for which a value is wanted.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// Number of producers that may still be nested.
    pub depth: usize,
    pub size: Size,
    /// True if the value is one of many, with index `i`.
    pub is_element: bool,
    /// Type, function and position of the argument.
    pub owner: &'a str,
    pub function: &'a str,
    pub position: usize,
    /// Name of the argument.
    pub name: &'a str,
}

impl Wish<'_> {
    pub fn element(&self) -> Self {
        Self { size: Size::Few, is_element: true, ..self.clone() }
    }

    pub fn few(&self) -> Self {
        Self { size: Size::Few, ..self.clone() }
    }
}

/// Builds values of any type, best first; empty if the type is unknown.
pub trait Make {
    fn make(&self, kind: &Kind, wish: &Wish<'_>) -> Vec<Value>;

    /// Returns strings from which a value for the wish may be parsed.
    fn texts(&self, wish: &Wish<'_>) -> Vec<String>;

    fn fresh(&self) -> &Fresh;

    fn names(&self) -> &Names<'_>;

    /// Returns whether a value of the type may be built from the fields that can be set.
    fn may_shape(&self, id: TypeId) -> bool;

    /// Returns whether private fields may be set too.
    fn may_set_private(&self, id: TypeId) -> bool;

    /// Returns the module for which values are built.
    fn from(&self) -> ModuleId;
}

/// Delimiters around the name of a variable that may become a part of `input`.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// Returns the code with plain names of variables.
pub fn name_variables(code: &str) -> String {
    code.replace([OPEN, CLOSE], "")
}

/// Source of unique variable names.
#[derive(Debug, Default)]
pub struct Fresh(Cell<usize>);

impl Fresh {
    pub fn name(&self, like: &str) -> String {
        self.0.set(self.0.get() + 1);
        let like: String =
            like.trim_start_matches('_').chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let like = if like.is_empty() || like.starts_with(|c: char| c.is_ascii_digit()) { "value" } else { &like };
        format!("{OPEN}{like}_{}{CLOSE}", self.0.get())
    }

    pub fn reset(&self) {
        self.0.set(0);
    }
}
