//! What is linked into test executables besides the runtime when the growth of work is counted: the counter of basic blocks
//! and moved bytes, the lengths of arguments, and what functions do when they are entered and left.
//!
//! A crate of its own because it exports symbols: that of LLVM's coverage (`-sanitizer-coverage-trace-pc`), and those that
//! the linker puts around functions of the C library (`--wrap`).
//!
//! Invariants: nothing here allocates or locks, for the allocator may be instrumented too; each thread counts for itself.

mod counter;
mod length;
mod site;

pub use length::{Len, LenOfBytes, LenOfText, NoLen, Of};
pub use site::{Guard, Site};
