//! Compares head with an older version after base, to detect small losses that add up.

use super::options::{Accepting, Options};
use super::second_comparison;
use perfunit_model::error::{Error, Result};
use perfunit_model::{AcceptedLoss, NotCompared, Run, VersionName, Warning};
use perfunit_project::config::{RatchetRequest, Source};
use perfunit_project::git::Repository;
use std::fmt::Display;
use std::time::Duration;

/// The version of the ratchet.
pub struct OlderVersion<'a> {
    options: &'a Options,
    pub version: VersionName,
    /// The reason why the repository does not have the version.
    missing: Option<NotCompared>,
    accepted: &'a [AcceptedLoss],
    /// A warning about the project's ratchet file, if part of it is unusable.
    pub warning: Option<Warning>,
}

impl<'a> OlderVersion<'a> {
    /// Resolves the version, if requested, before anything is built. A typed version that does not exist is an error;
    /// one that the project pins may only be missing in this clone.
    pub fn find(options: &'a Options) -> Result<Option<Self>> {
        let Some(request) = &options.ratchet else { return Ok(None) };
        if let Some(file) = &options.archive {
            let file = file.display();
            return Err(Error::usage(format!("{file} has no builds for a comparison with a ratchet"))
                .hint("use `--ratchet none`, and compare with the ratchet's version where both can be built"));
        }
        let (commit, missing) = match Repository::discover(&options.folder)?.describe(&request.revision) {
            Ok(commit) => (commit.id, None),
            Err(error) => {
                let why = unknown(request, error)?;
                let recorded = request.accepted.as_ref().filter(|accepted| accepted.commit == request.revision);
                (recorded.map(|accepted| accepted.commit.clone()).unwrap_or_default(), Some(why))
            }
        };
        let (own, other) = match &request.accepted {
            Some(accepted) if accepted.commit == commit => (Some(accepted), None),
            other => (None, other.as_ref()),
        };
        let label = own.map_or(&request.revision, |accepted| &accepted.revision).clone();
        let unused = other.filter(|other| !other.losses.is_empty());
        let warning =
            unused.map(|other| Warning::AcceptedForOther { accepted: other.revision.clone(), ratchet: label.clone() });
        let accepted = own.map_or(&[][..], |accepted| &accepted.losses);
        let version = VersionName { label, commit, dirty: false };
        Ok(Some(Self { options, version, missing, accepted, warning }))
    }

    /// Returns the options for comparing with this base. If base is the ratchet's version, or if that is missing, no
    /// second comparison shares the error rate.
    pub fn first(&self, base: &str) -> Options {
        let is_only = self.missing.is_some() || base == self.version.commit;
        if is_only { self.options.clone() } else { second_comparison::first(self.options) }
    }

    /// Returns the options for comparing with the ratchet's version in the remaining time.
    pub fn second(&self, first: &Run, elapsed: Duration) -> std::result::Result<Options, NotCompared> {
        if let Some(missing) = &self.missing {
            return Err(missing.clone());
        }
        if first.base.commit == self.version.commit {
            return Err(NotCompared::IsBase);
        }
        second_comparison::check_time_left()?;
        let mut options = second_comparison::second(self.options, elapsed);
        options.request = options.request.since(&self.version.commit);
        options.rules.accepted = self.accepted.to_vec();
        options.accepting = Accepting::History;
        Ok(options)
    }
}

/// Returns the reason to report for a version that is unknown, or the error if the version was typed.
fn unknown(request: &RatchetRequest, error: Error) -> Result<NotCompared> {
    let named = |place: &dyn Display| error.remark(format_args!("the version of the ratchet, from {place}"));
    match &request.from {
        Source::CommandLine => Err(named(&"--ratchet")),
        from @ Source::Environment { .. } => Err(named(from)),
        from => Ok(NotCompared::Failed { why: named(from).to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;
    use perfunit_project::git::Request;

    fn options(budget: Option<Duration>) -> Options {
        let request = RatchetRequest { revision: "v1".to_owned(), from: Source::CommandLine, accepted: None };
        let mut options = Options { ratchet: Some(request), ..Options::default() };
        options.measuring.budget = budget;
        options
    }

    fn older<'a>(options: &'a Options, commit: &str, accepted: &'a [AcceptedLoss]) -> OlderVersion<'a> {
        let version = VersionName { label: "v1".to_owned(), commit: commit.to_owned(), dirty: false };
        OlderVersion { options, version, missing: None, accepted, warning: None }
    }

    #[test]
    fn the_second_comparison_begins_at_the_version() {
        let (asked, run) = (options(Some(Duration::from_mins(10))), samples::run(Vec::new()));
        let second = older(&asked, "1f", &[]).second(&run, Duration::from_mins(2)).unwrap();
        assert_eq!(second.request, Request::Range { base: "1f".to_owned(), head: None });
        assert_eq!(second.measuring.budget, Some(Duration::from_mins(8)));
        assert!(second.ratchet.is_none());
    }

    #[test]
    fn a_version_that_is_base_is_not_compared_twice_and_takes_no_share() {
        let (asked, run) = (options(Some(Duration::from_mins(10))), samples::run(Vec::new()));
        let against = older(&asked, &run.base.commit, &[]);
        assert_eq!(against.second(&run, Duration::ZERO).err(), Some(NotCompared::IsBase));
        let first = against.first(&run.base.commit).measuring;
        assert_eq!((first.family, first.budget), (1, asked.measuring.budget));
    }

    #[test]
    fn only_a_typed_version_must_exist() {
        let unknown = |from: Source| {
            let request = RatchetRequest { from, ..options(None).ratchet.unwrap() };
            unknown(&request, Error::setup("unknown revision `v1`").hint("fetch it"))
        };
        let error = unknown(Source::CommandLine).unwrap_err().to_string();
        assert_eq!(error, "unknown revision `v1` (the version of the ratchet, from --ratchet)\nhint: fetch it");
        assert!(unknown(Source::Environment { name: "PERFUNIT_RATCHET".to_owned() }).is_err());
        let why = unknown(Source::File { path: "ratchet.toml".to_owned(), line: 4 }).unwrap().to_string();
        assert_eq!(why, "unknown revision `v1` (the version of the ratchet, from ratchet.toml:4) hint: fetch it");
    }

    #[test]
    fn a_missing_version_is_not_compared_and_takes_no_share() {
        let (asked, run) = (options(Some(Duration::from_mins(10))), samples::run(Vec::new()));
        let missing = NotCompared::Failed { why: "unknown".to_owned() };
        let against = OlderVersion { missing: Some(missing.clone()), ..older(&asked, "1f", &[]) };
        assert_eq!(against.second(&run, Duration::ZERO).err(), Some(missing));
        assert_eq!(against.first(&run.base.commit).measuring.family, 1);
    }

    #[test]
    fn an_archive_is_of_one_comparison() {
        let asked = Options { archive: Some("a.tar.zst".into()), ..options(None) };
        let error = OlderVersion::find(&asked).err().unwrap().to_string();
        assert!(
            error.contains("a.tar.zst has no builds for a comparison with a ratchet")
                && error.contains("--ratchet none")
        );
    }
}
