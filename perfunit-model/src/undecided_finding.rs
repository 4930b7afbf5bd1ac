//! Denied findings that could not be checked, so that a run without findings does not pass.

use super::{
    Function, Generation, GrowthUnseen, NotCounted, NotGenerated, Outcome, Reason, Run, Side, TestId, UnseenBecause,
    Untraceable, Verdict, VersionName, Warning, WithoutWorkload,
};
use std::fmt;

/// A finding that could not be checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UndecidedFinding<'a> {
    /// A test without time for it, compared with this version unless that is base.
    Test { against: Option<&'a VersionName>, why: &'a Reason },
    /// The tests that execute the change are unknown, and so are functions without tests.
    Coverage(Untraceable),
    /// Growth was not requested.
    GrowthNotAsked,
    /// Growth of the functions of a test.
    Growth { why: &'a NotCounted },
    /// Growth of a changed function.
    GrowthOf(&'a GrowthUnseen),
    /// Generated calls were not requested, although some functions have no test.
    CallsNotAsked,
    /// A function without a test has no generated call.
    WithoutCall(&'a WithoutWorkload),
    /// A function has generated calls, but none has a verdict; contains the reason of the first.
    CallsWithoutFigures { function: &'a Function, why: &'a Reason },
}

impl<'a> UndecidedFinding<'a> {
    /// Returns the same for a comparison with this version.
    #[must_use]
    pub fn against(self, version: &'a VersionName) -> Self {
        match self {
            Self::Test { why, .. } => Self::Test { against: Some(version), why },
            other => other,
        }
    }
}

impl Run {
    /// Returns true if there were tests to measure, but the budget left no time for any.
    pub fn is_unchecked(&self) -> bool {
        let is_left = |outcome: &Outcome| matches!(outcome.reason, Some(Reason::BudgetUsedUp | Reason::Interrupted));
        let is_measured = |outcome: &Outcome| outcome.verdict != Verdict::NotMeasured;
        self.outcomes.iter().any(is_left) && !self.outcomes.iter().any(is_measured)
    }

    /// Returns the tests that would have a verdict with longer limits.
    pub fn undecided_tests(&self) -> impl Iterator<Item = UndecidedFinding<'_>> {
        self.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured).filter_map(|outcome| {
            let why = outcome.reason.as_ref()?;
            let is_late = matches!(
                why,
                Reason::BudgetUsedUp | Reason::Interrupted | Reason::TooLong { .. } | Reason::TimedOut { .. }
            );
            is_late.then_some(UndecidedFinding::Test { against: None, why })
        })
    }

    /// Returns the reason why functions without tests may be unknown.
    pub fn undecided_coverage(&self) -> impl Iterator<Item = UndecidedFinding<'_>> {
        self.warnings.iter().filter_map(|warning| match warning {
            Warning::NotTraced { why } => Some(UndecidedFinding::Coverage(*why)),
            _ => None,
        })
    }

    /// Returns the tests without counted functions. Failing tests are reported elsewhere.
    pub fn undecided_growth(&self) -> Vec<UndecidedFinding<'_>> {
        let Some(growth) = &self.growth else {
            let is_asked = self.outcomes.iter().any(|outcome| outcome.measured.is_some());
            return is_asked.then_some(UndecidedFinding::GrowthNotAsked).into_iter().collect();
        };
        let fails = |reason: &Reason| Side::BOTH.iter().any(|side| reason.fails_on(*side));
        let has_failed = |test: &TestId| {
            let outcome = self.outcomes.iter().find(|outcome| outcome.test == *test);
            outcome.and_then(|outcome| outcome.reason.as_ref()).is_some_and(fails)
        };
        let open = growth.not_counted.iter().filter(|(test, _)| !has_failed(test));
        open.map(|(_, why)| UndecidedFinding::Growth { why }).collect()
    }

    /// Returns the changed functions with too narrow lengths, or with work after they returned.
    pub fn undecided_growth_of_functions(&self) -> impl Iterator<Item = UndecidedFinding<'_>> {
        let unseen = self.growth.iter().flat_map(|growth| &growth.unseen);
        let is_open = |unseen: &&GrowthUnseen| match unseen.because {
            UnseenBecause::NarrowLengths { .. }
            | UnseenBecause::Unclear { .. }
            | UnseenBecause::Iterator
            | UnseenBecause::Future
            | UnseenBecause::NotInstrumented => true,
            // There is nothing to compare.
            UnseenBecause::NoLength | UnseenBecause::New => false,
        };
        unseen.filter(is_open).map(UndecidedFinding::GrowthOf)
    }

    /// Returns the functions without tests that no generated call has figures for.
    pub fn undecided_calls(&self) -> Vec<UndecidedFinding<'_>> {
        let Some(generated) = &self.generated else {
            let is_asked = !self.selection.uncovered.is_empty();
            return is_asked.then_some(UndecidedFinding::CallsNotAsked).into_iter().collect();
        };
        let Generation { workloads, without } = &generated.generation;
        let missing = without.iter().filter(|without| without.because != NotGenerated::NotOnBase);
        let mut all: Vec<UndecidedFinding<'_>> = missing.map(UndecidedFinding::WithoutCall).collect();
        let Some(compared) = generated.run() else { return all };
        let mut functions: Vec<&Function> = Vec::new();
        for function in workloads.iter().map(|workload| &workload.call.function) {
            if functions.contains(&function) {
                continue;
            }
            functions.push(function);
            let is_call = |outcome: &&Outcome| {
                generated.generation.workload(&outcome.test).is_some_and(|workload| workload.call.function == *function)
            };
            let calls: Vec<&Outcome> = compared.outcomes.iter().filter(is_call).collect();
            if calls.iter().any(|outcome| says_something(outcome)) {
                continue;
            }
            let why = calls.iter().find_map(|outcome| outcome.reason.as_ref());
            all.extend(why.map(|why| UndecidedFinding::CallsWithoutFigures { function, why }));
        }
        all
    }
}

