//! Sample steps for tests.

use perfunit_decide as decide;
use perfunit_model::{
    Change, Commit, Entry, History, HistorySource, Metric, Mode, Step, StepFigures, StepOutcome, StepTest, TargetId,
    TargetKind, TestId, Verdict,
};
use std::collections::BTreeSet;

/// Returns a commit named by its number.
pub fn commit(id: usize) -> Commit {
    Commit { id: id.to_string(), subject: String::new(), seconds: 0, tags: Vec::new() }
}

/// Returns a history with commits numbered from 1.
pub fn history(outcomes: Vec<StepOutcome>) -> History {
    let entries = outcomes.into_iter().zip(1..);
    let entries = entries.map(|(outcome, id)| Entry { commit: commit(id), outcome }).collect();
    History {
        base: commit(0),
        entries,
        spans: Vec::new(),
        left_out: 0,
        note: None,
        source: HistorySource::Comparisons,
        interrupted: false,
    }
}

/// Returns a step with tests of these names, verdicts and changes.
pub fn step(base: &str, tests: &[(&str, Verdict, f64)]) -> Step {
    let tests: Vec<StepTest> = tests.iter().map(|(name, verdict, change)| test(name, *verdict, *change)).collect();
    Step {
        base: base.to_owned(),
        found: 12,
        selected: tests.len(),
        nothing_because: None,
        tests,
        programs: Vec::new(),
        unlisted: BTreeSet::new(),
        alpha: 0.001,
        seconds: 2.5,
        machine: "m".to_owned(),
    }
}

/// Returns a test with figures.
pub fn test(name: &str, verdict: Verdict, change: f64) -> StepTest {
    let target = TargetId { package: "p".to_owned(), kind: TargetKind::Lib, name: "p".to_owned() };
    // Rounded like in the store.
    let exact = |figure: f64| (figure * 1e9).round() / 1e9;
    let change = Change { estimate: change, low: exact(change - 0.01), high: exact(change + 0.01) };
    let head_ns = exact(100.0 * (1.0 + change.estimate));
    let effect = decide::effect_size(1.2);
    let figures = StepFigures { change, base_ns: 100.0, head_ns, mode: Mode::Steady, effect };
    StepTest {
        test: TestId { target, name: name.to_owned() },
        verdict,
        reason: None,
        figures: Some(figures),
        function: (verdict == Verdict::Slower).then(|| "f".to_owned()),
        test_code: None,
        metrics: vec![Metric::Time],
    }
}
