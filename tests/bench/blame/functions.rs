//! The functions of a file with the data for injections: where they begin, what they call, and whether they can be
//! repeated.

use super::edits::Kind;
use super::harmless;
use super::sites::is_for_tests;
use perfunit_select::source;
use std::collections::BTreeSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, FnArg, ReceiverKind, Signature, Type};

/// Replacements of byte ranges of a file, in order.
pub type Changes = Vec<(Range<usize>, String)>;

/// Types that implement `Copy`.
const COPIED: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// A function that may get a busy loop.
#[derive(Debug, Clone)]
pub struct Function {
    /// File, from the root of the repository.
    pub path: String,
    /// Last segment of the name.
    pub name: String,
    /// Line of the name, from 1.
    pub line: usize,
    /// Offset of the body, after the brace.
    pub start: usize,
    /// Calls in the body, except those in nested functions and in macros.
    pub calls: Vec<Call>,
    /// Renamings of variables, which change neither machine code nor lines.
    pub renames: Vec<Changes>,
    /// True if it can be called again with the same arguments: numbers and shared references.
    pub is_repeatable: bool,
    /// True if it does almost nothing.
    pub is_trivial: bool,
}

/// A call in a function.
#[derive(Debug, Clone)]
pub struct Call {
    /// Last segment of the called name.
    pub callee: String,
    /// Byte range of the whole expression.
    pub range: Range<usize>,
    /// True if the call is in a loop or in a closure, which iterators call repeatedly.
    pub is_in_loop: bool,
}

/// Returns the functions of a file outside of tests. Const functions, which no probe can time, and functions written by
/// macros are left out.
pub fn functions(path: &str, text: &str) -> Vec<Function> {
    // The parser skips both, so its offsets would differ from those of the text.
    if text.starts_with('\u{feff}') || text.starts_with("#!/") {
        return Vec::new();
    }
    let Ok(file) = syn::parse_str::<syn::File>(text) else { return Vec::new() };
    let probed = source::instrument(text, &source::Place { package: "", path }, &|_| true);
    let trivial = probed.sites.iter().filter(|site| site.trivial).map(|site| site.line).collect();
    let mut finder = Finder { path, text, trivial, found: Vec::new(), inside: Vec::new(), loops: Vec::new() };
    finder.visit_file(&file);
    finder.found
}

struct Finder<'a> {
    path: &'a str,
    text: &'a str,
    /// Lines of functions that do almost nothing.
    trivial: BTreeSet<usize>,
    found: Vec<Function>,
    /// Functions around the visited code, innermost last.
    inside: Vec<Function>,
    /// Number of loops around the visited code in each of these functions.
    loops: Vec<usize>,
}

impl Finder<'_> {
    fn function(&mut self, attributes: &[Attribute], whole: Range<usize>, signature: &Signature, block: &Block) {
        if is_for_tests(attributes) || signature.constness.is_some() {
            return;
        }
        let line = signature.ident.span().start().line;
        let edits = harmless::edits(self.text, whole.start, signature, block);
        let renames = edits.into_iter().filter(|(kind, _, _)| *kind == Kind::Rename).map(|(_, _, changes)| changes);
        self.inside.push(Function {
            path: self.path.to_owned(),
            name: signature.ident.to_string(),
            line,
            start: block.brace_token.span.open().byte_range().end,
            calls: Vec::new(),
            renames: renames.collect(),
            is_repeatable: signature.inputs.iter().all(is_repeatable),
            is_trivial: self.trivial.contains(&line),
        });
        self.loops.push(0);
        visit::visit_block(self, block);
        self.loops.pop();
        self.found.extend(self.inside.pop());
    }

    fn call(&mut self, callee: String, expression: &Expr) {
        if let Some(function) = self.inside.last_mut() {
            let is_in_loop = self.loops.last().is_some_and(|loops| *loops > 0);
            function.calls.push(Call { callee, range: expression.span().byte_range(), is_in_loop });
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    // Code that runs at compile time takes no time.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, item.span().byte_range(), &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, item.span().byte_range(), &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, item.span().byte_range(), &item.sig, block);
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Call(call) => {
                if let Expr::Path(path) = &*call.func
                    && let Some(last) = path.path.segments.last()
                {
                    self.call(last.ident.to_string(), expression);
                }
            }
            Expr::MethodCall(call) => self.call(call.method.to_string(), expression),
            _ => {}
        }
        let repeats = matches!(expression, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) | Expr::Closure(_));
        let turn = usize::from(repeats);
        self.loops.iter_mut().last().into_iter().for_each(|loops| *loops += turn);
        visit::visit_expr(self, expression);
        self.loops.iter_mut().last().into_iter().for_each(|loops| *loops -= turn);
    }
}

fn is_repeatable(argument: &FnArg) -> bool {
    match argument {
        FnArg::Receiver(receiver) => matches!(receiver.kind, ReceiverKind::Reference(_, _, None)),
        FnArg::Typed(typed) => match &*typed.ty {
            Type::Reference(reference) => reference.mutability.is_none(),
            Type::Path(path) => COPIED.iter().any(|name| path.path.is_ident(name)),
            _ => false,
        },
    }
}
