//! Each commit of a range against the one before it that builds.

use super::comparing::{Compared, Comparing};
use crate::error::Result;
use crate::git::{Repository, Walk};
use crate::model::{Commit, Entry, History, Side, Skipped, StepOutcome};
use crate::session::Options;
use crate::system::term::Terminal;
use std::path::PathBuf;

/// What to look at.
pub struct LogRequest {
    /// How to compare; which versions is for the walk to say. The budget is that of the whole log.
    pub options: Options,
    pub walk: Walk,
    /// The file that keeps what was found out, unless it is the one in our folder.
    pub store: Option<PathBuf>,
}

/// Compares the commits, the youngest first. What an interruption or the budget leaves out is open, and the next call
/// goes on with it. `announce` hears of each entry as it is known.
pub fn log(request: &LogRequest, terminal: Terminal, announce: &mut dyn FnMut(&Entry, usize)) -> Result<History> {
    let commits = Repository::discover(&request.options.folder)?.walk(&request.walk)?;
    if let Some(note) = &commits.note {
        terminal.status("Range", note);
    }
    let mut comparing = Comparing::open(&request.options, request.store.clone(), commits.wanted.len(), terminal)?;
    let line: Vec<&Commit> = std::iter::once(&commits.base).chain(&commits.commits).collect();
    let mut entries = Vec::new();
    let mut left = commits.wanted.len();
    for index in commits.wanted.iter().rev() {
        // The base is the first of the line.
        let outcome = outcome(&mut comparing, &line, index + 1)?;
        left -= 1;
        let entry = Entry { commit: commits.commits[*index].clone(), outcome };
        announce(&entry, left);
        entries.push(entry);
    }
    entries.reverse();
    let interrupted = entries.iter().any(|entry| entry.outcome == StepOutcome::Open);
    Ok(History { base: commits.base.clone(), entries, note: commits.note, interrupted })
}

fn outcome(comparing: &mut Comparing, line: &[&Commit], index: usize) -> Result<StepOutcome> {
    let head = &line[index].id;
    for base in line[..index].iter().rev() {
        match comparing.compare(&base.id, head)? {
            Compared::Step(step) => return Ok(StepOutcome::Compared(step)),
            Compared::Broken(Side::Head, why) => return Ok(StepOutcome::Skipped(why)),
            Compared::Broken(Side::Base, _) => {}
            Compared::Failed(error) => {
                return Ok(StepOutcome::Skipped(Skipped::Failed { error: error.message().to_owned() }));
            }
            Compared::Interrupted => return Ok(StepOutcome::Open),
        }
    }
    Ok(StepOutcome::Skipped(Skipped::NothingBefore))
}
