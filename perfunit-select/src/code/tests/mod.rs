//! Stories of edits, on real objects: rustc and cc compile both versions, and the comparison says what became of the tests.

mod linking;
mod reach;
mod reading;
mod rust;
mod support;
mod synthetic;
