//! Which slowdowns of a run are accepted, and which are not although something is accepted.

use super::acceptance::ALL_TESTS;
use super::explanation::is_end_of_path;
use super::format::{one_line, threshold};
use super::{
    Acceptance, AcceptedIn, Change, MainCauses, Metric, MetricVerdict, Note, Outcome, PooledChange, ProgramChange, Run,
    Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The slowdown that a run accepts of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowance<'a> {
    /// As a fraction of base.
    pub at_most: f64,
    /// The acceptances that it results from.
    pub by: Vec<&'a Acceptance>,
}

/// Whether what is accepted of a test covers its slowdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// It does.
    Covered,
    /// The slowdown is larger.
    Larger,
    /// The slowdown of the first call is larger.
    FirstCallLarger,
    /// Other metrics than time got worse, too.
    OtherMetrics,
    /// The slower version was stopped, so the size is not known.
    SizeUnknown,
}

/// Returns whether an acceptance is about a test: it names the test, or the function that is the main cause of the test's
/// change, in the run or by the test's own explanation.
fn is_about(acceptance: &Acceptance, outcome: &Outcome, causes: &MainCauses<'_>) -> bool {
    let test = &outcome.test;
    acceptance.name == ALL_TESTS
        || is_end_of_path(&acceptance.name, &test.name)
        || acceptance.name == test.to_string()
        || causes.of(outcome).is_named(&acceptance.name)
        || outcome.explained_cause().is_some_and(|cause| cause.is_named(&acceptance.name))
}

