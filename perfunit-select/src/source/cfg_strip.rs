//! Reduces a function to the code that is compiled under given conditions.

use super::attributes::outer_attributes;
use super::condition::{Condition, Configuration};
use super::normalise::Code;
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, ExprMatch, ExprStruct, ImplItemFn};

/// Returns the code of a function or method in such a build, from its tokens; `None` if they cannot be parsed.
pub fn strip_inactive_code(function: &str, build: &Configuration<'_>) -> Option<String> {
    let mut function: ImplItemFn = syn::parse_str(function).ok()?;
    LeaveOut { build }.visit_impl_item_fn_mut(&mut function);
    Some(Code::of(function).text)
}

struct LeaveOut<'a> {
    build: &'a Configuration<'a>,
}

impl LeaveOut<'_> {
    fn keeps(&self, part: &impl ToTokens) -> bool {
        self.build.may_satisfy(&Condition::of(&outer_attributes(part)))
    }
}

impl VisitMut for LeaveOut<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.retain(|statement| self.keeps(statement));
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_match_mut(&mut self, expression: &mut ExprMatch) {
        expression.arms.retain(|arm| self.keeps(arm));
        visit_mut::visit_expr_match_mut(self, expression);
    }

    fn visit_expr_struct_mut(&mut self, expression: &mut ExprStruct) {
        let fields = std::mem::take(&mut expression.fields);
        expression.fields = fields.into_iter().filter(|field| self.keeps(field)).collect();
        visit_mut::visit_expr_struct_mut(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, expected: &str) {
        let code = |text: &str| Code::of(syn::parse_str::<ImplItemFn>(text).unwrap()).text;
        let features = ["std".to_owned()].into();
        let build = Configuration { features: Some(&features), ..Configuration::of_any_build() };
        assert_eq!(strip_inactive_code(&code(function), &build).as_deref(), Some(code(expected).as_str()));
    }

    #[test]
    fn parts_below_conditions_that_do_not_hold_are_left_out() {
        check("fn f(x: u8) { #[cfg(feature = \"simd\")] { fast(x); return; } slow(x) }", "fn f(x: u8) { slow(x) }");
        check("fn f() { #[cfg(feature = \"simd\")] let a = 1; #[cfg(windows)] g(); h() }", "fn f() { h() }");
        check("fn f(&self) { match x { #[cfg(windows)] 1 => a, _ => b } }", "fn f(&self) { match x { _ => b } }");
        check(
            "fn f() { loop { #[cfg(not(unix))] a(); if x { #[cfg(windows)] b(); } } }",
            "fn f() { loop { if x { } } }",
        );
        check("fn f() { S { a, #[cfg(windows)] b: 1 } }", "fn f() { S { a } }");
    }

    #[test]
    fn what_is_compiled_or_may_be_stays() {
        let all = "#[inline] pub fn f<'a>(x: &'a u8) { #[cfg(feature = \"std\")] a(); #[cfg(ours)] b(); c!(x) }";
        check(all, all);
        assert_eq!(strip_inactive_code("fn f(", &Configuration::of_any_build()), None);
    }
}
