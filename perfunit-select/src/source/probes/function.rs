//! Examines a function's text: where a probe goes, why it may have none, and whether the function is too small to be
//! timed.

use super::site::Returns;
use crate::source::attributes::{attribute_names, is_attribute_macro};
use crate::source::normalise::bare;
use perfunit_model::Unprobed;
use std::collections::BTreeSet;
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprCall, FnArg, FnModifiers, GenericArgument, Lit, Pat, PathArguments,
    Receiver, ReceiverKind, ReturnType, Safety, Signature, Stmt, Type, TypeParamBound, UnOp, Visibility,
};

pub(super) struct Function<'a> {
    pub attributes: &'a [Attribute],
    pub visibility: &'a Visibility,
    pub modifiers: &'a FnModifiers,
    pub sig: &'a Signature,
    pub body: &'a syn::Block,
    /// True if it is outside of modules, impl blocks, traits and other functions.
    pub is_at_top: bool,
}

impl Function<'_> {
    /// Returns the first line, including attributes, to which the compiler attributes the code that they generate.
    pub fn first_line(&self) -> usize {
        let attributes = self.attributes.iter().map(|attribute| attribute.pound_token.span.start().line);
        attributes.chain([self.sig.fn_token.span.start().line]).min().unwrap_or_default()
    }

    /// Returns the offset of the first token after the attributes.
    pub fn start(&self) -> usize {
        let Signature { constness, asyncness, safety, abi, fn_token, .. } = self.sig;
        let visibility = match self.visibility {
            Visibility::Public(public) => Some(public.span),
            Visibility::Restricted(restricted) => Some(restricted.pub_token.span),
            Visibility::Inherited => None,
        };
        let safety = match safety {
            Safety::Safe(safe) => Some(safe.span),
            Safety::Unsafe(unsafe_token) => Some(unsafe_token.span),
            Safety::Default => None,
        };
        let spans = [
            visibility,
            self.modifiers.defaultness.map(|token| token.span),
            constness.map(|token| token.span),
            asyncness.map(|token| token.span),
            safety,
            abi.as_ref().map(|abi| abi.extern_token.span),
            Some(fn_token.span),
        ];
        spans.iter().flatten().map(|span| span.byte_range().start).min().unwrap_or_default()
    }
}

/// Returns the names of a function's arguments; `_` for a pattern.
pub(super) fn arguments(sig: &Signature) -> Vec<String> {
    let name = |argument: &FnArg| match argument {
        FnArg::Receiver(_) => "self".to_owned(),
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => bare(&name.ident),
            _ => "_".to_owned(),
        },
    };
    sig.inputs.iter().map(name).collect()
}

/// Returns the kind of a function's result. `owner` is the type that it is a method of.
pub(super) fn returns(sig: &Signature, owner: &str) -> Returns {
    if sig.asyncness.is_some() {
        return Returns::Future;
    }
    match &sig.output {
        ReturnType::Default => Returns::Value(String::new()),
        ReturnType::Type(_, ty) => of_type(ty, owner),
    }
}

fn of_type(ty: &Type, owner: &str) -> Returns {
    match ty {
        Type::Group(group) => of_type(&group.elem, owner),
        Type::Paren(paren) => of_type(&paren.elem, owner),
        Type::ImplTrait(some) => of_bounds(some.bounds.iter()),
        Type::TraitObject(object) => of_bounds(object.bounds.iter()),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Returns::Value(String::new()) };
            let name = bare(&last.ident);
            // The content of a box or pin decides.
            if let (true, PathArguments::AngleBracketed(inside)) = (name == "Box" || name == "Pin", &last.arguments)
                && let Some(GenericArgument::Type(ty)) = inside.args.first()
            {
                return of_type(ty, owner);
            }
            Returns::Value(if name == "Self" { owner.to_owned() } else { name })
        }
        _ => Returns::Value(String::new()),
    }
}

fn of_bounds<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> Returns {
    let names = bounds.filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().map(|last| bare(&last.ident)),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    if names.iter().any(|name| name.ends_with("Iterator")) {
        Returns::Iterator
    } else if names.iter().any(|name| name == "Future") {
        Returns::Future
    } else {
        Returns::Value(String::new())
    }
}

/// Functions that the compiler searches or runs itself, most of them at compile time.
const COMPILER_HOOKS: [&str; 6] =
    ["proc_macro", "proc_macro_attribute", "proc_macro_derive", "panic_handler", "alloc_error_handler", "lang"];

/// Effect of enclosing attributes on functions.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Context {
    has_no_prelude: bool,
    is_const: bool,
    is_rewritten: bool,
}

impl Context {
    /// Returns the context of a module with these attributes, or of a function body if there are none.
    pub fn in_module(self, attributes: &[Attribute]) -> Self {
        let has_no_prelude = self.has_no_prelude || has(attributes, &["no_implicit_prelude"]);
        Self { has_no_prelude, ..Self::default() }
    }

