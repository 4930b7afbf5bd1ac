//! Exit codes: of a push that the hook checks, of several pushes, and of the process. The exit code of a run follows
//! from its [`Conclusion`](perfunit_model::Conclusion).

use crate::hook::OnFailure;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_system::interrupt;
use perfunit_system::term;

/// Returns the exit code of a run with reports. A bad verdict takes precedence over a report that could not be written,
/// which takes precedence over a good verdict.
pub fn with_reports(verdict: ExitCode, failed: Option<ExitCode>) -> ExitCode {
    if verdict == ExitCode::Success { failed.unwrap_or(verdict) } else { verdict }
}

/// Returns true if the hook blocks a push because of its tests.
pub fn blocks_push(code: ExitCode) -> bool {
    matches!(code, ExitCode::Regression | ExitCode::Inconclusive | ExitCode::TestsFailOnHead | ExitCode::Uncovered)
}

/// Returns the hook's exit code for a run. Codes other than those about tests and interruptions count as a failed
/// check.
pub fn of_push(code: ExitCode, failure: OnFailure) -> ExitCode {
    if blocks_push(code) || code == ExitCode::Interrupted || failure == OnFailure::Block {
        code
    } else {
        ExitCode::Success
    }
}

/// Returns a regression if there is one, otherwise the first failure.
pub fn worst(codes: impl IntoIterator<Item = ExitCode>) -> ExitCode {
    let worse = |worst, code| if worst == ExitCode::Success || code == ExitCode::Regression { code } else { worst };
    codes.into_iter().fold(ExitCode::Success, worse)
}

/// Returns the exit code of the process, and prints the error if there is one.
pub fn of_process(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error: Error| {
        if interrupt::by_user() {
            // All failures after Ctrl-C follow from it.
            term::error("interrupted before anything was measured");
            return ExitCode::Interrupted;
        }
        told(&error)
    })
}

/// Prints an error, and returns its exit code.
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
    use perfunit_model::Conclusion;
    #[test]
    fn each_conclusion_has_its_exit_code() {
        let table = [
            (Conclusion::Passed, 0),
            (Conclusion::NothingMeasured, 4),
            (Conclusion::Slower, 100),
            (Conclusion::Grows, 100),
            (Conclusion::FunctionSlower, 100),
            (Conclusion::ProgramSlower, 100),
            (Conclusion::SlowerThanRatchet, 100),
            (Conclusion::GeneratedSlower, 100),
            (Conclusion::NotBuilt, 101),
            (Conclusion::NotCompared, 102),
            (Conclusion::FailsOnBase, 103),
            (Conclusion::FailsOnHead, 104),
            (Conclusion::Undecided, 105),
            (Conclusion::Uncovered, 106),
            (Conclusion::Interrupted, 130),
        ];
        for (conclusion, code) in table {
            let found = ExitCode::from(conclusion);
            assert_eq!(found as u8, code, "{conclusion:?}");
            assert_eq!(conclusion.is_regression(), found == ExitCode::Regression);
        }
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
