//! Doc tests as workloads: those of each library become one test executable.
//!
//! Cargo runs us as `rustdoc --test` ([`rustdoc`]). The real rustdoc extracts the doc tests ([`extracted`]). We write
//! them as tests of one crate ([`bundle`]) and compile it like cargo compiles a test target, with our wrapper, so
//! capture methods, selection and layouts need no special case. Both sides use the texts of one version. Every doc test
//! that is not in a bundle has a reason.

mod bundle;
mod extraction;
mod order;
mod role;
mod rustc;

pub use order::{Doctests, RUSTDOC_NAME};
pub(super) use order::{
    Extracted, FOLDER_VARIABLE, Order, collect, differences, own_texts_key, texts_key, write_texts,
};
pub use role::rustdoc;
pub(super) use rustc::keep_options;
