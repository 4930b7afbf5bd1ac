//! Mean changes of tests that enter the changed code through one function: JSON form and wording.

use super::acceptance::Accepted;
use super::figures::{self, Words};
use super::wire::{Interval, finite};
use perfunit_model as model;
use perfunit_model::format::{count, percent, threshold};
use perfunit_model::{Function, Run, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mean change of tests that enter the changed code through one function. None of them is slower or faster alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionChange {
    /// Name of the function: that of the changed item, or that in the machine code.
    pub name: String,
    /// The changed function in the sources, if known.
    pub function: Option<Function>,
    /// Verdict on the mean change.
    pub verdict: Verdict,
    /// Mean change of a test, as a fraction of base.
    pub change: Interval,
    /// The smallest mean change that counts, as a fraction of base.
    pub threshold: Option<f64>,
    /// Two-sided p value of the hypothesis "no change of the mean".
    pub p_value: Option<f64>,
    /// Code layouts behind the interval.
    pub layouts: usize,
    /// The tests that were measured for it.
    pub tests: Vec<String>,
    /// Measured tests that enter there, in the same target.
    pub entering: usize,
}

impl From<&model::PooledChange> for FunctionChange {
    fn from(pooled: &model::PooledChange) -> Self {
        Self {
            name: pooled.name.clone(),
            function: pooled.function.clone(),
            verdict: pooled.verdict,
            change: Interval::from(pooled.change),
            threshold: finite(pooled.threshold),
            p_value: finite(pooled.p_value),
            layouts: pooled.layouts,
            tests: pooled.tests.iter().map(ToString::to_string).collect(),
            entering: pooled.entering,
        }
    }
}

/// The typical change of a program's own time over all tests that start it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramChange {
    /// Name of the program.
    pub name: String,
    /// Number of tests with a change of its time.
    pub tests: usize,
    /// Verdict on the typical change.
    pub verdict: Verdict,
    /// The trimmed mean change of the tests, as a fraction of base.
    pub change: Interval,
    /// The smallest typical change that counts, as a fraction of base.
    pub threshold: Option<f64>,
    /// Two-sided p value of the hypothesis "no typical change".
    pub p_value: Option<f64>,
}

/// A program of a run, in which slowdowns can be accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramOfRun {
    #[serde(flatten)]
    pub change: ProgramChange,
    /// The accepted slowdown, if the program got slower and one is accepted.
    pub accepted: Option<Accepted>,
}

impl ProgramOfRun {
    pub fn new(program: &model::ProgramChange, run: &Run) -> Self {
        Self { change: program.into(), accepted: run.acceptance_of_program(program).map(Accepted::from) }
    }
}

impl From<&model::ProgramChange> for ProgramChange {
    fn from(program: &model::ProgramChange) -> Self {
        Self {
            name: program.name.clone(),
            tests: program.tests,
            verdict: program.verdict,
            change: Interval::from(program.change),
            threshold: finite(program.threshold),
            p_value: finite(program.p_value),
        }
    }
}

/// Returns the functions to report, the slowest first.
pub fn reported_changes(run: &Run) -> Vec<&model::PooledChange> {
    let mut changed: Vec<_> = run.pooled.iter().filter(|pooled| pooled.verdict.is_change()).collect();
    changed.sort_by(|a, b| b.change.estimate.total_cmp(&a.change.estimate));
    changed
}

/// Returns `1 changed function slower, 2 faster in the mean of several tests`.
pub fn headline(changed: &[&model::PooledChange]) -> String {
    let verdicts: Vec<Verdict> = changed.iter().map(|pooled| pooled.verdict).collect();
    format!("{} in the mean of several tests", count_changes(&verdicts, "changed function"))
}

/// Returns `1 program slower over the tests that the change can reach`, or a title if none changed.
pub fn headline_of_programs(programs: &[model::ProgramChange]) -> String {
    let verdicts: Vec<Verdict> = programs.iter().map(|program| program.verdict).collect();
    let has_changed = verdicts.iter().any(|verdict| verdict.is_change());
    let programs = if has_changed { count_changes(&verdicts, "program") } else { "Programs".to_owned() };
    format!("{programs} over the tests that the change can reach")
}

