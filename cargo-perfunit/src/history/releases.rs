//! Each release of a range against the one before it, beside what is known about the commits between them.

use super::comparing::{Compared, Comparing};
use super::log::{LogRequest, close, open, outcome};
use super::progress::Progress;
use perfunit_model::error::Result;
use perfunit_model::{Commit, Entry, Release, Releases, Side, Step, StepOutcome};
use perfunit_project::git::Repository;
use perfunit_system::term::Terminal;

/// Compares the tags on the line, and its end; the commits between them are looked up and not measured. `announce` hears of
/// each release as it is known.
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
    let mut comparing = open(request, ends.len() - 1, terminal, announce)?;
    let last = ends.len() - 1;
    let releases = (1..=last).map(|index| {
        let line_of_ends: Vec<&Commit> = ends[..=index].iter().map(|end| &line[*end]).collect();
        let outcome = outcome(&mut comparing, &line_of_ends)?;
        // That before the last one may not build.
        let compared_with = |step: &Step| line.iter().position(|commit| commit.id == step.base);
        let start = match &outcome {
            StepOutcome::Compared(step) => compared_with(step).unwrap_or(ends[index - 1]),
            _ => ends[index - 1],
        };
        let known = |at: usize| Ok(Entry { commit: line[at].clone(), outcome: recalled(&comparing, &line[..=at])? });
        let commits = (start + 1..=ends[index]).map(known).collect::<Result<_>>()?;
        let release = Release { base: line[start].clone(), head: line[ends[index]].clone(), outcome, commits };
        announce_release(&release);
        Ok(release)
    });
    let releases: Vec<Release> = releases.collect::<Result<_>>()?;
    close(request, &comparing)?;
    let interrupted = releases.iter().any(|release| release.outcome == StepOutcome::Open);
    Ok(Releases { releases, note: commits.note, interrupted })
}

/// The beginning, each tag, and the end.
fn ends(line: &[Commit]) -> Vec<usize> {
    let last = line.len() - 1;
    let is_end = |index: &usize| [0, last].contains(index) || !line[*index].tags.is_empty();
    (0..line.len()).filter(is_end).collect()
}

/// What is known about the last commit of a line.
fn recalled(comparing: &Comparing, line: &[Commit]) -> Result<StepOutcome> {
    let Some((head, before)) = line.split_last() else { return Ok(StepOutcome::Open) };
    for base in before.iter().rev() {
        match comparing.recall(&base.id, &head.id)? {
            Some(Compared::Step(step)) => return Ok(StepOutcome::Compared(step)),
            Some(Compared::Broken(Side::Head, why)) => return Ok(StepOutcome::Skipped(why)),
            Some(Compared::Broken(Side::Base, _)) => {}
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
