//! Calls on their way to become workloads, and what they are tried with.

use crate::place::test_name;
use crate::sources::holder;
use perfunit_build as build;
use perfunit_model::{Function, GeneratedCall, NotGenerated, TargetId};
use perfunit_project::git::Versions;
use perfunit_select::Selected;
use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

/// What calls are tried with.
pub struct Trials<'a> {
    pub versions: &'a Versions,
    pub selected: &'a Selected,
    pub options: &'a build::Options,
    /// When no further function is begun.
    pub deadline: Option<Instant>,
}

/// A call on its way to become a workload.
pub struct Candidate {
    pub call: GeneratedCall,
    /// Of its function.
    pub number: u64,
    pub target: TargetId,
    /// Of its test function.
    pub name: String,
    /// As libtest prints it.
    pub test: String,
}

/// Calls with the targets whose unit tests they can join.
pub fn candidates(
    selected: &Selected,
    calls: Vec<GeneratedCall>,
    failures: &mut Vec<(Function, NotGenerated)>,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    // Of each function its number, and how many calls of it there are so far.
    let mut numbers: BTreeMap<Function, (u64, usize)> = BTreeMap::new();
    for call in calls {
        let Some((target, module)) = holder(selected, &call.function.package, &call.module.file) else {
            failures.push((call.function, NotGenerated::NoTarget));
            continue;
        };
        let next = numbers.len() as u64;
        let (number, calls) = numbers.entry(call.function.clone()).or_insert((next, 0));
        let (number, name) = (*number, format!("{}_{}_{calls}", identifier(&call.function.name), call.function.line));
        *calls += 1;
        let test = test_name(module, &call.module, &name);
        found.push(Candidate { target: target.clone(), number, name, test, call });
    }
    found
}

/// A function's name with the type around it, as one identifier.
fn identifier(name: &str) -> String {
    let mut segments: Vec<&str> = name.rsplit("::").take(2).collect();
    segments.reverse();
    let words = segments.join("_").to_lowercase();
    let words: String = words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    words.trim_matches('_').to_owned()
}

/// The text of a file in which those of the functions count that can, and their numbers. Functions are given by the lines of
/// their names.
pub fn counted(text: &str, functions: &BTreeMap<usize, u64>) -> (String, BTreeSet<u64>) {
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

/// Without a line of its own.
fn counter(number: u64) -> String {
    format!(" #[cfg(test)] perfunit_executed!({number});")
}

struct Finder<'a> {
    wanted: &'a BTreeMap<usize, u64>,
    /// Where bodies begin, and the numbers of their functions.
    found: Vec<(usize, u64)>,
}

impl Finder<'_> {
    fn function(&mut self, sig: &Signature, attributes: &[Attribute], body: &Block) {
        // A const fn cannot count.
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

    #[test]
    fn names_are_identifiers() {
        assert_eq!(identifier("a::Parser<'_>::next_line"), "parser_____next_line");
        assert_eq!(identifier("plain"), "plain");
    }

    #[track_caller]
    fn check(text: &str, line: usize, expected: &str) {
        let (found, numbers) = counted(text, &BTreeMap::from([(line, 7)]));
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