/// Returns true for a call that has a verdict, cannot have changed, or was excluded on purpose.
fn says_something(call: &Outcome) -> bool {
    let is_equal =
        |reason: &Reason| matches!(reason, Reason::FoldedAway { .. } | Reason::SameCode | Reason::SameExecutable);
    let is_settled = |reason: &Reason| is_equal(reason) || matches!(reason, Reason::Filtered | Reason::Skipped { .. });
    call.measured.is_some() || call.reason.as_ref().is_none_or(is_settled)
}

impl fmt::Display for UndecidedFinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test { against: None, why } => write!(f, "not measured: {why}"),
            Self::Test { against: Some(version), why } => write!(f, "not measured against {}: {why}", version.label),
            Self::Coverage(why) => write!(f, "functions without tests may be unknown: {why}"),
            Self::GrowthNotAsked => f.write_str("growth was not measured (--growth)"),
            Self::Growth { why } => write!(f, "growth is unknown: {why}"),
            Self::GrowthOf(unseen) => {
                write!(f, "growth of {} is unknown: {}", unseen.function.name, unseen.because)
            }
            Self::CallsNotAsked => f.write_str("generated calls were not measured (--generated)"),
            Self::WithoutCall(without) => write!(f, "no call of {}: {}", without.function.name, without.because),
            Self::CallsWithoutFigures { function, why } => {
                write!(f, "no call of {} was measured: {why}", function.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, measured, outcome, unmeasured};
    use crate::{FailedOn, Failure, GeneratedCalls, Growth};

    #[test]
    fn a_run_is_unchecked_if_the_budget_left_nothing_to_be_measured() {
        let left = || unmeasured("a::left", Some(Reason::BudgetUsedUp));
        assert!(samples::run(vec![left()]).is_unchecked());
        let same = outcome("a", Verdict::Same, Some(measured(1e3, 0.0)));
        assert!(!samples::run(vec![left(), same]).is_unchecked());
        assert!(!samples::run(vec![unmeasured("a", Some(Reason::Ignored))]).is_unchecked());
    }

    #[test]
    fn what_was_not_counted_is_open_unless_the_test_fails() {
        let fails = Reason::Fails { side: FailedOn::Both, how: Failure::Said(String::new()), intermittent: false };
        let failing = unmeasured("fails", Some(fails));
        let mut run = samples::run(vec![outcome("sums", Verdict::Same, Some(measured(1e3, 0.0))), failing]);
        assert_eq!(run.undecided_growth(), [UndecidedFinding::GrowthNotAsked]);
        run.growth = Some(Growth::default());
        assert_eq!(run.undecided_growth(), []);
        let why = NotCounted::OwnHarness;
        let not_counted = ["sums", "fails"].map(|name| (samples::test(name), why.clone())).to_vec();
        run.growth = Some(Growth { not_counted, ..Growth::default() });
        assert_eq!(run.undecided_growth(), [UndecidedFinding::Growth { why: &why }]);
    }

    #[test]
    fn functions_whose_growth_cannot_be_had_are_open_and_those_without_a_length_are_not() {
        let function = samples::uncovered().function;
        let unseen = |because| GrowthUnseen { function: function.clone(), because };
        let unseen = [UnseenBecause::Future, UnseenBecause::NoLength, UnseenBecause::New].map(unseen);
        let growth = Growth { unseen: unseen.to_vec(), ..Growth::default() };
        let run = Run { growth: Some(growth), ..samples::run(Vec::new()) };
        assert_eq!(run.undecided_growth_of_functions().collect::<Vec<_>>(), [UndecidedFinding::GrowthOf(&unseen[0])]);
    }

    #[test]
    fn functions_without_a_call_are_open_unless_base_has_none_either() {
        let without = |because| WithoutWorkload { function: samples::uncovered().function, because };
        let without = [NotGenerated::OutOfBudget, NotGenerated::NotOnBase].map(without);
        let mut run = samples::run(Vec::new());
        assert_eq!(run.undecided_calls(), []);
        run.selection.uncovered = vec![samples::uncovered()];
        assert_eq!(run.undecided_calls(), [UndecidedFinding::CallsNotAsked]);
        let generation = Generation { workloads: Vec::new(), without: without.to_vec() };
        run.generated = Some(GeneratedCalls { generation, comparison: None });
        assert_eq!(run.undecided_calls(), [UndecidedFinding::WithoutCall(&without[0])]);
    }

    #[test]
    fn calls_that_were_not_measured_leave_their_function_open() {
        let check = |calls: Vec<Outcome>, is_open| {
            let generation = Generation {
                workloads: calls.iter().map(|call| samples::workload(&call.test.name)).collect(),
                without: Vec::new(),
            };
            let comparison = Some(Ok(Box::new(samples::run(calls))));
            let generated = Some(GeneratedCalls { generation, comparison });
            let run = Run { generated, ..samples::run(Vec::new()) };
            assert_eq!(!run.undecided_calls().is_empty(), is_open);
        };
        let late = || unmeasured("a", Some(Reason::BudgetUsedUp));
        check(vec![late()], true);
        check(vec![late(), outcome("b", Verdict::Same, Some(measured(1e3, 0.0)))], false);
        check(vec![unmeasured("a", Some(Reason::FoldedAway { ns: 1.0 }))], false);
        check(vec![unmeasured("a", Some(Reason::Filtered))], false);
        check(vec![unmeasured("a", Some(Reason::NotExecuted { functions: 1, programs: Vec::new() }))], true);
    }
}
