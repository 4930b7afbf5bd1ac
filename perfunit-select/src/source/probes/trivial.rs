//! Functions so small that a probe would take longer than they do.

use crate::source::normalise::bare;
use std::collections::BTreeSet;
use syn::{Arm, BinOp, Block, Expr, ExprCall, FnArg, Lit, Pat, Receiver, ReceiverKind, Signature, Stmt, Type, UnOp};

/// True if the function does next to nothing, by the rule of [`Site::trivial`](super::Site::trivial).
pub(super) fn is_trivial(sig: &Signature, body: &Block) -> bool {
    let mut work = Work::default();
    // Making a future is little work, what it does is not.
    sig.asyncness.is_none()
        && work.block(body)
        && work.steps <= 1
        && sig.inputs.iter().all(|argument| is_borrowed(argument) || work.uses(argument))
}

/// What an expression does. Each function is false for what is not trivial whatever is around it.
#[derive(Default)]
struct Work {
    /// Operators, indices and decisions so far.
    steps: usize,
    names: BTreeSet<String>,
}

impl Work {
    fn block(&mut self, block: &Block) -> bool {
        match block.stmts.as_slice() {
            [] => true,
            [Stmt::Expr(expr, _)] => self.expr(expr),
            _ => false,
        }
    }

    fn expr(&mut self, expr: &Expr) -> bool {
        if is_constant(expr) {
            return true;
        }
        match expr {
            Expr::Path(path) => {
                self.names.extend(path.path.get_ident().map(bare));
                true
            }
            Expr::Field(field) => self.expr(&field.base),
            Expr::Paren(paren) => self.expr(&paren.expr),
            Expr::Group(group) => self.expr(&group.expr),
            Expr::Reference(reference) => self.expr(&reference.expr),
            Expr::RawAddr(address) => self.expr(&address.expr),
            Expr::Cast(cast) => self.expr(&cast.expr),
            Expr::Return(end) => end.expr.as_deref().is_none_or(|expr| self.expr(expr)),
            Expr::Tuple(tuple) => tuple.elems.iter().all(|expr| self.expr(expr)),
            Expr::Array(array) => array.elems.iter().all(|expr| self.expr(expr)),
            Expr::Call(call) => is_constructor(call) && call.args.iter().all(|expr| self.expr(expr)),
            Expr::Struct(made) => {
                made.fields.iter().all(|field| self.expr(&field.expr))
                    && made.rest.as_deref().is_none_or(|rest| self.expr(rest))
            }
            Expr::Block(inner) => inner.label.is_none() && self.block(&inner.block),
            Expr::Let(condition) => self.expr(&condition.expr),
            Expr::Unary(_) | Expr::Binary(_) | Expr::Index(_) | Expr::If(_) | Expr::Match(_) => self.step(expr),
            _ => false,
        }
    }

    fn step(&mut self, expr: &Expr) -> bool {
        self.steps += 1;
        match expr {
            Expr::Unary(unary) => self.expr(&unary.expr),
            Expr::Binary(binary) => {
                let is_bounded = !is_comparison(&binary.op) || is_constant(&binary.left) || is_constant(&binary.right);
                is_bounded && self.expr(&binary.left) && self.expr(&binary.right)
            }
            // Of a map another index is a search.
            Expr::Index(index) => self.expr(&index.expr) && is_constant(&index.index),
            Expr::If(choice) => {
                let no = choice.else_branch.as_ref().map(|(_, no)| no);
                self.expr(&choice.cond) && self.block(&choice.then_branch) && no.is_none_or(|no| self.expr(no))
            }
            Expr::Match(choice) => self.expr(&choice.expr) && choice.arms.iter().all(|arm| self.arm(arm)),
            _ => false,
        }
    }

    fn arm(&mut self, arm: &Arm) -> bool {
        !matches!(arm.pat, Pat::Guard(_)) && !compares_text(&arm.pat) && self.expr(&arm.body)
    }

    /// True if the argument is in the expression: otherwise it is dropped, which can be much work.
    fn uses(&self, argument: &FnArg) -> bool {
        match argument {
            FnArg::Receiver(_) => self.names.contains("self"),
            FnArg::Typed(typed) => {
                matches!(&*typed.pat, Pat::Ident(pattern) if self.names.contains(&bare(&pattern.ident)))
            }
        }
    }
}

fn is_borrowed(argument: &FnArg) -> bool {
    match argument {
        FnArg::Receiver(Receiver { kind: ReceiverKind::Reference(..), .. }) => true,
        FnArg::Receiver(_) => false,
        FnArg::Typed(typed) => matches!(&*typed.ty, Type::Reference(_) | Type::Ptr(_)),
    }
}

/// Two texts or lists can take long to compare.
fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

/// Many short texts, too.
fn compares_text(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(literal) => matches!(literal.lit, Lit::Str(_) | Lit::ByteStr(_)),
        Pat::Or(alternatives) => alternatives.cases.iter().any(compares_text),
        _ => false,
    }
}

/// Literals and operators on them, which the compiler computes.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_constant(&paren.expr),
        Expr::Unary(unary) => !matches!(unary.op, UnOp::Deref(_)) && is_constant(&unary.expr),
        Expr::Binary(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        _ => false,
    }
}

/// `Some(..)`, `Self(..)`, `Shape::Circle(..)`: what begins with a capital letter is no function.
fn is_constructor(call: &ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else { return false };
    path.path.segments.last().is_some_and(|last| bare(&last.ident).starts_with(char::is_uppercase))
}
