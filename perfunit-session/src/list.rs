//! Lists the tests that a comparison would measure.

use super::compare::{select_without_builds, show};
use super::open::{Lock, Opened};
use super::options::Options;
use super::pairings;
use super::session::{Session, select_to_build};
use perfunit_model::error::Result;
use perfunit_model::{ListSeconds, Listing, Sides, Warning};
use perfunit_select::unused_filters;
use perfunit_system::interrupt;
use std::time::Instant;

/// The tests of two versions.
pub struct ListOfTests {
    pub listing: Listing,
    /// Keys of the versions' content.
    pub contents: Sides<String>,
    /// Warnings about filters that match no test.
    pub unused: Vec<Warning>,
    /// The lock of our folder, unless the caller holds it.
    pub lock: Option<Lock>,
}

/// Lists the tests of two opened versions.
pub fn list_opened(opened: Opened, options: &Options, started: Instant) -> Result<ListOfTests> {
    let Opened { context, mut versions, archive, mut warnings, lock } = opened;
    let contents = versions.contents();
    let terminal = context.terminal;
    let (mut builder, mut selected) = select_to_build(&context, &mut versions, &options.test_filter())?;
    warnings.append(&mut selected.warnings);
    show(&warnings, terminal);
    let Sides { base, head } = versions.names();
    let mut listing = Listing {
        base,
        head,
        tests: Vec::new(),
        selection: select_without_builds(&versions, &selected),
        without: Vec::new(),
        kept: None,
        seeds: None,
        seconds: ListSeconds { prepare: started.elapsed().as_secs_f64(), ..ListSeconds::default() },
    };
    if selected.targets.is_empty() {
        return Ok(ListOfTests { listing, contents, unused: Vec::new(), lock });
    }
    let session = Session::new(&context, &versions, &selected, options).archive(&archive);
    let plan = pairings::prepare(&session, &mut builder)?;
    show(&plan.warnings(), terminal);
    // Otherwise untraced tests would count as reached.
    interrupt::check()?;
    let unused = unused_filters(&selected, &options.scope, &plan.tests(), options.generated);
    let seconds = &mut listing.seconds;
    seconds.select = plan.selecting.as_secs_f64();
    seconds.build = started.elapsed().as_secs_f64() - seconds.prepare - seconds.select;
    listing.selection = plan.describe(selected.summary(), &plan.find_coverage_gaps(&session), &session);
    (listing.kept, listing.seeds) = (Some(plan.side_folders()), plan.seeds());
    listing.tests = plan.into_listed();
    Ok(ListOfTests { listing, contents, unused, lock })
}
