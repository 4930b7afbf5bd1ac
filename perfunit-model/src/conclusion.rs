//! The conclusion of a run, on which the exit code, the hook, headlines and output variables are based.

use super::{GeneratedCalls, NotCompared, Outcome, Run, Side, UndecidedFinding};
use std::iter;

/// Findings that fail a run in addition to tests that got slower or newly fail (`--deny`, `--no-tests=fail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each word of the option")]
pub struct Denied {
    /// Tests that may have changed by at least the run's bound.
    pub inconclusive: bool,
    /// Inconclusive tests that are probably slower.
    pub unconfirmed: bool,
    /// Changed functions that no test executes.
    pub uncovered: bool,
    /// Functions with work that grows with a larger power than on base.
    pub growth: bool,
    /// Changed functions whose tests got slower in the mean, although none of them did for certain.
    pub functions: bool,
    /// Generated calls that got slower.
    pub generated: bool,
    /// A run without measured tests.
    pub nothing_measured: bool,
}

impl Denied {
    /// Returns the denied findings that could not be checked.
    pub fn undecided_findings(self, run: &Run) -> Vec<UndecidedFinding<'_>> {
        let mut all = Vec::new();
        if self.inconclusive {
            all.extend(run.undecided_tests());
        }
        // Losses against the ratchet's version always count, even if they are not denied.
        let of_ratchet = |second: &&Run| !second.interrupted && (self.inconclusive || second.is_unchecked());
        let second = run.against_ratchet().filter(of_ratchet);
        all.extend(
            second.into_iter().flat_map(|second| second.undecided_tests().map(|test| test.against(&second.base))),
        );
        if self.uncovered || self.generated {
            all.extend(run.undecided_coverage());
        }
        if self.growth {
            all.extend(run.undecided_growth());
        }
        if self.growth && self.inconclusive {
            all.extend(run.undecided_growth_of_functions());
        }
        if self.generated {
            all.extend(run.undecided_calls());
        }
        all
    }

    /// Returns the comparisons that count: with base, with the ratchet's version, and of generated calls.
    pub fn comparisons(self, run: &Run) -> impl Iterator<Item = &Run> {
        let generated = run.generated.as_ref().filter(|_| self.generated).and_then(GeneratedCalls::run);
        iter::once(run).chain(run.against_ratchet()).chain(generated)
    }

    /// Returns the tests of one comparison that have no verdict although that is denied.
    pub fn open(self, run: &Run) -> impl Iterator<Item = &Outcome> {
        run.outcomes.iter().filter(move |outcome| self.is_open(run, outcome))
    }

    /// Returns true if the test has no verdict although that is denied. A slowdown that would be accepted if it were confirmed
    /// is not denied.
    pub fn is_open(self, run: &Run, outcome: &Outcome) -> bool {
        let is_probable = outcome.is_probably_slower();
        let is_accepted = is_probable && run.covering(outcome).is_some();
        run.is_inconclusive(outcome) && !is_accepted && (self.inconclusive || self.unconfirmed && is_probable)
    }
}

/// The most severe finding of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Nothing fails the run.
    Passed,
    /// Tests got slower than base, and that is not accepted.
    Slower,
    /// The work of functions grows with a larger power, which is denied.
    Grows,
    /// The tests of a changed function got slower in the mean, which is denied.
    FunctionSlower,
    /// A program got slower in the tests that start it, taken together.
    ProgramSlower,
    /// Tests or programs got slower than the ratchet's version, but none got slower than base.
    SlowerThanRatchet,
    /// Generated calls got slower, which is denied.
    GeneratedSlower,
    /// The run was interrupted before a regression was found.
    Interrupted,
    /// Tests pass on base and fail on head.
    FailsOnHead,
    /// Nothing was measured because the selected tests fail on base.
    FailsOnBase,
    /// A denied finding could not be checked, or there was no time for any test.
    Undecided,
    /// No test executes some changed functions, which is denied.
    Uncovered,
    /// Nothing was measured, which is denied.
    NothingMeasured,
    /// A version of an additional comparison (with the ratchet's version or of generated calls) does not build.
    NotBuilt,
    /// An additional comparison could not be made for another reason.
    NotCompared,
}

