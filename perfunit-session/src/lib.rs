//! One comparison: from the user's options to a [`Run`].
//!
//! [`compare`] runs the stages: it opens the repository, selects targets, builds and lists the tests of the
//! [`pairings`], and measures them. All steps share a [`Session`](session::Session), which is created once. Only the
//! tree of files changes, and a [`Builder`] owns it. A comparison leaves no state in the process, so that any number
//! can be made in a row; files in our folder are reused.

mod acceptances;
mod archive;
mod archived;
mod attempts;
mod compare;
mod environment;
mod explain;
mod generate;
mod generated_calls;
mod list;
mod measure;
mod merge;
mod news;
mod open;
mod options;
mod pairings;
mod partition;
mod ratchet;
pub mod runs;
mod second_comparison;
mod session;
mod summary;
mod time_estimate;

pub use archive::archive;
pub use compare::{Compared, compare};
pub use explain::{Against, ExplainRequest, Profiles, explain, profiles};
pub use generate::{GenerateRequest, Generating, generate};
pub use merge::{MergeRequest, merge};
pub use news::Announce;
pub use open::{Lock, home, lock};
pub use options::Options;
pub use perfunit_explain::Explaining;
pub use perfunit_measure::Measuring;
pub use perfunit_select::{Filter, Scope};
pub use runs::Record;

use compare::{check, compare_opened, show};
use list::{ListOfTests, list_opened};
use open::open;
use options::Accepting;
use perfunit_model::error::Result;
use perfunit_model::{Generated, GeneratedCalls, Listing, NotCompared, Ratchet, Run, Warning};
use perfunit_system::term::Terminal;
use ratchet::OlderVersion;
use std::time::Instant;

/// Compares two versions, and saves the run for `explain` and `report`.
pub fn diff(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Run> {
    let _span = tracing::info_span!("diff").entered();
    check(options)?;
    if options.generated != Generated::Never {
        generated_calls::check(options)?;
    }
    if let Some(output) = &options.output {
        runs::make_folder_of_results(output)?;
    }
    let mut options = archived::adopt(&options::adopt_positionals(options, terminal)?)?;
    options.accepting = Accepting::Change;
    let options = &options;
    let Compared { run, contents, of_ratchet, ours, lock: _lock } = compare_all(options, terminal, announce)?;
    let mut record = Record::new(options.clone(), contents, run);
    record.of_ratchet = of_ratchet;
    if let Some(output) = &options.output
        && let Err(error) = runs::save(&output.join(runs::FILE), &record)
    {
        let (folder, why) = (output.clone(), error.message().to_owned());
        record.run.warnings.push(Warning::NotWritten { folder, why });
    }
    // The results are shown even if they cannot be saved.
    if let Err(error) = runs::keep(&ours, &mut record) {
        record.run.warnings.push(Warning::NotKept { merged: false, why: error.message().to_owned() });
    }
    Ok(record.run)
}

/// Compares the tests and then generated calls, if requested.
fn compare_all(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Compared> {
    if options.generated == Generated::Never {
        return compare_both(options, terminal, announce);
    }
    let started = Instant::now();
    let mut compared = compare_both(&second_comparison::first(options), terminal, announce)?;
    let calls = generated_calls::compare_calls(options, started.elapsed(), &compared, terminal, announce);
    let outcomes = || calls.run().into_iter().flat_map(|run| &run.outcomes);
    let settled = |warning: &Warning| generated_calls::is_settled(warning, outcomes().map(|outcome| &outcome.test));
    compared.run.warnings.retain(|warning| !settled(warning));
    compared.run.generated = Some(calls);
    let acceptances = compared.run.acceptances.clone();
    if let Some(calls) = compared.run.generated.as_mut().and_then(GeneratedCalls::run_mut) {
        calls.acceptances = acceptances;
    }
    Ok(compared)
}

/// Compares head with base and then with the ratchet's version, if requested. An error in the second comparison does
/// not discard the first.
fn compare_both(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Compared> {
    let Some(against) = OlderVersion::find(options)? else { return compare(options, terminal, None, announce) };
    let started = Instant::now();
    let opened = open(options, terminal, None)?;
    let options = against.first(&opened.versions.names().base.commit);
    let mut first = compare_opened(opened, &options, started, announce)?;
    let second = against.second(&first.run, started.elapsed()).and_then(|options| {
        terminal.status("Ratchet", &format!("also comparing with {}", against.version.label));
        compare(&options, terminal, first.lock.as_ref(), announce)
            .map_err(|error| second_comparison::not_compared(&error))
    });
    let comparison = match second {
        Ok(second) if second.contents.head != first.contents.head => Err(NotCompared::HeadChanged),
        Ok(second) => {
            first.of_ratchet = Some(second.contents);
            Ok(Box::new(Run { base: against.version.clone(), ..second.run }))
        }
        Err(why) => Err(why),
    };
    first.run.warnings.extend(against.warning);
    first.run.ratchet = Some(Ratchet { version: against.version, comparison });
    Ok(first)
}

/// Runs `cargo perfunit list`: all steps of `diff` except measuring.
pub fn list(options: &Options, terminal: Terminal) -> Result<Listing> {
    let started = Instant::now();
    let options = &options::adopt_positionals(options, terminal)?;
    if options.generated != Generated::Never {
        generated_calls::check(options)?;
    }
    let ListOfTests { mut listing, contents, mut unused, lock } =
        list_opened(open(options, terminal, None)?, options, started)?;
    if options.generated != Generated::Never {
        let known = listing.selection.uncovered.clone();
        let tests = generated_calls::OfTests { contents: &contents, uncovered: &known, lock: lock.as_ref() };
        let (calls, without) = generated_calls::list_calls(options, &tests, terminal)?;
        unused.retain(|warning| !generated_calls::is_settled(warning, calls.iter().map(|listed| &listed.test)));
        listing.tests.extend(calls);
        listing.without = without;
    }
    show(&unused, terminal);
    Ok(listing)
}
