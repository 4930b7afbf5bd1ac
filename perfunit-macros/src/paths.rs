//! Paths in the generated code.
//!
//! The paths are absolute. Their tokens have our call site, whose edition is that of this crate, so
//! `::__perfunit_runtime` is found among the extern crates even in edition 2015 and without a prelude. `core` is
//! accessed through the runtime, because a package may have another dependency of that name.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

/// Returns the path of the crate `core`.
pub fn core() -> TokenStream {
    quote!(::__perfunit_runtime::__private::core)
}

/// Returns the built-in attribute that marks a test for libtest.
pub fn builtin_test() -> TokenStream {
    let core = core();
    quote!(#core::prelude::v1::test)
}

/// Returns the path of the runtime's function `fn run<T: Termination>(marker: &'static str, body: fn() -> T) -> T`.
pub fn run() -> TokenStream {
    quote!(::__perfunit_runtime::__private::run)
}

/// Builds a call of the runtime's function `fn executed(function: u64)`.
pub fn executed_call(function: &TokenStream) -> TokenStream {
    quote!(::__perfunit_runtime::__private::generated::executed(#function))
}

/// Returns the path of the runtime's type `Site`. Each function with a probe has a static of this type.
pub fn site() -> TokenStream {
    quote!(::__perfunit_runtime::__private::Site)
}

/// Returns the path of the crate that counts work, in a build that measures growth.
pub fn growth() -> TokenStream {
    quote!(::__perfunit_growth)
}

/// Returns the path of the runtime's function `fn probed<F: Future>(site: &'static Site, future: F) -> impl
/// Future<Output = F::Output>`.
pub fn probed_path() -> TokenStream {
    quote!(::__perfunit_runtime::__private::probed)
}

/// Builds `black_box(expr)`, a value that is opaque to the optimizer. Names resolve as in our other paths, but line
/// numbers come from `span`.
pub fn black_box(expr: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(span=> ::__perfunit_runtime::__private::black_box(#expr))
}

/// Builds `(*black_box(&expr))`, an opaque place in static memory. A method's borrow of it lives as long as if the
/// compiler had promoted the constant itself.
pub fn black_box_place(expr: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(span=> (*::__perfunit_runtime::__private::black_box(&#expr)))
}
