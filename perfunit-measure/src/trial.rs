//! One test with all that it takes to run it.

use super::bench::{Bench, Config};
use super::running::Programs;

/// Where, on what terms and by which executables a test is run.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    pub bench: &'a Bench,
    /// What the user set for this test.
    pub config: &'a Config,
    pub programs: Programs<'a>,
}
