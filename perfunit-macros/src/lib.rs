//! Turns unit tests into performance tests while they are compiled.
//!
//! Input: the items a user marked `#[test]`, which resolves to [`macro@test`] because the shadow tree adds
//! `#[cfg(test)] #[macro_use(test, ...)] extern crate perfunit_macros;` to every crate root. Output: the same test for libtest,
//! whose body is handed to `perfunit_runtime::__private::run` as a function that can be called again and again.
//! The runtime goes by the name `__perfunit_runtime` there: a crate may have the published one among its dependencies,
//! whose attributes [`macro@skip`] and [`macro@threshold`] tell the tool about a test and do nothing to it.
//! In an instrumented build other functions are marked [`macro@perfunit_probe`], and report each call to the runtime.
//!
//! Invariants: no error of ours (what is not understood passes through as it was); the user's spans stay, so
//! compile errors and panic locations do not move; the output names everything by absolute path and depends on
//! neither edition nor prelude of the user's crate.

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

/// Replaces the built-in `#[test]`, and expands to it; also usable by path as `#[perfunit_macros::test]`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test_attr::expand(&args.into(), &item.into()).into()
}

/// `#[perfunit::skip]`, `#[perfunit::skip("reason")]`: the tool does not measure this test. Nothing else changes.
#[proc_macro_attribute]
pub fn skip(args: TokenStream, item: TokenStream) -> TokenStream {
    attributes::skip(&args.into(), item.into()).into()
}

/// `#[perfunit::threshold("5%")]`: the smallest change of this test that counts as slower or faster. Nothing else changes.
#[proc_macro_attribute]
pub fn threshold(args: TokenStream, item: TokenStream) -> TokenStream {
    attributes::threshold(&args.into(), item.into()).into()
}

/// `#[perfunit_probe(KEY)]` gives a function a probe: the runtime knows its calls by this 64-bit number.
#[proc_macro_attribute]
pub fn perfunit_probe(args: TokenStream, item: TokenStream) -> TokenStream {
    probe_attr::expand(&args.into(), &item.into()).into()
}

/// `perfunit_executed!(NUMBER)` at the beginning of a function counts its calls, where generated calls of it are tried.
#[proc_macro]
pub fn perfunit_executed(number: TokenStream) -> TokenStream {
    paths::executed(&number.into()).into()
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
