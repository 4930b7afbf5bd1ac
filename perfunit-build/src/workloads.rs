//! Lists the tests of an executable with any harness.

use super::benches;
use super::doctests::Doctests;
use super::listing::{self, ListedTest};
use super::own_harness;
use super::side_build::{TestExecutable, side_of};
use perfunit_model::error::{Result, Tried};
use perfunit_model::{Harness, NoDoctest, NotCaptured, Unlisted};
use perfunit_system::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Folder of a side with the test lists that its executables printed.
const LISTS: &str = "tests";

/// Lists the tests of an executable, or returns the reason why its own harness does not. `scratch` is a folder of ours.
pub fn list_tests(executable: &TestExecutable, scratch: &Path) -> Tried<Vec<ListedTest>, Unlisted> {
    let found = match executable.harness {
        Harness::Runner | Harness::Libtest => known_to_executable(executable, scratch)?,
        Harness::Own => return own_harness::list(executable),
        Harness::Bench => return benches::list(executable),
    };
    Ok(match &executable.doctests {
        Some(doctests) => name_doctests(doctests, &found),
        None => found,
    })
}

/// Returns the tests that are compiled into an executable. The list is constant, so it is cached in the side's folder.
/// A project's own harness may find its tests in files at run time, so its list is not cached.
fn known_to_executable(executable: &TestExecutable, scratch: &Path) -> Result<Vec<ListedTest>> {
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

/// Returns doc tests under their names. Other tests that libtest finds are inside of a doc test.
fn name_doctests(doctests: &Doctests, found: &[ListedTest]) -> Vec<ListedTest> {
    let by_name: BTreeMap<&str, &ListedTest> = found.iter().map(|test| (test.name.as_str(), test)).collect();
    let bundled = doctests.known_as.iter().filter_map(|(name, known_as)| {
        let found = *by_name.get(known_as.as_str())?;
        // The position refers to a file of ours.
        Some(ListedTest { name: name.clone(), place: None, ..found.clone() })
    });
    let left_out = doctests.left_out.iter().map(|(name, why)| ListedTest {
        name: name.clone(),
        ignored: *why == Some(NoDoctest::Ignored),
        of_name: 1,
        place: None,
        capture: None,
        obstacle: why.clone().map(NotCaptured::Doctest),
    });
    bundled.chain(left_out).collect()
}
