//! Macros of std whose arguments are expressions with a known meaning.
//!
//! Other parts of their invocations (format strings, patterns) and all other macros stay unchanged.

use super::constant::last_name;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Macro, Token};

/// Arguments of a macro.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KnownMacro {
    /// A condition whose source text is part of the panic message, then a format.
    Assert,
    /// This number of operands, then a format or, for `matches!`, a pattern.
    Operands(usize),
    /// `vec![..]`.
    Vec,
}

/// Recognizes a macro by its name. A user's macro of the same name is expected to take the same arguments.
pub fn known(mac: &Macro) -> Option<KnownMacro> {
    match last_name(&mac.path).as_str() {
        "assert" | "debug_assert" => Some(KnownMacro::Assert),
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => Some(KnownMacro::Operands(2)),
        "matches" => Some(KnownMacro::Operands(1)),
        "vec" => Some(KnownMacro::Vec),
        _ => None,
    }
}

/// Elements of a `vec![..]`.
pub enum Elements {
    /// `vec![a, b]`
    List(Punctuated<Expr, Token![,]>),
    /// `vec![a; n]`: its element and the unchanged rest.
    Repeat(Expr, TokenStream),
}

impl Elements {
    /// Parses the tokens of a `vec![..]`.
    pub fn parse(tokens: &TokenStream) -> Option<Self> {
        let repeat = |input: ParseStream| {
            let element = input.parse()?;
            input.fork().parse::<Token![;]>()?;
            Ok(Elements::Repeat(element, input.parse()?))
        };
        let list = |input: ParseStream| Ok(Elements::List(Punctuated::parse_terminated(input)?));
        repeat.parse2(tokens.clone()).or_else(|_| list.parse2(tokens.clone())).ok()
    }
}

impl ToTokens for Elements {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Elements::List(list) => list.to_tokens(tokens),
            Elements::Repeat(element, rest) => {
                element.to_tokens(tokens);
                rest.to_tokens(tokens);
            }
        }
    }
}

/// Returns the first `count` arguments of a macro, and its other tokens, which start with a comma if there are any.
pub fn leading_arguments(tokens: &TokenStream, count: usize) -> Option<(Punctuated<Expr, Token![,]>, TokenStream)> {
    let parse = |input: ParseStream| {
        let mut args = Punctuated::new();
        args.push_value(input.parse()?);
        while args.len() < count {
            args.push_punct(input.parse()?);
            args.push_value(input.parse()?);
        }
        if !input.is_empty() {
            input.fork().parse::<Token![,]>()?;
        }
        Ok((args, input.parse()?))
    };
    parse.parse2(tokens.clone()).ok()
}
