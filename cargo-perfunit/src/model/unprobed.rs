//! Why the calls of a function are not timed.

use serde::{Deserialize, Serialize};

/// Why a function has no probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unprobed {
    /// `const fn`, and all of a trait or impl block that can be used in constants.
    Const,
    Naked,
    /// `unsafe extern "C" fn f(a: u8, ...)`.
    Variadic,
    /// `fn main` of a program.
    Main,
    /// `#[proc_macro]`, `#[panic_handler]` and the like.
    CompilerHook,
    /// A method of `GlobalAlloc`.
    Allocator,
    /// An `async fn` that an attribute macro, on it or around it, can turn into a function that returns a future.
    RewrittenAsync,
    NoPrelude,
    /// In a macro definition, or in the tokens of a macro call.
    InMacro,
    /// Syntax unknown to us: of a function, or of the whole file.
    Unparsed,
    /// Not wanted, and too small to be timed.
    Trivial,
    /// Not wanted by who instruments.
    Unwanted,
}
