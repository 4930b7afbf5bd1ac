//! Mean changes of tests that enter the changed code through one function: JSON form and wording.

use super::figures::{self, Words};
use super::wire::{Interval, finite};
use perfunit_model as model;
use perfunit_model::format::{count, percent};
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

/// Returns the functions to report, the slowest first.
pub fn reported_changes(run: &Run) -> Vec<&model::PooledChange> {
    let mut changed: Vec<_> = run.pooled.iter().filter(|pooled| pooled.verdict.is_change()).collect();
    changed.sort_by(|a, b| b.change.estimate.total_cmp(&a.change.estimate));
    changed
}

/// Returns `1 changed function slower, 2 faster in the mean of several tests`.
pub fn headline(changed: &[&model::PooledChange]) -> String {
    let [slower, faster] = [Verdict::Slower, Verdict::Faster]
        .map(|verdict| changed.iter().filter(|pooled| pooled.verdict == verdict).count());
    let counted = match (slower, faster) {
        (0, faster) => format!("{} faster", count(faster, "changed function")),
        (slower, 0) => format!("{} slower", count(slower, "changed function")),
        (slower, faster) => format!("{} slower, {faster} faster", count(slower, "changed function")),
    };
    format!("{counted} in the mean of several tests")
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
    use perfunit_model::samples::{run, test};

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
}