impl Conclusion {
    /// Returns the most severe finding: a regression in any comparison, otherwise the first finding of the comparisons
    /// with base, with the ratchet's version, and of generated calls.
    pub fn of(run: &Run, denied: Denied) -> Self {
        let ratchet = run.ratchet.as_ref().map(|found| &found.comparison);
        let generated = run.generated.as_ref().filter(|_| denied.generated);
        let generated = generated.and_then(|found| found.comparison.as_ref());
        let facts = [
            Self::of_base(run, denied),
            ratchet.map_or(Self::Passed, |found| Self::of_further(found, denied, Self::SlowerThanRatchet)),
            generated.map_or(Self::Passed, |found| Self::of_further(found, denied, Self::GeneratedSlower)),
        ];
        let first = |is: fn(&Self) -> bool| facts.iter().copied().find(is);
        first(|fact| fact.is_regression()).or_else(|| first(|fact| *fact != Self::Passed)).unwrap_or(Self::Passed)
    }

    /// Returns true if something got slower, or grows although that is denied.
    pub fn is_regression(self) -> bool {
        matches!(
            self,
            Self::Slower
                | Self::ProgramSlower
                | Self::Grows
                | Self::FunctionSlower
                | Self::SlowerThanRatchet
                | Self::GeneratedSlower
        )
    }

    fn of_base(run: &Run, denied: Denied) -> Self {
        let is_undecided =
            || denied.open(run).next().is_some() || !denied.undecided_findings(run).is_empty() || run.is_unchecked();
        let is_measured = || run.outcomes.iter().any(|outcome| outcome.measured.is_some());
        match () {
            () if run.slower().next().is_some() => Self::Slower,
            () if run.slower_programs().next().is_some() => Self::ProgramSlower,
            () if denied.growth && run.growing().next().is_some() => Self::Grows,
            () if denied.functions && run.pooled.iter().any(|pooled| run.is_slower_in_mean(pooled)) => {
                Self::FunctionSlower
            }
            () if run.interrupted => Self::Interrupted,
            () if run.failing(Side::Head).next().is_some() => Self::FailsOnHead,
            () if run.fails_on_base() => Self::FailsOnBase,
            () if is_undecided() => Self::Undecided,
            () if denied.uncovered && !run.selection.uncovered.is_empty() => Self::Uncovered,
            () if denied.nothing_measured && !is_measured() && !is_empty_shard(run) => Self::NothingMeasured,
            () => Self::Passed,
        }
    }

    /// Returns the finding of an additional comparison, in which only losses count. A comparison that could not be made
    /// does not pass.
    fn of_further(comparison: &Result<Box<Run>, NotCompared>, denied: Denied, slower: Self) -> Self {
        match comparison {
            Ok(run) if run.slower().next().is_some() || run.slower_programs().next().is_some() => slower,
            Ok(run) if run.interrupted => Self::Interrupted,
            Ok(run) if denied.open(run).next().is_some() || run.is_unchecked() => Self::Undecided,
            Ok(_) | Err(NotCompared::IsBase) => Self::Passed,
            Err(NotCompared::DoesNotBuild { .. }) => Self::NotBuilt,
            Err(NotCompared::HeadChanged | NotCompared::BudgetUsedUp | NotCompared::Failed { .. }) => Self::NotCompared,
            Err(NotCompared::Interrupted) => Self::Interrupted,
        }
    }
}

