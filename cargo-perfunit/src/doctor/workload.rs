//! Our own executable as a workload: a test of a few microseconds, compared with itself like a user's test.

use super::facts::SCRATCH;
use perfunit_build::{Inputs, SideBuild, TestExecutable};
use perfunit_measure::{Bench, Config, Measuring, Observer, Subject, measure_all};
use perfunit_model::checkup::AgainstItself;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Harness, Placement, Sides, TargetId, TargetKind, TestId};
use perfunit_runtime::page::TEST_VARIABLE;
use perfunit_system::process;
use perfunit_system::progress::Progress;
use perfunit_system::temporary;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Argument that selects this role; no test has a space in its name.
const NAME: &str = "perfunit doctor";
/// More time would not add information.
const BUDGET: Duration = Duration::from_secs(2);
/// Entries of the map that the workload fills.
const ENTRIES: u64 = 200;

/// Returns true in a process that [`against_itself`] started.
pub fn is_workload() -> bool {
    std::env::var_os(TEST_VARIABLE).is_some_and(|name| name == NAME)
}

/// Serves the protocol until the process ends.
pub fn serve_workload() -> ! {
    perfunit_runtime::__private::serve_function(NAME, false, work)
}

/// The error if the map was not filled.
struct Empty;

/// Does typical work of tests: allocates, looks up, writes text.
fn work() -> std::result::Result<(), Empty> {
    let mut map = BTreeMap::new();
    for entry in 0..black_box(ENTRIES) {
        map.insert(entry.wrapping_mul(0x9e37_79b9_7f4a_7c15), entry.to_string());
    }
    let length: usize = map.values().map(String::len).sum();
    if black_box(length) > 0 { Ok(()) } else { Err(Empty) }
}

/// Measures the workload with the bench, the pairs and the rule of `diff`.
pub fn against_itself(progress: &Progress) -> Result<AgainstItself> {
    let folder = temporary::scratch(SCRATCH)?;
    measure(folder.path(), progress)
}

fn measure(folder: &Path, progress: &Progress) -> Result<AgainstItself> {
    let path = process::own_executable()?;
    let target = TargetId { package: "doctor".to_owned(), kind: TargetKind::Bin, name: "doctor".to_owned() };
    let executable = TestExecutable {
        target: target.clone(),
        path,
        cwd: folder.to_owned(),
        env: BTreeMap::new(),
        harness: Harness::Runner,
        link: None,
        libraries: BTreeMap::new(),
        doctests: None,
    };
    let side = SideBuild::of(folder.to_owned(), Inputs::default());
    let executables = Sides { base: &executable, head: &executable };
    let subject = Subject::new(TestId { target, name: NAME.to_owned() }, executables);
    // A single executable has one layout.
    let config = Config::of(&Measuring {
        per_test_budget: BUDGET,
        seed: fastrand::u64(..),
        placement: Placement::Natural,
        ..Measuring::default()
    });
    let bench = Bench::open(folder)?;
    let started = Instant::now();
    let observer = Observer { progress, ended: &|_, _| {} };
    let ended = measure_all(&bench, &config, &Sides { base: &side, head: &side }, &[subject], observer)?;
    let seconds = started.elapsed().as_secs_f64();
    let end = ended.tests.into_iter().next().ok_or_else(|| Error::setup("nothing was measured"))?;
    match (end.figures, end.reason) {
        (Some(figures), _) => Ok(AgainstItself {
            core: bench.core(),
            verdict: figures.verdict,
            pairs: figures.measured.pairs,
            detectable: figures.measured.detectable,
            ns: figures.measured.base_ns,
            seconds,
        }),
        (None, Some(reason)) => Err(Error::setup(reason.to_string())),
        (None, None) => Err(Error::setup("nothing was measured")),
    }
}
