//! `cargo perfunit diff`.

use crate::error::{ExitCode, Result};
use crate::model::{Reason, Run, Verdict};
use crate::pipeline::{self, Options};
use crate::report::{annotations, json, text};
use crate::term::{self, Terminal};

/// What to print and what to fail on.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct DiffOutput {
    /// JSON instead of text.
    pub json: bool,
    /// More of each test.
    pub verbose: bool,
    /// Fail when nothing was measured.
    pub fail_without_tests: bool,
    /// Fail on inconclusive tests.
    pub deny_inconclusive: bool,
}

/// Runs the comparison and prints it.
pub fn diff(options: &Options, output: DiffOutput, terminal: Terminal) -> Result<ExitCode> {
    let run = pipeline::diff(options, terminal)?;
    let report = if output.json {
        json::render(&run)
    } else {
        let options = text::TextOptions { width: term::width(), verbose: output.verbose, unicode: term::unicode() };
        text::render(&run, &options)
    };
    term::print(&report);
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        term::eprint(&annotations::github(&run));
    }
    Ok(exit_code(&run, output))
}

/// The worst news decides; an interrupted run that already found a regression says so.
fn exit_code(run: &Run, output: DiffOutput) -> ExitCode {
    let measured = run.outcomes.iter().any(|outcome| outcome.measured.is_some());
    if run.count(Verdict::Slower) > 0 {
        ExitCode::Regression
    } else if run.interrupted {
        ExitCode::Interrupted
    } else if !measured && fails_on_base(run) {
        ExitCode::TestsFailOnBase
    } else if output.deny_inconclusive && run.count(Verdict::Inconclusive) > 0 {
        ExitCode::Inconclusive
    } else if output.fail_without_tests && !measured {
        ExitCode::NothingToMeasure
    } else {
        ExitCode::Success
    }
}

/// True if all tests that were selected and could be run fail on base.
fn fails_on_base(run: &Run) -> bool {
    let fails = |reason: &Reason| match reason {
        Reason::Fails { side, .. } | Reason::Crashes { side, .. } => side == "base" || side == "both",
        _ => false,
    };
    run.outcomes.iter().any(|outcome| outcome.reason.as_ref().is_some_and(fails))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Environment, Metric, Metrics, Outcome, Selection, Stages, TargetId, TargetKind, TestId, VersionName,
    };

    fn run(verdicts: &[(Verdict, Option<Reason>)]) -> Run {
        let version = VersionName { label: "main".to_owned(), commit: "0".repeat(40), dirty: false };
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let outcome = |(verdict, reason): &(Verdict, Option<Reason>)| Outcome {
            test: TestId { target: target.clone(), name: "t".to_owned() },
            verdict: *verdict,
            reason: reason.clone(),
            measured: None,
            metrics: Metrics::new(),
            cross_check: None,
            capture: None,
            selected_because: String::new(),
            explanation: None,
            why: None,
            notes: Vec::new(),
        };
        Run {
            base: version.clone(),
            head: version,
            environment: Environment {
                rustc: String::new(),
                host: String::new(),
                profile: String::new(),
                cpu: String::new(),
                core: 0,
                paired_address_space: true,
                layouts: std::collections::BTreeMap::new(),
            },
            selection: Selection::default(),
            outcomes: verdicts.iter().map(outcome).collect(),
            warnings: Vec::new(),
            stages: Stages::default(),
            threshold: 0.1,
            gates: vec![Metric::Time],
            alpha: 0.01,
            interrupted: false,
        }
    }

    #[test]
    fn a_regression_outranks_everything() {
        let mut run = run(&[(Verdict::Inconclusive, None), (Verdict::Slower, None)]);
        run.interrupted = true;
        assert_eq!(
            exit_code(&run, DiffOutput { deny_inconclusive: true, ..DiffOutput::default() }),
            ExitCode::Regression
        );
    }

    #[test]
    fn inconclusive_fails_only_when_denied() {
        let run = run(&[(Verdict::Inconclusive, None)]);
        assert_eq!(exit_code(&run, DiffOutput::default()), ExitCode::Success);
        assert_eq!(
            exit_code(&run, DiffOutput { deny_inconclusive: true, ..DiffOutput::default() }),
            ExitCode::Inconclusive
        );
    }

    #[test]
    fn tests_that_fail_on_base_are_no_success() {
        let fails = Reason::Fails { side: "both".to_owned(), detail: "no".to_owned() };
        assert_eq!(
            exit_code(&run(&[(Verdict::NotMeasured, Some(fails))]), DiffOutput::default()),
            ExitCode::TestsFailOnBase
        );
    }

    #[test]
    fn nothing_to_measure_fails_only_on_request() {
        let fail = DiffOutput { fail_without_tests: true, ..DiffOutput::default() };
        assert_eq!(exit_code(&run(&[]), DiffOutput::default()), ExitCode::Success);
        assert_eq!(exit_code(&run(&[]), fail), ExitCode::NothingToMeasure);
    }
}
