//! `#[test]`: turns a test function into a libtest function that runs the original one through the runtime.
//!
//! ```text
//! #[test] #[ignore] pub fn parses() -> R { BODY }
//! ```
//! becomes
//! ```text
//! #[::__perfunit_runtime::__private::core::prelude::v1::test] #[ignore] pub fn parses() -> R {
//!     fn parses() -> R { BODY, its constants opaque }
//!     ::__perfunit_runtime::__private::run("perfunit-test=krate::module::parses;", parses)
//! }
//! ```
//! The inner function has the test's own name, because macros that query the name of their function use the last
//! segment of its type name; with another name, insta would look for other snapshot files. A body that queries the full
//! path is not moved, and our test runner calls such a test as a whole.

use crate::body::{braces, item_trees};
use crate::splice::{regroup, visible_item};
use crate::{function_path, opaque, paths};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, GenericParam, Safety, Signature, Visibility};

/// Prefix of `krate::module::name` in the marker by which a captured test is found in an executable.
const MARKER: &str = "perfunit-test=";
/// Suffix of the marker.
const MARKER_END: &str = ";";

/// Expands `#[test(args)] item`. An item that is not a plain test function stays unchanged, with the built-in
/// `#[test]`.
pub fn expand(args: &TokenStream, item: &TokenStream) -> TokenStream {
    if args.is_empty() {
        if let Some(test) = TestFn::of(item) {
            return test.build_capture();
        }
    }
    let test = paths::builtin_test();
    if args.is_empty() {
        quote!(#[#test] #item)
    } else {
        quote!(#[#test(#args)] #item)
    }
}

/// A function that libtest accepts as a test and that can be called repeatedly: without arguments, type parameters or
/// qualifiers.
struct TestFn {
    name: Ident,
    /// Attributes and visibility, as received.
    before: TokenStream,
    /// Tokens from `fn` to the body, as received.
    signature: TokenStream,
    /// Body with its braces.
    body: Group,
}

/// A function without its body.
struct Head(Signature);

impl Parse for Head {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        Ok(Self(input.parse()?))
    }
}

/// Environment variable with the names, separated by commas, of tests that do not compile with our expansion and must
/// stay unchanged.
const CALLED_WHOLE: &str = "PERFUNIT_CALLED_WHOLE";

fn is_called_whole(name: &Ident) -> bool {
    let names = std::env::var(CALLED_WHOLE).unwrap_or_default();
    names.split(',').any(|called_whole| name == called_whole)
}

/// Checks the signature. Empty `<>` are allowed, because rstest writes them, and so are lifetimes, which libtest
/// accepts.
fn is_plain(sig: &Signature) -> bool {
    sig.constness.is_none()
        && sig.asyncness.is_none()
        && matches!(sig.safety, Safety::Default)
        && sig.abi.is_none()
        && sig.generics.params.iter().all(|param| matches!(param, GenericParam::Lifetime(_)))
        && sig.generics.where_clause.is_none()
        && sig.inputs.is_empty()
        && sig.variadic.is_none()
}

impl TestFn {
    /// Parses a test; `None` if it is not a plain one.
    fn of(item: &TokenStream) -> Option<Self> {
        let mut trees = item_trees(item);
        let body = braces(trees.pop()?)?;
        let mut head = visible_item(trees)?;
        let Head(sig) = syn::parse2(head.iter().cloned().collect()).ok()?;
        if !is_plain(&sig) || is_called_whole(&sig.ident) || function_path::queries_path(&body.stream()) {
            return None;
        }
        let keyword = head.iter().position(|tree| matches!(tree, TokenTree::Ident(word) if word == "fn"))?;
        let signature = head.split_off(keyword).into_iter().collect();
        Some(Self { name: sig.ident, before: head.into_iter().collect(), signature, body })
    }

    fn build_capture(&self) -> TokenStream {
        let TestFn { name, before, signature, .. } = self;
        let (test, run) = (paths::builtin_test(), paths::run());
        let (marker, body) = (marker(name), self.opaque_body());
        quote! {
            #[#test]
            #before #signature {
                #signature #body
                #run(#marker, #name)
            }
        }
    }

    fn opaque_body(&self) -> Group {
        let stream = opaque::rewrite(self.body.stream());
        stream.map_or_else(|| self.body.clone(), |stream| regroup(&self.body, stream))
    }
}

