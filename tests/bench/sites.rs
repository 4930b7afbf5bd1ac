//! Finds every place in a file where an edit can be made.

use super::edits::{Edit, Evidence, Kind, Place};
use super::harmless;
use super::literals;
use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Lit, Signature};

/// Returns all edits of a file in order. Tests and code below `#[cfg(test)]` are skipped.
pub fn sites(path: &str, text: &str, place: Place, dynamic: &BTreeSet<String>) -> Vec<Edit> {
    // The parser skips both, so its offsets would differ from those of the text.
    if text.starts_with('\u{feff}') || text.starts_with("#!/") {
        return Vec::new();
    }
    let Ok(file) = syn::parse_str::<syn::File>(text) else { return Vec::new() };
    let mut finder = Finder { path, text, place, dynamic, found: Vec::new(), around: Around::default() };
    finder.visit_file(&file);
    finder.found
}

/// Context of the visited code.
#[derive(Debug, Clone, Default)]
struct Around {
    /// Lines of the innermost function.
    function: Option<Range<usize>>,
    /// Name of the constant or static.
    constant: Option<String>,
    in_array: bool,
    /// Name of the implemented trait.
    implements: Option<String>,
    /// True if the implementation has type parameters.
    is_generic: bool,
}

struct Finder<'a> {
    path: &'a str,
    text: &'a str,
    place: Place,
    dynamic: &'a BTreeSet<String>,
    found: Vec<Edit>,
    around: Around,
}

