//! Every exit code is decided here: that of a run, of a push that the hook checks, and of the process.

use crate::error::{Error, ExitCode, Result};
use crate::hook::OnFailure;
use crate::model::{NotCompared, Run, Side, Verdict};
use crate::report::Denied;
use crate::system::interrupt;
use crate::system::term;

/// What fails a run besides tests that got slower or fail on head alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gate {
    /// Fail when nothing was measured.
    pub fail_without_tests: bool,
    /// Which tests to fail on.
    pub denied: Denied,
}

/// The exit code of a run. The worst news decides; an interrupted run that already found a regression says so.
pub fn of_run(run: &Run, gate: Gate) -> ExitCode {
    let of_ratchet = run.ratchet.as_ref().map_or(ExitCode::Success, |found| of_second(&found.comparison, gate));
    let generated = run.generated.as_ref().filter(|_| gate.denied.generated);
    let comparison = generated.and_then(|found| found.comparison.as_ref());
    let of_generated = comparison.map_or(ExitCode::Success, |comparison| of_second(comparison, gate));
    worst([of_comparison(run, gate), of_ratchet, of_generated])
}

/// Of a further comparison only losses count. That it could not be made is no success.
fn of_second(comparison: &std::result::Result<Box<Run>, NotCompared>, gate: Gate) -> ExitCode {
    let run = match comparison {
        Ok(run) => run,
        Err(NotCompared::IsBase) => return ExitCode::Success,
        Err(NotCompared::DoesNotBuild { .. }) => return ExitCode::BuildFailed,
        Err(NotCompared::HeadChanged | NotCompared::BudgetUsedUp | NotCompared::Failed { .. }) => {
            return ExitCode::SetupFailed;
        }
        Err(NotCompared::Interrupted) => return ExitCode::Interrupted,
    };
    if run.count(Verdict::Slower) > 0 {
        ExitCode::Regression
    } else if run.interrupted {
        ExitCode::Interrupted
    } else if gate.denied.open(run).next().is_some() || run.is_unchecked() {
        ExitCode::Inconclusive
    } else {
        ExitCode::Success
    }
}

/// The exit code of the comparison with base.
fn of_comparison(run: &Run, gate: Gate) -> ExitCode {
    let measured = run.outcomes.iter().any(|outcome| outcome.measured.is_some());
    let is_undecided = || {
        let is_open = gate.denied.open(run).next().is_some();
        is_open || !gate.denied.undecided(run).is_empty() || run.is_unchecked()
    };
    if run.count(Verdict::Slower) > 0 || gate.denied.growth && run.growing().next().is_some() {
        ExitCode::Regression
    } else if run.interrupted {
        ExitCode::Interrupted
    } else if run.failing(Side::Head).next().is_some() {
        ExitCode::TestsFailOnHead
    } else if run.fails_on_base() {
        ExitCode::TestsFailOnBase
    } else if is_undecided() {
        ExitCode::Inconclusive
    } else if gate.denied.uncovered && !run.selection.uncovered.is_empty() {
        ExitCode::Uncovered
    } else if gate.fail_without_tests && !measured && !is_empty_shard(run) {
        ExitCode::NothingToMeasure
    } else {
        ExitCode::Success
    }
}

/// True if there are tests to measure, all of them in other shards.
fn is_empty_shard(run: &Run) -> bool {
    run.sharding
        .as_ref()
        .is_some_and(|sharding| !sharding.candidates.is_empty() && sharding.parts.iter().all(|part| part.tests == 0))
}

/// With reports to write, one of which may have failed. A bad verdict is worse news than a missing report; a good one is
/// not, as somebody waits for the report.
pub fn with_reports(verdict: ExitCode, failed: Option<ExitCode>) -> ExitCode {
    if verdict == ExitCode::Success { failed.unwrap_or(verdict) } else { verdict }
}

/// True if the hook blocks a push because of its tests.
pub fn blocks_push(code: ExitCode) -> bool {
    matches!(code, ExitCode::Regression | ExitCode::Inconclusive | ExitCode::TestsFailOnHead | ExitCode::Uncovered)
}

/// The exit code of the hook for a run with this one: what is neither about tests nor an interruption is a failure of ours.
pub fn of_push(code: ExitCode, failure: OnFailure) -> ExitCode {
    if blocks_push(code) || code == ExitCode::Interrupted || failure == OnFailure::Block {
        code
    } else {
        ExitCode::Success
    }
}

/// Of several codes the first bad news, unless a regression follows.
pub fn worst(codes: impl IntoIterator<Item = ExitCode>) -> ExitCode {
    let worse = |worst, code| if worst == ExitCode::Success || code == ExitCode::Regression { code } else { worst };
    codes.into_iter().fold(ExitCode::Success, worse)
}

/// The exit code of the process; prints what failed.
pub fn of_process(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error: Error| {
        if interrupt::requested() && !interrupt::by_clock() {
            // Whatever failed, it failed because Ctrl-C ended what we had started.
            term::error("interrupted before anything was measured");
            return ExitCode::Interrupted;
        }
        told(&error)
    })
}

