//! Counting of work for `--growth`, linked into test executables in addition to the runtime: a counter of basic blocks
//! and moved bytes, lengths of arguments, and probes at the entry and exit of functions.
//!
//! It is a separate crate because it exports symbols: the hook of LLVM's coverage (`-sanitizer-coverage-trace-pc`), and
//! the wrappers that the linker puts around functions of the C library (`--wrap`).
//!
//! Invariants: nothing here allocates or locks, because the allocator may be instrumented too; each thread counts its
//! own work.

mod counter;
mod length;
mod site;

pub use length::{Len, LenOfBytes, LenOfText, NoLen, Of};
pub use site::{Guard, Site};
