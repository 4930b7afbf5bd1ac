//! Runs like the tool's, drawn with a fixed seed.

use super::explained;
use perfunit_model::{
    Basis, Between, Capture, Change, ChangeKind, ChangedFunction, ChangedPart, CodeChange, CrossCheck, EffectClass,
    EffectSize, Environment, FailedOn, Failure, LayoutMatch, Machine, Measured, Metered, Metric, MetricVerdict,
    Metrics, Mode, NoCounter, NoLayout, NotMetered, Note, NothingBecause, Outcome, Readings, Reason, Run, Sample,
    SelectedBecause, Selection, Sides, Stages, TargetId, TargetKind, TestId, Threshold, UnmeasuredTarget, Verdict,
    VersionName, Warning, Why,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Name or message that foreign code may have.
const HOSTILE: &str =
    "</script><script>document.title='broken'</script><img src=x onerror=\"alert(1)\">&lt;'\u{1b}[31m";

fn changed_line() -> CodeChange {
    CodeChange { change: ChangeKind::Changed, item: "Parser::line".into(), path: "src/parser.rs".into(), line: 88 }
}

/// Returns a run with one test of every kind.
pub fn few() -> Run {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut outcomes = vec![
        measured(&mut rng, "parser::tests::long_lines", Verdict::Slower, 1_210.0, 0.306),
        measured(&mut rng, "lexer::tests::tiny", Verdict::Slower, 8.2, 0.146),
        measured(&mut rng, "matrix::tests::product", Verdict::Slower, 4.1e6, 4.9),
        measured(&mut rng, "cache::tests::first", Verdict::Faster, 2.05e6, -0.24),
        measured(&mut rng, "parser::tests::short", Verdict::ChangedBelowThreshold, 95.0, 0.012),
        measured(&mut rng, "net::tests::roundtrip", Verdict::Inconclusive, 48_300.0, 0.031),
        measured(&mut rng, "parser::tests::empty", Verdict::Same, 310.0, 0.001),
        measured(&mut rng, HOSTILE, Verdict::Same, 310.0, -0.002),
    ];
    let first = &mut outcomes[0];
    first.explanation = Some(explained::of(&first.test));
    first.notes.push(Note::UnequalWork { between: Between::Calls, equal_seeds: false });
    outcomes[1].cross_check = Some(CrossCheck::Suspect);
    if let Some(cold) = &mut outcomes[3].measured {
        cold.mode = Mode::Cold;
    }
    outcomes[5].reason = Some(Reason::TooNoisy);
    let fails = Reason::Fails {
        side: FailedOn::Both,
        how: Failure::Said(format!("no network {HOSTILE}")),
        intermittent: false,
    };
    outcomes.push(unmeasured("net::tests::dns", fails));
    outcomes.push(unmeasured("slow::tests::all", Reason::Ignored));
    outcomes.push(unmeasured("docs::tests::unrelated", Reason::SameCode));
    let mut run = run(outcomes);
    run.warnings =
        vec![Warning::Machine(Machine::Steal { percent: 12 }), Warning::NoInstructions { why: HOSTILE.into() }];
    run.selection.unmeasured_targets.push(UnmeasuredTarget::Doctests { package: "mycrate".into() });
    let other = TargetId { name: "cli".into(), kind: TargetKind::Test, ..target(0) };
    run.environment.layouts.insert(other, Err(NoLayout::Refused { linker: "ld".into(), message: HOSTILE.into() }));
    run
}

/// Returns a run with 5,000 tests in twelve targets, this many of them measured.
pub fn many(figures: usize) -> Run {
    let mut rng = fastrand::Rng::with_seed(2);
    let outcomes = (0..5_000).map(|index| {
        let name = format!("module_{}::submodule::tests::case_number_{index}_does_what_it_should", index % 97);
        let mut outcome = if index < figures { drawn(&mut rng, &name) } else { unmeasured(&name, reason(index)) };
        outcome.test.target = target(index % 12);
        if outcome.verdict == Verdict::Slower {
            outcome.explanation = Some(explained::of(&outcome.test));
        }
        outcome
    });
    run(outcomes.collect())
}

/// Draws a test with a change of up to 8 %, mostly a small one.
fn drawn(rng: &mut fastrand::Rng, name: &str) -> Outcome {
    let change = rng.f64() * rng.f64() * 0.1 - 0.02;
    let verdict = match change {
        change if change > 0.05 => Verdict::Slower,
        change if change < -0.015 => Verdict::Faster,
        change if change.abs() > 0.008 => Verdict::ChangedBelowThreshold,
        _ => Verdict::Same,
    };
    let ns = 10f64.powf(1.0 + 5.0 * rng.f64());
    measured(rng, name, verdict, ns, change)
}

/// Returns a run in which only comments changed.
pub fn nothing() -> Run {
    let mut run = run(Vec::new());
    run.selection.nothing_because = Some(NothingBecause::Comments { files: 2 });
    run.selection.targets_reached = 0;
    run.environment.layouts.clear();
    run
}

/// Returns a reason, distributed as on a real commit.
fn reason(index: usize) -> Reason {
    match index % 40 {
        0 => Reason::Ignored,
        1 => Reason::Fails {
            side: FailedOn::Both,
            how: Failure::Said(format!("assertion failed: answer == {index}")),
            intermittent: false,
        },
        2..=9 => Reason::NotExecuted { functions: 1 + index % 7, programs: Vec::new() },
        10..=14 => Reason::SameExecutable,
        _ => Reason::SameCode,
    }
}

fn target(number: usize) -> TargetId {
    let package = if number == 0 { "mycrate".to_owned() } else { format!("mycrate-part-{number}") };
    TargetId { name: package.clone(), package, kind: TargetKind::Lib }
}

fn outcome(name: &str, verdict: Verdict) -> Outcome {
    Outcome {
        test: TestId { target: target(0), name: name.into() },
        verdict,
        reason: None,
        measured: None,
        possible: None,
        metrics: Metrics::new(),
        gates: None,
        cross_check: None,
        capture: None,
        selected_because: None,
        why: None,
        explanation: None,
        unexplained: None,
        spent: None,
        notes: Vec::new(),
    }
}

fn unmeasured(name: &str, reason: Reason) -> Outcome {
    Outcome { reason: Some(reason), ..outcome(name, Verdict::NotMeasured) }
}

fn measured(rng: &mut fastrand::Rng, name: &str, verdict: Verdict, base_ns: f64, change: f64) -> Outcome {
    let half = if verdict == Verdict::Inconclusive { 0.05 } else { 0.004 };
    let layouts = if verdict == Verdict::Slower { 16 } else { 1 };
    // The sum of uniform numbers is approximately normal.
    let estimates = (0..16).map(|_| change + half * 1.6 * ((0..4).map(|_| rng.f64()).sum::<f64>() - 2.0)).collect();
    let mut batches = |middle: f64| {
        let mut drawn: Vec<f64> =
            (0..Sample::QUANTILES).map(|_| middle * (0.99 + 0.03 * rng.f64() * rng.f64())).collect();
        drawn.sort_by(f64::total_cmp);
        drawn[Sample::QUANTILES - 1] *= 1.4;
        drawn
    };
    let batches = Sides { base: batches(base_ns), head: batches(base_ns * (1.0 + change)) };
    let figures = Measured {
        change: Change { estimate: change, low: change - half, high: change + half },
        base_ns,
        head_ns: base_ns * (1.0 + change),
        pairs: 16,
        layouts,
        detectable: 0.0041,
        p_value: if verdict == Verdict::Same { 0.4 } else { 1e-9 },
        effect: EffectSize { d: change * 60.0, class: EffectClass::Large },
        mode: Mode::Steady,
        threshold: 0.02,
        asked: Threshold::default(),
        sample: Sample { estimates, batches },
        bound: None,
        throughput: None,
    };
    let changed = ChangedFunction { name: "mycrate::lexer::word".into(), data: None };
    Outcome {
        measured: Some(figures),
        metrics: metrics(verdict, base_ns, change),
        capture: Some(Capture::Macro),
        selected_because: Some(SelectedBecause::Names { item: changed_line(), more: 0 }),
        why: Some(Why {
            path: ["mycrate::parser::tests::long_lines", "mycrate::parser::Parser::line", "mycrate::lexer::word"]
                .map(str::to_owned)
                .to_vec(),
            changed: vec![changed],
            others: Vec::new(),
        }),
        ..outcome(name, verdict)
    }
}

fn metrics(verdict: Verdict, base_ns: f64, change: f64) -> Metrics {
    let metered = |verdict, base: f64, head: f64, basis| {
        let reading = |value| Readings { value, low: value, high: value };
        let estimate = head / base - 1.0;
        let half = if matches!(basis, Basis::Pairs(_)) { 0.01 } else { 0.0 };
        Metered {
            verdict,
            readings: Sides { base: reading(base), head: reading(head) },
            change: Some(Change { estimate, low: estimate - half, high: estimate + half }),
            threshold: 0.01,
            basis,
            programs: Vec::new(),
            names: Vec::new(),
        }
    };
    let allocations =
        if verdict == Verdict::Slower { (MetricVerdict::More, 18.0) } else { (MetricVerdict::Same, 12.0) };
    let cpu = metered(verdict.into(), base_ns, base_ns * (1.0 + change), Basis::Pairs(16));
    Metrics::from([
        (Metric::CpuTime, Ok(cpu)),
        (Metric::Allocations, Ok(metered(allocations.0, 12.0, allocations.1, Basis::Calls(5)))),
        (Metric::AllocatedBytes, Ok(metered(MetricVerdict::Same, 1843.0, 1843.0, Basis::Calls(5)))),
        (Metric::PeakHeap, Ok(metered(MetricVerdict::Same, 640.0, 640.0, Basis::Calls(5)))),
        (Metric::PageFaults, Ok(metered(MetricVerdict::Same, 1.0, 1.0, Basis::Calls(5)))),
        (Metric::Instructions, Err(NotMetered::NoCounter(NoCounter::NoUnit))),
    ])
}

fn run(outcomes: Vec<Outcome>) -> Run {
    let layout = LayoutMatch {
        common: 900,
        equal: 899,
        changed: 3,
        anchored: 2,
        data: 2_100,
        data_equal: 2_099,
        ..LayoutMatch::default()
    };
    let version = |label: &str, commit: &str, dirty| VersionName { label: label.into(), commit: commit.into(), dirty };
    Run {
        growth: None,
        scaling: Vec::new(),
        ratchet: None,
        generated: None,
        base: version("main", "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3", false),
        head: version("working tree", "8d01e7b6a5948372615049382716f5e4d3c2b1a0", true),
        environment: Environment {
            rustc: "rustc 1.95.0 (59807616e 2026-04-14)".into(),
            host: "x86_64-unknown-linux-gnu".into(),
            profile: "bench".into(),
            cpu: "Xeon Processor at 2.50GHz".into(),
            core: 1,
            lto_off: None,
            paired_address_space: true,
            layouts: BTreeMap::from([(target(0), Ok(layout))]),
        },
        selection: Selection {
            found: outcomes.len(),
            targets: 14,
            targets_reached: 12,
            changes: vec![ChangedPart::Item(changed_line()), ChangedPart::File("Cargo.lock".into())],
            ..Selection::default()
        },
        outcomes,
        repeat: None,
        sharding: None,
        acceptances: Vec::new(),
        warnings: Vec::new(),
        stages: Stages {
            prepare: Duration::from_millis(400),
            build: Duration::from_millis(12_100),
            select: Duration::from_millis(230),
            measure: Duration::from_millis(8_300),
            explain: Duration::from_millis(5_200),
        },
        threshold: Threshold::default(),
        bound: Threshold::of_inconclusive(),
        gates: vec![Metric::Time],
        alpha: 0.01,
        interrupted: false,
        pooled: Vec::new(),
        programs: Vec::new(),
    }
}
