//! Sets the version with the project's accepted speed, and adds accepted losses.

use perfunit_model::error::{Error, Result};
use perfunit_model::format::{self, short_commit};
use perfunit_model::suggest;
use perfunit_model::{
    AcceptedLoss, AcceptedVersion, Commit, Measured, Metered, Metric, MetricVerdict, Mode, NotMetered, Outcome, Run,
    Verdict, variant_name,
};
use perfunit_project::cargo::{self, Cargo};
use perfunit_project::config::{RATCHET_FILE, read_accepted, write_accepted};
use perfunit_project::git::Repository;
use perfunit_session::{home, runs};
use perfunit_system::date;
use std::path::PathBuf;

const NONE: &str = "run `cargo perfunit ratchet set REV` to set the baseline";

/// The project.
pub struct Project {
    /// The user's current folder.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
}

impl Project {
    fn root(&self) -> Result<PathBuf> {
        let Self { folder, manifest, .. } = self;
        Ok(cargo::locate(&Cargo::find(folder)?, folder, manifest.as_deref())?.workspace_root)
    }

    /// Returns the accepted version, if there is one.
    pub fn accepted_version(&self) -> Result<Option<AcceptedVersion>> {
        read_accepted(&self.root()?)
    }

    /// Pins a version and removes the accepted losses. Replaces a file that cannot be read.
    pub fn pin_version(&self, revision: &str) -> Result<AcceptedVersion> {
        let Commit { id: commit, tags, .. } = Repository::discover(&self.folder)?.describe(revision)?;
        // Branches and `HEAD` can move, so a tag or the commit is stored.
        let tag = tags.iter().find(|tag| *tag == revision).or(tags.first()).map(String::as_str);
        let revision = tag.unwrap_or(short_commit(&commit)).to_owned();
        let pinned = AcceptedVersion { revision, commit, losses: Vec::new() };
        write_accepted(&self.root()?, &pinned)?;
        Ok(pinned)
    }

    /// Accepts the loss of a test that the last run measured.
    pub fn accept_loss(&self, test: &str, reason: &str) -> Result<AcceptedLoss> {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        if reason.is_empty() {
            return Err(Error::usage("the reason is empty").hint("give a reason, which is shown in reports"));
        }
        let root = self.root()?;
        let mut accepted = read_accepted(&root)?
            .ok_or_else(|| Error::usage(format!("no {RATCHET_FILE} in {}", root.display())).hint(NONE))?;
        let ours = home(&self.folder, self.manifest.as_deref(), self.target_dir.as_deref())?;
        let (_, record) = runs::last(&ours)?;
        let outcome = find_slower(against(&record.run, &accepted)?, test)?;
        let (loss, mode) = loss(outcome, &accepted.revision)?;
        let found = AcceptedLoss { test: outcome.test.to_string(), loss, mode, reason, date: date::today() };
        accepted.losses.retain(|known| known.test != found.test);
        accepted.losses.push(found.clone());
        accepted.losses.sort_by(|a, b| a.test.cmp(&b.test));
        write_accepted(&root, &accepted)?;
        Ok(found)
    }
}

/// Returns the comparison of a run with the accepted version as base.
fn against<'a>(run: &'a Run, accepted: &AcceptedVersion) -> Result<&'a Run> {
    let second = run.against_ratchet();
    let compared = [Some(run), second].into_iter().flatten().find(|run| run.base.commit == accepted.commit);
    compared.ok_or_else(|| {
        let revision = &accepted.revision;
        Error::usage(format!("the last run did not compare with the baseline {revision}"))
            .hint("run `cargo perfunit diff` first, which also compares with the baseline")
    })
}

/// Returns the slower test with this name, or the only one with this part in its name.
fn find_slower<'a>(run: &'a Run, name: &str) -> Result<&'a Outcome> {
    let of = |takes: &dyn Fn(&Outcome) -> bool| run.outcomes.iter().filter(|test| takes(test)).collect::<Vec<_>>();
    let mut meant = of(&|test| test.test.is_called(name));
    if meant.is_empty() {
        meant = of(&|test| test.test.name.contains(name) && test.verdict == Verdict::Slower);
    }
    match meant[..] {
        [one] => Ok(one),
        [] => {
            let known = run.outcomes.iter().map(|test| test.test.name.as_str());
            let near = suggest::hint(&suggest::near(name, known, "::"));
            Err(Error::usage(format!("no slower test of the last run matches `{name}`"))
                .hint(near.unwrap_or_else(|| "run `cargo perfunit report` to list them".to_owned())))
        }
        _ => {
            let names: Vec<String> = meant.iter().map(|test| format!("`{}`", test.test)).collect();
            Err(Error::usage(format!("`{name}` matches {} tests", names.len()))
                .hint(format!("name one of {}", names.join(", "))))
        }
    }
}

