//! Doc tests as workloads: each library's become one test executable.
//!
//! Cargo runs us as its `rustdoc --test` ([`rustdoc`]). We have the real one extract the doc tests ([`extracted`]), write
//! them down as tests of one crate ([`bundle`]), and compile that as cargo compiles a test target, through our wrapper:
//! capture methods, selection and layouts find nothing special in it. The texts are those of one version on both sides.
//! Every doc test that is in no bundle has its reason.

mod bundle;
mod extracted;
mod order;
mod role;
mod rustc;

pub use order::{Doctests, RUSTDOC_NAME};
pub(super) use order::{
    Extracted, FOLDER_VARIABLE, Order, collect, differences, own_texts_key, texts_key, write_texts,
};
pub use role::rustdoc;
pub(super) use rustc::keep_options;
