//! Probes in a crate without std.

#![no_std]
#![deny(warnings)]
#![forbid(unsafe_code)]

#[perfunit_probe(1u64)]
pub fn function(value: u8) -> u8 {
    value
}

#[perfunit_probe(2u64)]
pub async fn future(value: u8) -> Option<u8> {
    Some(value)
}

#[cfg(perfunit_probes)]
#[macro_use(perfunit_probe)]
extern crate perfunit_macros as __perfunit_probes;