/// Prints what failed; the exit code that goes with it.
pub fn told(error: &Error) -> ExitCode {
    if let Some(broken) = error.as_broken() {
        term::eprint(&broken.output);
    }
    term::error(&error.to_string());
    error.code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples;
    use crate::model::{
        FailedOn, Failure, GeneratedCalls, Generation, Growth, NotCounted, NotGenerated, Ratchet, Reason, Untraceable,
        Warning, WithoutWorkload,
    };

    const DENIED: Gate = Gate {
        fail_without_tests: false,
        denied: Denied { inconclusive: true, unconfirmed: true, uncovered: true, growth: true, generated: true },
    };

    fn run(verdicts: &[(Verdict, Option<Reason>)]) -> Run {
        let outcomes = verdicts.iter().map(|(verdict, reason)| crate::model::Outcome {
            reason: reason.clone(),
            ..samples::outcome("t", *verdict, None)
        });
        samples::run(outcomes.collect())
    }

    #[test]
    fn a_regression_outranks_everything() {
        let mut run = run(&[(Verdict::Inconclusive, None), (Verdict::Slower, None)]);
        run.interrupted = true;
        assert_eq!(of_run(&run, DENIED), ExitCode::Regression);
    }

    #[test]
    fn generated_calls_fail_the_run_only_when_denied() {
        let with = |comparison| {
            let generated = Some(GeneratedCalls { generation: Generation::default(), comparison });
            Run { generated, ..run(&[(Verdict::Same, None)]) }
        };
        let check = |comparison, code| {
            let run = with(comparison);
            assert_eq!(of_run(&run, Gate::default()), ExitCode::Success);
            assert_eq!(of_run(&run, DENIED), code);
        };
        let calls = |verdict| Some(Ok(Box::new(run(&[(verdict, None)]))));
        check(calls(Verdict::Slower), ExitCode::Regression);
        check(calls(Verdict::Same), ExitCode::Success);
        check(Some(Err(NotCompared::HeadChanged)), ExitCode::SetupFailed);
        check(None, ExitCode::Success);
    }

    #[test]
    fn inconclusive_fails_only_when_denied() {
        let run = run(&[(Verdict::Inconclusive, None)]);
        assert_eq!(of_run(&run, Gate::default()), ExitCode::Success);
        assert_eq!(of_run(&run, DENIED), ExitCode::Inconclusive);
    }

    #[test]
    fn growth_fails_only_when_denied() {
        let mut run = run(&[(Verdict::Same, None)]);
        assert_eq!(of_run(&run, DENIED), ExitCode::Success);
        run.growth = Some(samples::growth());
        assert_eq!(of_run(&run, Gate::default()), ExitCode::Success);
        assert_eq!(of_run(&run, DENIED), ExitCode::Regression);
    }

    #[test]
    fn what_is_denied_and_could_not_be_looked_at_is_no_success() {
        let check = |run: &Run, denied| {
            assert_eq!(of_run(run, Gate::default()), ExitCode::Success);
            assert_eq!(of_run(run, Gate { denied, ..Gate::default() }), ExitCode::Inconclusive);
        };
        let (nothing, same) = (Denied::default(), || run(&[(Verdict::Same, None)]));
        let not_counted = vec![(samples::test("t"), NotCounted::Ended { why: "no space left".to_owned() })];
        let growth = Some(Growth { not_counted, ..Growth::default() });
        check(&Run { growth, ..same() }, Denied { growth: true, ..nothing });
        let function = samples::uncovered().function;
        let without = vec![WithoutWorkload { function, because: NotGenerated::OutOfBudget }];
        let generation = Generation { workloads: Vec::new(), without };
        let generated = Some(GeneratedCalls { generation, comparison: None });
        check(&Run { generated, ..same() }, Denied { generated: true, ..nothing });
        let warnings = vec![Warning::NotTraced { why: Untraceable::Refused }];
        check(&Run { warnings, ..same() }, Denied { uncovered: true, ..nothing });
        let late = run(&[(Verdict::Same, None), (Verdict::NotMeasured, Some(Reason::BudgetUsedUp))]);
        check(&late, Denied { inconclusive: true, ..nothing });
    }

    #[test]
    fn that_there_was_no_time_for_any_test_is_no_success() {
        let late = (Verdict::NotMeasured, Some(Reason::BudgetUsedUp));
        assert_eq!(of_run(&run(std::slice::from_ref(&late)), Gate::default()), ExitCode::Inconclusive);
        assert_eq!(of_run(&run(&[late, (Verdict::Same, None)]), Gate::default()), ExitCode::Success);
    }

    #[test]
    fn what_is_probably_slower_can_be_denied_alone() {
        let unconfirmed = |seen| run(&[(Verdict::Inconclusive, Some(Reason::Unconfirmed { seen }))]);
        let gate = Gate { denied: Denied { unconfirmed: true, ..Denied::default() }, ..Gate::default() };
        assert_eq!(of_run(&unconfirmed(Verdict::Slower), gate), ExitCode::Inconclusive);
        assert_eq!(of_run(&unconfirmed(Verdict::Faster), gate), ExitCode::Success);
        assert_eq!(of_run(&run(&[(Verdict::Inconclusive, Some(Reason::TooNoisy))]), gate), ExitCode::Success);
    }

    #[test]
    fn tests_that_fail_on_base_are_no_success() {
        let fails = Reason::Fails { side: FailedOn::Both, how: Failure::Said("no".to_owned()), intermittent: false };
        assert_eq!(of_run(&run(&[(Verdict::NotMeasured, Some(fails))]), Gate::default()), ExitCode::TestsFailOnBase);
    }

    #[test]
    fn tests_that_fail_on_head_alone_are_a_failure() {
        let fails =
            |side, intermittent| Some(Reason::Fails { side, how: Failure::Said("no".to_owned()), intermittent });
        let same = (Verdict::Same, None);
        let on_head = run(&[(Verdict::NotMeasured, fails(FailedOn::Head, false)), same.clone()]);
        assert_eq!(of_run(&on_head, Gate::default()), ExitCode::TestsFailOnHead);
        for (side, intermittent) in [(FailedOn::Base, false), (FailedOn::Both, false), (FailedOn::Head, true)] {
            let run = run(&[(Verdict::NotMeasured, fails(side, intermittent)), same.clone()]);
            assert_ne!(of_run(&run, DENIED), ExitCode::TestsFailOnHead, "{side:?}");
        }
    }

    #[test]
    fn functions_that_no_test_executes_fail_only_when_denied_and_hide_no_regression() {
        let mut run = run(&[(Verdict::Same, None)]);
        run.selection.uncovered = vec![samples::uncovered()];
        assert_eq!(of_run(&run, Gate::default()), ExitCode::Success);
        let denied = Gate { denied: Denied { uncovered: true, ..Denied::default() }, ..Gate::default() };
        assert_eq!(of_run(&run, denied), ExitCode::Uncovered);
        run.outcomes[0].verdict = Verdict::Slower;
        assert_eq!(of_run(&run, denied), ExitCode::Regression);
    }

    #[test]
    fn a_loss_against_the_ratchet_is_a_regression_and_no_comparison_is_no_success() {
        let version = crate::model::VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let code = |own: Verdict, comparison| {
            let mut run = run(&[(own, None)]);
            run.ratchet = Some(Ratchet { version: version.clone(), comparison });
            of_run(&run, Gate::default())
        };
        let found = |verdict| Ok(Box::new(run(&[(verdict, None)])));
        assert_eq!(code(Verdict::Same, found(Verdict::Slower)), ExitCode::Regression);
        assert_eq!(code(Verdict::Same, found(Verdict::Faster)), ExitCode::Success);
        assert_eq!(code(Verdict::Slower, found(Verdict::Same)), ExitCode::Regression);
        for (why, expected) in [
            (NotCompared::IsBase, ExitCode::Success),
            (NotCompared::DoesNotBuild { side: Side::Base, error: String::new() }, ExitCode::BuildFailed),
            (NotCompared::HeadChanged, ExitCode::SetupFailed),
            (NotCompared::BudgetUsedUp, ExitCode::SetupFailed),
            (NotCompared::Interrupted, ExitCode::Interrupted),
        ] {
            assert_eq!(code(Verdict::Same, Err(why.clone())), expected);
            assert_eq!(code(Verdict::Slower, Err(why)), ExitCode::Regression);
        }
    }

    #[test]
    fn nothing_to_measure_fails_only_on_request() {
        let fail = Gate { fail_without_tests: true, ..Gate::default() };
        assert_eq!(of_run(&run(&[]), Gate::default()), ExitCode::Success);
        assert_eq!(of_run(&run(&[]), fail), ExitCode::NothingToMeasure);
    }

    #[test]
    fn a_report_that_cannot_be_written_never_hides_a_regression() {
        let failed = Some(ExitCode::SetupFailed);
        assert_eq!(with_reports(ExitCode::Regression, failed), ExitCode::Regression);
        assert_eq!(with_reports(ExitCode::Success, failed), ExitCode::SetupFailed);
        assert_eq!(with_reports(ExitCode::Success, None), ExitCode::Success);
    }

    #[test]
    fn of_several_pushed_branches_a_regression_decides_else_the_first_bad_news() {
        use ExitCode::{BuildFailed, Inconclusive, Regression, Success};
        assert_eq!(worst([]), Success);
        assert_eq!(worst([Success, BuildFailed, Inconclusive, Success]), BuildFailed);
        assert_eq!(worst([BuildFailed, Regression, Inconclusive]), Regression);
    }

    #[test]
    fn a_push_is_let_through_when_its_check_fails_unless_strict() {
        for (failure, code) in [(OnFailure::Pass, ExitCode::Success), (OnFailure::Block, ExitCode::BuildFailed)] {
            assert_eq!(of_push(ExitCode::BuildFailed, failure), code);
            assert_eq!(of_push(ExitCode::Regression, failure), ExitCode::Regression);
            assert_eq!(of_push(ExitCode::Interrupted, failure), ExitCode::Interrupted);
        }
    }
}
