//! The second comparison of a run: head with an older version, so that small losses that add up are found.
//!
//! Both comparisons are made by [`compare`], with the same options, and share one family-wise error rate. What the first
//! found is never lost because the second cannot be made.

use super::options::Options;
use super::{Compared, compare};
use crate::config::RatchetRequest;
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::model::{AcceptedLoss, NotCompared, Ratchet, Run, Sides, VersionName, Warning};
use crate::system::interrupt;
use crate::system::term::Terminal;
use std::time::Instant;

/// Comparisons of a run with a ratchet.
const COMPARISONS: u32 = 2;

/// The ratchet's version, found.
struct Against<'a> {
    version: VersionName,
    accepted: &'a [AcceptedLoss],
    /// What cannot be used of the project's file.
    warning: Option<Warning>,
}

/// Compares head with base, then with the ratchet's version, if one is asked for.
pub fn compare_both(options: &Options, terminal: Terminal) -> Result<Compared> {
    let Some(request) = &options.ratchet else { return compare(options, terminal, None) };
    let started = Instant::now();
    let against = Against::find(options, request)?;
    let mut shared = options.clone();
    shared.measuring.family = options.measuring.family * COMPARISONS as usize;
    let whole = options.measuring.budget;
    shared.measuring.budget = whole.map(|whole| whole / COMPARISONS);
    let mut first = compare(&shared, terminal, None)?;
    let left = whole.map(|whole| whole.saturating_sub(started.elapsed()));
    shared.measuring.budget = left;
    let (comparison, contents) = match against.compare(&shared, &first, terminal) {
        Ok((run, contents)) => (Ok(Box::new(run)), Some(contents)),
        Err(why) => (Err(why), None),
    };
    first.run.warnings.extend(against.warning);
    first.run.ratchet = Some(Ratchet { version: against.version, comparison });
    first.of_ratchet = contents;
    Ok(first)
}

impl<'a> Against<'a> {
    /// Finds the version, before anything is built.
    fn find(options: &Options, request: &'a RatchetRequest) -> Result<Self> {
        if let Some(file) = &options.archive {
            let file = file.display();
            return Err(Error::usage(format!("{file} holds the builds of one comparison, not of one with a ratchet"))
                .hint("type `--ratchet none`, and compare with the ratchet's version where both can be built"));
        }
        let commit = Repository::discover(&options.folder)?.describe(&request.revision)?.id;
        let (own, other) = match &request.accepted {
            Some(accepted) if accepted.commit == commit => (Some(accepted), None),
            other => (None, other.as_ref()),
        };
        let label = own.map_or(&request.revision, |accepted| &accepted.revision).clone();
        let unused = other.filter(|other| !other.losses.is_empty());
        let warning =
            unused.map(|other| Warning::AcceptedForOther { accepted: other.revision.clone(), ratchet: label.clone() });
        let accepted = own.map_or(&[][..], |accepted| &accepted.losses);
        Ok(Self { version: VersionName { label, commit, dirty: false }, accepted, warning })
    }

    fn compare(
        &self,
        options: &Options,
        first: &Compared,
        terminal: Terminal,
    ) -> std::result::Result<(Run, Sides<String>), NotCompared> {
        if first.run.base.commit == self.version.commit {
            return Err(NotCompared::IsBase);
        }
        stopped()?;
        let mut options = options.clone();
        options.request = options.request.since(&self.version.commit);
        options.ratchet = None;
        options.rules.accepted = self.accepted.to_vec();
        terminal.status("Ratchet", &format!("comparing with {}, too", self.version.label));
        let compared = compare(&options, terminal, first.lock.as_ref());
        let Compared { mut run, contents, .. } = compared.map_err(|error| not_compared(&error))?;
        if contents.head != first.contents.head {
            return Err(NotCompared::HeadChanged);
        }
        run.base = self.version.clone();
        Ok((run, contents))
    }
}

fn stopped() -> std::result::Result<(), NotCompared> {
    match (interrupt::requested(), interrupt::by_clock()) {
        (false, _) => Ok(()),
        (true, true) => Err(NotCompared::BudgetUsedUp),
        (true, false) => Err(NotCompared::Interrupted),
    }
}

fn not_compared(error: &Error) -> NotCompared {
    // Whatever failed then failed because it was stopped.
    if let Err(stopped) = stopped() {
        return stopped;
    }
    match error.as_broken() {
        Some(broken) => NotCompared::DoesNotBuild { side: broken.side, error: broken.first_error().to_owned() },
        None => NotCompared::Failed { why: error.to_string() },
    }
}
