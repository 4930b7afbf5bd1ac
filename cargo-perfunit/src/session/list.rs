//! What a comparison would measure.

use super::compare::{show, unreached};
use super::open::{Lock, Opened};
use super::options::Options;
use super::pairings;
use super::shared::Session;
use crate::build::Builder;
use crate::error::Result;
use crate::model::{Generated, ListSeconds, Listing, Sides};
use crate::select::{select, unused_filters};
use std::time::Instant;

/// The tests of two versions whose files are read; the keys of their contents, and the lock unless the caller holds it.
pub fn list_opened(
    opened: Opened,
    options: &Options,
    started: Instant,
) -> Result<(Listing, Sides<String>, Option<Lock>)> {
    let Opened { context, mut versions, archive, mut warnings, lock } = opened;
    let contents = versions.contents();
    let terminal = context.terminal;
    let mut builder = Builder::open(&context, &versions)?;
    let mut selected = select(&mut builder, &versions, &options.wanted())?;
    warnings.append(&mut selected.warnings);
    show(&warnings, terminal);
    let Sides { base, head } = versions.names();
    let mut listing = Listing {
        base,
        head,
        tests: Vec::new(),
        selection: unreached(&versions, &selected),
        without: Vec::new(),
        kept: None,
        seeds: None,
        seconds: ListSeconds { prepare: started.elapsed().as_secs_f64(), ..ListSeconds::default() },
    };
    if selected.targets.is_empty() {
        return Ok((listing, contents, lock));
    }
    builder.settle_lock_file(&mut versions, &selected.workspace.root)?;
    let session = Session::new(&context, &versions, &selected, options).archive(&archive);
    let plan = pairings::prepare(&session, &mut builder)?;
    if options.generated == Generated::Never {
        show(&unused_filters(&selected, &options.scope, &plan.tests(), options.generated), terminal);
    }
    let seconds = &mut listing.seconds;
    seconds.select = plan.selecting().as_secs_f64();
    seconds.build = started.elapsed().as_secs_f64() - seconds.prepare - seconds.select;
    listing.selection = plan.describe(selected.summary(), &session).0;
    (listing.kept, listing.seeds) = (Some(plan.kept()), plan.seeds());
    listing.tests = plan.into_listed();
    Ok((listing, contents, lock))
}
