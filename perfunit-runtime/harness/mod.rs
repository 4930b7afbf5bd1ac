//! Performance checks as part of `cargo test` and cargo-nextest. The tests of such a target are the tests that a change
//! can reach, and those that became slower fail. Needs the feature `harness`.
//!
//! In `Cargo.toml`:
//!
//! ```toml
//! [dev-dependencies]
//! perfunit-runtime = { version = "0.1", features = ["harness"] }
//!
//! [[test]]
//! name = "performance"
//! harness = false
//! ```
//!
//! and in `tests/performance.rs` a main function that calls [`main`]: `fn main() { perfunit_runtime::harness::main()
//! }`.
//!
//! The environment variable `PERFUNIT_BASE` names the version to compare with. Without it, `cargo perfunit diff`
//! chooses the version. `docs/harness.md` of cargo-perfunit describes how verdicts become test results, and what
//! happens where cargo-perfunit is not installed.

mod tool;
mod verdict;

use crate::page::{HARNESS_MARKER, INSIDE_VARIABLE};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tool::{Listed, NoAnswer, Tool};
use verdict::{Answer, Verdicts};

/// Runs the test target for the tests of its package. To be called from the target's main function.
pub fn main() -> ! {
    main_with(&[])
}

/// Runs the test target with further arguments for `cargo perfunit list` and `cargo perfunit diff`, such as
/// `--workspace`.
pub fn main_with(arguments: &[&str]) -> ! {
    let harness = Arguments::from_args();
    let notes = Arc::default();
    // The tool finds the marker in the executable and does not list its tests.
    std::hint::black_box(HARNESS_MARKER);
    // Executables that the tool itself starts must not start the tool again.
    let is_inside = std::env::var_os(INSIDE_VARIABLE).is_some();
    let trials = if is_inside { Vec::new() } else { trials(&harness, arguments, &notes) };
    let conclusion = libtest_mimic::run(&harness, trials);
    print(&notes);
    conclusion.exit()
}

/// Remarks on tests that passed or were not measured.
type Notes = Mutex<Vec<String>>;

/// The run of `cargo perfunit diff` that all tests of this process share.
struct Run {
    tool: Tool,
    base: String,
    /// Names of the tests to measure; empty for all listed tests.
    names: OnceLock<Vec<String>>,
    /// Number of listed tests.
    listed: usize,
    verdicts: OnceLock<Result<Verdicts, NoAnswer>>,
}

/// Returns one trial for each test that the change can reach.
fn trials(harness: &Arguments, arguments: &[&str], notes: &Arc<Notes>) -> Vec<Trial> {
    let Some(tool) = Tool::find(arguments) else { return vec![not_installed()] };
    let (base, listed) = match tool.list() {
        Ok(found) => found,
        Err(why) => return vec![Trial::test("cargo perfunit list", move || Err(Failed::from(why)))],
    };
    let run = Arc::new(Run { tool, base, names: OnceLock::new(), listed: listed.len(), verdicts: OnceLock::new() });
    let trial = |listed: &Listed| {
        let (run, notes, test) = (Arc::clone(&run), Arc::clone(notes), listed.clone());
        Trial::ignorable_test(listed.to_string(), move || run.check(&test, &notes))
    };
    let trials: Vec<Trial> = listed.iter().map(trial).collect();
    let names: BTreeMap<String, &Listed> = listed.iter().map(|listed| (listed.to_string(), listed)).collect();
    let chosen = trials.iter().filter(|trial| !harness.is_filtered_out(trial));
    let chosen: Vec<String> = chosen.filter_map(|trial| Some(names.get(trial.name())?.name.clone())).collect();
    let names = if chosen.len() < trials.len() { chosen } else { Vec::new() };
    let _ = run.names.set(names);
    trials
}

impl Run {
    /// Returns the result of one test. The first call measures all tests.
    fn check(&self, test: &Listed, notes: &Notes) -> Result<Completion, Failed> {
        let names = self.names.get().map_or(&[][..], Vec::as_slice);
        let others = self.listed.saturating_sub(names.len());
        let ask = || Ok(Verdicts::new(&self.base, self.tool.diff(&self.base, names, others)?));
        let verdicts = self.verdicts.get_or_init(ask);
        let verdicts = verdicts.as_ref().map_err(Failed::from)?;
        match verdicts.of(test) {
            Answer::Passed(note) => {
                let note = note.map(|note| format!("{test}: {note}"));
                notes.lock().unwrap_or_else(PoisonError::into_inner).extend(note);
                Ok(Completion::Completed)
            }
            Answer::NotMeasured(why) => {
                let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                notes.push(format!("{test}: not measured: {why}"));
                Ok(Completion::ignored_with(why))
            }
            Answer::Slower(message) => Err(Failed::from(message)),
        }
    }
}

/// Returns an ignored test named after the installation hint, so that the target does not look passed.
fn not_installed() -> Trial {
    let install = "cargo-perfunit is not installed: `cargo install --locked --git https://github.com/cargo-perfunit/cargo-perfunit cargo-perfunit`";
    Trial::test(install, move || Err(Failed::from(install))).with_ignored_flag(true)
}

/// Prints the remarks in libtest's format.
fn print(notes: &Notes) {
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    if !notes.is_empty() {
        // A closed pipe is not an error.
        let _ = writeln!(std::io::stdout(), "notes:\n    {}\n", notes.join("\n    "));
    }
}
