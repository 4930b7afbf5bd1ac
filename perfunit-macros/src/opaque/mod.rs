//! Keeps the constants of a test body opaque, so that the optimiser cannot compute the workload at compile time.
//!
//! Input: the tokens between the braces of a test body. Output: the same tokens with `black_box` around the
//! constants that feed calls, or `None` if there is none (or the body is not understood).
//!
//! Invariants: the program still compiles and means the same, in every edition. Types are inferred as before, since
//! `black_box::<T>(T) -> T` passes the expected type on; what the compiler promotes to a `'static` stays a constant
//! expression inside of `black_box`; nothing in a const context, pattern, type, nested item or unknown macro changes.

mod constant;
mod known_macros;
mod message;
#[cfg(test)]
mod tests;
mod visit;

pub use visit::rewrite;
