//! Steps for tests.

use crate::model::{Change, Mode, Step, StepFigures, StepTest, TargetId, TargetKind, TestId, Verdict};

/// A step with tests of these names, verdicts and changes.
pub fn step(base: &str, tests: &[(&str, Verdict, f64)]) -> Step {
    let tests: Vec<StepTest> = tests.iter().map(|(name, verdict, change)| test(name, *verdict, *change)).collect();
    Step {
        base: base.to_owned(),
        found: 12,
        selected: tests.len(),
        nothing_because: None,
        tests,
        alpha: 0.001,
        seconds: 2.5,
    }
}

/// A test with figures.
pub fn test(name: &str, verdict: Verdict, change: f64) -> StepTest {
    let target = TargetId { package: "p".to_owned(), kind: TargetKind::Lib, name: "p".to_owned() };
    let change = Change { estimate: change, low: change - 0.01, high: change + 0.01 };
    let figures = StepFigures { change, base_ns: 100.0, head_ns: 100.0 * (1.0 + change.estimate), mode: Mode::Steady };
    StepTest {
        test: TestId { target, name: name.to_owned() },
        verdict,
        reason: None,
        figures: Some(figures),
        function: (verdict == Verdict::Slower).then(|| "f".to_owned()),
    }
}
