//! Edits of real objects: rustc and cc compile both versions, and the comparison must find the changed tests.

mod aarch64;
mod linking;
mod reach;
mod reading;
mod rust;
mod support;
mod synthetic;
