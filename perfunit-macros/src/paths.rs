//! Paths the generated code uses.
//!
//! All are absolute. Their tokens carry our call site, whose edition is that of this crate: so `::__perfunit_runtime` is
//! found among the extern crates in a crate of edition 2015, too, and without a prelude. `core` is taken from there: a
//! package may have another dependency of that name.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

/// The crate `core`.
pub fn core() -> TokenStream {
    quote!(::__perfunit_runtime::__private::core)
}

/// The attribute that makes libtest see a test.
pub fn builtin_test() -> TokenStream {
    let core = core();
    quote!(#core::prelude::v1::test)
}

/// The function `fn run<T: Termination>(marker: &'static str, body: fn() -> T) -> T` of the runtime.
pub fn run() -> TokenStream {
    quote!(::__perfunit_runtime::__private::run)
}

/// A call of the function `fn executed(function: u64)` of the runtime.
pub fn executed(function: &TokenStream) -> TokenStream {
    quote!(::__perfunit_runtime::__private::generated::executed(#function))
}

/// The type `Site` of the runtime, of which each function with a probe has a static.
pub fn site() -> TokenStream {
    quote!(::__perfunit_runtime::__private::Site)
}

/// The crate that counts work, in a build that shows how it grows.
pub fn growth() -> TokenStream {
    quote!(::__perfunit_growth)
}

/// The function `fn probed<F: Future>(site: &'static Site, future: F) -> impl Future<Output = F::Output>` of the runtime.
pub fn probed() -> TokenStream {
    quote!(::__perfunit_runtime::__private::probed)
}

/// `black_box(expr)`: a value the optimiser knows nothing about. Names resolve as in our other paths, but line numbers
/// are those of `span`.
pub fn black_box(expr: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(span=> ::__perfunit_runtime::__private::black_box(#expr))
}

/// `(*black_box(&expr))`: the same as a place in static memory, so that what a method borrows from it lives as long
/// as it did when the compiler promoted the constant itself.
pub fn black_box_place(expr: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(span=> (*::__perfunit_runtime::__private::black_box(&#expr)))
}
