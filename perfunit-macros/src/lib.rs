//! Turns unit tests into performance tests at compile time.
//!
//! Input: the items that a user marked `#[test]`. The attribute resolves to [`macro@test`] because the shadow tree adds
//! `#[cfg(test)] #[macro_use(test, ...)] extern crate perfunit_macros;` to every crate root. Output: the same test for
//! libtest, which passes its body to `perfunit_runtime::__private::run` as a function that can be called repeatedly.
//! The runtime's name there is `__perfunit_runtime`, because a crate may depend on the published one for the attributes
//! [`macro@skip`] and [`macro@threshold`], which tell the tool about a test and do not change it. In an instrumented
//! build, other functions have [`macro@perfunit_probe`] and report each call to the runtime.
//!
//! Invariants: our macros add no errors (unsupported code passes through unchanged); the user's spans stay, so compile
//! errors and panic locations do not move; the output uses absolute paths and depends on neither edition nor prelude of
//! the user's crate.

#![warn(missing_docs)]

mod attributes;
mod body;
mod divan_attr;
mod function_path;
mod opaque;
mod paths;
mod probe_attr;
mod splice;
mod test_attr;

use proc_macro::TokenStream;

/// Replaces the built-in `#[test]`, and expands to it. Can also be used by path as `#[perfunit_macros::test]`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test_attr::expand(&args.into(), &item.into()).into()
}

/// `#[perfunit::skip]`, `#[perfunit::skip("reason")]`: excludes this test from measuring. Has no other effect.
#[proc_macro_attribute]
pub fn skip(args: TokenStream, item: TokenStream) -> TokenStream {
    attributes::skip(&args.into(), item.into()).into()
}

/// `#[perfunit::threshold("5%")]`: sets the smallest change of this test to report as slower or faster. Has no other
/// effect.
#[proc_macro_attribute]
pub fn threshold(args: TokenStream, item: TokenStream) -> TokenStream {
    attributes::threshold(&args.into(), item.into()).into()
}

/// `#[perfunit_probe(KEY)]`: adds a probe to a function. The 64-bit key identifies its calls.
#[proc_macro_attribute]
pub fn perfunit_probe(args: TokenStream, item: TokenStream) -> TokenStream {
    probe_attr::expand(&args.into(), &item.into()).into()
}

/// `perfunit_executed!(NUMBER)` at the start of a function: counts its calls while generated workloads are tried.
#[proc_macro]
pub fn perfunit_executed(number: TokenStream) -> TokenStream {
    paths::executed_call(&number.into()).into()
}

/// `#[divan::bench]` in the stand-in of divan.
#[proc_macro_attribute]
pub fn divan_bench(args: TokenStream, item: TokenStream) -> TokenStream {
    divan_attr::bench(args.into(), item.into()).into()
}

/// `#[divan::bench_group]` in the stand-in of divan.
#[proc_macro_attribute]
pub fn divan_bench_group(args: TokenStream, item: TokenStream) -> TokenStream {
    divan_attr::bench_group(&args.into(), item.into()).into()
}