/// Returns the loss of a test, or an error if there is none to accept.
fn loss(outcome: &Outcome, revision: &str) -> Result<(f64, Mode)> {
    let test = &outcome.test;
    let Some(Measured { change, mode, .. }) = &outcome.measured else {
        let why =
            outcome.reason.as_ref().map(|reason| format!(": {}", variant_name(reason.kind()))).unwrap_or_default();
        return Err(Error::usage(format!("`{test}` was not measured against {revision}{why}"))
            .hint("only a measured loss can be accepted"));
    };
    if outcome.verdict != Verdict::Slower {
        let change = format::with_interval(*change);
        return Err(Error::usage(format!("`{test}` is not slower than {revision}: {change}"))
            .hint("only losses can be accepted"));
    }
    let is_of_time = |(metric, metered): (&Metric, &std::result::Result<Metered, NotMetered>)| {
        *metric == Metric::Time && matches!(metered, Ok(metered) if metered.verdict == MetricVerdict::More)
    };
    if !outcome.metrics.iter().any(is_of_time) {
        return Err(Error::usage(format!("`{test}` is worse than {revision} by other metrics than time")).hint(
            "only losses of time can be accepted; run `cargo perfunit ratchet set REV` to accept a whole version",
        ));
    }
    Ok((change.estimate, *mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;
    use perfunit_model::{NotCompared, Ratchet, Reason, VersionName};

    fn accepted_version(commit: &str) -> AcceptedVersion {
        AcceptedVersion { revision: "v1".to_owned(), commit: commit.to_owned(), losses: Vec::new() }
    }

    fn slower(name: &str) -> Outcome {
        let mut outcome = samples::outcome(name, Verdict::Slower, Some(samples::measured(1e3, 0.25)));
        let time = samples::metered(MetricVerdict::More, 1e3, 1.25e3);
        outcome.metrics.insert(Metric::Time, Ok(time));
        outcome
    }

    #[track_caller]
    fn check_refusal<T>(result: Result<T>, words: &[&str]) {
        let error = result.err().expect("not refused").to_string();
        for word in ["hint: "].iter().chain(words) {
            assert!(error.contains(word), "no `{word}` in: {error}");
        }
    }

    #[test]
    fn the_comparison_with_the_accepted_version_is_the_run_or_its_second() {
        let mut run = samples::run(vec![slower("a")]);
        assert!(against(&run, &accepted_version(&run.base.commit)).is_ok());
        check_refusal(against(&run, &accepted_version("1f")), &["did not compare with the baseline v1"]);
        let version = VersionName { label: "v1".to_owned(), commit: "1f".to_owned(), dirty: false };
        let second = Run { base: version.clone(), ..run.clone() };
        run.ratchet = Some(Ratchet { version: version.clone(), comparison: Ok(Box::new(second)) });
        assert_eq!(against(&run, &accepted_version("1f")).unwrap().base.commit, "1f");
        run.ratchet = Some(Ratchet { version, comparison: Err(NotCompared::Interrupted) });
        check_refusal(against(&run, &accepted_version("1f")), &["did not compare with the baseline v1"]);
    }

    #[test]
    fn a_test_is_named_in_full_or_by_a_part_that_no_other_slower_one_has() {
        let same = samples::outcome("parse::short", Verdict::Same, Some(samples::measured(1e3, 0.0)));
        let run = samples::run(vec![slower("parse::long"), slower("parse::longer"), same]);
        let name = |part: &str| find_slower(&run, part).map(|outcome| outcome.test.name.clone());
        assert_eq!(name("parse::long"), Ok("parse::long".to_owned()));
        assert_eq!(name("longer"), Ok("parse::longer".to_owned()));
        assert_eq!(name("parse::short"), Ok("parse::short".to_owned()));
        check_refusal(name("long"), &["`long` matches 2 tests", "parse::longer"]);
        check_refusal(name("parse::lng"), &["no slower test of the last run matches `parse::lng`"]);
    }

    #[test]
    fn only_a_loss_of_time_that_was_measured_can_be_accepted() {
        let found = loss(&slower("a"), "v1").unwrap();
        assert!((found.0 - 0.25).abs() < 1e-12 && found.1 == Mode::Steady);
        let same = samples::outcome("a", Verdict::Same, Some(samples::measured(1e3, 0.001)));
        check_refusal(loss(&same, "v1"), &["`mycrate a` is not slower than v1: +0.10 % ["]);
        check_refusal(loss(&samples::unmeasured("a", Some(Reason::Ignored)), "v1"), &["was not measured", "ignored"]);
        let by_others = Outcome { metrics: [].into(), ..slower("a") };
        check_refusal(loss(&by_others, "v1"), &["by other metrics than time"]);
    }
}
