//! Decides which tests can have changed by comparing the machine code that each test can reach.
//!
//! Input: the linker's input for a test executable in base and head (relocatable ELF objects and archives, without the
//! toolchain's own libraries). Output: for every test whether it is the same, and if not, the functions at which its
//! execution can first differ, with the path to the nearest of them.
//!
//! An *atom* is the unit that a linker places as a whole: a section (rustc gives every function and static its own) or
//! an entry of a mergeable section. Its *identity* consists of its kind, its bytes, and the positions and kinds of its
//! references, but not the names they refer to. Two programs are compared like two automata: a *pair* of atoms is equal
//! if their identities are; then their references are paired in order. A pair that is not equal is a *frontier* and is
//! not followed further. A test has changed if and only if a frontier is reachable from its pair.
//!
//! This is sound: as long as an execution touches only equal pairs, base and head execute the same instructions on
//! corresponding data. The first difference requires touching a frontier. Names are not compared, so renaming or moving
//! code changes nothing. Mutable statics are an exception: two of them may have equal content and must still not be
//! confused, so they are identified by name. The same holds for external definitions (std, libc), of which only the
//! name is known; the toolchain is the same on both sides.
//!
//! Invariants: no I/O, bytes in and data out; unreadable input gives an [`Unreadable`] with its reason and is never
//! skipped; uncertain results are [`Code::Changed`]. Not detected: addresses compared as numbers, exception tables,
//! libraries loaded at run time.

mod alike;
mod atoms;
mod compare;
mod digest;
mod elf;
mod functions;
mod inlining;
mod instructions;
mod names;
mod pairs;
mod pieces;
mod program;
mod reach;
mod read;
mod shapes;
mod starts;
#[cfg(test)]
mod tests;
mod trace;
mod unit;

pub use alike::{is_same_code, unlike};
pub use compare::{ChangedCode, Code, Comparison, What, compare, compare_symbols};
pub use functions::{FunctionCode, SourceName, functions, named_by};
pub use inlining::{Inlining, Origin, UnreadableExecutable};
pub use instructions::{Instruction, Operations, decode};
pub use names::{is_c_identifier, stable as stable_name, with_old_drop};
pub use program::{Program, link};
pub use reach::{Reach, reach};
pub use read::read;
pub use starts::{restarting, starting};
pub use unit::{Unit, Unreadable};
