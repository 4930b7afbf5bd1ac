//! The tests of an executable, whoever drives them.

use super::kept::TestExecutable;
use super::listing::{self, Found};
use super::own_harness::{self, Unlisted};
use crate::error::Result;
use crate::model::Harness;
use std::path::Path;

/// Lists the tests of an executable; or why a harness of its own does not. `scratch` is a folder of ours.
pub fn list_tests(executable: &TestExecutable, scratch: &Path) -> Result<std::result::Result<Vec<Found>, Unlisted>> {
    match executable.harness {
        Harness::Runner => listing::by_runner(executable, scratch).map(Ok),
        Harness::Libtest => listing::by_libtest(executable).map(Ok),
        Harness::Own => own_harness::list(executable, scratch),
    }
}