impl Run {
    /// Returns the slowdown that the acceptances about a test or a function allow. Within a step of the history, and in the
    /// configuration, the largest one counts; the steps add up.
    fn allowance(&self, is_about: impl Fn(&Acceptance) -> bool) -> Option<Allowance<'_>> {
        let mut steps: BTreeMap<Option<usize>, &Acceptance> = BTreeMap::new();
        for acceptance in self.acceptances.iter().filter(|acceptance| is_about(acceptance)) {
            let step = match acceptance.from {
                AcceptedIn::Commit { step, .. } => Some(step),
                AcceptedIn::Configuration { .. } => None,
            };
            let largest = steps.entry(step).or_insert(acceptance);
            if acceptance.at_most > largest.at_most {
                *largest = acceptance;
            }
        }
        let configured = steps.remove(&None).map(|one| Allowance { at_most: one.at_most, by: vec![one] });
        let by: Vec<&Acceptance> = steps.into_values().collect();
        let at_most = by.iter().fold(0.0, |sum, acceptance| sum + acceptance.at_most * (1.0 + sum));
        let by_commits = (!by.is_empty()).then_some(Allowance { at_most, by });
        let all = by_commits.into_iter().chain(configured);
        all.reduce(|one, other| if other.at_most > one.at_most { other } else { one })
    }

    /// Returns whether the tests of a function got slower in the mean, by more than what is accepted of it.
    pub fn is_slower_in_mean(&self, pooled: &PooledChange) -> bool {
        let at_most = || self.allowance_of(&pooled.name).map_or(0.0, |allowance| allowance.at_most);
        pooled.verdict == Verdict::Slower && pooled.change.estimate > at_most()
    }

    /// Returns whether a program got slower over its tests, and that is not accepted.
    pub fn is_slower_program(&self, program: &ProgramChange) -> bool {
        let is_covered = |(_, coverage)| coverage == Coverage::Covered;
        program.verdict == Verdict::Slower && !self.acceptance_of_program(program).is_some_and(is_covered)
    }

    /// Returns the programs that got slower over their tests, without accepted ones.
    pub fn slower_programs(&self) -> impl Iterator<Item = &ProgramChange> {
        self.programs.iter().filter(|program| self.is_slower_program(program))
    }

    /// Returns what is accepted of a program that got slower over its tests, and whether that covers the change.
    pub fn acceptance_of_program(&self, program: &ProgramChange) -> Option<(Allowance<'_>, Coverage)> {
        let allowance = self.allowance_of(&program.name).filter(|_| program.verdict == Verdict::Slower)?;
        let is_covered = program.change.estimate <= allowance.at_most;
        Some((allowance, if is_covered { Coverage::Covered } else { Coverage::Larger }))
    }

    /// Returns what is accepted of a function or program with this name.
    fn allowance_of(&self, name: &str) -> Option<Allowance<'_>> {
        self.allowance(|acceptance| acceptance.name == ALL_TESTS || is_end_of_path(&acceptance.name, name))
    }

    /// Returns what accepts the slowdown of a test that got slower.
    pub fn accepted_by<'a>(&'a self, outcome: &Outcome) -> Option<Allowance<'a>> {
        if outcome.verdict == Verdict::Slower { self.covering(outcome) } else { None }
    }

    /// Returns what covers the change that was measured.
    pub fn covering<'a>(&'a self, outcome: &Outcome) -> Option<Allowance<'a>> {
        self.acceptance(outcome).filter(|(_, coverage)| *coverage == Coverage::Covered).map(|(allowance, _)| allowance)
    }

    /// Returns what is accepted of a test, and whether it covers the change that was measured: the estimate is at most as
    /// large as the accepted slowdown. Nothing covers a slowdown of unknown size, or of other metrics than time.
    pub fn acceptance<'a>(&'a self, outcome: &Outcome) -> Option<(Allowance<'a>, Coverage)> {
        // Most runs accept nothing.
        let measured = outcome.measured.as_ref().filter(|_| !self.acceptances.is_empty())?;
        let causes = self.main_causes(outcome.verdict);
        let allowance = self.allowance(|acceptance| is_about(acceptance, outcome, &causes))?;
        let is_within = |change: Change| change.estimate.max(change.low) <= allowance.at_most;
        let first_call = outcome.notes.iter().find_map(|note| match note {
            Note::FirstCallToo { change, .. } => Some(*change),
            _ => None,
        });
        let coverage = match () {
            () if measured.bound.as_ref().is_some_and(|bound| bound.limit_ns.is_some()) => Coverage::SizeUnknown,
            () if !self.is_of_time_alone(outcome) => Coverage::OtherMetrics,
            () if !is_within(measured.change) => Coverage::Larger,
            () if !first_call.is_none_or(is_within) => Coverage::FirstCallLarger,
            () => Coverage::Covered,
        };
        Some((allowance, coverage))
    }

    fn is_of_time_alone(&self, outcome: &Outcome) -> bool {
        let gates = self.gates_of(outcome);
        let is_worse = |gate: &&Metric| matches!(outcome.metrics.get(gate), Some(Ok(metered)) if metered.verdict == MetricVerdict::More);
        gates.contains(&Metric::Time) && !gates.iter().filter(|gate| **gate != Metric::Time).any(|gate| is_worse(&gate))
    }

    /// Returns whether a test got slower and that is not accepted.
    pub fn is_slower(&self, outcome: &Outcome) -> bool {
        outcome.verdict == Verdict::Slower && self.accepted_by(outcome).is_none()
    }

    /// Returns the tests that got slower, except the accepted slowdowns.
    pub fn slower(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| self.is_slower(outcome))
    }

    /// Returns the acceptances that are about no test of the run.
    pub fn unused_acceptances(&self) -> impl Iterator<Item = &Acceptance> {
        let causes = Verdict::ALL.map(|verdict| self.main_causes(verdict));
        let is_used = move |acceptance: &&Acceptance| {
            let of_verdict = Verdict::ALL.iter().zip(&causes);
            let mut all = of_verdict.flat_map(|(verdict, causes)| {
                self.outcomes.iter().filter(|outcome| outcome.verdict == *verdict).map(move |outcome| (outcome, causes))
            });
            let is_of_program = self.programs.iter().any(|program| program.name == acceptance.name);
            is_of_program || all.any(|(outcome, causes)| is_about(acceptance, outcome, causes))
        };
        self.acceptances.iter().filter(move |acceptance| !is_used(acceptance))
    }

    /// Returns the tests whose slowdown is accepted.
    pub fn accepted_tests(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| self.accepted_by(outcome).is_some())
    }
}

impl Allowance<'_> {
    /// Returns the reasons with their places: `checks for overflow (3f2a91c)`.
    pub fn reasons(&self) -> String {
        let each = |acceptance: &&Acceptance| format!("{} ({})", one_line(&acceptance.reason), acceptance.from);
        self.by.iter().map(each).collect::<Vec<_>>().join("; ")
    }
}