    /// Returns the context of an impl block or trait with these attributes.
    pub fn in_block(self, attributes: &[Attribute]) -> Self {
        let is_const = has(attributes, &["const_trait"]);
        Self { is_const, is_rewritten: is_rewritten(attributes), ..self }
    }
}

fn has(attributes: &[Attribute], names: &[&str]) -> bool {
    attribute_names(attributes).iter().any(|path| names.iter().any(|name| path.is_ident(name)))
}

/// Returns the reason why a function cannot have a probe, if there is one.
pub(super) fn probe_obstacle(function: &Function<'_>, implements: &str, context: Context) -> Option<Unprobed> {
    let Function { attributes, visibility, sig, .. } = function;
    // A library's function with this name takes arguments, is public, or is called only from elsewhere in the file.
    let is_main = || {
        function.is_at_top
            && sig.ident == "main"
            && sig.inputs.is_empty()
            && matches!(visibility, Visibility::Inherited)
    };
    let rules = [
        (sig.constness.is_some() || context.is_const, Unprobed::Const),
        (has(attributes, &["naked"]), Unprobed::Naked),
        (sig.variadic.is_some(), Unprobed::Variadic),
        (has(attributes, &COMPILER_HOOKS), Unprobed::CompilerHook),
        // The probe could allocate its own memory from it.
        (implements == "GlobalAlloc", Unprobed::Allocator),
        (is_main(), Unprobed::Main),
        // Macros from `#[macro_use] extern crate` belong to the prelude.
        (context.has_no_prelude, Unprobed::NoPrelude),
        // The probe would come last, and would time the creation of the future instead of its work.
        (sig.asyncness.is_some() && (context.is_rewritten || is_rewritten(attributes)), Unprobed::RewrittenAsync),
    ];
    rules.into_iter().find_map(|(holds, rule)| holds.then_some(rule))
}

/// Checks whether a macro gets the item before the probe. `#[instrument]` keeps an `async fn`.
fn is_rewritten(attributes: &[Attribute]) -> bool {
    let keeps = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "instrument");
    attribute_names(attributes).iter().any(|path| is_attribute_macro(path) && !keeps(path))
}

/// Checks whether the function does almost nothing, as defined by [`Site::trivial`](super::Site::trivial).
pub(super) fn is_trivial(sig: &Signature, body: &Block) -> bool {
    let mut work = Work::default();
    // Creating a future is cheap, but running it may not be.
    sig.asyncness.is_none()
        && work.block(body)
        && work.steps <= 1
        && sig.inputs.iter().all(|argument| is_borrowed(argument) || work.uses(argument))
}

/// Work of an expression. Each method returns false for an expression that is never trivial.
#[derive(Default)]
struct Work {
    /// Number of operators, indices and decisions so far.
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
            // Another index may be a search in a map.
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

    /// Checks whether the expression contains the argument. Otherwise the argument is dropped, which can be expensive.
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

/// Checks for comparison operators: comparing two strings or lists can be slow.
fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

/// Checks for string patterns: comparing many short strings can be slow, too.
fn compares_text(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(literal) => matches!(literal.lit, Lit::Str(_) | Lit::ByteStr(_)),
        Pat::Or(alternatives) => alternatives.cases.iter().any(compares_text),
        _ => false,
    }
}

/// Checks for literals and operators on them, which the compiler evaluates.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_constant(&paren.expr),
        Expr::Unary(unary) => !matches!(unary.op, UnOp::Deref(_)) && is_constant(&unary.expr),
        Expr::Binary(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        _ => false,
    }
}

/// Checks for `Some(..)`, `Self(..)`, `Shape::Circle(..)`: a name with a capital letter is not a function.
fn is_constructor(call: &ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else { return false };
    path.path.segments.last().is_some_and(|last| bare(&last.ident).starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, expected: &[&str], returned: &Returns) {
        let sig: Signature = syn::parse_str(function).unwrap();
        assert_eq!(arguments(&sig), expected);
        assert_eq!(&returns(&sig, "Words"), returned);
    }

    #[test]
    fn arguments_have_the_names_that_the_body_uses() {
        check(
            "fn f(&self, mut text: &str, (a, b): (u8, u8), r#type: u8)",
            &["self", "text", "_", "type"],
            &Returns::Value(String::new()),
        );
    }

    #[test]
    fn what_does_its_work_later_is_seen() {
        check("fn f() -> impl Iterator<Item = u8> + 'static", &[], &Returns::Iterator);
        check("fn f() -> Box<dyn DoubleEndedIterator<Item = u8>>", &[], &Returns::Iterator);
        check("async fn f() -> u8", &[], &Returns::Future);
        check("fn f() -> Pin<Box<dyn Future<Output = ()> + Send>>", &[], &Returns::Future);
        check("fn f() -> words::Split<'static>", &[], &Returns::Value("Split".to_owned()));
        check("fn f() -> Self", &[], &Returns::Value("Words".to_owned()));
        check("fn f() -> Vec<u8>", &[], &Returns::Value("Vec".to_owned()));
    }
}
