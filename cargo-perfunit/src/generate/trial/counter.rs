//! Functions that count their calls: what is tried has to execute what it is for.

use crate::model::Function;
use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

/// The counter, without a line of its own.
const COUNTER: &str = " #[cfg(test)] perfunit_executed!();";

/// The text of a file in which those of the functions count that can, and the lines of these.
pub fn counted(text: &str, functions: &[&Function]) -> (String, BTreeSet<usize>) {
    let Ok(parsed) = syn::parse_str(text) else { return (text.to_owned(), BTreeSet::new()) };
    let wanted = functions.iter().map(|function| function.line).collect();
    let mut finder = Finder { wanted, found: Vec::new() };
    finder.visit_file(&parsed);
    finder.found.sort_unstable();
    let mut counted = text.to_owned();
    for (at, _) in finder.found.iter().rev() {
        counted.insert_str(*at, COUNTER);
    }
    (counted, finder.found.into_iter().map(|(_, line)| line).collect())
}

struct Finder {
    /// Lines of names.
    wanted: BTreeSet<usize>,
    /// Where bodies begin, and the lines of their names.
    found: Vec<(usize, usize)>,
}

impl Finder {
    fn function(&mut self, sig: &Signature, attributes: &[Attribute], body: &Block) {
        let line = sig.ident.span().start().line;
        // A const fn cannot count.
        if !self.wanted.contains(&line) || sig.constness.is_some() {
            return;
        }
        let inner = attributes.iter().filter(|attribute| matches!(attribute.style, AttrStyle::Inner(_)));
        let end = |span: Span| span.byte_range().end;
        let brace = end(body.brace_token.span.open());
        self.found.push((inner.map(|attribute| end(attribute.span())).max().unwrap_or(brace), line));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, &item.attrs, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: usize, expected: &str) {
        let function = Function { package: String::new(), file: String::new(), line, name: String::new() };
        let (found, lines) = counted(text, &[&function]);
        assert_eq!(found, expected);
        assert_eq!(lines.contains(&line), text != expected);
    }

    #[test]
    fn a_counter_stands_first_in_the_body() {
        let with = |before: &str, after: &str| format!("{before}{COUNTER}{after}");
        check("fn a() {}\nfn b() { 1 }\n", 2, &with("fn a() {}\nfn b() {", " 1 }\n"));
        check("impl S {\nfn a() {}\n}\n", 2, &with("impl S {\nfn a() {", "}\n}\n"));
        check("fn a() { #![allow(x)] }", 1, &with("fn a() { #![allow(x)]", " }"));
        check("trait T {\nfn a();\nfn b() {} }", 3, &with("trait T {\nfn a();\nfn b() {", "} }"));
    }

    #[test]
    fn what_cannot_count_stays_as_it_is() {
        check("const fn a() {}", 1, "const fn a() {}");
        check("not rust", 1, "not rust");
    }
}