/// `up to 5 %: checks for overflow (3f2a91c)`.
impl fmt::Display for Allowance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up to {}: {}", threshold(self.at_most), self.reasons())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, bounded, measured, metered, outcome};
    use crate::{ChangeKind, ChangedFunction, CodeChange, Measured, Responsibility, ResponsibleFunction, Sides, Why};

    fn commit(step: usize) -> AcceptedIn {
        AcceptedIn::Commit { id: format!("3f2a91c{step}"), step }
    }

    fn accept(text: &str) -> Acceptance {
        Acceptance::parse(text, commit(0)).unwrap()
    }

    fn slower(name: &str, change: f64) -> Outcome {
        outcome(name, Verdict::Slower, Some(measured(1e3, change)))
    }

    fn run(outcomes: Vec<Outcome>, acceptances: &[&str]) -> Run {
        Run { acceptances: acceptances.iter().map(|text| accept(text)).collect(), ..samples::run(outcomes) }
    }

    #[track_caller]
    fn check(outcome: Outcome, acceptances: &[&str], is_accepted: bool) {
        let run = run(vec![outcome], acceptances);
        assert_eq!(run.accepted_tests().count(), usize::from(is_accepted), "{acceptances:?}");
        assert_eq!(run.slower().count(), usize::from(!is_accepted));
    }

    #[test]
    fn a_slowdown_is_covered_up_to_the_accepted_size() {
        check(slower("tests::a", 0.04), &[], false);
        check(slower("tests::a", 0.04), &["tests::a <= 5% because x"], true);
        check(slower("tests::a", 0.05), &["tests::a <= 5% because x"], true);
        // The interval reaches below the accepted size, and its estimate does not.
        check(slower("tests::a", 0.055), &["tests::a <= 5% because x"], false);
        check(slower("tests::a", 0.2), &["tests::a <= 5% because x"], false);
        check(slower("tests::a", f64::NAN), &["tests::a <= 5% because x"], false);
        // The largest of one step counts.
        check(
            slower("tests::a", 0.04),
            &["a <= 1% because x", "* <= 4.5% because y", "tests::a <= 2% because z"],
            true,
        );
        check(slower("tests::a", 0.08), &["a <= 5% because x", "* <= 5% because y"], false);
        let faster = outcome("a", Verdict::Faster, Some(measured(1e3, -0.2)));
        let run = run(vec![faster], &["* <= 5% because x"]);
        assert_eq!((run.accepted_tests().count(), run.slower().count()), (0, 0));
    }

    #[test]
    fn a_test_is_named_by_the_end_of_its_path() {
        for (name, is_accepted) in [
            ("*", true),
            ("long", true),
            ("tests::long", true),
            ("parser::tests::long", true),
            ("mycrate parser::tests::long", true),
            ("other parser::tests::long", false),
            ("ong", false),
            ("parser::tests", false),
            ("parser::tests::long::", false),
        ] {
            check(slower("parser::tests::long", 0.04), &[&format!("{name} <= 5% because x")], is_accepted);
        }
    }

    fn explained_outcome(name: &str) -> Outcome {
        let responsible = ResponsibleFunction {
            function: 1,
            how: Responsibility::ItsOwn,
            change: crate::Difference { estimate: 400.0, low: 390.0, high: 410.0 },
            share: 0.98,
            calls: Sides { base: 3.0, head: 3.0 },
            calls_each: None,
            changed: None,
            not_apart: Vec::new(),
        };
        let explanation = crate::Explanation { responsible: vec![responsible], ..samples::explanation() };
        Outcome { explanation: Some(explanation), why: Some(why(&["mycrate::lexer::line"])), ..slower(name, 0.04) }
    }

    fn why(changed: &[&str]) -> Why {
        let changed = changed.iter().map(|name| ChangedFunction { name: (*name).to_owned(), data: None }).collect();
        Why { path: Vec::new(), changed, others: Vec::new() }
    }

    #[test]
    fn a_function_is_accepted_where_it_is_responsible() {
        for (name, is_accepted) in [("word", true), ("lexer::word", true), ("Parser::line", false), ("ord", false)] {
            check(explained_outcome("a"), &[&format!("{name} <= 5% because x")], is_accepted);
        }
        let word = ["lexer::word <= 5% because x"];
        let alike = Outcome { why: Some(why(&["mycrate::lexer::line"])), ..slower("b", 0.04) };
        let other = Outcome { why: Some(why(&["mycrate::lexer::word", "mycrate::other"])), ..slower("c", 0.04) };
        let run = run(vec![explained_outcome("a"), alike, other], &word);
        assert_eq!(run.accepted_tests().map(|test| test.test.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let only = Outcome { why: Some(why(&["mycrate::lexer::word"])), ..slower("d", 0.04) };
        check(only, &word, true);
        check(Outcome { why: Some(why(&[])), ..slower("d", 0.04) }, &word, false);
        let generic =
            Outcome { why: Some(why(&["mycrate::parse::<u8>", "mycrate::parse::<u16>"])), ..slower("e", 0.04) };
        check(generic, &["mycrate::parse <= 5% because x"], true);
    }

    #[test]
    fn the_only_changed_function_is_accepted_where_it_was_inlined() {
        let inlined = Outcome { why: Some(why(&["mycrate::tests::a::a"])), ..slower("tests::a", 0.04) };
        let mut run = run(vec![inlined], &["Parser::line <= 5% because x"]);
        assert_eq!(run.accepted_tests().count(), 0);
        let (item, path) = ("Parser::line".to_owned(), "src/parser.rs".to_owned());
        run.selection.only_change = Some(CodeChange { change: ChangeKind::Changed, item, path, line: 9 });
        assert_eq!(run.accepted_tests().count(), 1);
        // An explanation may name an unchanged function that the only change gives more work.
        run.outcomes = vec![explained_outcome("tests::a")];
        assert!(run.main_causes(Verdict::Slower).of(&run.outcomes[0]).is_named("Parser::line"));
        assert_eq!(run.accepted_tests().count(), 1);
        run.acceptances = vec![accept("lexer::word <= 5% because x")];
        assert_eq!(run.accepted_tests().count(), 1);
    }

    #[test]
    fn what_has_no_size_in_time_is_never_covered() {
        let all = ["* <= 900% because x"];
        let stopped = Some(bounded(1e3, 3e3, Some(3e3)));
        check(Outcome { measured: stopped, ..slower("a", 0.04) }, &all, false);
        check(Outcome { measured: Some(bounded(1e3, 3e3, None)), ..slower("a", 0.04) }, &all, true);
        let mut more = slower("a", 0.04);
        more.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 10.0, 12.0)));
        check(more.clone(), &all, true);
        check(Outcome { gates: Some(vec![Metric::Time, Metric::Allocations]), ..more.clone() }, &all, false);
        check(Outcome { gates: Some(vec![Metric::Allocations]), ..more }, &all, false);
    }

    #[test]
    fn a_first_call_that_got_slower_too_counts() {
        let with = |estimate: f64| {
            let change = Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
            let note = Note::FirstCallToo { ns: Sides { base: 1e3, head: 1e3 }, change };
            Outcome { notes: vec![note], ..slower("a", 0.04) }
        };
        check(with(0.03), &["* <= 5% because x"], true);
        check(with(0.5), &["* <= 5% because x"], false);
    }

    #[test]
    fn an_interval_that_lies_beyond_the_accepted_size_is_never_covered() {
        let odd = Measured { change: Change { estimate: 0.04, low: 0.06, high: 0.08 }, ..measured(1e3, 0.04) };
        check(outcome("a", Verdict::Slower, Some(odd)), &["* <= 5% because x"], false);
    }

    #[test]
    fn steps_of_the_history_add_up() {
        let with = |steps: &[(usize, &str)]| {
            let parse = |(step, text): &(usize, &str)| Acceptance::parse(text, commit(*step)).unwrap();
            let acceptances = steps.iter().map(parse).collect();
            Run { acceptances, ..samples::run(vec![slower("a", 0.08)]) }
        };
        assert_eq!(with(&[(0, "a <= 5% because x"), (0, "a <= 4% because y")]).accepted_tests().count(), 0);
        let run = with(&[(0, "a <= 5% because x"), (0, "* <= 1% because z"), (1, "a <= 4% because y")]);
        let allowance = run.accepted_by(&run.outcomes[0]).unwrap();
        assert_eq!(allowance.to_string(), "up to 9.2 %: x (3f2a91c); y (3f2a91c)");
        let from = AcceptedIn::Configuration { place: "perfunit.toml:3".to_owned(), until: "2026-12-31".to_owned() };
        let mut run = with(&[(0, "a <= 5% because x")]);
        run.acceptances.push(Acceptance::new("a", "9%", "y", from).unwrap());
        let allowance = run.accepted_by(&run.outcomes[0]).unwrap();
        assert_eq!(allowance.to_string(), "up to 9 %: y (perfunit.toml:3, until 2026-12-31)");
    }
}