/// Builds the marker, a literal after expansion: `perfunit-test=krate::module::name;`. It contains the name as libtest
/// prints it: both print raw identifiers with `r#`.
fn marker(name: &Ident) -> TokenStream {
    let end = format!("::{name}{MARKER_END}");
    let core = paths::core();
    quote!(#core::concat!(#MARKER, #core::module_path!(), #end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Delimiter;

    fn expand_to_text(item: &TokenStream) -> String {
        without_spaces(&expand(&TokenStream::new(), item))
    }

    /// Parsed and generated tokens differ in their spacing.
    fn without_spaces(tokens: &TokenStream) -> String {
        tokens.to_string().replace(' ', "")
    }

    fn tokens(code: &str) -> TokenStream {
        code.parse().unwrap()
    }

    #[track_caller]
    fn check(item: &str, expected: &str) {
        assert_eq!(expand_to_text(&tokens(item)), without_spaces(&tokens(expected)));
    }

    #[track_caller]
    fn check_passes_through(item: &str) {
        check(item, &format!("#[::__perfunit_runtime::__private::core::prelude::v1::test] {item}"));
    }

    #[test]
    fn plain_test_is_captured() {
        check(
            "#[ignore] #[doc = \"x\"] pub fn name() -> Result<(), E> { work()? }",
            "#[::__perfunit_runtime::__private::core::prelude::v1::test] #[ignore] #[doc = \"x\"] pub fn name() -> Result<(), E> {
                fn name() -> Result<(), E> { work()? }
                ::__perfunit_runtime::__private::run(
                    ::__perfunit_runtime::__private::core::concat!(\"perfunit-test=\", ::__perfunit_runtime::__private::core::module_path!(), \"::name;\"), name)
            }",
        );
    }

    #[test]
    fn groups_and_empty_generics_are_tolerated() {
        let ungrouped = |code| Group::new(Delimiter::None, tokens(code));
        let (name, body) = (ungrouped("name"), ungrouped("{ work(x) }"));
        let plain = expand_to_text(&tokens("fn name<>() { work(x) }"));
        assert!(plain.contains("run"));
        assert_eq!(expand_to_text(&quote!(fn #name<>() #body)), plain);
    }

    #[test]
    fn lifetimes_are_kept() {
        let lifetimes = expand_to_text(&tokens("fn name<'a>() { work(x) }"));
        assert_eq!(lifetimes.matches("fnname<'a>()").count(), 2, "{lifetimes}");
    }

    #[test]
    fn raw_names_keep_their_prefix() {
        assert!(expand_to_text(&tokens("fn r#match() {}")).contains("\"::r#match;\""));
    }

    #[test]
    fn what_is_not_understood_passes_through() {
        check_passes_through("async fn a() {}");
        check_passes_through("fn a(x: u8) {}");
        check_passes_through("fn a<T>() {}");
        check_passes_through("fn a() where u8: Copy {}");
        check_passes_through("const fn a() {}");
        check_passes_through("unsafe fn a() {}");
        check_passes_through("extern \"C\" fn a() {}");
        check_passes_through("gen fn a() {}");
        check_passes_through("fn a();");
        check_passes_through("fn a() {} fn b() {}");
        check_passes_through("struct A;");
        check_passes_through("maker! {}");
    }

    #[test]
    fn bodies_that_ask_for_the_path_of_their_function_pass_through() {
        check_passes_through("fn a() { check(f(3), file![_]) }");
        check_passes_through("fn a() { check(f(3), snapbox::file![_: Json].raw()) }");
        check_passes_through("fn a() { if b { Some(fn_path!()) } else { None }; }");
        check_passes_through("fn a() { stdext::function_name!(); }");
        for other in ["file!()", "file![\"name\"]", "function_name()", "file != _x", "name!(_)"] {
            assert!(expand_to_text(&tokens(&format!("fn a() {{ {other}; }}"))).contains("perfunit-test="), "{other}");
        }
    }

    #[test]
    fn arguments_pass_through() {
        let passed = expand(&tokens("x"), &tokens("fn a() {}"));
        assert_eq!(without_spaces(&passed), "#[::__perfunit_runtime::__private::core::prelude::v1::test(x)]fna(){}");
    }

    #[test]
    fn unknown_syntax_in_a_body_is_left_alone() {
        assert!(expand_to_text(&tokens("fn a() { f(3); become => 7 }")).contains("{f(3);become=>7}"));
    }
}
