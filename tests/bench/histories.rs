//! Generated histories.

use fastrand::Rng;
use perfunit_model::{
    Change, Commit, EffectClass, EffectSize, Entry, History, HistorySource, Metric, Mode, Skipped, Step, StepFigures,
    StepOutcome, StepTest, TargetId, TargetKind, TestId, Verdict,
};

pub const MACHINE: &str = "a processor";

/// Size and content of a history.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub commits: usize,
    pub tests: usize,
    /// Share of tests that a commit can have changed.
    pub share: f64,
    /// Share of these that it made slower or faster.
    pub moved: f64,
    /// Share of commits that do not build.
    pub broken: f64,
}

pub fn history(shape: Shape) -> History {
    let mut random = Rng::with_seed(1);
    let commits: Vec<Commit> = (0..=shape.commits).map(commit).collect();
    let entry = |index: usize| {
        let outcome = if random.f64() < shape.broken {
            StepOutcome::Skipped(Skipped::DoesNotBuild { error: "error[E0425]: cannot find value `x`".to_owned() })
        } else {
            StepOutcome::Compared(step(&commits[index - 1].id, shape, &mut random))
        };
        Entry { commit: commits[index].clone(), outcome }
    };
    let entries = (1..=shape.commits).map(entry).collect();
    History {
        base: commits[0].clone(),
        entries,
        spans: Vec::new(),
        left_out: 0,
        note: None,
        source: HistorySource::Comparisons,
        interrupted: false,
    }
}

fn step(base: &str, shape: Shape, random: &mut Rng) -> Step {
    let mut tests = Vec::new();
    for test in 0..shape.tests {
        if random.f64() < shape.share {
            tests.push(found(test, shape.moved, random));
        }
    }
    Step {
        base: base.to_owned(),
        found: shape.tests,
        selected: tests.len(),
        nothing_because: None,
        tests,
        programs: Vec::new(),
        unlisted: std::collections::BTreeSet::new(),
        alpha: 1e-5,
        seconds: 12.5,
        machine: MACHINE.to_owned(),
    }
}

fn commit(index: usize) -> Commit {
    let tags = if index.is_multiple_of(25) { vec![format!("v0.{}", index / 25)] } else { Vec::new() };
    let subject = format!("Change {index} to the parser, the lexer and what is between them");
    Commit {
        id: format!("{:016x}{index:024x}", 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index as u64 + 1)),
        subject,
        seconds: 1_700_000_000,
        tags,
    }
}

fn found(test: usize, moved: f64, random: &mut Rng) -> StepTest {
    let target = TargetId { package: "generated".to_owned(), kind: TargetKind::Lib, name: "generated".to_owned() };
    let name = format!("module_{}::tests::does_something_specific_{test:04}", test / 20);
    let is_moved = random.f64() < moved;
    let estimate = (random.f64() - 0.5) * if is_moved { 0.3 } else { 0.004 };
    let width = 0.002 + 0.004 * random.f64();
    let verdict = match () {
        () if is_moved && estimate > 0.0 => Verdict::Slower,
        () if is_moved => Verdict::Faster,
        () => Verdict::Same,
    };
    let base_ns = 1e3 * (10.0 * random.f64()).exp();
    let figures = StepFigures {
        change: Change { estimate, low: estimate - width, high: estimate + width },
        base_ns,
        head_ns: base_ns * (1.0 + estimate),
        mode: Mode::Steady,
        effect: EffectSize { d: estimate / width, class: EffectClass::Small },
    };
    StepTest {
        test: TestId { target, name },
        verdict,
        reason: None,
        figures: Some(figures),
        function: is_moved.then(|| format!("parser::Parser::function_{}", test / 7)),
        test_code: None,
        metrics: vec![Metric::Time],
    }
}
