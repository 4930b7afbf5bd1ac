//! Changes of started programs over all tests that start them. Pure.
//!
//! A call of a program that takes milliseconds varies by several percent, so a test with little time bounds its change by
//! 10 %. Hundreds of such tests together bound the typical change of the program by less than 1 %.

use super::trial::PROCESS_THRESHOLD;
use perfunit_decide as decide;
use perfunit_decide::{Looks, Rule};
use perfunit_model::{Metric, Outcome, ProgramChange, Run, StartedProgram};
use std::collections::BTreeMap;

/// The fewest tests for a typical change: their median has an interval at a level of 0.1 %.
const FEWEST_TESTS: usize = 11;

/// Returns the typical change of each program that enough tests start. The tests are the values, each with the change of the
/// program's deciding time, which they show independently of each other: each has its own processes, and both versions
/// exchange the files of their programs between its pairs. Tests that are not judged by time do not count, nor do those that
/// start the program more or less often than on base. Runs of a `family` share one family-wise error rate.
pub fn programs_over_tests(run: &Run, family: usize) -> Vec<ProgramChange> {
    let mut found: BTreeMap<&str, OverTests> = BTreeMap::new();
    for outcome in run.outcomes.iter().filter(|outcome| is_judged_by_time(run, outcome)) {
        let (Some(measured), Some(Ok(metered))) = (&outcome.measured, outcome.metrics.get(&Metric::ProgramTime)) else {
            continue;
        };
        // The time of another number of starts says nothing about one of them.
        let is_alike = |program: &&StartedProgram| program.starts.base.to_bits() == program.starts.head.to_bits();
        for program in metered.programs.iter().filter(is_alike) {
            let change = program.times.as_ref().and_then(|times| times.deciding().change);
            let of_program = found.entry(&program.name).or_insert_with(OverTests::new);
            of_program.log_ratios.extend(change.map(|change| change.estimate.ln_1p()));
            of_program.threshold = of_program.threshold.min(measured.threshold);
        }
    }
    found.retain(|_, of_program| of_program.log_ratios.len() >= FEWEST_TESTS);
    let alpha_of_change = decide::confirmation_alpha(run.alpha, found.len() * family);
    let change = |(name, OverTests { log_ratios: of_tests, threshold }): (&str, OverTests)| {
        let rule = Rule {
            alpha: run.alpha,
            alpha_of_change,
            threshold: PROCESS_THRESHOLD.max(threshold),
            distance: 0.0,
            bias: 0.0,
            looks: Looks::once(of_tests.len()),
        };
        let decision = decide::conclude(&rule, &of_tests)?;
        Some(ProgramChange {
            name: name.to_owned(),
            tests: of_tests.len(),
            verdict: decision.verdict,
            change: decision.change,
            threshold: rule.threshold,
            p_value: decision.p_value,
        })
    };
    found.into_iter().filter_map(change).collect()
}

/// The changes of a program in the tests that start it.
struct OverTests {
    log_ratios: Vec<f64>,
    /// The smallest threshold of these tests.
    threshold: f64,
}

impl OverTests {
    fn new() -> Self {
        Self { log_ratios: Vec::new(), threshold: f64::INFINITY }
    }
}

fn is_judged_by_time(run: &Run, outcome: &Outcome) -> bool {
    outcome.measured.is_some()
        && run.gates_of(outcome).iter().any(|gate| matches!(gate, Metric::Time | Metric::ProgramTime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{measured, outcome, run};
    use perfunit_model::{Basis, Change, Metered, MetricVerdict, ProgramTimes, Readings, Sides, Verdict};

    fn time(estimate: f64) -> Metered {
        let reading = Readings { value: 1e6, low: 1e6, high: 1e6 };
        Metered {
            verdict: MetricVerdict::Inconclusive,
            readings: Sides { base: reading, head: reading },
            change: Some(Change { estimate, low: estimate - 0.1, high: estimate + 0.1 }),
            threshold: 0.05,
            basis: Basis::Pairs(8),
            programs: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Returns a run of tests that start a program with these changes of its CPU time.
    fn started(changes: impl Iterator<Item = f64>) -> Run {
        let test = |(number, estimate): (usize, f64)| {
            let times = ProgramTimes { wall: time(0.5), cpu: time(estimate), by_cpu: true };
            let starts = Sides { base: 1.0, head: 1.0 };
            let program = StartedProgram { name: "fd".into(), starts, times: Some(times) };
            let mut outcome = outcome(&format!("test_{number}"), Verdict::Inconclusive, Some(measured(1e6, estimate)));
            outcome.metrics.insert(Metric::ProgramTime, Ok(Metered { programs: vec![program], ..time(estimate) }));
            outcome
        };
        run(changes.enumerate().map(test).collect())
    }

    /// Returns changes of tests around one, 6 % apart at most.
    fn around(change: f64, tests: usize) -> impl Iterator<Item = f64> {
        (0..tests).map(move |number| change + 0.03 * (number as f64 * 2.4).sin())
    }

    #[track_caller]
    fn check(changes: impl Iterator<Item = f64>, verdict: Verdict, widest: f64) {
        let found = programs_over_tests(&started(changes), 1);
        let [program] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((program.name.as_str(), program.verdict), ("fd", verdict), "{program:?}");
        assert!(program.change.high - program.change.low < widest, "{program:?}");
    }

    #[test]
    fn many_inconclusive_tests_bound_the_change_of_their_program() {
        check(around(0.0, 200), Verdict::Same, 0.012);
        check(around(0.02, 200), Verdict::ChangedBelowThreshold, 0.012);
        check(around(0.13, 200), Verdict::Slower, 0.02);
        check(around(-0.13, 200), Verdict::Faster, 0.02);
        check(around(0.0, 11), Verdict::Same, 0.1);
        check(around(0.3, 11), Verdict::Slower, 0.15);
    }

    #[test]
    fn a_few_tests_with_another_change_are_not_typical() {
        check(around(0.0, 190).chain(around(0.5, 10)), Verdict::Same, 0.015);
    }

    #[test]
    fn the_order_of_the_tests_does_not_matter() {
        let change = |number: usize| 0.02 + 0.01 * number as f64;
        let rising: Vec<f64> = (0..19).map(change).collect();
        let mixed: Vec<f64> = (0..19).map(|number| change(number * 7 % 19)).collect();
        let [rising, mixed] =
            [rising, mixed].map(|changes| programs_over_tests(&started(changes.into_iter()), 1).remove(0));
        assert!((rising.change.low - mixed.change.low).abs() < 1e-12, "{rising:?} {mixed:?}");
        assert!(rising.change.low > 0.03, "{rising:?}");
    }

    #[test]
    fn tests_that_start_a_program_more_often_do_not_count() {
        let mut run = started(around(0.0, 20));
        for outcome in &mut run.outcomes[..5] {
            let Some(Ok(metered)) = outcome.metrics.get_mut(&Metric::ProgramTime) else { panic!() };
            metered.programs[0].starts.head = 2.0;
        }
        assert_eq!(programs_over_tests(&run, 1)[0].tests, 15);
    }

    #[test]
    fn few_tests_and_tests_judged_by_other_metrics_have_no_typical_change() {
        assert_eq!(programs_over_tests(&started(around(0.5, 10)), 1), []);
        let by_allocations = Run { gates: vec![Metric::Allocations], ..started(around(0.5, 50)) };
        assert_eq!(programs_over_tests(&by_allocations, 1), []);
    }
}
