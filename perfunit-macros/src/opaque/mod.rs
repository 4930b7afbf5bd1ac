//! Makes the constants of a test body opaque, so that the optimizer cannot compute the workload at compile time.
//!
//! Input: the tokens between the braces of a test body. Output: the same tokens with `black_box` around the constants
//! that are passed to calls, or `None` if there are none or the body cannot be parsed.
//!
//! Invariants: the program still compiles and means the same, in every edition. Types are inferred as before, because
//! `black_box::<T>(T) -> T` passes on the expected type. A value that the compiler promotes to `'static` stays a
//! constant expression inside `black_box`. Const contexts, patterns, types, nested items and unknown macros stay
//! unchanged.

mod constant;
mod known_macros;
mod message;
#[cfg(test)]
mod tests;
mod visit;

pub use visit::rewrite;
