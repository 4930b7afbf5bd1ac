//! Compares each commit of a range with the previous one that builds, and changed tests over the whole range.

use super::commit_comparer::{CommitComparer, CommitComparison};
use super::course::anchor;
use super::progress::{Pace, Progress};
use perfunit_model::error::Result;
use perfunit_model::{Commit, Entry, History, HistorySource, Release, Releases, Side, Skipped, Step, StepOutcome};
use perfunit_project::git::{Repository, Walk};
use perfunit_session::Options;
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use std::path::PathBuf;
use std::time::Instant;

/// The request of a log.
pub struct LogRequest {
    /// Options of the comparisons. The walk sets the versions; the budget covers the whole log.
    pub options: Options,
    pub walk: Walk,
    /// Whether commits without stored results are compared.
    pub source: HistorySource,
    /// The file that stores results; defaults to the one in our folder.
    pub store: Option<PathBuf>,
    /// Files of other machines to import.
    pub join: Vec<PathBuf>,
    /// File to export all results to.
    pub export: Option<PathBuf>,
}

/// Compares the commits, the most recent first. Commits that an interruption or the budget leaves open are compared by
/// the next call. Calls `announce` for each entry.
pub fn log(request: &LogRequest, terminal: Terminal, announce: &mut dyn FnMut(Progress<'_>)) -> Result<History> {
    let commits = Repository::discover(&request.options.folder)?.walk(&request.walk)?;
    if let Some(note) = &commits.note {
        terminal.status("Range", note);
    }
    let of = commits.wanted.len();
    let comparer = open(request, comparisons(of), terminal, announce)?;
    let line: Vec<&Commit> = std::iter::once(&commits.base).chain(&commits.commits).collect();
    let (mut entries, mut interrupted) = (Vec::new(), false);
    let mut pace = Pace::default();
    for (index, done) in commits.wanted.iter().rev().zip(1..) {
        let started = Instant::now();
        // The base comes first in the line.
        let outcome = outcome(&comparer, &line[..=index + 1])?;
        pace.note(started.elapsed());
        interrupted |= outcome == StepOutcome::Open;
        let entry = Entry { commit: commits.commits[*index].clone(), outcome };
        let left = if interrupted { 0 } else { of - done };
        announce(Progress::Commit { entry: &entry, left, of, time: pace.left(left) });
        entries.push(entry);
    }
    entries.reverse();
    let mut history = History {
        base: commits.base.clone(),
        entries,
        spans: Vec::new(),
        left_out: commits.commits.len() - of,
        note: commits.note,
        source: request.source,
        interrupted,
    };
    let threshold = request.options.measuring.threshold.fraction();
    anchor(&mut history, &comparer, threshold, announce)?;
    close(request, &comparer)?;
    Ok(history)
}

/// Returns the maximum number of comparisons in a log: each commit with the previous one and with the beginning, the
/// last one twice.
fn comparisons(commits: usize) -> usize {
    if commits == 1 { 1 } else { 2 * commits + 1 }
}

/// Opens the store, and imports results.
pub(super) fn open(
    request: &LogRequest,
    family: usize,
    terminal: Terminal,
    announce: &mut dyn FnMut(Progress<'_>),
) -> Result<CommitComparer> {
    if let Some(file) = &request.export {
        // Checks that the file is writable before measuring for hours.
        fs::draft(file).map_err(|error| error.hint("choose a writable place for --export"))?;
    }
    let comparer = CommitComparer::open(&request.options, request.store.clone(), family, terminal)?;
    for file in &request.join {
        let joined = comparer.join(file)?;
        announce(Progress::Joined { file, joined });
    }
    Ok(comparer)
}

pub(super) fn close(request: &LogRequest, comparer: &CommitComparer) -> Result<()> {
    request.export.as_ref().map_or(Ok(()), |file| comparer.export(file))
}

/// Compares the last commit of a line with the previous one that builds.
pub(super) fn outcome(comparer: &CommitComparer, line: &[&Commit]) -> Result<StepOutcome> {
    let Some((head, before)) = line.split_last() else { return Ok(StepOutcome::Open) };
    for base in before.iter().rev() {
        match comparer.compare(&base.id, &head.id)? {
            CommitComparison::Step(step) => return Ok(StepOutcome::Compared(step)),
            CommitComparison::Broken(Side::Head, why) => return Ok(StepOutcome::Skipped(why)),
            CommitComparison::Broken(Side::Base, _) => {}
            CommitComparison::Failed(error) => {
                return Ok(StepOutcome::Skipped(Skipped::Failed { error: error.message().to_owned() }));
            }
            CommitComparison::Interrupted => return Ok(StepOutcome::Open),
        }
    }
    Ok(StepOutcome::Skipped(Skipped::NothingBefore))
}

/// Compares the tags and the end of the line. Commits in between are looked up, but not measured. Calls `announce` for
/// each release.
pub fn releases(
    request: &LogRequest,
    terminal: Terminal,
    announce: &mut dyn FnMut(Progress<'_>),
    announce_release: &mut dyn FnMut(&Release),
) -> Result<Releases> {
    let commits = Repository::discover(&request.options.folder)?.walk(&request.walk)?;
    if let Some(note) = &commits.note {
        terminal.status("Range", note);
    }
    let line: Vec<Commit> = std::iter::once(commits.base).chain(commits.commits).collect();
    let ends = ends(&line);
    let comparer = open(request, ends.len() - 1, terminal, announce)?;
    let last = ends.len() - 1;
    let releases = (1..=last).map(|index| {
        let line_of_ends: Vec<&Commit> = ends[..=index].iter().map(|end| &line[*end]).collect();
        let outcome = outcome(&comparer, &line_of_ends)?;
        // The previous tag may not build.
        let compared_with = |step: &Step| line.iter().position(|commit| commit.id == step.base);
        let start = match &outcome {
            StepOutcome::Compared(step) => compared_with(step).unwrap_or(ends[index - 1]),
            _ => ends[index - 1],
        };
        let known = |at: usize| Ok(Entry { commit: line[at].clone(), outcome: recall(&comparer, &line[..=at])? });
        let commits = (start + 1..=ends[index]).map(known).collect::<Result<_>>()?;
        let release = Release { base: line[start].clone(), head: line[ends[index]].clone(), outcome, commits };
        announce_release(&release);
        Ok(release)
    });
    let releases: Vec<Release> = releases.collect::<Result<_>>()?;
    close(request, &comparer)?;
    let interrupted = releases.iter().any(|release| release.outcome == StepOutcome::Open);
    Ok(Releases { releases, note: commits.note, interrupted })
}

/// Returns the indices of the beginning, each tag and the end.
fn ends(line: &[Commit]) -> Vec<usize> {
    let last = line.len() - 1;
    let is_end = |index: &usize| [0, last].contains(index) || !line[*index].tags.is_empty();
    (0..line.len()).filter(is_end).collect()
}

/// Returns the stored outcome of the last commit in a line.
fn recall(comparer: &CommitComparer, line: &[Commit]) -> Result<StepOutcome> {
    let Some((head, before)) = line.split_last() else { return Ok(StepOutcome::Open) };
    for base in before.iter().rev() {
        match comparer.recall(&base.id, &head.id)? {
            Some(CommitComparison::Step(step)) => return Ok(StepOutcome::Compared(step)),
            Some(CommitComparison::Broken(Side::Head, why)) => return Ok(StepOutcome::Skipped(why)),
            Some(CommitComparison::Broken(Side::Base, _)) => {}
            _ => break,
        }
    }
    Ok(StepOutcome::Open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;

    #[test]
    fn a_line_is_divided_at_its_tags() {
        let line = |tagged: &[usize]| {
            let mut line: Vec<Commit> = (0..6).map(samples::commit).collect();
            for index in tagged {
                line[*index].tags.push("v".to_owned());
            }
            ends(&line)
        };
        assert_eq!(line(&[]), [0, 5]);
        assert_eq!(line(&[0, 2, 3]), [0, 2, 3, 5]);
        assert_eq!(line(&[5]), [0, 5]);
    }
}