/// Returns `1 program slower, 2 faster`.
fn count_changes(verdicts: &[Verdict], what: &str) -> String {
    let [slower, faster] =
        [Verdict::Slower, Verdict::Faster].map(|wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count());
    match (slower, faster) {
        (0, faster) => format!("{} faster", count(faster, what)),
        (slower, 0) => format!("{} slower", count(slower, what)),
        (slower, faster) => format!("{} slower, {faster} faster", count(slower, what)),
    }
}

/// Returns `typically unchanged, +0.03 % [-0.11 %, +0.17 %] over 699 tests that the change can reach`.
pub fn describe_program(program: &model::ProgramChange) -> String {
    let word = figures::word(program.verdict, Words::OfTime);
    let word = match program.verdict {
        Verdict::Inconclusive => word,
        Verdict::ChangedBelowThreshold => format!("typically {word} by less than {}", threshold(program.threshold)),
        _ => format!("typically {word}"),
    };
    let [estimate, low, high] = [program.change.estimate, program.change.low, program.change.high].map(percent);
    format!("{word}, {estimate} [{low}, {high}] over {} tests that the change can reach", program.tests)
}

/// Returns `slower +1.9 % [+1.4 %, +2.4 %] in the mean of 12 of 31 tests`.
pub fn describe(pooled: &model::PooledChange) -> String {
    let word = figures::word(pooled.verdict, Words::OfTime);
    let [estimate, low, high] = [pooled.change.estimate, pooled.change.low, pooled.change.high].map(percent);
    let of = if pooled.entering > pooled.tests.len() { format!("{} of ", pooled.tests.len()) } else { String::new() };
    format!("{word} {estimate} [{low}, {high}] in the mean of {of}{}", count(pooled.entering, "test"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Change;
    use perfunit_model::samples::{run, started_by_many, test};

    fn sample(name: &str, verdict: Verdict, estimate: f64, entering: usize) -> model::PooledChange {
        model::PooledChange {
            name: name.to_owned(),
            function: None,
            tests: vec![test("a"), test("b")],
            entering,
            verdict,
            change: Change { estimate, low: estimate - 0.005, high: estimate + 0.005 },
            threshold: 0.005,
            p_value: 0.0001,
            layouts: 16,
        }
    }

    #[test]
    fn functions_with_a_changed_mean_are_told_the_slowest_first() {
        let all = vec![
            sample("parse", Verdict::Faster, -0.02, 2),
            sample("skip", Verdict::Same, 0.001, 5),
            sample("count", Verdict::Slower, 0.012, 2),
            sample("read", Verdict::Slower, 0.019, 31),
        ];
        let run = Run { pooled: all, ..run(Vec::new()) };
        let changed = reported_changes(&run);
        assert_eq!(changed.iter().map(|pooled| pooled.name.as_str()).collect::<Vec<_>>(), ["read", "count", "parse"]);
        assert_eq!(headline(&changed), "2 changed functions slower, 1 faster in the mean of several tests");
        assert_eq!(headline(&changed[..1]), "1 changed function slower in the mean of several tests");
        assert_eq!(headline(&changed[2..]), "1 changed function faster in the mean of several tests");
        assert_eq!(describe(changed[0]), "slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of 31 tests");
        assert_eq!(describe(changed[2]), "faster -2.0 % [-2.5 %, -1.5 %] in the mean of 2 tests");
    }

    #[test]
    fn programs_are_told_with_their_changes_over_all_tests() {
        let programs = [started_by_many(0.06), started_by_many(0.002)];
        assert_eq!(headline_of_programs(&programs), "1 program slower over the tests that the change can reach");
        assert_eq!(headline_of_programs(&programs[1..]), "Programs over the tests that the change can reach");
        assert_eq!(
            describe_program(&programs[0]),
            "typically slower, +6.0 % [+5.6 %, +6.4 %] over 240 tests that the change can reach"
        );
    }
}
