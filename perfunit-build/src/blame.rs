//! Finds the tests that contain the errors of a build.
//!
//! An error in a function belongs to that function. An error in a macro call may be in any test that the macro
//! generates. Only the macro knows the names of these tests, so every word of the call is a candidate, the nearest
//! words first.

use super::cargo_output::ErrorPlace;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::{Attribute, Item};

/// Names, without modules, of tests that may contain the errors.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Blamed {
    /// Functions with a test attribute.
    pub functions: BTreeSet<String>,
    /// Words on the lines of macro calls with errors; some may be names of tests.
    pub near: BTreeSet<String>,
    /// Every word of these macro calls.
    pub words: BTreeSet<String>,
}

impl Blamed {
    /// Parses the files with errors.
    pub fn of(places: &[ErrorPlace]) -> Self {
        let mut blamed = Self::default();
        for place in places {
            let Ok(text) = std::fs::read_to_string(&place.file) else { continue };
            let Ok(file) = syn::parse_file(&text) else { continue };
            blamed.items(&file.items, place.line);
        }
        blamed
    }

    /// Returns the names to try next, given those already tried; `None` if every name was tried.
    pub fn next(&self, tried: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let exact = || self.functions.iter().chain(&self.near).cloned().collect::<BTreeSet<_>>();
        let next = [exact(), self.words.clone()].into_iter().map(|names| &names - tried);
        next.into_iter().find(|names| !names.is_empty())
    }

    /// Checks whether all errors are in functions.
    pub fn is_exact(&self) -> bool {
        !self.functions.is_empty() && self.words.is_empty()
    }

    fn items(&mut self, items: &[Item], line: usize) {
        let holds = |span: proc_macro2::Span| (span.start().line..=span.end().line).contains(&line);
        for item in items.iter().filter(|item| holds(item.span())) {
            match item {
                Item::Mod(module) => self.items(module.content.as_ref().map_or(&[], |(_, items)| items), line),
                Item::Fn(function) if function.attrs.iter().any(may_make_test) => {
                    self.functions.insert(function.sig.ident.to_string());
                }
                Item::Macro(call) if call.ident.is_none() => self.call(&call.mac.tokens, line),
                _ => {}
            }
        }
    }

    fn call(&mut self, tokens: &TokenStream, line: usize) {
        let words = |tree| match tree {
            TokenTree::Ident(word) => Some((word.span().start().line, word.to_string())),
            _ => None,
        };
        let words: Vec<(usize, String)> = tokens.clone().into_iter().filter_map(words).collect();
        let nearest = words.iter().map(|(at, _)| *at).filter(|at| *at <= line).max();
        self.near.extend(words.iter().filter(|(at, _)| Some(*at) == nearest).map(|(_, word)| word.clone()));
        self.words.extend(words.into_iter().map(|(_, word)| word));
    }
}

fn may_make_test(attribute: &Attribute) -> bool {
    let name = attribute.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    name.contains("test") || name == "cfg_attr"
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn helper() {}\n\
        mod tests {\n\
        #[test]\n\
        fn first() {\n\
        helper();\n\
        }\n\
        made! { second, |a| {\n\
        helper(b);\n\
        } third: 4 }\n\
        }\n";

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn blame_lines(lines: &[usize]) -> Blamed {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lib.rs");
        std::fs::write(&file, FILE).unwrap();
        let place = |line: &usize| ErrorPlace { file: file.clone(), line: *line, message: String::new() };
        Blamed::of(&lines.iter().map(place).collect::<Vec<_>>())
    }

    #[test]
    fn an_error_is_that_of_the_function_or_call_around_it() {
        assert_eq!(blame_lines(&[5]).functions, names(&["first"]));
        assert!(blame_lines(&[5]).is_exact());
        let call = blame_lines(&[8]);
        assert_eq!((call.near, call.words), (names(&["a", "second"]), names(&["a", "second", "third"])));
        assert_eq!(blame_lines(&[1, 2, 100]), Blamed::default());
    }

    #[test]
    fn the_nearest_names_are_tried_first() {
        let both = blame_lines(&[5, 8]);
        assert_eq!(both.next(&names(&[])), Some(names(&["a", "first", "second"])));
        assert_eq!(both.next(&names(&["a", "first", "second"])), Some(names(&["third"])));
        assert_eq!(both.next(&names(&["a", "first", "second", "third"])), None);
        assert!(!both.is_exact());
    }
}
