//! The whole story on one screen: from what the user asked to a [`Run`].
//!
//! Each step is a function of the one before; there is no way back. The steps live in the files beside this one, the
//! thinking in the modules above.

mod archived;
mod build;
mod candidates;
mod causes;
mod code;
mod confirm;
mod data;
mod environment;
mod explain;
mod instructions;
mod measure;
mod merge;
mod names;
mod options;
mod other_inputs;
mod pairing;
mod partition;
mod probes;
mod recorded;
mod rounds;
mod rules;
pub mod runs;
mod scope;
mod select;
mod selection_cache;
mod setup;
mod summary;
mod toolchains;
mod units;
mod unused_filters;

pub use archived::{Archived, archive};
pub use explain::Question;
pub use merge::{MergeRequest, merge};
pub use options::{Explain, Explaining, Filter, Goal, Ignored, Measuring, Options, Scope};
pub use recorded::{ExplainRequest, Profiles, explain, profiles};
pub use runs::Record;
pub use setup::{Setup, home, lock};
pub use units::Units;

use names::Names;

use crate::error::{Error, Result};
use crate::model::{Run, Selection, Stages, TestId, VersionName};
use crate::report::list::{ListSeconds, Listing};
use crate::system::fs;
use crate::system::interrupt;
use crate::system::term::Terminal;
use std::path::Path;
use std::time::Instant;

pub fn diff(options: &Options, terminal: Terminal) -> Result<Run> {
    let started = Instant::now();
    let _span = tracing::info_span!("diff").entered();
    measure::check(&options.measuring)?;
    instructions::check(options.explaining)?;
    if let Some(output) = &options.output {
        make_folder_of_results(output)?;
    }
    let options = &archived::adopt(options)?;
    let mut setup = setup::open(options, terminal)?;
    let contents = runs::contents(&setup);
    let run = compare(&mut setup, options, started)?;
    let mut record = Record::new(options.clone(), contents, run);
    if let Some(output) = &options.output
        && let Err(error) = runs::save(&output.join(runs::FILE), &record)
    {
        record.run.warnings.push(format!("the run is not in {}: {}", output.display(), error.message()));
    }
    // What was measured is shown even where nothing can be written down.
    if let Err(error) = runs::keep(&setup.ours, &mut record) {
        let warning = format!("`explain` and `report` will not know this run: {}", error.message());
        record.run.warnings.push(warning);
    }
    Ok(record.run)
}

/// A folder of our own is ignored by git: the next shard, run in the same tree, must not find another head.
fn make_folder_of_results(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(&folder.join(".gitignore"), "*\n")
}

fn compare(setup: &mut Setup, options: &Options, started: Instant) -> Result<Run> {
    let selected = select::select(setup, options)?;
    let prepared = started.elapsed();
    let mut run = empty_run(setup, options, selected.summary());
    run.stages.prepare = prepared;
    run.warnings.append(&mut setup.warnings);
    if selected.targets.is_empty() {
        run.sharding = partition::sharding(options.partition, None, &run);
        return Ok(run);
    }
    setup::settle_lock_file(setup, &selected.workspace.root)?;
    let names = Names::of_versions(setup, &selected);
    let deadline = options.measuring.budget.map(|budget| started + budget);
    let rounds = rounds::prepare(setup, options, &selected, &names, deadline)?;
    run.stages.select = rounds.selecting();
    run.stages.build = started.elapsed().saturating_sub(prepared + run.stages.select);
    run.selection = rounds.describe(run.selection, &selected);
    run.warnings.extend(rounds.warnings());
    run.warnings.extend(unused_filters::warn(setup, options, &selected, &rounds));
    let dealt = rounds.dealt();
    let measured = rounds.measure(setup, options, &selected, &names, deadline)?;
    run.environment = measured.environment;
    run.outcomes = measured.outcomes;
    run.warnings.extend(measured.warnings);
    run.stages.explain = measured.explaining;
    let others = run.stages.prepare + run.stages.build + run.stages.select + run.stages.explain;
    run.stages.measure = started.elapsed().saturating_sub(others);
    run.interrupted = interrupt::requested();
    run.sharding = partition::sharding(options.partition, dealt, &run);
    Ok(run)
}

/// `cargo perfunit list`: everything of `diff` but the measuring.
pub fn list(options: &Options, terminal: Terminal) -> Result<Listing> {
    let started = Instant::now();
    let mut setup = setup::open(options, terminal)?;
    let selected = select::select(&mut setup, options)?;
    setup.warnings.iter().for_each(|warning| terminal.warning(warning));
    let (base, head) = names(&setup);
    let mut seconds = ListSeconds { prepare: started.elapsed().as_secs_f64(), ..ListSeconds::default() };
    if selected.targets.is_empty() {
        let selection = selected.summary();
        return Ok(Listing { base, head, tests: Vec::new(), selection, kept: None, seeds: None, seconds });
    }
    setup::settle_lock_file(&mut setup, &selected.workspace.root)?;
    let names = Names::of_versions(&setup, &selected);
    let rounds = rounds::prepare(&mut setup, options, &selected, &names, None)?;
    unused_filters::warn(&setup, options, &selected, &rounds);
    seconds.select = rounds.selecting().as_secs_f64();
    seconds.build = started.elapsed().as_secs_f64() - seconds.prepare - seconds.select;
    let selection = rounds.describe(selected.summary(), &selected);
    let (kept, seeds) = (Some(rounds.kept()), rounds.seeds());
    Ok(Listing { base, head, tests: rounds.into_listed(), selection, kept, seeds, seconds })
}

/// Stops between steps after Ctrl-C.
fn not_interrupted() -> Result<()> {
    if interrupt::requested() {
        return Err(Error::new(crate::error::ExitCode::Interrupted, "interrupted before anything was measured"));
    }
    Ok(())
}

fn names(setup: &Setup) -> (VersionName, VersionName) {
    let versions = &setup.comparison.versions;
    (versions.base.name.clone(), versions.head.name.clone())
}

fn empty_run(setup: &Setup, options: &Options, selection: Selection) -> Run {
    let (base, head) = names(setup);
    Run {
        base,
        head,
        environment: environment::describe(setup, options, None),
        selection,
        outcomes: Vec::new(),
        warnings: Vec::new(),
        stages: Stages::default(),
        threshold: options.measuring.threshold,
        gates: options.measuring.gates.clone(),
        alpha: options.measuring.alpha,
        interrupted: false,
        sharding: None,
    }
}

/// The key under which a test is found on both sides.
fn id(target: &crate::model::TargetId, name: &str) -> TestId {
    TestId { target: target.clone(), name: name.to_owned() }
}