/// Returns true if there are tests to measure, but all of them are in other shards.
fn is_empty_shard(run: &Run) -> bool {
    run.sharding
        .as_ref()
        .is_some_and(|sharding| !sharding.candidates.is_empty() && sharding.parts.iter().all(|part| part.tests == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::{Acceptance, AcceptedIn, Reason, Verdict};
    use crate::{
        FailedOn, Failure, Generation, Growth, NotCounted, NotGenerated, Ratchet, Untraceable, VersionName, Warning,
        WithoutWorkload,
    };

    const DENIED: Denied = Denied {
        inconclusive: true,
        unconfirmed: true,
        uncovered: true,
        growth: true,
        functions: true,
        generated: true,
        nothing_measured: false,
    };

    fn run(verdicts: &[(Verdict, Option<Reason>)]) -> Run {
        let outcomes = verdicts
            .iter()
            .map(|(verdict, reason)| Outcome { reason: reason.clone(), ..samples::outcome("t", *verdict, None) });
        samples::run(outcomes.collect())
    }

    #[test]
    fn a_regression_outranks_everything() {
        let mut run = run(&[(Verdict::Inconclusive, None), (Verdict::Slower, None)]);
        run.interrupted = true;
        assert_eq!(Conclusion::of(&run, DENIED), Conclusion::Slower);
    }

    #[test]
    fn accepted_slowdowns_fail_nothing_and_larger_ones_do() {
        let accept = |text: &str| Acceptance::parse(text, AcceptedIn::Commit { id: "1f".into(), step: 0 }).unwrap();
        let figures = || Some(samples::measured(1e3, 0.04));
        let slower = || samples::run(vec![samples::outcome("t", Verdict::Slower, figures())]);
        let with = |text: &str| Run { acceptances: vec![accept(text)], ..slower() };
        let denied = Denied { growth: false, ..DENIED };
        assert_eq!(Conclusion::of(&with("t <= 5% because x"), denied), Conclusion::Passed);
        assert_eq!(Conclusion::of(&with("t <= 3% because x"), DENIED), Conclusion::Slower);
        assert_eq!(Conclusion::of(&with("u <= 5% because x"), DENIED), Conclusion::Slower);
        // The same rule decides on the comparison with the ratchet's version, whose acceptances are its own.
        let version = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let against = |second| {
            let ratchet = Some(Ratchet { version: version.clone(), comparison: Ok(Box::new(second)) });
            Conclusion::of(&Run { ratchet, ..with("t <= 5% because x") }, Denied::default())
        };
        assert_eq!(against(slower()), Conclusion::SlowerThanRatchet);
        assert_eq!(against(with("t <= 5% because x")), Conclusion::Passed);
        let probably = || {
            let reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
            vec![Outcome { reason, ..samples::outcome("t", Verdict::Inconclusive, figures()) }]
        };
        let denied = Denied { unconfirmed: true, ..Denied::default() };
        let code = |text: &str| Conclusion::of(&Run { outcomes: probably(), ..with(text) }, denied);
        assert_eq!((code("t <= 5% because x"), code("t <= 3% because x")), (Conclusion::Passed, Conclusion::Undecided));
    }

    #[test]
    fn slower_functions_fail_the_run_only_when_denied_and_not_accepted() {
        let change = crate::Change { estimate: 0.02, low: 0.015, high: 0.025 };
        let pooled = |verdict| crate::PooledChange {
            name: "Parser::line".to_owned(),
            function: None,
            tests: Vec::new(),
            entering: 8,
            verdict,
            change,
            threshold: 0.005,
            p_value: 0.0,
            layouts: 16,
        };
        let with = |verdict, acceptances: &[&str]| {
            let from = || AcceptedIn::Commit { id: "1f".into(), step: 0 };
            let acceptances = acceptances.iter().map(|text| Acceptance::parse(text, from()).unwrap()).collect();
            Run { pooled: vec![pooled(verdict)], acceptances, ..run(&[(Verdict::Same, None)]) }
        };
        let denied = Denied { functions: true, ..Denied::default() };
        let of = |run: Run| [Denied::default(), denied].map(|denied| Conclusion::of(&run, denied));
        assert_eq!(of(with(Verdict::Slower, &[])), [Conclusion::Passed, Conclusion::FunctionSlower]);
        assert_eq!(of(with(Verdict::Slower, &["line <= 1% because x"]))[1], Conclusion::FunctionSlower);
        assert_eq!(of(with(Verdict::Slower, &["line <= 3% because x"]))[1], Conclusion::Passed);
        assert_eq!(of(with(Verdict::Slower, &["* <= 3% because x"]))[1], Conclusion::Passed);
        assert_eq!(of(with(Verdict::Faster, &[])), [Conclusion::Passed; 2]);
        assert_eq!(of(with(Verdict::Inconclusive, &[])), [Conclusion::Passed; 2]);
    }

    #[test]
    fn a_program_that_is_slower_over_its_tests_fails_the_run_unless_accepted() {
        let of = |estimate, acceptances: &[&str]| {
            let from = || AcceptedIn::Commit { id: "1f".into(), step: 0 };
            let acceptances = acceptances.iter().map(|text| Acceptance::parse(text, from()).unwrap()).collect();
            let programs = vec![samples::started_by_many(estimate)];
            let run = Run { programs, acceptances, ..run(&[(Verdict::Inconclusive, None)]) };
            (Conclusion::of(&run, Denied::default()), run.unused_acceptances().count())
        };
        assert_eq!(of(0.06, &[]), (Conclusion::ProgramSlower, 0));
        assert_eq!(of(0.002, &[]), (Conclusion::Passed, 0));
        assert_eq!(of(0.06, &["mytool <= 5% because x"]), (Conclusion::ProgramSlower, 0));
        assert_eq!(of(0.06, &["mytool <= 8% because x"]), (Conclusion::Passed, 0));
        assert_eq!(of(0.06, &["* <= 8% because x"]), (Conclusion::Passed, 0));
    }

    #[test]
    fn generated_calls_fail_the_run_only_when_denied() {
        let with = |comparison| {
            let generated = Some(GeneratedCalls { generation: Generation::default(), comparison });
            Run { generated, ..run(&[(Verdict::Same, None)]) }
        };
        let check = |comparison, code| {
            let run = with(comparison);
            assert_eq!(Conclusion::of(&run, Denied::default()), Conclusion::Passed);
            assert_eq!(Conclusion::of(&run, DENIED), code);
        };
        let calls = |verdict| Some(Ok(Box::new(run(&[(verdict, None)]))));
        check(calls(Verdict::Slower), Conclusion::GeneratedSlower);
        check(calls(Verdict::Same), Conclusion::Passed);
        check(Some(Err(NotCompared::HeadChanged)), Conclusion::NotCompared);
        check(None, Conclusion::Passed);
    }

    #[test]
    fn inconclusive_fails_only_when_denied() {
        let run = run(&[(Verdict::Inconclusive, None)]);
        assert_eq!(Conclusion::of(&run, Denied::default()), Conclusion::Passed);
        assert_eq!(Conclusion::of(&run, DENIED), Conclusion::Undecided);
    }

    #[test]
    fn a_test_that_is_unchanged_within_the_bound_is_not_inconclusive() {
        let denied = Denied { inconclusive: true, unconfirmed: true, ..Denied::default() };
        let run = |low, high| samples::run(vec![samples::open_within("t", 1e3, low, high)]);
        let bounded = run(-0.02, 0.04);
        assert_eq!(Conclusion::of(&bounded, denied), Conclusion::Passed);
        assert_eq!((bounded.inconclusive().count(), bounded.count(Verdict::Inconclusive)), (0, 1));
        assert_eq!(bounded.unchanged_within(&bounded.outcomes[0]), "5%".parse().ok());
        assert_eq!(Conclusion::of(&run(-0.02, 0.12), denied), Conclusion::Undecided);
        assert_eq!(Conclusion::of(&run(-0.12, 0.02), denied), Conclusion::Undecided);
        let mut strict = bounded.clone();
        strict.set_bound("3%".parse().unwrap());
        assert_eq!(Conclusion::of(&strict, denied), Conclusion::Undecided);
        // A bound does not excuse a slowdown that was seen.
        let mut probably = bounded;
        probably.outcomes[0].reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
        assert_eq!(Conclusion::of(&probably, denied), Conclusion::Undecided);
        assert_eq!(probably.unchanged_within(&probably.outcomes[0]), None);
        // Nor does it call a certain change that there was no time to confirm unchanged.
        let seen_faster = |low, high| {
            let mut run = run(low, high);
            run.outcomes[0].reason = Some(Reason::Unconfirmed { seen: Verdict::Faster });
            run.unchanged_within(&run.outcomes[0])
        };
        assert_eq!(seen_faster(-0.08, -0.03), None);
        assert_eq!(seen_faster(-0.08, 0.01), "10%".parse().ok());
    }

    #[test]
    fn the_bound_is_that_of_all_comparisons() {
        let second = || samples::run(vec![samples::open_within("t", 1e3, -0.02, 0.04)]);
        let version = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let mut run = run(&[(Verdict::Same, None)]);
        run.ratchet = Some(Ratchet { version, comparison: Ok(Box::new(second())) });
        let comparison = Some(Ok(Box::new(second())));
        run.generated = Some(GeneratedCalls { generation: Generation::default(), comparison });
        let denied = Denied { inconclusive: true, generated: true, ..Denied::default() };
        let open = |run: &Run| denied.comparisons(run).map(|run| denied.open(run).count()).collect::<Vec<_>>();
        assert_eq!(open(&run), [0, 0, 0]);
        run.set_bound("3%".parse().unwrap());
        assert_eq!(open(&run), [0, 1, 1]);
    }

    #[test]
    fn growth_fails_only_when_denied() {
        let mut run = run(&[(Verdict::Same, None)]);
        assert_eq!(Conclusion::of(&run, DENIED), Conclusion::Passed);
        run.growth = Some(samples::growth());
        assert_eq!(Conclusion::of(&run, Denied::default()), Conclusion::Passed);
        assert_eq!(Conclusion::of(&run, DENIED), Conclusion::Grows);
    }

    #[test]
    fn what_is_denied_and_could_not_be_looked_at_is_no_success() {
        let check = |run: &Run, denied| {
            assert_eq!(Conclusion::of(run, Denied::default()), Conclusion::Passed);
            assert_eq!(Conclusion::of(run, denied), Conclusion::Undecided);
        };
        let (nothing, same) = (Denied::default(), || run(&[(Verdict::Same, None)]));
        let not_counted = vec![(samples::test("t"), NotCounted::Ended { why: "no space left".to_owned() })];
        let growth = Some(Growth { not_counted, ..Growth::default() });
        check(&Run { growth, ..same() }, Denied { growth: true, ..nothing });
        let function = samples::uncovered().function;
        let without = vec![WithoutWorkload { function, because: NotGenerated::OutOfBudget }];
        let generation = Generation { workloads: Vec::new(), without };
        let generated = Some(GeneratedCalls { generation, comparison: None });
        check(&Run { generated, ..same() }, Denied { generated: true, ..nothing });
        let warnings = vec![Warning::NotTraced { why: Untraceable::Refused }];
        check(&Run { warnings, ..same() }, Denied { uncovered: true, ..nothing });
        let late = run(&[(Verdict::Same, None), (Verdict::NotMeasured, Some(Reason::BudgetUsedUp))]);
        check(&late, Denied { inconclusive: true, ..nothing });
    }

    #[test]
    fn that_there_was_no_time_for_any_test_is_no_success() {
        let late = (Verdict::NotMeasured, Some(Reason::BudgetUsedUp));
        assert_eq!(Conclusion::of(&run(std::slice::from_ref(&late)), Denied::default()), Conclusion::Undecided);
        assert_eq!(Conclusion::of(&run(&[late, (Verdict::Same, None)]), Denied::default()), Conclusion::Passed);
    }

    #[test]
    fn what_is_probably_slower_can_be_denied_alone() {
        let unconfirmed = |seen| run(&[(Verdict::Inconclusive, Some(Reason::Unconfirmed { seen }))]);
        let denied = Denied { unconfirmed: true, ..Denied::default() };
        assert_eq!(Conclusion::of(&unconfirmed(Verdict::Slower), denied), Conclusion::Undecided);
        assert_eq!(Conclusion::of(&unconfirmed(Verdict::Faster), denied), Conclusion::Passed);
        assert_eq!(
            Conclusion::of(&run(&[(Verdict::Inconclusive, Some(Reason::TooNoisy))]), denied),
            Conclusion::Passed
        );
    }

    #[test]
    fn tests_that_fail_on_base_are_no_success() {
        let fails = Reason::Fails { side: FailedOn::Both, how: Failure::Said("no".to_owned()), intermittent: false };
        assert_eq!(
            Conclusion::of(&run(&[(Verdict::NotMeasured, Some(fails))]), Denied::default()),
            Conclusion::FailsOnBase
        );
    }

    #[test]
    fn tests_that_fail_on_head_alone_are_a_failure() {
        let fails =
            |side, intermittent| Some(Reason::Fails { side, how: Failure::Said("no".to_owned()), intermittent });
        let same = (Verdict::Same, None);
        let on_head = run(&[(Verdict::NotMeasured, fails(FailedOn::Head, false)), same.clone()]);
        assert_eq!(Conclusion::of(&on_head, Denied::default()), Conclusion::FailsOnHead);
        for (side, intermittent) in [(FailedOn::Base, false), (FailedOn::Both, false), (FailedOn::Head, true)] {
            let run = run(&[(Verdict::NotMeasured, fails(side, intermittent)), same.clone()]);
            assert_ne!(Conclusion::of(&run, DENIED), Conclusion::FailsOnHead, "{side:?}");
        }
    }

    #[test]
    fn functions_that_no_test_executes_fail_only_when_denied_and_hide_no_regression() {
        let mut run = run(&[(Verdict::Same, None)]);
        run.selection.uncovered = vec![samples::uncovered()];
        assert_eq!(Conclusion::of(&run, Denied::default()), Conclusion::Passed);
        let denied = Denied { uncovered: true, ..Denied::default() };
        assert_eq!(Conclusion::of(&run, denied), Conclusion::Uncovered);
        run.outcomes[0].verdict = Verdict::Slower;
        assert_eq!(Conclusion::of(&run, denied), Conclusion::Slower);
    }

    #[test]
    fn a_loss_against_the_ratchet_is_a_regression_and_no_comparison_is_no_success() {
        let version = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        let code = |own: Verdict, comparison| {
            let mut run = run(&[(own, None)]);
            run.ratchet = Some(Ratchet { version: version.clone(), comparison });
            Conclusion::of(&run, Denied::default())
        };
        let found = |verdict| Ok(Box::new(run(&[(verdict, None)])));
        let programs = vec![samples::started_by_many(0.06)];
        let by_program = || Run { programs: programs.clone(), ..run(&[(Verdict::Same, None)]) };
        assert_eq!(code(Verdict::Same, Ok(Box::new(by_program()))), Conclusion::SlowerThanRatchet);
        assert_eq!(code(Verdict::Same, found(Verdict::Slower)), Conclusion::SlowerThanRatchet);
        assert_eq!(code(Verdict::Same, found(Verdict::Faster)), Conclusion::Passed);
        assert_eq!(code(Verdict::Slower, found(Verdict::Same)), Conclusion::Slower);
        for (why, expected) in [
            (NotCompared::IsBase, Conclusion::Passed),
            (NotCompared::DoesNotBuild { side: Side::Base, error: String::new() }, Conclusion::NotBuilt),
            (NotCompared::HeadChanged, Conclusion::NotCompared),
            (NotCompared::BudgetUsedUp, Conclusion::NotCompared),
            (NotCompared::Interrupted, Conclusion::Interrupted),
        ] {
            assert_eq!(code(Verdict::Same, Err(why.clone())), expected);
            assert_eq!(code(Verdict::Slower, Err(why)), Conclusion::Slower);
        }
    }

    #[test]
    fn nothing_to_measure_fails_only_on_request() {
        let fail = Denied { nothing_measured: true, ..Denied::default() };
        assert_eq!(Conclusion::of(&run(&[]), Denied::default()), Conclusion::Passed);
        assert_eq!(Conclusion::of(&run(&[]), fail), Conclusion::NothingMeasured);
    }
}
