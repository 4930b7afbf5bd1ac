//! Which exit code a run deserves.

use crate::error::ExitCode;
use crate::model::{Run, Side, Verdict};
use crate::report::Denied;

/// What to fail on besides tests that got slower.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gate {
    /// Fail when nothing was measured.
    pub fail_without_tests: bool,
    /// Which tests to fail on.
    pub denied: Denied,
}

/// The worst news decides; an interrupted run that already found a regression says so.
pub fn exit_code(run: &Run, gate: Gate) -> ExitCode {
    let measured = run.outcomes.iter().any(|outcome| outcome.measured.is_some());
    if run.count(Verdict::Slower) > 0 {
        ExitCode::Regression
    } else if run.interrupted {
        ExitCode::Interrupted
    } else if gate.denied.failing && run.failing(Side::Head).next().is_some() {
        ExitCode::TestsFailOnHead
    } else if run.fails_on_base() {
        ExitCode::TestsFailOnBase
    } else if gate.denied.inconclusive && run.count(Verdict::Inconclusive) > 0 {
        ExitCode::Inconclusive
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailedOn, Reason};
    use crate::report::samples;

    const DENIED: Gate = Gate { fail_without_tests: false, denied: Denied { inconclusive: true, failing: true } };

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
        assert_eq!(exit_code(&run, DENIED), ExitCode::Regression);
    }

    #[test]
    fn inconclusive_fails_only_when_denied() {
        let run = run(&[(Verdict::Inconclusive, None)]);
        assert_eq!(exit_code(&run, Gate::default()), ExitCode::Success);
        assert_eq!(exit_code(&run, DENIED), ExitCode::Inconclusive);
    }

    #[test]
    fn tests_that_fail_on_base_are_no_success() {
        let fails = Reason::Fails { side: FailedOn::Both, detail: "no".to_owned(), intermittent: false };
        assert_eq!(exit_code(&run(&[(Verdict::NotMeasured, Some(fails))]), Gate::default()), ExitCode::TestsFailOnBase);
    }

    #[test]
    fn tests_that_fail_on_head_alone_fail_only_when_denied() {
        let fails = |side, intermittent| Some(Reason::Fails { side, detail: "no".to_owned(), intermittent });
        let same = (Verdict::Same, None);
        let on_head = run(&[(Verdict::NotMeasured, fails(FailedOn::Head, false)), same.clone()]);
        assert_eq!(exit_code(&on_head, Gate::default()), ExitCode::Success);
        assert_eq!(exit_code(&on_head, DENIED), ExitCode::TestsFailOnHead);
        for (side, intermittent) in [(FailedOn::Base, false), (FailedOn::Both, false), (FailedOn::Head, true)] {
            let run = run(&[(Verdict::NotMeasured, fails(side, intermittent)), same.clone()]);
            assert_ne!(exit_code(&run, DENIED), ExitCode::TestsFailOnHead, "{side:?}");
        }
    }

    #[test]
    fn nothing_to_measure_fails_only_on_request() {
        let fail = Gate { fail_without_tests: true, ..Gate::default() };
        assert_eq!(exit_code(&run(&[]), Gate::default()), ExitCode::Success);
        assert_eq!(exit_code(&run(&[]), fail), ExitCode::NothingToMeasure);
    }
}
