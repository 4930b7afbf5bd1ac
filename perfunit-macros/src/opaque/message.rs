//! The panic message of `assert!(condition)`: the condition as rustc prints it.

use quote::ToTokens;
use syn::{Expr, GenericArgument, Lit, Member, Path, PathArguments, Type, UnOp};

/// Longest line that rustc does not break.
const LONGEST: usize = 70;

/// Returns the message, or `None` if it is unknown how rustc prints the condition.
pub fn of_assertion(condition: &Expr) -> Option<String> {
    let condition = print(condition)?;
    // In some editions braces would have a meaning.
    let is_plain = condition.len() <= LONGEST && !condition.contains(['{', '}', '\n']);
    is_plain.then(|| format!("assertion failed: {condition}"))
}

/// Prints an expression as rustc does (`rustc_ast_pretty`).
fn print(expr: &Expr) -> Option<String> {
    Some(match expr {
        Expr::Lit(lit) if lit.attrs.is_empty() => literal(&lit.lit)?,
        Expr::Path(expr) if expr.attrs.is_empty() && expr.qself.is_none() => path(&expr.path)?,
        Expr::Paren(expr) if expr.attrs.is_empty() => format!("({})", print(&expr.expr)?),
        Expr::Unary(unary) if unary.attrs.is_empty() => {
            let op = match unary.op {
                UnOp::Deref(_) => "*",
                UnOp::Not(_) => "!",
                UnOp::Neg(_) => "-",
                _ => return None,
            };
            format!("{op}{}", print(&unary.expr)?)
        }
        Expr::Reference(reference) if reference.attrs.is_empty() => {
            let mutable = if reference.mutability.is_some() { "mut " } else { "" };
            format!("&{mutable}{}", print(&reference.expr)?)
        }
        Expr::Binary(binary) if binary.attrs.is_empty() => {
            let op = binary.op.to_token_stream().to_string();
            format!("{} {} {}", print(&binary.left)?, op, print(&binary.right)?)
        }
        Expr::Call(call) if call.attrs.is_empty() && matches!(*call.func, Expr::Path(_)) => {
            format!("{}({})", print(&call.func)?, list(&call.args)?)
        }
        Expr::MethodCall(call) if call.attrs.is_empty() => {
            let turbofish = call.turbofish.as_ref().map_or(Some(String::new()), |generic| generics(&generic.args));
            format!("{}.{}{}({})", print(&call.receiver)?, call.method, turbofish?, list(&call.args)?)
        }
        Expr::Field(field) if field.attrs.is_empty() => match &field.member {
            Member::Named(name) => format!("{}.{name}", print(&field.base)?),
            Member::Unnamed(index) => format!("{}.{}", print(&field.base)?, index.index),
        },
        Expr::Index(index) if index.attrs.is_empty() => {
            format!("{}[{}]", print(&index.expr)?, print(&index.index)?)
        }
        Expr::Try(tried) if tried.attrs.is_empty() => format!("{}?", print(&tried.expr)?),
        Expr::Array(array) if array.attrs.is_empty() => format!("[{}]", list(&array.elems)?),
        Expr::Tuple(tuple) if tuple.attrs.is_empty() && tuple.elems.len() != 1 => format!("({})", list(&tuple.elems)?),
        Expr::Cast(cast) if cast.attrs.is_empty() => format!("{} as {}", print(&cast.expr)?, plain_type(&cast.ty)?),
        _ => return None,
    })
}

fn list<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Option<String> {
    Some(exprs.into_iter().map(print).collect::<Option<Vec<_>>>()?.join(", "))
}

fn literal(lit: &Lit) -> Option<String> {
    let is_known = matches!(lit, Lit::Str(_) | Lit::ByteStr(_) | Lit::Byte(_) | Lit::Char(_))
        || matches!(lit, Lit::Int(_) | Lit::Float(_) | Lit::Bool(_));
    is_known.then(|| lit.to_token_stream().to_string())
}

fn path(path: &Path) -> Option<String> {
    let segments = path.segments.iter().map(|segment| match &segment.arguments {
        PathArguments::None => Some(segment.ident.to_string()),
        PathArguments::AngleBracketed(generic) => Some(format!("{}{}", segment.ident, generics(&generic.args)?)),
        PathArguments::Parenthesized(_) => None,
    });
    let leading = if path.leading_colon.is_some() { "::" } else { "" };
    Some(format!("{leading}{}", segments.collect::<Option<Vec<_>>>()?.join("::")))
}

fn generics<'a>(arguments: impl IntoIterator<Item = &'a GenericArgument>) -> Option<String> {
    let arguments = arguments.into_iter().map(|argument| match argument {
        GenericArgument::Type(of) => plain_type(of),
        _ => None,
    });
    Some(format!("::<{}>", arguments.collect::<Option<Vec<_>>>()?.join(", ")))
}

fn plain_type(of: &Type) -> Option<String> {
    match of {
        Type::Path(of) if of.qself.is_none() => {
            let is_plain = of.path.segments.iter().all(|segment| segment.arguments.is_none());
            is_plain.then(|| path(&of.path))?
        }
        Type::Infer(_) => Some("_".to_owned()),
        _ => None,
    }
}
