//! Functions that count their calls, because a trial must execute the function it is for.

use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

/// Inserts counters into the functions of a file, which are given by the lines of their names. Returns the text and the
/// numbers of the functions that can count.
pub fn insert_counters(text: &str, functions: &BTreeMap<usize, u64>) -> (String, BTreeSet<u64>) {
    let Ok(parsed) = syn::parse_str(text) else { return (text.to_owned(), BTreeSet::new()) };
    let mut finder = Finder { wanted: functions, found: Vec::new() };
    finder.visit_file(&parsed);
    finder.found.sort_unstable();
    let mut counted = text.to_owned();
    for (at, number) in finder.found.iter().rev() {
        counted.insert_str(*at, &counter(*number));
    }
    (counted, finder.found.into_iter().map(|(_, number)| number).collect())
}

/// Returns the counter, which adds no line.
fn counter(number: u64) -> String {
    format!(" #[cfg(test)] perfunit_executed!({number});")
}

struct Finder<'a> {
    wanted: &'a BTreeMap<usize, u64>,
    /// Offsets of the bodies, and the numbers of their functions.
    found: Vec<(usize, u64)>,
}

impl Finder<'_> {
    fn function(&mut self, sig: &Signature, attributes: &[Attribute], body: &Block) {
        // A `const fn` cannot count.
        let Some(number) = self.wanted.get(&sig.ident.span().start().line).filter(|_| sig.constness.is_none()) else {
            return;
        };
        let inner = attributes.iter().filter(|attribute| matches!(attribute.style, AttrStyle::Inner(_)));
        let end = |span: Span| span.byte_range().end;
        let brace = end(body.brace_token.span.open());
        self.found.push((inner.map(|attribute| end(attribute.span())).max().unwrap_or(brace), *number));
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
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
        let (found, numbers) = insert_counters(text, &BTreeMap::from([(line, 7)]));
        assert_eq!(found, expected);
        assert_eq!(numbers.contains(&7), text != expected);
    }

    #[test]
    fn a_counter_stands_first_in_the_body() {
        let with = |before: &str, after: &str| format!("{before} #[cfg(test)] perfunit_executed!(7);{after}");
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
