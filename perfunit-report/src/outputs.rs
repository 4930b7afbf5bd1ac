//! A run in a few words, for the steps of a job that come after: the output variables of GitHub Actions.

use super::counts::is_unaffected;
use perfunit_model::{Conclusion, Run, Side, Verdict};
use std::fmt::Write as _;
use std::path::Path;

/// Returns `name=value` lines; `report` is a file with the run's Markdown, if there is one.
pub fn github(run: &Run, conclusion: Conclusion, report: Option<&Path>) -> String {
    let mut text = format!("verdict={}\n", verdict(run, conclusion));
    let counts = [
        ("slower", run.count(Verdict::Slower)),
        ("slower-than-ratchet", run.cumulative_losses().len()),
        ("faster", run.count(Verdict::Faster)),
        ("inconclusive", run.count(Verdict::Inconclusive)),
        ("failing", run.failing(Side::Head).count()),
        ("uncovered", run.selection.uncovered.len()),
    ];
    for (name, count) in counts {
        let _ = writeln!(text, "{name}={count}");
    }
    // A path with a line break in it would be taken for another variable.
    if let Some(path) = report.and_then(Path::to_str).filter(|path| !path.contains(['\n', '\r'])) {
        let _ = writeln!(text, "report={path}");
    }
    text
}

/// Returns the conclusion in a word; of a run that passed, what the tests showed.
fn verdict(run: &Run, conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Slower | Conclusion::SlowerThanRatchet | Conclusion::GeneratedSlower => "slower",
        Conclusion::Grows => "grows",
        Conclusion::Interrupted => "interrupted",
        Conclusion::FailsOnHead => "failing",
        Conclusion::Undecided => "inconclusive",
        Conclusion::Uncovered => "uncovered",
        Conclusion::NotBuilt | Conclusion::NotCompared => "not-compared",
        Conclusion::FailsOnBase => "unmeasured",
        Conclusion::NothingMeasured | Conclusion::Passed => of_tests(run),
    }
}

fn of_tests(run: &Run) -> &'static str {
    let any = |verdict| run.count(verdict) > 0;
    match () {
        () if any(Verdict::Inconclusive) => "inconclusive",
        () if any(Verdict::Faster) => "faster",
        () if run.outcomes.iter().any(|outcome| outcome.measured.is_some()) => "same",
        () if run.outcomes.iter().all(is_unaffected) => "nothing",
        () => "unmeasured",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{growth, measured, outcome, run};
    use perfunit_model::{Denied, FailedOn, Failure, NotCompared, Ratchet, Reason, VersionName};

    #[track_caller]
    fn check(verdicts: &[Verdict], expected: &str) {
        let outcomes = verdicts.iter().map(|verdict| outcome("t", *verdict, Some(measured(1e3, 0.1)))).collect();
        assert_eq!(of_run(&run(outcomes)), expected);
    }

    fn of_run(run: &Run) -> &'static str {
        verdict(run, Conclusion::of(run, Denied::default()))
    }

    #[test]
    fn the_worst_news_is_the_verdict() {
        check(&[Verdict::Faster, Verdict::Inconclusive, Verdict::Slower], "slower");
        check(&[Verdict::Faster, Verdict::Inconclusive], "inconclusive");
        check(&[Verdict::Same, Verdict::Faster], "faster");
        check(&[Verdict::Same, Verdict::ChangedBelowThreshold], "same");
        check(&[], "nothing");
        let mut left = outcome("t", Verdict::NotMeasured, None);
        left.reason = Some(Reason::BudgetUsedUp);
        assert_eq!(of_run(&run(vec![left.clone()])), "inconclusive");
        let same = outcome("t", Verdict::Same, Some(measured(1e3, 0.0)));
        assert_eq!(of_run(&run(vec![left.clone(), same.clone()])), "same");
        left.reason =
            Some(Reason::Fails { side: FailedOn::Head, how: Failure::Said("no".into()), intermittent: false });
        assert_eq!(of_run(&run(vec![left])), "failing");
    }

    #[test]
    fn what_fails_the_run_is_never_same() {
        let same = || run(vec![outcome("t", Verdict::Same, Some(measured(1e3, 0.0)))]);
        let grows = Run { growth: Some(growth()), ..same() };
        assert_eq!(of_run(&grows), "same");
        let denied = Denied { growth: true, ..Denied::default() };
        assert_eq!(verdict(&grows, Conclusion::of(&grows, denied)), "grows");
        let version = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let not_compared = Ratchet { version, comparison: Err(NotCompared::HeadChanged) };
        assert_eq!(of_run(&Run { ratchet: Some(not_compared), ..same() }), "not-compared");
    }

    #[test]
    fn each_variable_has_a_line() {
        let run = run(vec![outcome("t", Verdict::Slower, Some(measured(1e3, 0.1)))]);
        let expected = "verdict=slower\nslower=1\nslower-than-ratchet=0\nfaster=0\ninconclusive=0\nfailing=0\nuncovered=0\nreport=/tmp/a b.md\n";
        assert_eq!(github(&run, Conclusion::Slower, Some(Path::new("/tmp/a b.md"))), expected);
        assert!(!github(&run, Conclusion::Slower, Some(Path::new("/tmp/a\nb=c"))).contains("report"));
        assert!(!github(&run, Conclusion::Slower, None).contains("report"));
    }
}
