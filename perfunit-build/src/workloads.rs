//! The tests of an executable, whoever drives them.

use super::benches;
use super::doctests::Doctests;
use super::kept::{TestExecutable, side_of};
use super::listing::{self, Found};
use super::own_harness;
use perfunit_model::error::{Result, Tried};
use perfunit_model::{Harness, NoDoctest, NotCaptured, Unlisted};
use perfunit_system::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the folder of a side with the lists of tests that its executables printed.
const LISTS: &str = "tests";

/// Lists the tests of an executable; or why a harness of its own does not. `scratch` is a folder of ours.
pub fn list_tests(executable: &TestExecutable, scratch: &Path) -> Tried<Vec<Found>, Unlisted> {
    let found = match executable.harness {
        Harness::Runner | Harness::Libtest => known_to_executable(executable, scratch)?,
        Harness::Own => return own_harness::list(executable),
        Harness::Bench => return benches::list(executable),
    };
    Ok(match &executable.doctests {
        Some(doctests) => named(doctests, &found),
        None => found,
    })
}

/// Returns the tests that are compiled into an executable. The list never changes, so it is kept in the side's folder. A
/// harness of the project's own may find its tests in files when it runs.
fn known_to_executable(executable: &TestExecutable, scratch: &Path) -> Result<Vec<Found>> {
    let name = executable.path.file_name().unwrap_or_default().to_string_lossy();
    let kept = side_of(&executable.path).map(|side| side.join(LISTS).join(format!("{name}.json")));
    if let Some(found) = kept.as_deref().map(json::read_if_understood).transpose()?.flatten() {
        return Ok(found);
    }
    let found = match executable.harness {
        Harness::Runner => listing::by_runner(executable, scratch)?,
        _ => listing::by_libtest(executable)?,
    };
    if let Some(kept) = kept {
        json::write(&kept, &found)?;
    }
    Ok(found)
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
