//! The functions of a file: their lengths, numbers of parameters, and errors that are strings.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A function of product code.
#[derive(Debug, Clone)]
pub struct Function {
    /// Name as `path:name`.
    pub place: String,
    pub lines: usize,
    /// Number of parameters without `self`.
    pub parameters: usize,
}

/// A `Result<_, String>`: the function or type that contains it, as `path:name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextError(pub String);

/// Removes code that is compiled only for tests, and returns its number of lines.
pub fn remove_tests(items: &mut Vec<syn::Item>) -> usize {
    let mut lines = 0;
    items.retain(|item| {
        let tests = match item {
            syn::Item::Mod(module) => &module.attrs,
            syn::Item::Fn(function) => &function.attrs,
            syn::Item::Impl(block) => &block.attrs,
            syn::Item::Use(import) => &import.attrs,
            _ => return true,
        };
        let is_test = tests.iter().any(for_tests);
        if is_test {
            lines += length(item.span());
        }
        !is_test
    });
    lines
}

/// Returns whether the attribute is `#[cfg(test)]` or `#[test]`.
fn for_tests(attribute: &syn::Attribute) -> bool {
    let is_test = |path: &syn::Path| path.is_ident("test");
    is_test(attribute.path())
        || attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| is_test(&path))
}

fn length(span: Span) -> usize {
    span.end().line - span.start().line + 1
}

/// Returns all functions and string errors.
pub fn find(path: &str, file: &syn::File) -> (Vec<Function>, Vec<TextError>) {
    let mut finder = Finder { path, inside: Vec::new(), functions: Vec::new(), text_errors: Vec::new() };
    finder.visit_file(file);
    (finder.functions, finder.text_errors)
}

struct Finder<'a> {
    path: &'a str,
    /// Names of the enclosing functions and types.
    inside: Vec<String>,
    functions: Vec<Function>,
    text_errors: Vec<TextError>,
}

impl Finder<'_> {
    fn place(&self) -> String {
        format!("{}:{}", self.path, self.inside.last().map_or("", String::as_str))
    }

    /// Records a function. Its length is that from `fn` to the last brace, without attributes and comments.
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let counts = |input: &&syn::FnArg| matches!(input, syn::FnArg::Typed(_));
        // Functions called by C have the parameters that C requires.
        let parameters = if signature.abi.is_some() { 0 } else { signature.inputs.iter().filter(counts).count() };
        let lines = body.span().end().line - signature.span().start().line + 1;
        self.functions.push(Function { place: self.place(), lines, parameters });
    }

    fn within(&mut self, name: &syn::Ident, visit: impl FnOnce(&mut Self)) {
        self.inside.push(name.to_string());
        visit(self);
        self.inside.pop();
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within(&item.sig.ident, |this| {
            this.function(&item.sig, &item.block);
            visit::visit_item_fn(this, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within(&item.sig.ident, |this| {
            this.function(&item.sig, &item.block);
            visit::visit_impl_item_fn(this, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.within(&item.sig.ident, |this| {
            if let Some(body) = &item.default {
                this.function(&item.sig, body);
            }
            visit::visit_trait_item_fn(this, item);
        });
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.within(&item.ident, |this| visit::visit_item_struct(this, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.within(&item.ident, |this| visit::visit_item_enum(this, item));
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.within(&item.ident, |this| visit::visit_item_type(this, item));
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && segment.ident == "Result"
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.iter().nth(1)
            && error.path.segments.last().is_some_and(|last| last.ident == "String")
        {
            self.text_errors.push(TextError(self.place()));
        }
        visit::visit_path_segment(self, segment);
    }
}
