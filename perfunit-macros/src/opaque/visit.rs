//! Walks over a test body and wraps constants in `black_box`.
//!
//! Wrapped are constant arguments of calls, constant receivers of method calls, values bound by `let`, values that a
//! `for` loop iterates over, and `vec![..]` of constants. The results of calls that are discarded are wrapped too,
//! because a call without side effects would be optimized away together with its result. Items in the body, including
//! inner functions, stay unchanged.

use super::constant::{is_constructor, last_name, starts_upper, Constant};
use super::known_macros::{known, leading_arguments, Elements, KnownMacro};
use super::message::of_assertion;
use crate::splice::{Insertion, Insertions};
use proc_macro2::TokenStream;
use quote::{quote, ToTokens};
use std::mem;
use syn::parse::{ParseStream, Parser};
use syn::visit_mut::{self, VisitMut};
use syn::{
    AngleBracketedGenericArguments, Attribute, Block, Expr, ExprCall, ExprClosure, ExprForLoop, ExprMethodCall,
    ExprRepeat, Item, Local, Macro, Pat, Path, Stmt, Type,
};

/// Makes the constants in a body opaque. Returns `None` if that changes nothing or the body cannot be parsed.
pub fn rewrite(body: TokenStream) -> Option<TokenStream> {
    let parser = |input: ParseStream| Ok((input.call(Attribute::parse_inner)?, input.call(Block::parse_within)?));
    let (attrs, mut stmts) = parser.parse2(body.clone()).ok()?;
    let mut opaque = Opaque { insertions: Insertions::default() };
    for stmt in &mut stmts {
        opaque.visit_stmt_mut(stmt);
    }
    opaque.insertions.splice(body, quote!(#(#attrs)* #(#stmts)*))
}

/// Destination of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// An argument. A borrowed temporary lives until the end of the statement, with or without `black_box`.
    Argument,
    /// A `let`. A borrowed temporary lives longer only directly after the `=`, unless it is promoted.
    Binding,
}

struct Opaque {
    insertions: Insertions,
}

/// Decides by the callee's spelling whether its arguments may be opaque.
fn takes_opaque_arguments(func: &Expr) -> bool {
    let Expr::Path(func) = func else { return true };
    let name = last_name(&func.path);
    // Vendor intrinsics (`_mm_shuffle_epi32(x, 0b01)`, `vshrq_n_u8(x, 4)`) require constant expressions for some of
    // their arguments.
    let is_neon = name.starts_with('v')
        && name.rsplit_once('_').is_some_and(|(_, ty)| {
            ty.starts_with(['u', 's', 'f', 'p']) && ty[1..].parse::<u16>().is_ok_and(|bits| bits >= 8)
        });
    !(starts_upper(&func.path) || name.starts_with('_') || is_neon || name == "black_box")
}

impl Opaque {
    fn wrap(&mut self, expr: &mut Expr) {
        *expr = Expr::Verbatim(self.insertions.mark(expr, Insertion::Value));
    }

    fn wrap_place(&mut self, expr: &mut Expr) {
        *expr = Expr::Verbatim(self.insertions.mark(expr, Insertion::Place));
    }

    /// Wraps the value of an argument or a `let`, or parts of it.
    fn operand(&mut self, expr: &mut Expr, position: Position) {
        match Constant::of(expr) {
            Some(constant) if position == Position::Argument || constant.held => {
                if constant.is_small() || is_reference(expr) {
                    self.wrap(expr);
                }
                return;
            }
            _ => {}
        }
        match expr {
            Expr::Paren(paren) => self.operand(&mut paren.expr, position),
            Expr::Group(group) => self.operand(&mut group.expr, position),
            Expr::Call(call) if is_constructor(call) => {
                call.args.iter_mut().for_each(|arg| self.operand(arg, position));
            }
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|part| self.operand(part, position)),
            Expr::Struct(literal) => {
                literal.fields.iter_mut().for_each(|field| {
                    if field.colon_token.is_some() {
                        self.operand(&mut field.expr, position);
                    }
                });
                literal.rest.iter_mut().for_each(|rest| self.visit_expr_mut(rest));
            }
            Expr::Reference(reference) if reference.mutability.is_some() => self.lent(&mut reference.expr),
            _ => self.visit_expr_mut(expr),
        }
    }

    /// Wraps the operand of `&mut`. An expected type does not propagate into it, so only scalars can be wrapped.
    fn lent(&mut self, expr: &mut Expr) {
        match Constant::of(expr) {
            Some(constant) if constant.scalar && constant.promotable && constant.is_small() => self.wrap(expr),
            _ => self.visit_expr_mut(expr),
        }
    }

    /// Wraps the receiver of `method`.
    fn receiver(&mut self, expr: &mut Expr, method: &str) {
        let Some(constant) = Constant::of(expr).filter(|constant| constant.held) else {
            return self.visit_expr_mut(expr);
        };
        match peel(expr) {
            // The method borrows it, which promotes it unless the borrow is mutable.
            Expr::Array(_) if constant.promotable && !changes_receiver(method) => self.wrap_place(expr),
            Expr::Lit(_) | Expr::Unary(_) if constant.scalar => self.wrap_place(expr),
            Expr::Lit(_) | Expr::Range(_) | Expr::Reference(_) => self.wrap(expr),
            _ => {}
        }
    }

    /// Wraps the value that a `for` loop iterates over. Unlike in a `let`, no type is expected here.
    fn wrap_iterated(&mut self, expr: &mut Expr) {
        match Constant::of(expr) {
            Some(constant) if constant.promotable && matches!(peel(expr), Expr::Array(_)) => self.wrap_place(expr),
            _ => self.operand(expr, Position::Argument),
        }
    }

    /// Wraps a call in a statement, or bound to `_` or `_name`, whose unused result could be optimized away.
    fn keep_result(&mut self, expr: &mut Expr) {
        let attrs = match expr {
            Expr::Call(call) if is_kept(call) => mem::take(&mut call.attrs),
            Expr::MethodCall(call) => mem::take(&mut call.attrs),
            _ => return,
        };
        self.wrap(expr);
        if !attrs.is_empty() {
            *expr = Expr::Verbatim(quote!(#(#attrs)* #expr));
        }
    }

    fn local(&mut self, local: &mut Local) {
        let Some(init) = &mut local.init else { return };
        if let Some((_, diverge)) = &mut init.diverge {
            self.visit_expr_mut(diverge);
        }
        if !binds_whole(&local.pat) || init.diverge.is_some() {
            return self.visit_expr_mut(&mut init.expr);
        }
        let large = Constant::of(&init.expr).is_some_and(|constant| constant.promotable && !constant.is_small());
        if large && matches!(local.pat, Pat::Ident(_)) && matches!(*init.expr, Expr::Array(_)) {
            return self.wrap_place(&mut init.expr);
        }
        self.operand(&mut init.expr, Position::Binding);
        if is_unused(&local.pat) {
            self.keep_result(&mut init.expr);
        }
    }

    fn known_macro(&mut self, mac: &mut Macro) {
        let count = match known(mac) {
            Some(KnownMacro::Assert) => 1,
            Some(KnownMacro::Operands(count)) => count,
            _ => return,
        };
        let Some((mut args, rest)) = leading_arguments(&mac.tokens, count) else { return };
        // An assertion without its own message prints its condition, which must be the user's.
        let mut message = None;
        if known(mac) == Some(KnownMacro::Assert) && rest.clone().into_iter().count() < 2 {
            message = of_assertion(&args[0]);
            if message.is_none() {
                return;
            }
        }
        let before = self.insertions.len();
        args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
        if self.insertions.len() == before {
            return;
        }
        if let Some(message) = message {
            args[0] = Expr::Verbatim(self.insertions.mark(&args[0], Insertion::Message(message)));
        }
        mac.tokens = quote!(#args #rest);
    }

    /// Wraps a `vec!` of constants as a whole, which costs the same for any length.
    fn vec_macro(&mut self, expr: &mut Expr) {
        let Expr::Macro(vec) = expr else { return };
        let Some(mut elements) = Elements::parse(&vec.mac.tokens) else { return };
        let constant = match &elements {
            Elements::List(list) => !list.is_empty() && list.iter().all(|element| Constant::of(element).is_some()),
            Elements::Repeat(element, _) => Constant::of(element).is_some(),
        };
        if constant && vec.attrs.is_empty() {
            return self.wrap(expr);
        }
        let before = self.insertions.len();
        match &mut elements {
            Elements::List(list) => list.iter_mut().for_each(|element| self.visit_expr_mut(element)),
            Elements::Repeat(element, _) => self.visit_expr_mut(element),
        }
        if self.insertions.len() > before {
            vec.mac.tokens = elements.to_token_stream();
        }
    }
}

fn peel(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => peel(&paren.expr),
        Expr::Group(group) => peel(&group.expr),
        _ => expr,
    }
}

fn is_reference(expr: &Expr) -> bool {
    matches!(peel(expr), Expr::Reference(_))
}

fn is_kept(call: &ExprCall) -> bool {
    !is_constructor(call) && !matches!(&*call.func, Expr::Path(func) if last_name(&func.path) == "black_box")
}

/// Checks whether a slice's method of this name needs a mutable array.
fn changes_receiver(method: &str) -> bool {
    #[rustfmt::skip]
    const STEMS: [&str; 11] = [
        "mut", "sort", "reverse", "swap", "fill", "rotate", "select_nth", "make_ascii", "copy_", "_from", "assign",
    ];
    STEMS.iter().any(|stem| method.contains(stem))
}

/// Checks for `x`, `mut x` and `_`, possibly with a type, and tuples of them; not `CONSTANT` (a pattern) or `ref x`.
fn binds_whole(pat: &Pat) -> bool {
    match pat {
        Pat::Ident(pat) => {
            pat.by_ref.is_none() && pat.subpat.is_none() && !starts_upper(&Path::from(pat.ident.clone()))
        }
        Pat::Wild(_) => true,
        Pat::Type(pat) => binds_whole(&pat.pat),
        Pat::Tuple(pat) => pat.elems.iter().all(binds_whole),
        _ => false,
    }
}

fn is_unused(pat: &Pat) -> bool {
    match pat {
        Pat::Wild(_) => true,
        Pat::Ident(pat) => pat.ident.to_string().starts_with('_'),
        Pat::Type(pat) => is_unused(&pat.pat),
        _ => false,
    }
}

impl VisitMut for Opaque {
    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expr, semicolon) => {
                self.visit_expr_mut(expr);
                if semicolon.is_some() {
                    self.keep_result(expr);
                }
            }
            Stmt::Macro(stmt) => self.known_macro(&mut stmt.mac),
            Stmt::Item(_) => {}
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Macro(mac) if known(&mac.mac) == Some(KnownMacro::Vec) => self.vec_macro(expr),
            Expr::Macro(mac) => self.known_macro(&mut mac.mac),
            Expr::Const(_) => {}
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_call_mut(&mut self, call: &mut ExprCall) {
        self.visit_expr_mut(&mut call.func);
        let opaque = takes_opaque_arguments(&call.func);
        for arg in &mut call.args {
            if opaque {
                self.operand(arg, Position::Argument);
            } else {
                self.visit_expr_mut(arg);
            }
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        self.receiver(&mut call.receiver, &call.method.to_string());
        // The message of `expect("..")` is not part of the workload.
        if !call.method.to_string().starts_with("expect") {
            call.args.iter_mut().for_each(|arg| self.operand(arg, Position::Argument));
        }
    }

    fn visit_expr_for_loop_mut(&mut self, for_loop: &mut ExprForLoop) {
        self.wrap_iterated(&mut for_loop.expr);
        self.visit_block_mut(&mut for_loop.body);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        if closure.constness.is_none() {
            self.visit_expr_mut(&mut closure.body);
        }
    }

    fn visit_expr_repeat_mut(&mut self, repeat: &mut ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    // Const contexts, or not expressions.
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_path_mut(&mut self, _: &mut Path) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut AngleBracketedGenericArguments) {}
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
}