impl Finder<'_> {
    fn add(&mut self, kind: Kind, span: Span, at: Range<usize>, new: String) {
        let evidence = match &self.around {
            // Tests do not execute the build script.
            _ if self.place == Place::BuildScript => Evidence::Generated,
            Around { constant: Some(name), .. } => Evidence::Naming(name.clone()),
            Around { function: Some(lines), .. } => Evidence::Lines(lines.clone()),
            Around { .. } => Evidence::None,
        };
        let (path, line) = (self.path.to_owned(), span.start().line);
        self.found.push(Edit { kind, place: self.place, path, line, changes: vec![(at, new)], evidence });
    }

    fn inside(&mut self, around: Around, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.around, around);
        visit(self);
        self.around = outside;
    }

    fn function(&mut self, attributes: &[Attribute], whole: Span, signature: &Signature, block: &Block) {
        if is_for_tests(attributes) {
            return;
        }
        let lines = block.span().start().line..block.span().end().line + 1;
        let around = Around { function: Some(lines), constant: None, in_array: false, ..self.around.clone() };
        let before = self.found.len();
        self.inside(around, |finder| {
            if signature.constness.is_none() {
                let kind = finder.kind_of_function(signature);
                let open = block.brace_token.span.open();
                let at = open.byte_range().end;
                finder.add(kind, open, at..at, " core::hint::black_box(17u64);".to_owned());
            }
            visit::visit_block(finder, block);
        });
        if self.place != Place::BuildScript {
            let start = whole.byte_range().start;
            let edits = harmless::edits(self.text, start, signature, block);
            let (path, place) = (self.path, self.place);
            self.found.splice(
                before..before,
                edits.into_iter().map(|(kind, line, changes)| Edit {
                    kind,
                    place,
                    path: path.to_owned(),
                    line,
                    changes,
                    evidence: Evidence::None,
                }),
            );
        }
    }

    fn kind_of_function(&self, signature: &Signature) -> Kind {
        match self.around.implements.as_deref() {
            Some("Drop") => Kind::Drop,
            Some(name) if self.dynamic.contains(name) => Kind::DynMethod,
            Some(_) => Kind::TraitMethod,
            None if self.around.is_generic || signature.generics.type_params().next().is_some() => Kind::Generic,
            None => Kind::Function,
        }
    }

    fn constant(&mut self, name: &syn::Ident, attributes: &[Attribute], value: &Expr) {
        // The compiler checks and discards a constant named `_`.
        if is_for_tests(attributes) || name == "_" {
            return;
        }
        let around = Around { function: None, constant: Some(name.to_string()), ..self.around.clone() };
        self.inside(around, |finder| finder.visit_expr(value));
    }

    /// Collects literals in a macro, of which the parser sees only tokens.
    fn tokens(&mut self, tokens: TokenStream, number: Kind, text: Option<Kind>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream(), number, text),
                TokenTree::Literal(literal) => {
                    let span = literal.span();
                    match (Lit::new(literal), text) {
                        (Lit::Int(int), _) => self.number(&int, number),
                        (Lit::Str(_) | Lit::ByteStr(_), Some(kind)) => self.letter(span, kind, false),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn number(&mut self, int: &syn::LitInt, kind: Kind) {
        if let Some(new) = literals::other_number(int) {
            self.add(kind, int.span(), int.span().byte_range(), new);
        }
    }

    fn letter(&mut self, span: Span, kind: Kind, digits: bool) {
        let range = span.byte_range();
        if let Some((offset, new)) = self.text.get(range.clone()).and_then(|text| literals::other_letter(text, digits))
        {
            let at = range.start + offset;
            self.add(kind, span, at..at + 1, new.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        // A function inside a method is not a method.
        let around = Around { implements: None, is_generic: false, ..self.around.clone() };
        self.inside(around, |finder| finder.function(&item.attrs, item.span(), &item.sig, &item.block));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let segment = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.to_string());
        let implements = item.trait_.as_ref().and_then(|(path, _)| segment(path));
        let is_generic = item.generics.type_params().next().is_some();
        let around = Around { implements, is_generic, ..self.around.clone() };
        self.inside(around, |finder| visit::visit_item_impl(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, item.span(), &item.sig, &item.block);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let around = Around { implements: Some(item.ident.to_string()), is_generic: false, ..self.around.clone() };
        self.inside(around, |finder| visit::visit_item_trait(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, item.span(), &item.sig, block);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(&item.ident, &item.attrs, &item.expr);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(&item.ident, &item.attrs, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(&item.ident, &item.attrs, &item.expr);
    }

    fn visit_expr_array(&mut self, array: &'ast syn::ExprArray) {
        let around = Around { in_array: true, ..self.around.clone() };
        self.inside(around, |finder| visit::visit_expr_array(finder, array));
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        let Around { function, constant, in_array, .. } = &self.around;
        let is_constant = constant.is_some();
        if !is_constant && function.is_none() {
            return;
        }
        let table = is_constant && *in_array;
        match &literal.lit {
            Lit::Int(int) if is_constant => self.number(int, if table { Kind::Table } else { Kind::Constant }),
            Lit::Int(int) => self.number(int, Kind::Number),
            Lit::Str(text) => self.letter(text.span(), if table { Kind::Table } else { Kind::Text }, is_constant),
            Lit::ByteStr(text) => {
                self.letter(text.span(), if is_constant { Kind::Table } else { Kind::Text }, is_constant);
            }
            _ => {}
        }
    }

    fn visit_expr_for_loop(&mut self, expr: &'ast syn::ExprForLoop) {
        if let (Expr::Range(syn::ExprRange { end: Some(end), .. }), true) =
            (&*expr.expr, self.around.function.is_some())
        {
            let range = end.span().byte_range();
            if let Some(text) = self.text.get(range.clone()) {
                self.add(Kind::LoopBound, end.span(), range, format!("({text}).saturating_sub(1)"));
            }
        }
        visit::visit_expr_for_loop(self, expr);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let new = match expr.op {
            BinOp::Lt(_) => Some("<="),
            BinOp::Le(_) => Some("<"),
            BinOp::Gt(_) => Some(">="),
            BinOp::Ge(_) => Some(">"),
            _ => None,
        };
        if let (Some(new), true) = (new, self.around.function.is_some()) {
            self.add(Kind::Comparison, expr.op.span(), expr.op.span().byte_range(), new.to_owned());
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        let range = expr.cond.span().byte_range();
        if let (Some(text), true) = (self.text.get(range.clone()), self.around.function.is_some())
            && !binds(&expr.cond)
        {
            self.add(Kind::Condition, expr.cond.span(), range, format!("!({text})"));
        }
        visit::visit_expr_if(self, expr);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if self.around.function.is_some() || self.around.constant.is_some() {
            self.tokens(call.tokens.clone(), Kind::Number, Some(Kind::Text));
        } else {
            self.tokens(call.tokens.clone(), Kind::Macro, None);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if is_for_tests(&item.attrs) {
            return;
        }
        if !item.mac.path.is_ident("macro_rules") {
            return self.visit_macro(&item.mac);
        }
        let mut is_expansion = false;
        for token in item.mac.tokens.clone() {
            match token {
                TokenTree::Punct(punct) => is_expansion = punct.as_char() == '>',
                TokenTree::Group(group) if is_expansion => {
                    let lines = group.span_open().start().line..group.span_close().end().line + 1;
                    let around = Around { function: Some(lines), ..Around::default() };
                    self.inside(around, |finder| finder.tokens(group.stream(), Kind::Macro, Some(Kind::Macro)));
                }
                _ => is_expansion = false,
            }
        }
    }
}

/// Returns whether a condition contains a `let`, so that it cannot be negated.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// Returns whether an item is a test or compiled only for tests.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Some(name) = attribute.path().segments.last() else { return false };
        match name.ident.to_string().as_str() {
            "test" | "bench" => true,
            "cfg" => attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.clone().into_iter().any(|token| token.to_string() == "test")),
            _ => false,
        }
    })
}
