//! Sample runs for tests. `SNAPSHOTS=overwrite cargo test` updates the expected outputs (`str![]`).

#![allow(clippy::missing_panics_doc, reason = "unit tests use it")]

use crate::{
    Basis, Between, Bound, CallNode, Capture, Cause, Change, ChangeKind, Changed, ChangedPart, CodeChange, CrossCheck,
    Difference, EffectClass, EffectSize, Engine, Environment, Explanation, Exponent, FailedOn, Failure, Function,
    GeneratedCall, GeneratedWorkload, Growth, GrowthFinding, GrowthUnseen, LayoutMatch, Machine, Measured,
    MeasuringLinker, Metered, Metric, MetricVerdict, Metrics, Mode, ModulePlace, NoCounter, NoLayout, NotCounted,
    NotMetered, Note, Outcome, PooledChange, PossibleChange, ProgramChange, Readings, Reason, Repeat, Responsibility,
    ResponsibleFunction, Run, Sample, Scaling, SelectedBecause, Selection, Sides, Spent, Stages, Strategy, TargetId,
    TargetKind, TestId, Threshold, Uncovered, UncoveredBecause, UnmeasuredTarget, UnseenBecause, Verdict, VersionName,
    Warning, Why,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub fn target() -> TargetId {
    TargetId { package: "mycrate".into(), kind: TargetKind::Lib, name: "mycrate".into() }
}

pub fn test(name: &str) -> TestId {
    TestId { target: target(), name: name.into() }
}

/// Returns a layout that matches except for a function and a loop.
pub fn layout() -> LayoutMatch {
    LayoutMatch {
        common: 900,
        equal: 899,
        changed: 3,
        anchored: 2,
        loops: 15,
        held: 14,
        data: 2_100,
        data_equal: 2_099,
        fixed_addresses: false,
        text_bytes: 2_400_000,
        link_seconds: 0.3,
        linker: MeasuringLinker::Project,
    }
}

pub fn ten_percent() -> Threshold {
    Threshold::new(0.1).unwrap()
}

/// Returns the layout state for a linker without support.
pub fn uncontrolled() -> BTreeMap<TargetId, Result<LayoutMatch, NoLayout>> {
    let refused = NoLayout::Refused { linker: "ld".to_owned(), message: "no such option".to_owned() };
    BTreeMap::from([(target(), Err(refused))])
}

/// Returns figures with an interval of one per cent on both sides.
pub fn measured(base_ns: f64, estimate: f64) -> Measured {
    Measured {
        change: Change { estimate, low: estimate - 0.01, high: estimate + 0.01 },
        base_ns,
        head_ns: base_ns * (1.0 + estimate),
        pairs: 64,
        layouts: 1,
        detectable: 0.0041,
        p_value: 1e-9,
        effect: EffectSize { d: 4.2, class: EffectClass::Large },
        mode: Mode::Steady,
        threshold: 0.1,
        asked: ten_percent(),
        sample: sample(base_ns, estimate),
        bound: None,
        throughput: None,
    }
}

/// Returns figures of single calls, with those of the slower version stopped at a limit if given.
pub fn bounded(base_ns: f64, head_ns: f64, limit_ns: Option<f64>) -> Measured {
    let is_slower = head_ns > base_ns;
    let calls = if is_slower { Sides { base: 62, head: 2 } } else { Sides { base: 2, head: 62 } };
    let ratio = if is_slower { head_ns / base_ns } else { base_ns / head_ns };
    let change = head_ns / base_ns - 1.0;
    let high = if limit_ns.is_some() && is_slower { f64::INFINITY } else { change };
    Measured {
        change: Change { estimate: change, low: change, high },
        head_ns,
        p_value: 0.000_99,
        sample: Sample::default(),
        bound: Some(Bound { ratio, limit_ns, calls }),
        ..measured(base_ns, change)
    }
}

/// Returns eight layouts around the estimate, and batches of up to a fifth more than the fastest.
fn sample(base_ns: f64, estimate: f64) -> Sample {
    let batches = |ns: f64| (0..Sample::QUANTILES).map(|step| ns * (1.0 + 0.01 * step as f64)).collect();
    Sample {
        estimates: (0..8_i32).map(|layout| estimate + 0.003 * (f64::from(layout) - 3.5)).collect(),
        batches: Sides { base: batches(base_ns), head: batches(base_ns * (1.0 + estimate)) },
    }
}

/// Returns a metric with equal readings from every later call.
pub fn metered(verdict: MetricVerdict, base: f64, head: f64) -> Metered {
    let reading = |value| Readings { value, low: value, high: value };
    let estimate = head / base - 1.0;
    Metered {
        verdict,
        readings: Sides { base: reading(base), head: reading(head) },
        change: Some(Change { estimate, low: estimate, high: estimate }),
        threshold: 0.01,
        basis: Basis::Calls(5),
        programs: Vec::new(),
        names: Vec::new(),
    }
}

/// Returns a function that no test can reach.
pub fn uncovered() -> Uncovered {
    let function =
        Function { package: "mycrate".into(), file: "src/idle.rs".into(), line: 7, name: "idle::Pool::drain".into() };
    Uncovered { function, because: UncoveredBecause::Unreached }
}

/// Returns a test with this verdict. Its figures bound the possible change, unless it is inconclusive: see
/// [`open_within`].
pub fn outcome(name: &str, verdict: Verdict, measured: Option<Measured>) -> Outcome {
    let bounding = measured.as_ref().filter(|measured| verdict != Verdict::Inconclusive && measured.bound.is_none());
    let possible = bounding.and_then(|measured| PossibleChange::of(&measured.change, 0.0));
    Outcome {
        test: test(name),
        verdict,
        reason: None,
        measured,
        possible,
        metrics: Metrics::new(),
        cross_check: None,
        capture: Some(Capture::Macro),
        selected_because: Some(SelectedBecause::Names { item: changed_line(), more: 0 }),
        explanation: None,
        unexplained: None,
        why: None,
        gates: None,
        spent: (verdict != Verdict::NotMeasured).then_some(Spent { seconds: 1.5, pairs: 80 }),
        notes: Vec::new(),
    }
}

/// Returns a test without a verdict that certainly changed by less than these fractions in either direction.
pub fn open_within(name: &str, base_ns: f64, low: f64, high: f64) -> Outcome {
    let change = Change { estimate: low.midpoint(high), low, high };
    let measured = Measured { change, ..measured(base_ns, change.estimate) };
    let possible = PossibleChange::of(&change, 0.0);
    Outcome { possible, reason: Some(Reason::TooNoisy), ..outcome(name, Verdict::Inconclusive, Some(measured)) }
}

/// Returns the explanation of a test of 1 us with a helper that takes 400 ns more.
pub fn explanation() -> Explanation {
    let unknown = Difference { estimate: 0.0, low: 0.0, high: 0.0 };
    let node = |function, calls, self_cost: [f64; 2], total_cost: [f64; 2], children: &[usize]| CallNode {
        function,
        calls: Sides { base: calls, head: calls },
        self_cost: Sides { base: self_cost[0], head: self_cost[1] },
        total_cost: Sides { base: total_cost[0], head: total_cost[1] },
        self_change: unknown,
        total_change: unknown,
        children: children.to_vec(),
    };
    let function = |file: &str, line, name: &str| Function {
        package: "mycrate".into(),
        file: file.into(),
        line,
        name: name.into(),
    };
    Explanation {
        test: test("parser::tests::long"),
        engine: Engine::Probes,
        strategy: Strategy::Complete,
        seconds: 1.5,
        pairs: 16,
        cost: Sides { base: 1_000.0, head: 1_410.0 },
        change: Difference { estimate: 410.0, low: 400.0, high: 420.0 },
        distortion: 1.0,
        probe_cost: Sides { base: 40.0, head: 40.0 },
        functions: vec![
            function("src/parser.rs", 88, "parser::Parser::line"),
            function("src/lexer.rs", 12, "lexer::word"),
        ],
        nodes: vec![
            node(None, 0.0, [100.0, 110.0], [1_000.0, 1_410.0], &[1]),
            node(Some(0), 1.0, [400.0, 400.0], [900.0, 1_300.0], &[2]),
            node(Some(1), 3.0, [500.0, 900.0], [500.0, 900.0], &[]),
        ],
        responsible: Vec::new(),
        causes: Vec::new(),
        code_changed: None,
        instructions: None,
        without_probe: BTreeMap::new(),
        notes: Vec::new(),
    }
}

pub fn unmeasured(name: &str, reason: Option<Reason>) -> Outcome {
    Outcome { capture: None, selected_because: None, reason, ..outcome(name, Verdict::NotMeasured, None) }
}

pub fn base() -> VersionName {
    VersionName { label: "main".into(), commit: "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3".into(), dirty: false }
}

pub fn head() -> VersionName {
    let commit = "8d01e7b6a5948372615049382716f5e4d3c2b1a0".into();
    VersionName { label: "working tree".into(), commit, dirty: true }
}

/// Returns the item in which the sample versions differ.
pub fn changed_line() -> CodeChange {
    CodeChange { change: ChangeKind::Changed, item: "Parser::line".into(), path: "src/parser.rs".into(), line: 88 }
}

pub fn doctests() -> UnmeasuredTarget {
    UnmeasuredTarget::Doctests { package: "mycrate".into() }
}

pub fn selection() -> Selection {
    Selection {
        found: 412,
        targets: 12,
        targets_reached: 3,
        changes: vec![ChangedPart::Item(changed_line()), ChangedPart::File("Cargo.lock".into())],
        only_change: None,
        nothing_because: None,
        unmeasured_targets: Vec::new(),
        ..Selection::default()
    }
}

/// Returns a run without findings.
pub fn run(outcomes: Vec<Outcome>) -> Run {
    Run {
        base: base(),
        head: head(),
        environment: Environment {
            rustc: "rustc 1.95.0".into(),
            host: "x86_64-unknown-linux-gnu".into(),
            profile: "bench".into(),
            cpu: "Xeon".into(),
            core: 1,
            lto_off: None,
            paired_address_space: true,
            layouts: BTreeMap::from([(target(), Ok(layout()))]),
        },
        selection: selection(),
        repeat: Some(Repeat {
            folder: "crates/my crate".into(),
            arguments: ["perfunit", "diff", &base().commit, "parser::", "--threshold", "0.1"]
                .map(str::to_owned)
                .to_vec(),
        }),
        outcomes,
        warnings: Vec::new(),
        stages: Stages {
            prepare: Duration::from_millis(400),
            build: Duration::from_millis(12_100),
            select: Duration::ZERO,
            measure: Duration::from_millis(8_300),
            explain: std::time::Duration::ZERO,
        },
        threshold: ten_percent(),
        bound: Threshold::of_inconclusive(),
        gates: vec![Metric::Time],
        alpha: 0.01,
        interrupted: false,
        sharding: None,
        pooled: Vec::new(),
        programs: Vec::new(),
        growth: None,
        scaling: Vec::new(),
        acceptances: Vec::new(),
        ratchet: None,
        generated: None,
    }
}

pub fn full() -> Run {
    let mut long = outcome("parser::tests::long", Verdict::Slower, Some(measured(1_210.0, 0.306)));
    long.notes.push(Note::UnequalWork { between: Between::Calls, equal_seeds: false });
    let noisy = open_within("net::tests::roundtrip", 48_300.0, -0.142, 0.204);
    let bounded = open_within("net::tests::handshake", 51_200.0, -0.018, 0.036);
    let mut first = measured(2.05e6, -0.24);
    first.mode = Mode::Cold;
    let mut run = run(vec![
        outcome("parser::tests::empty", Verdict::Same, Some(measured(310.0, 0.001))),
        outcome("lexer::tests::tiny", Verdict::Slower, Some(measured(8.2, 0.146))),
        long,
        outcome("cache::tests::first", Verdict::Faster, Some(first)),
        outcome("parser::tests::short", Verdict::ChangedBelowThreshold, Some(measured(95.0, 0.041))),
        outcome("parser::tests::nested", Verdict::ChangedBelowThreshold, Some(measured(950.0, -0.023))),
        noisy,
        unmeasured("slow::tests::all", Some(Reason::Ignored)),
        unmeasured(
            "net::tests::dns",
            Some(Reason::Fails { side: FailedOn::Both, how: Failure::Said("no network".into()), intermittent: false }),
        ),
        unmeasured("docs::tests::unrelated", None),
        bounded,
    ]);
    run.selection.unmeasured_targets.push(doctests());
    run.environment.layouts = uncontrolled();
    run.selection.uncovered = vec![uncovered()];
    run.pooled = vec![pooled()];
    run.programs = vec![started_by_many(0.002)];
    run
}

/// Returns this many functions of a file.
pub fn functions(n: usize) -> BTreeSet<Function> {
    let function =
        |n| Function { package: "mycrate".into(), file: "src/idle.rs".into(), line: n, name: format!("f{n}") };
    (1..=n).map(function).collect()
}

/// Returns a function with work that grows faster than on base, and unknown growth.
pub fn growth() -> Growth {
    let exponent = |estimate| Exponent { estimate, low: estimate - 0.05, high: estimate + 0.05 };
    let Uncovered { function, .. } = uncovered();
    Growth {
        findings: vec![GrowthFinding {
            function: Function { name: "Parser::parse".into(), ..function.clone() },
            argument: "input".into(),
            exponent: Sides { base: exponent(1.0), head: exponent(2.1) },
            added: exponent(2.2),
            length: 300,
            ratio: 31.4,
            work: Sides { base: 900.0, head: 28_260.0 },
        }],
        compared: functions(12),
        unseen: vec![GrowthUnseen {
            function,
            because: UnseenBecause::NarrowLengths { argument: "text".into(), from: 3, to: 40 },
        }],
        not_counted: vec![(test("slow::tests::all"), NotCounted::OwnHarness)],
    }
}

/// Returns a function whose tests got slower in the mean.
pub fn pooled() -> PooledChange {
    let Uncovered { function, .. } = uncovered();
    PooledChange {
        name: "Parser::skip".into(),
        function: Some(Function { name: "Parser::skip".into(), ..function }),
        tests: vec![test("parser::tests::skips"), test("parser::tests::skips_lines")],
        entering: 31,
        verdict: Verdict::Slower,
        change: Change { estimate: 0.019, low: 0.014, high: 0.024 },
        threshold: 0.005,
        p_value: 0.0001,
        layouts: 16,
    }
}

/// Returns a program with this typical change.
pub fn started_by_many(estimate: f64) -> ProgramChange {
    ProgramChange {
        name: "mytool".into(),
        tests: 240,
        verdict: if estimate < 0.05 { Verdict::Same } else { Verdict::Slower },
        change: Change { estimate, low: estimate - 0.004, high: estimate + 0.004 },
        threshold: 0.05,
        p_value: 0.2,
    }
}

/// Returns workloads with a parameter and time that grows faster than on base.
pub fn scaling() -> Scaling {
    let exponent = |estimate| Exponent { estimate, low: estimate - 0.1, high: estimate + 0.1 };
    Scaling {
        target: target(),
        name: "sort/*".into(),
        exponent: Sides { base: exponent(1.1), head: exponent(2.0) },
        largest: 4096,
        ratio: 310.0,
        ns: Sides { base: 9_000.0, head: 2_790_000.0 },
    }
}

/// Returns a generated call of a function `sum`.
pub fn workload(name: &str) -> GeneratedWorkload {
    let module = ModulePlace { file: "src/lib.rs".into(), inline: Vec::new() };
    let function = Function { package: "mycrate".into(), file: "src/lib.rs".into(), line: 7, name: "sum".into() };
    let (setup, call) = ("{ ((), (vec![1; n],)) }".into(), "sum(&lent.0)".into());
    GeneratedWorkload {
        call: GeneratedCall { function, module, setup, call, is_sized: true, by_caller: false },
        target: target(),
        name: name.into(),
        test: name.into(),
        n: 256,
        ns: 1000,
        value: None,
    }
}

/// Returns a run with everything that a run can contain.
pub fn whole() -> Run {
    let mut run = full();
    run.growth = Some(growth());
    run.scaling = vec![scaling()];
    let change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
    let calls = Sides { base: 1.0, head: 3.0 };
    let (how, calls_each) = (Responsibility::CallsOf(0), Some(calls));
    let responsible = ResponsibleFunction {
        function: 1,
        how,
        change,
        share: 0.98,
        calls,
        calls_each,
        changed: None,
        not_apart: Vec::new(),
    };
    let changed = Changed::Configuration { path: "Cargo.toml".into(), keys: vec!["profile.bench.lto".into()] };
    let causes = vec![Cause { changed, share: 0.31 }];
    let outcome = &mut run.outcomes[2];
    outcome.explanation = Some(Explanation { responsible: vec![responsible], causes, ..explanation() });
    outcome.metrics = Metrics::from([
        (Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.1))),
        (Metric::Instructions, Err(NotMetered::NoCounter(NoCounter::Refused))),
    ]);
    outcome.cross_check = Some(CrossCheck::Suspect);
    outcome.why = Some(Why { path: vec!["f".into()], ..Why::default() });
    run.outcomes[7].reason = Some(Reason::TooLong { seconds: 12.3, needed_seconds: 96.1, ns: None });
    run.warnings.push(Warning::Machine(Machine::OnlyOneCore));
    run
}
