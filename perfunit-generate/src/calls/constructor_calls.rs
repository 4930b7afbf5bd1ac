//! Constructor calls for types in the crate's tests, documentation and sources: the arguments of `Type::function`, if
//! they need no variables.

use perfunit_select::source::bare;
use quote::ToTokens;
use std::collections::BTreeMap;
use syn::{Expr, ExprCall, ExprMethodCall};

/// Longest expression; a longer one would dominate a generated workload.
const LONGEST: usize = 200;
/// Number of calls kept per type.
const MOST: usize = 8;

/// Calls after the name of a type: `new(1, 2)`, `parse("x").unwrap()`.
#[derive(Debug, Default)]
pub struct ConstructorCalls {
    by_type: BTreeMap<String, Vec<String>>,
}

impl ConstructorCalls {
    /// Returns the calls for a type of this name, in source order.
    pub fn of(&self, name: &str) -> &[String] {
        self.by_type.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn call(&mut self, call: &ExprCall) {
        if let Some((name, code)) = constructor(call) {
            self.add(name, code);
        }
    }

    /// Records an unwrapped constructor call with `unwrap`.
    pub fn method_call(&mut self, call: &ExprMethodCall) {
        let is_unwrapped = ["unwrap", "expect"].contains(&bare(&call.method).as_str());
        if let Expr::Call(inner) = &*call.receiver
            && is_unwrapped
            && let Some((name, code)) = constructor(inner)
        {
            self.add(name, format!("{code}.unwrap()"));
        }
    }

    fn add(&mut self, name: String, code: String) {
        let known = self.by_type.entry(name).or_default();
        if code.len() <= LONGEST && known.len() < MOST && !known.contains(&code) {
            known.push(code);
        }
    }
}

fn constructor(call: &ExprCall) -> Option<(String, String)> {
    let Expr::Path(path) = &*call.func else { return None };
    let mut names = path.path.segments.iter().rev().map(|segment| bare(&segment.ident));
    let (function, name) = (names.next()?, names.next()?);
    let is_type = name.starts_with(char::is_uppercase) && function.starts_with(char::is_lowercase);
    if path.qself.is_some() || !is_type || !call.args.iter().all(is_closed) {
        return None;
    }
    Some((name, format!("{function}({})", call.args.to_token_stream())))
}

/// Returns whether the expression means the same everywhere.
fn is_closed(of: &Expr) -> bool {
    match of {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => is_closed(&unary.expr),
        Expr::Reference(reference) => reference.mutability.is_none() && is_closed(&reference.expr),
        Expr::Paren(inner) => is_closed(&inner.expr),
        Expr::Group(inner) => is_closed(&inner.expr),
        Expr::Array(array) => array.elems.iter().all(is_closed),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_closed),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::visit::Visit as _;

    struct Calls(ConstructorCalls);

    impl syn::visit::Visit<'_> for Calls {
        fn visit_expr_call(&mut self, call: &ExprCall) {
            self.0.call(call);
        }

        fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
            self.0.method_call(call);
        }
    }

    #[test]
    fn what_needs_no_variables_is_found() {
        let body: syn::Block = syn::parse_quote!({
            euclid::Point2D::new(1.0, -2.5);
            Point2D::new(1.0, -2.5);
            Point2D::new(x, 1.0);
            Point2D::splat([1, 2]);
            Date::from_day(&"x").unwrap();
            Date::parse("y").ok();
            Some::thing::else_(1);
            Variant::Of(1);
        });
        let mut calls = Calls(ConstructorCalls::default());
        calls.visit_block(&body);
        assert_eq!(calls.0.of("Point2D"), ["new(1.0 , - 2.5)", "splat([1 , 2])"]);
        assert_eq!(calls.0.of("Date"), ["from_day(& \"x\").unwrap()"]);
        assert!(calls.0.of("Variant").is_empty() && calls.0.of("thing").is_empty());
    }
}
