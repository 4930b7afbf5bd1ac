//! Performance checks as part of `cargo test` and cargo-nextest: the tests of a target that asks cargo-perfunit are the
//! tests that a change can reach, and those fail that got slower. Needs the feature `harness`.
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
//! and in `tests/performance.rs` a main function that calls [`main`]: `fn main() { perfunit_runtime::harness::main() }`.
//!
//! The version to compare with is `PERFUNIT_BASE` or, without it, what `cargo perfunit diff` chooses. What the verdicts
//! become, and what is where cargo-perfunit is not installed, `docs/harness.md` of cargo-perfunit tells.

mod tool;
mod verdict;

use crate::page::{HARNESS_MARKER, INSIDE_VARIABLE};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tool::{Listed, NoAnswer, Tool};
use verdict::{Answer, Verdicts};

/// The main function of a test target: asks about the tests of its package.
pub fn main() -> ! {
    main_with(&[])
}

/// The same with further arguments for `cargo perfunit list` and `cargo perfunit diff`, such as `--workspace`.
pub fn main_with(arguments: &[&str]) -> ! {
    let harness = Arguments::from_args();
    let notes = Arc::default();
    // The tool sees in the executable that there is nothing to list.
    std::hint::black_box(HARNESS_MARKER);
    // What the tool runs does not ask it again.
    let is_inside = std::env::var_os(INSIDE_VARIABLE).is_some();
    let trials = if is_inside { Vec::new() } else { trials(&harness, arguments, &notes) };
    let conclusion = libtest_mimic::run(&harness, trials);
    print(&notes);
    conclusion.exit()
}

/// Remarks on tests that passed.
type Notes = Mutex<Vec<String>>;

/// The one run of `cargo perfunit diff` that all tests of this process share.
struct Run {
    tool: Tool,
    base: String,
    /// The tests to measure; all that were listed if there are none.
    names: OnceLock<Vec<String>>,
    /// Tests that were listed.
    listed: usize,
    verdicts: OnceLock<Result<Verdicts, NoAnswer>>,
}

/// A test for each that the change can reach.
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
    /// The end of one test. The first one that comes here has all of them measured.
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

/// A test that says what is missing: ignored, so that nobody takes it for passed.
fn not_installed() -> Trial {
    let install = "cargo-perfunit is not installed: `cargo install --locked --git https://github.com/cargo-perfunit/cargo-perfunit cargo-perfunit`";
    Trial::test(install, move || Err(Failed::from(install))).with_ignored_flag(true)
}

/// Prints the remarks, in the words and places of libtest.
fn print(notes: &Notes) {
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    if !notes.is_empty() {
        // A closed pipe is no reason to fail.
        let _ = writeln!(std::io::stdout(), "notes:\n    {}\n", notes.join("\n    "));
    }
}
