//! Which tests can have changed: comparison of the machine code that each test can reach.
//!
//! Input: the bytes of what the linker was given for a test executable (relocatable ELF objects and archives; not the
//! toolchain's own libraries), of base and of head. Output: for every test whether it is the same, and if not, the
//! functions where its execution can first differ and the way to the nearest of them.
//!
//! The pieces: an *atom* is what a linker places as a whole, a section (rustc gives every function and every static its
//! own) or one entry of a mergeable section. Its *identity* is its kind, its bytes, and where it refers to what kind of
//! thing, but not the names of what it refers to. Two programs are compared as two automata are: a *pair* of atoms is
//! equal if their identities are, and then what they refer to is paired in order; a pair that is not equal is a
//! *frontier* and is not followed further. A test has changed iff a frontier can be reached from its pair.
//!
//! Why this is sound: as long as an execution has touched equal pairs only, base and head execute the same instructions
//! on corresponding data. The first difference needs a touched frontier. Names take no part, so renaming or moving code
//! changes nothing, except that mutable statics are told apart by name: two of them may have equal content and yet must
//! not be confused. The same holds for what is defined outside (std, libc): there the name is all that is known, and the
//! toolchain is the same on both sides.
//!
//! Invariants: no I/O, bytes in and data out; what cannot be read is an [`Unreadable`] with its reason, never skipped;
//! where something is uncertain, the answer errs towards [`Code::Changed`]. Not seen: addresses compared as numbers,
//! exception tables, what is loaded at run time.

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
pub use instructions::Operations;
pub use names::{is_c_identifier, stable as stable_name, with_old_drop};
pub use program::{Program, link};
pub use reach::{Reach, reach};
pub use read::read;
pub use starts::{restarting, starting};
pub use unit::{Unit, Unreadable};
