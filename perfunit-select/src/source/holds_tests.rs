//! Checks whether a file can contain tests. An unclear case counts as yes.

use super::attributes::{DERIVES_OF_STD, is_attribute_macro};
use super::normalise::bare;
use super::parse::parse;
use perfunit_model::guesses::{ATTRIBUTES_WITHOUT_TESTS, DERIVES_WITHOUT_TESTS, MACROS_WITHOUT_TESTS};
use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Path, Token};

/// Built-in attributes that [`is_attribute_macro`] does not list.
const BUILT_IN: [&str; 4] = ["crate_name", "no_implicit_prelude", "panic_handler", "windows_subsystem"];
/// Attributes that occur only on tests, or that remove the default harness.
const OF_TESTS: [&str; 3] = ["ignore", "no_main", "should_panic"];

/// Checks whether a file obviously contains tests.
pub fn holds_tests(text: &str) -> bool {
    text.contains("#[test]")
}

/// Checks whether a file may contain tests itself. `is_file` checks whether the file of a module is known, given the
/// module's path in this file.
pub fn may_hold_tests(text: &str, is_file: &dyn Fn(&str) -> bool) -> bool {
    // The text may be for a macro, or the compiler may parse it differently.
    let Some(file) = parse(text) else { return true };
    !file.attrs.iter().all(makes_none) || may_hold(&file.items, "", is_file)
}

fn may_hold(items: &[Item], scope: &str, is_file: &dyn Fn(&str) -> bool) -> bool {
    items.iter().any(|item| match item {
        Item::Mod(module) => {
            let name = bare(&module.ident);
            let path = if scope.is_empty() { name } else { format!("{scope}::{name}") };
            let may = match &module.content {
                Some((_, items)) => may_hold(items, &path, is_file),
                None => !is_file(&path),
            };
            may || !module.attrs.iter().all(makes_none)
        }
        Item::Macro(call) => !is_named(&call.mac.path, &MACROS_WITHOUT_TESTS) || !call.attrs.iter().all(makes_none),
        Item::Verbatim(_) => true,
        item => !attributes(item).iter().all(makes_none),
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn makes_none(attribute: &Attribute) -> bool {
    meta_makes_none(&attribute.meta)
}

fn meta_makes_none(meta: &Meta) -> bool {
    let path = meta.path();
    match meta {
        // Code that exists only in tests usually is a test or is used by tests.
        Meta::List(list) if path.is_ident("cfg") || path.is_ident("feature") => !names_tests(list.tokens.clone()),
        Meta::List(list) if path.is_ident("cfg_attr") => {
            let metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            !names_tests(list.tokens.clone()) && metas.is_ok_and(|metas| metas.iter().skip(1).all(meta_makes_none))
        }
        Meta::List(list) if path.is_ident("unsafe") => {
            list.parse_args::<Meta>().is_ok_and(|meta| meta_makes_none(&meta))
        }
        Meta::List(list) if path.is_ident("derive") => {
            let derived = list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
            let makes_none = |path: &Path| is_named(path, &DERIVES_OF_STD) || is_named(path, &DERIVES_WITHOUT_TESTS);
            derived.is_ok_and(|derived| derived.iter().all(makes_none))
        }
        _ if is_attribute_macro(path) => is_named(path, &BUILT_IN) || is_named(path, &ATTRIBUTES_WITHOUT_TESTS),
        _ => !is_named(path, &OF_TESTS),
    }
}

/// Compares the last part of a path: `tokio::main` matches `main`.
fn is_named(path: &Path, names: &[&str]) -> bool {
    path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

fn names_tests(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => {
            let word = word.to_string();
            ["test", "bench"].iter().any(|part| word.contains(part))
        }
        TokenTree::Group(group) => names_tests(group.stream()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_code_holds_none() {
        for text in [
            "fn main() {}",
            "#![no_std]\n//! Text.\nmod a;\nmod b { pub mod c; }\npub use a::X;",
            "#[derive(Debug, Clone, serde::Serialize)] #[serde(rename_all = \"kebab-case\")] #[repr(u8)] enum E { A }",
            "#[tokio::main] async fn main() { assert!(true); println!(\"test\"); }",
            "macro_rules! cases { ($name:ident) => { #[test_case] fn $name() {} }; }",
            "#[cfg(feature = \"test-util\")] #[cfg_attr(feature = \"x\", derive(Debug))] pub struct S { #[arg(long)] a: u8 }",
            "impl S { #[inline] fn f(&self) { thread_local! { static A: u8 = 1; } } }",
        ] {
            assert!(!may_hold_tests(text, &|path| ["a", "b::c"].contains(&path)), "{text}");
        }
    }

    #[test]
    fn whatever_may_write_tests_may_hold_some() {
        for text in [
            "#[test] fn a() {}",
            "#[tokio::test] async fn a() {}",
            "#[rstest] fn a() {}",
            "#[cfg(test)] mod tests;",
            "#[cfg(all(unix, test))] use a as b;",
            "#[cfg_attr(feature = \"x\", quickcheck)] fn a() {}",
            "#[derive(Debug, TS)] struct S;",
            "cases!(a);",
            "mod unknown;",
            "mod b { mod unknown; }",
            "include!(\"a.rs\");",
            "#![feature(custom_test_frameworks)]",
            "#![no_main]",
            "fn a( {}",
        ] {
            assert!(may_hold_tests(text, &|_| false), "{text}");
        }
    }
}
