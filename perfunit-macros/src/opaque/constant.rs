//! Recognizes constant expressions.

use syn::{BinOp, Expr, ExprCall, ExprCast, ExprPath, ExprRange, ExprStruct, Lit, Path, Type, UnOp};

/// Maximum number of parts of a constant that is copied through `black_box`.
pub const MANY: usize = 64;

/// Properties of a constant expression, which consists of literals (at least one), operators, references, arrays,
/// tuples, ranges, and struct and variant constructors.
#[derive(Clone, Copy)]
pub struct Constant {
    /// Number of literals.
    pub literals: usize,
    /// True if the compiler gives it static memory when it is borrowed, and it is `Copy`.
    pub promotable: bool,
    /// True if everything borrowed inside is promotable, so that nothing relies on a `let` that extends a temporary's
    /// life.
    pub held: bool,
    /// True if it contains no references, including strings, so that an expected type cannot change the types of its
    /// parts.
    pub scalar: bool,
}

impl Constant {
    const LITERAL: Self = Constant { literals: 1, promotable: true, held: true, scalar: true };
    const STRING: Self = Constant { scalar: false, ..Self::LITERAL };
    const NOTHING: Self = Constant { literals: 0, ..Self::LITERAL };

    /// Recognizes a constant.
    pub fn of(expr: &Expr) -> Option<Self> {
        examine(expr).filter(|constant| constant.literals > 0)
    }

    /// Checks whether passing it through `black_box` by value is cheap.
    pub fn is_small(self) -> bool {
        self.literals <= MANY
    }

    fn and(self, other: Self) -> Self {
        Constant {
            literals: self.literals + other.literals,
            promotable: self.promotable && other.promotable,
            held: self.held && other.held,
            scalar: self.scalar && other.scalar,
        }
    }

    fn borrow(self) -> Self {
        Constant { held: self.promotable, scalar: false, ..self }
    }

    fn construct(self) -> Self {
        Constant { promotable: false, ..self }
    }
}

/// Examines an expression like [`Constant::of`], but also accepts one without literals, such as `()`.
fn examine(expr: &Expr) -> Option<Constant> {
    match expr {
        Expr::Lit(lit) if lit.attrs.is_empty() => literal(&lit.lit),
        Expr::Path(path) if path.attrs.is_empty() => primitive_constant(path),
        Expr::Group(group) if group.attrs.is_empty() => examine(&group.expr),
        Expr::Paren(paren) if paren.attrs.is_empty() => examine(&paren.expr),
        Expr::Unary(unary) if unary.attrs.is_empty() && matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) => {
            examine(&unary.expr).filter(|operand| operand.scalar)
        }
        Expr::Binary(binary) if binary.attrs.is_empty() && is_arithmetic(&binary.op) => {
            Some(examine(&binary.left)?.and(examine(&binary.right)?).construct())
        }
        Expr::Cast(cast) if cast.attrs.is_empty() => numeric_cast(cast),
        Expr::Reference(reference) if reference.attrs.is_empty() && reference.mutability.is_none() => {
            Some(examine(&reference.expr)?.borrow())
        }
        Expr::Array(array) if array.attrs.is_empty() => all(&array.elems).filter(|elems| elems.literals > 0),
        Expr::Tuple(tuple) if tuple.attrs.is_empty() => all(&tuple.elems),
        Expr::Range(range) if range.attrs.is_empty() => bounds(range),
        Expr::Call(call) if call.attrs.is_empty() && is_constructor(call) => Some(all(&call.args)?.construct()),
        Expr::Struct(literal) if literal.attrs.is_empty() => fields(literal),
        _ => None,
    }
}

fn all<'a>(parts: impl IntoIterator<Item = &'a Expr>) -> Option<Constant> {
    parts.into_iter().try_fold(Constant::NOTHING, |sum, part| Some(sum.and(examine(part)?)))
}

fn literal(lit: &Lit) -> Option<Constant> {
    match lit {
        Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) => Some(Constant::STRING),
        Lit::Byte(_) | Lit::Char(_) | Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) => Some(Constant::LITERAL),
        _ => None,
    }
}

/// Recognizes `u32::MAX`. `f64::consts::PI` is not worth its own rule.
fn primitive_constant(expr: &ExprPath) -> Option<Constant> {
    let segments = &expr.path.segments;
    let is_screaming = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let known = expr.qself.is_none()
        && segments.len() == 2
        && is_primitive(&segments[0].ident.to_string())
        && is_screaming(&segments[1].ident.to_string());
    known.then_some(Constant::LITERAL)
}

fn numeric_cast(cast: &ExprCast) -> Option<Constant> {
    let Type::Path(ty) = &*cast.ty else { return None };
    let to_number = ty.qself.is_none() && ty.path.get_ident().is_some_and(|name| is_primitive(&name.to_string()));
    examine(&cast.expr).filter(|value| to_number && value.scalar)
}

fn bounds(range: &ExprRange) -> Option<Constant> {
    Some(all(range.start.iter().chain(&range.end).map(|bound| &**bound))?.construct())
}

fn fields(literal: &ExprStruct) -> Option<Constant> {
    let complete = literal.rest.is_none() && literal.dot2_token.is_none();
    let plain = literal.fields.iter().all(|field| field.attrs.is_empty());
    (complete && plain).then(|| all(literal.fields.iter().map(|field| &field.expr)))?.map(Constant::construct)
}

fn is_arithmetic(op: &BinOp) -> bool {
    use BinOp::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};
    matches!(op, Add(_) | Sub(_) | Mul(_) | Div(_) | Rem(_) | BitAnd(_) | BitOr(_) | BitXor(_) | Shl(_) | Shr(_))
}

fn is_primitive(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: [&str; 15] = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "char",
    ];
    NAMES.contains(&name)
}

/// Checks by spelling for `Some(..)` or `Point(..)`, which can be a constant expression.
pub fn is_constructor(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Path(func) if starts_upper(&func.path))
}

/// Checks whether the last segment of `path` is spelled like a type or a variant.
pub fn starts_upper(path: &Path) -> bool {
    last_name(path).trim_start_matches("r#").trim_start_matches('_').starts_with(char::is_uppercase)
}

/// Returns the last segment of `path`.
pub fn last_name(path: &Path) -> String {
    path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}
