//! Source that makes a value.

use super::index::{ModuleId, TypeId};
use super::kinds::Kind;
use super::names::Names;
use std::cell::Cell;

/// An expression, and the variables that it needs.
#[derive(Debug, Clone)]
pub struct Value {
    pub lets: Vec<Let>,
    pub code: String,
    /// Whether the value refers to the variables: then it cannot leave their scope.
    pub borrows: bool,
    /// Whether it is as large as `n` says.
    pub is_sized: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Let {
    pub name: String,
    pub code: String,
    pub is_mutable: bool,
    /// Whether it refers to variables before it.
    pub borrows: bool,
    /// Whether a call may put references into it: then it has to be younger than what they refer to.
    pub is_filled: bool,
}

impl Value {
    pub fn plain(code: impl Into<String>) -> Self {
        Self { lets: Vec::new(), code: code.into(), borrows: false, is_sized: false }
    }

    pub fn sized(code: impl Into<String>, size: Size) -> Self {
        Self { is_sized: size == Size::N, ..Self::plain(code) }
    }

    /// In a variable of its own its arguments would have no types.
    pub fn is_closure(&self) -> bool {
        self.lets.is_empty() && self.code.starts_with('|')
    }

    /// Made of others by an expression with their codes.
    pub fn of(parts: Vec<Value>, borrows: Borrows, code: impl FnOnce(&[String]) -> String) -> Self {
        let is_borrowing = borrows == Borrows::LikeItsParts && parts.iter().any(|part| part.borrows);
        let value = Self::open(parts, is_borrowing, code);
        if is_borrowing { value } else { value.closed() }
    }

    /// The same, with the variables outside of it, be it that it does not refer to them.
    pub fn open(parts: Vec<Value>, borrows: bool, code: impl FnOnce(&[String]) -> String) -> Self {
        let codes: Vec<String> = parts.iter().map(|part| part.code.clone()).collect();
        Self {
            is_sized: parts.iter().any(|part| part.is_sized),
            lets: parts.into_iter().flat_map(|part| part.lets).collect(),
            code: code(&codes),
            borrows,
        }
    }

    /// Without variables outside of it.
    fn closed(self) -> Self {
        if self.lets.is_empty() || self.borrows {
            return self;
        }
        let lets: String = self.lets.iter().map(Let::print).collect();
        // Temporaries of the last expression of a block would outlive its variables.
        let code = format!("{{ {lets}let made = {}; made }}", self.code);
        Self { lets: Vec::new(), code, ..self }
    }

    /// In a variable.
    pub fn held(self, name: String, is_mutable: bool) -> Self {
        let Self { mut lets, code, borrows, is_sized } = self.closed();
        lets.push(Let { name: name.clone(), code, is_mutable, borrows, is_filled: false });
        Self { lets, code: name, borrows, is_sized }
    }

    /// The same; a call may put references into its last variable.
    pub fn filled(mut self) -> Self {
        self.lets.last_mut().into_iter().for_each(|value| value.is_filled = true);
        self
    }

    /// A reference to it.
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

/// Whether a value made of others can refer to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Borrows {
    LikeItsParts,
    Nothing,
}

/// How large a value should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    N,
    /// An element of something that is large already.
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

/// What a value is wanted for.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// How many producers may still be called for it.
    pub depth: usize,
    pub size: Size,
    /// Whether it is one of many, and `i` says which.
    pub is_element: bool,
    /// Type and function that it is handed to, and as which argument.
    pub owner: &'a str,
    pub function: &'a str,
    pub position: usize,
    /// The argument's name.
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

/// Makes values of any type; the best first, none if it does not know how.
pub trait Make {
    fn make(&self, kind: &Kind, wish: &Wish<'_>) -> Vec<Value>;

    /// Texts that a value for the wish may be parsed from.
    fn texts(&self, wish: &Wish<'_>) -> Vec<String>;

    fn fresh(&self) -> &Fresh;

    fn names(&self) -> &Names<'_>;

    /// Whether a value of a type may be made up of its fields, as far as they can be set.
    fn may_shape(&self, id: TypeId) -> bool;

    /// Whether these may be private ones.
    fn may_set_private(&self, id: TypeId) -> bool;

    /// The module that they are made for.
    fn from(&self) -> ModuleId;
}

/// Around the name of a variable, which may yet become a part of `input`.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// The code with the plain names of its variables.
pub fn named(code: &str) -> String {
    code.replace([OPEN, CLOSE], "")
}

/// Names of variables.
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
