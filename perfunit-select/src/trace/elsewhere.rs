//! Systems that are not Linux: nothing is traced, so nothing is left out.

use super::executed::{Executed, Program};
use super::unseen::Unseen;
use perfunit_model::Untraceable;
use perfunit_model::error::Result;
use std::collections::BTreeSet;
use std::time::Duration;

pub fn available() -> std::result::Result<(), Untraceable> {
    Err(Untraceable::OtherSystem)
}

pub fn executes(_: &Program<'_>, _: &str, symbols: &BTreeSet<String>, _: Duration) -> Result<Executed> {
    Ok(if symbols.is_empty() { Executed::No } else { Executed::Unknown(Unseen::OtherSystem) })
}
