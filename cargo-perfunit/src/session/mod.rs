//! One comparison, from what the user asked for to a [`Run`].
//!
//! [`compare`] tells the story: open the repository, select targets, build and list the tests of the [`pairings`], measure
//! them. What all steps share is a [`Session`](shared::Session), made once and lent; the one thing that changes is the
//! tree of files, which a [`Builder`] owns. A comparison leaves nothing behind in the process: any number of them can be
//! made in a row, and what is kept in our folder is used again.

mod archive;
mod archived;
mod environment;
mod explain;
mod generated;
mod measure;
mod merge;
mod news;
mod open;
mod options;
mod pairings;
mod partition;
mod positionals;
mod ratchet;
mod repeat;
pub mod runs;
mod shared;
mod summary;

pub use crate::explain::{Explaining, Goal};
pub use crate::measure::Measuring;
pub use crate::select::{Filter, Scope};
pub use archive::{Archived, archive};
pub use explain::{Against, ExplainRequest, Profiles, explain, profiles};
pub use generated::{GenerateRequest, Generating, generate};
pub use merge::{MergeRequest, merge};
pub use news::Announce;
pub use open::{Lock, home, lock};
pub use options::Options;
pub use runs::Record;

use crate::build::Builder;
use crate::cargo::Context;
use crate::error::Result;
use crate::explain::parameters;
use crate::git::Versions;
use crate::model::{Generated, ListSeconds, Listing, NotCompared, Ratchet, Run, Selection, Sides, Stages, Warning};
use crate::select::{Names, Selected, select, uncovered, unused_filters};
use crate::system::fs;
use crate::system::interrupt;
use crate::system::term::Terminal;
use open::{Opened, open};
use ratchet::OlderVersion;
use shared::Session;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compares two versions, and keeps the run for `explain` and `report`.
pub fn diff(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Run> {
    let _span = tracing::info_span!("diff").entered();
    check(options)?;
    if let Some(output) = &options.output {
        make_folder_of_results(output)?;
    }
    let options = &positionals::adopt(&archived::adopt(options)?, terminal)?;
    let Compared { run, contents, of_ratchet, ours, lock: _lock } = compare_all(options, terminal, announce)?;
    let mut record = Record::new(options.clone(), contents, run);
    record.of_ratchet = of_ratchet;
    if let Some(output) = &options.output
        && let Err(error) = runs::save(&output.join(runs::FILE), &record)
    {
        let (folder, why) = (output.clone(), error.message().to_owned());
        record.run.warnings.push(Warning::NotWritten { folder, why });
    }
    // What was measured is shown even where nothing can be written down.
    if let Err(error) = runs::keep(&ours, &mut record) {
        record.run.warnings.push(Warning::NotKept { merged: false, why: error.message().to_owned() });
    }
    Ok(record.run)
}

/// Compares the tests, then generated calls, if they are asked for.
fn compare_all(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Compared> {
    if options.generated == Generated::Never {
        return compare_both(options, terminal, announce);
    }
    generated::check(options)?;
    let started = Instant::now();
    let mut compared = compare_both(&generated::of_tests(options), terminal, announce)?;
    let calls = generated::of_calls(options, started.elapsed());
    compared.run.generated = Some(generated::compare(&calls, &compared, terminal, announce));
    Ok(compared)
}

/// Compares head with base, then with the ratchet's version, if one is asked for. What the first comparison found is not
/// lost because the second cannot be made.
fn compare_both(options: &Options, terminal: Terminal, announce: Announce<'_>) -> Result<Compared> {
    let Some(against) = OlderVersion::find(options)? else { return compare(options, terminal, None, announce) };
    let started = Instant::now();
    let opened = open(options, terminal, None)?;
    let options = against.first(&opened.versions.names().base.commit);
    let mut first = compare_opened(opened, &options, started, announce)?;
    let second = against.second(&first.run, started.elapsed()).and_then(|options| {
        terminal.status("Ratchet", &format!("comparing with {}, too", against.version.label));
        compare(&options, terminal, first.lock.as_ref(), announce).map_err(|error| ratchet::not_compared(&error))
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

/// A folder of our own is ignored by git: the next shard, run in the same tree, must not find another head.
fn make_folder_of_results(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(&folder.join(".gitignore"), "*\n")
}

/// A comparison that was made.
pub struct Compared {
    pub run: Run,
    /// Keys of the versions' contents.
    pub contents: Sides<String>,
    /// The same of the comparison with the ratchet's version, if there was one.
    pub of_ratchet: Option<Sides<String>>,
    /// Our folder.
    pub ours: PathBuf,
    /// Unless the caller holds it.
    pub lock: Option<Lock>,
}

/// Whether what the user wants to know can be had here: nothing is built before that is clear.
fn check(options: &Options) -> Result<()> {
    measure::check(&options.measuring)?;
    crate::explain::check(options.explaining)
}

/// Compares two versions. Takes the [`lock`] of our folder unless the caller holds it.
pub fn compare(options: &Options, terminal: Terminal, held: Option<&Lock>, announce: Announce<'_>) -> Result<Compared> {
    let started = Instant::now();
    check(options)?;
    compare_opened(open(options, terminal, held)?, options, started, announce)
}

/// Compares two versions whose files are read.
fn compare_opened(opened: Opened, options: &Options, started: Instant, announce: Announce<'_>) -> Result<Compared> {
    let Opened { context, mut versions, archive, warnings, lock } = opened;
    let contents = versions.contents();
    let mut builder = Builder::open(&context, &versions)?;
    let mut selected = select(&mut builder, &versions, &options.wanted())?;
    let mut run = empty_run(&context, &versions, options, unreached(&versions, &selected));
    run.warnings = warnings;
    run.warnings.append(&mut selected.warnings);
    run.stages.prepare = started.elapsed();
    let mut dealt = None;
    if !selected.targets.is_empty() {
        builder.settle_lock_file(&mut versions, &selected.workspace.root)?;
        let deadline = options.measuring.budget.map(|budget| started + budget);
        let session = Session::new(&context, &versions, &selected, options).archive(&archive).until(deadline);
        let session = session.announcing(announce);
        dealt = measure_all(&session, &mut builder, &mut run, started)?;
        run.interrupted = interrupt::requested();
    }
    run.sharding = partition::sharding(options.partition, dealt, &run);
    Ok(Compared { run, contents, of_ratchet: None, ours: context.ours, lock })
}

/// Builds and measures what was selected. Returns all tests of the run, if it measures one shard of them.
fn measure_all(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    run: &mut Run,
    started: Instant,
) -> Result<Option<partition::Dealt>> {
    let plan = pairings::prepare(session, builder)?;
    run.stages.select = plan.selecting();
    run.stages.build = started.elapsed().saturating_sub(run.stages.prepare + run.stages.select);
    run.selection = plan.describe(std::mem::take(&mut run.selection), session);
    run.warnings.extend(plan.warnings());
    let unused = unused_filters(session.selected, &session.options.scope, &plan.tests());
    show(&unused, session.context.terminal);
    run.warnings.extend(unused);
    let dealt = plan.dealt();
    let measured = plan.measure(session, builder)?;
    run.environment = measured.environment;
    run.outcomes = measured.outcomes;
    run.scaling = parameters(&run.outcomes);
    run.warnings.extend(measured.warnings);
    run.growth = measured.growth;
    run.stages.explain = measured.explaining;
    let others = run.stages.prepare + run.stages.build + run.stages.select + run.stages.explain;
    run.stages.measure = started.elapsed().saturating_sub(others);
    Ok(dealt)
}

/// `cargo perfunit list`: everything of `diff` but the measuring.
pub fn list(options: &Options, terminal: Terminal) -> Result<Listing> {
    let started = Instant::now();
    let options = &positionals::adopt(options, terminal)?;
    let Opened { context, mut versions, archive, mut warnings, lock: _lock } = open(options, terminal, None)?;
    let mut builder = Builder::open(&context, &versions)?;
    let mut selected = select(&mut builder, &versions, &options.wanted())?;
    warnings.append(&mut selected.warnings);
    show(&warnings, terminal);
    let Sides { base, head } = versions.names();
    let mut seconds = ListSeconds { prepare: started.elapsed().as_secs_f64(), ..ListSeconds::default() };
    if selected.targets.is_empty() {
        let selection = unreached(&versions, &selected);
        return Ok(Listing { base, head, tests: Vec::new(), selection, kept: None, seeds: None, seconds });
    }
    builder.settle_lock_file(&mut versions, &selected.workspace.root)?;
    let session = Session::new(&context, &versions, &selected, options).archive(&archive);
    let plan = pairings::prepare(&session, &mut builder)?;
    let unused = unused_filters(&selected, &options.scope, &plan.tests());
    show(&unused, terminal);
    seconds.select = plan.selecting().as_secs_f64();
    seconds.build = started.elapsed().as_secs_f64() - seconds.prepare - seconds.select;
    let selection = plan.describe(selected.summary(), &session);
    let (kept, seeds) = (Some(plan.kept()), plan.seeds());
    Ok(Listing { base, head, tests: plan.into_listed(), selection, kept, seeds, seconds })
}

/// What selection did before anything is built; of a change that reaches no target no test executes anything.
fn unreached(versions: &Versions, selected: &Selected) -> Selection {
    let mut selection = selected.summary();
    if selected.targets.is_empty() {
        selection.uncovered = uncovered(selected, &Names::of_versions(versions, selected), &[]);
    }
    selection
}

fn show(warnings: &[Warning], terminal: Terminal) {
    for warning in warnings {
        terminal.warning(&warning.to_string());
    }
}

fn empty_run(context: &Context, versions: &Versions, options: &Options, selection: Selection) -> Run {
    let names = versions.names();
    let repeat = Some(repeat::repeat(options, versions.repository.root(), &names));
    let Sides { base, head } = names;
    Run {
        base,
        head,
        repeat,
        environment: environment::describe(context, options, None),
        selection,
        outcomes: Vec::new(),
        warnings: Vec::new(),
        stages: Stages::default(),
        threshold: options.measuring.threshold,
        gates: options.measuring.gates.clone(),
        alpha: options.measuring.alpha,
        interrupted: false,
        sharding: None,
        growth: None,
        scaling: Vec::new(),
        ratchet: None,
        generated: None,
    }
}
