//! The tests of an executable, whoever drives them.

use super::benches;
use super::doctests::Doctests;
use super::kept::TestExecutable;
use super::listing::{self, Found};
use super::own_harness;
use perfunit_model::error::Tried;
use perfunit_model::{Harness, NoDoctest, NotCaptured, Unlisted};
use std::collections::BTreeMap;
use std::path::Path;

/// Lists the tests of an executable; or why a harness of its own does not. `scratch` is a folder of ours.
pub fn list_tests(executable: &TestExecutable, scratch: &Path) -> Tried<Vec<Found>, Unlisted> {
    let found = match executable.harness {
        Harness::Runner => listing::by_runner(executable, scratch)?,
        Harness::Libtest => listing::by_libtest(executable)?,
        Harness::Own => return own_harness::list(executable),
        Harness::Bench => return benches::list(executable),
    };
    Ok(match &executable.doctests {
        Some(doctests) => named(doctests, &found),
        None => found,
    })
}

/// Doc tests by their names. What else libtest finds is a test that stands in one of them.
fn named(doctests: &Doctests, found: &[Found]) -> Vec<Found> {
    let by_name: BTreeMap<&str, &Found> = found.iter().map(|test| (test.name.as_str(), test)).collect();
    let bundled = doctests.known_as.iter().filter_map(|(name, known_as)| {
        let found = *by_name.get(known_as.as_str())?;
        // Its place is in a file of ours.
        Some(Found { name: name.clone(), place: None, ..found.clone() })
    });
    let left_out = doctests.left_out.iter().map(|(name, why)| Found {
        name: name.clone(),
        ignored: *why == Some(NoDoctest::Ignored),
        of_name: 1,
        place: None,
        capture: None,
        obstacle: why.clone().map(NotCaptured::Doctest),
    });
    bundled.chain(left_out).collect()
}
