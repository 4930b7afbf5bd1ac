//! Tests grouped by their main cause.

use super::causes;
use super::figures::{self, Words};
use perfunit_model::format::{self, Glyphs, count};
use perfunit_model::{MainCause, Metric, Outcome, Run, Verdict};

/// Tests of one verdict with the same cause, the largest change first.
#[derive(Debug)]
pub struct Group<'a> {
    pub cause: MainCause<'a>,
    pub tests: Vec<&'a Outcome>,
}

impl Group<'_> {
    /// Returns the cause in words, without the tests.
    pub fn name(&self) -> String {
        match &self.cause {
            MainCause::Function { function, is_changed } => {
                let source = if *is_changed { "changed" } else { "source unchanged" };
                format!("{}, {source}", causes::place(function))
            }
            MainCause::Outer(changed) => causes::change_name(changed, Glyphs::Unicode),
            MainCause::Item(change) => format!("{}, {}", causes::item_with_place(change), change.change),
            MainCause::Code(name) => format!("{name} (changed machine code)"),
            MainCause::Unknown => "not explained".to_owned(),
        }
    }

    /// Returns `63 tests slower, +2.0 % to +1247 %; 2 in their first call alone, +30.0 %`; without changes where other
    /// metrics than time decide.
    pub fn tests(&self, verdict: Verdict, gates: &[Metric]) -> String {
        let words = Words::of(gates);
        let word = figures::word(verdict, words);
        let (first, all): (Vec<_>, Vec<_>) = self.tests.iter().partition(|outcome| outcome.later_ns().is_some());
        let range = |tests: &[&Outcome]| if words == Words::OfTime { range(tests) } else { String::new() };
        let of_all = format!("{} {word}{}", count(all.len(), "test"), range(&all));
        let of_first = |tests: &str| format!("{tests} in {} alone{}", first_calls(first.len()), range(&first));
        match (all.len(), first.len()) {
            (_, 0) => of_all,
            (0, some) => of_first(&format!("{} {word}", count(some, "test"))),
            (_, some) => format!("{of_all}; {}", of_first(&some.to_string())),
        }
    }
}

fn first_calls(tests: usize) -> &'static str {
    if tests == 1 { "its first call" } else { "their first calls" }
}

/// Returns the least and the largest change of tests: `, +2.0 % to +1247 %`.
fn range(tests: &[&Outcome]) -> String {
    let measured = tests.iter().filter_map(|outcome| outcome.measured.as_ref());
    let mut changes: Vec<f64> = measured.map(|measured| measured.change.estimate).collect();
    changes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    match (changes.first(), changes.last()) {
        (Some(least), Some(most)) if least.to_bits() != most.to_bits() => {
            format!(", {} to {}", format::percent(*least), format::percent(*most))
        }
        (Some(only), _) => format!(", {}", format::percent(*only)),
        _ => String::new(),
    }
}

/// Groups tests of one verdict by cause, the cause of most tests first and unexplained tests last.
pub fn groups<'a>(tests: &[&'a Outcome], verdict: Verdict, run: &'a Run) -> Vec<Group<'a>> {
    let causes = run.main_causes(verdict);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for outcome in tests {
        let cause = causes.of(outcome);
        match groups.iter_mut().find(|group| group.cause == cause) {
            Some(group) => group.tests.push(outcome),
            None => groups.push(Group { cause, tests: vec![outcome] }),
        }
    }
    groups.sort_by_key(|group| (group.cause == MainCause::Unknown, std::cmp::Reverse(group.tests.len())));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{explanation, measured, outcome, run};
    use perfunit_model::{
        ChangeKind, ChangedFunction, CodeChange, Difference, Engine, Explanation, Note, Responsibility,
        ResponsibleFunction, Sides, Why,
    };

    fn slower(name: &str, change: f64, reaches: &[&str]) -> Outcome {
        let changed = reaches.iter().map(|name| ChangedFunction { name: (*name).to_owned(), data: None }).collect();
        let why = Some(Why { path: vec![name.to_owned()], changed, others: Vec::new() });
        Outcome { why, ..outcome(name, Verdict::Slower, Some(measured(1e3, change))) }
    }

    fn explained_outcome(name: &str, change: f64, reaches: &[&str]) -> Outcome {
        let difference = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        let (calls, changed) = (Sides { base: 3.0, head: 3.0 }, Some(ChangeKind::Changed));
        let responsible = ResponsibleFunction {
            function: 1,
            how: Responsibility::ItsOwn,
            change: difference,
            share: 1.0,
            calls,
            calls_each: None,
            changed,
            not_apart: Vec::new(),
        };
        let explanation = Some(Explanation { responsible: vec![responsible], ..explanation() });
        Outcome { explanation, ..slower(name, change, reaches) }
    }

    #[track_caller]
    fn check(tests: &[Outcome], expected: &[&str]) {
        let tests: Vec<&Outcome> = tests.iter().collect();
        let run = run(tests.iter().map(|test| (*test).clone()).collect());
        let said = groups(&tests, Verdict::Slower, &run)
            .into_iter()
            .map(|group| format!("{}: {}", group.name(), group.tests(Verdict::Slower, &[Metric::Time])));
        assert_eq!(said.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn tests_that_differ_in_the_same_functions_have_one_cause() {
        let tests = [
            explained_outcome("a", 12.47, &["f", "g"]),
            slower("b", 0.5, &["f", "g"]),
            slower("c", 0.02, &["f", "g"]),
            slower("d", 0.3, &["h::<u8>"]),
            slower("i", 0.1, &["h::<char>", "h::<u8>"]),
            slower("e", 0.2, &["f", "h"]),
            slower("tests::inlined", 0.1, &["krate::tests::inlined::inlined"]),
            slower("tests::in", 0.4, &["krate::tests::inlined"]),
            slower("folds", 0.15, &["<core::iter::adapters::map::Map<_, _> as core::iter::Iterator>::fold"]),
        ];
        let expected = [
            "lexer::word (src/lexer.rs:12), changed: 3 tests slower, +2.0 % to +1247 %",
            "h (changed machine code): 2 tests slower, +10.0 % to +30.0 %",
            // Functions that only another test executes are not responsible.
            "not explained: 4 tests slower, +10.0 % to +40.0 %",
        ];
        check(&tests, &expected);
    }

    #[test]
    fn the_only_change_is_the_cause_where_it_was_inlined_too() {
        let change = |item: &str| {
            let (item, path) = (item.to_owned(), "src/lexer.rs".to_owned());
            Some(CodeChange { change: ChangeKind::Changed, item, path, line: 9 })
        };
        let inlined = slower("tests::a", 0.1, &["krate::tests::a::a"]);
        let explained = explained_outcome("tests::b", 0.4, &["krate::tests::b::b"]);
        let check = |tests: &[&Outcome], only_change: Option<CodeChange>, expected: &[&str]| {
            let mut run = run(tests.iter().map(|test| (*test).clone()).collect());
            run.selection.only_change = only_change;
            assert_eq!(groups(tests, Verdict::Slower, &run).iter().map(Group::name).collect::<Vec<_>>(), expected);
        };
        let named = "lexer::word (src/lexer.rs:12), changed";
        check(&[&inlined, &explained], change("word"), &[named]);
        check(&[&inlined], change("word"), &["word (src/lexer.rs:9), changed"]);
        check(&[&inlined, &explained], None, &[named, "not explained"]);
        // An explanation that finds nothing is not overruled, and a test that cannot reach the change has another cause.
        let unexplained =
            Outcome { explanation: Some(explanation()), ..slower("tests::c", 0.1, &["krate::tests::c::c"]) };
        let by_instructions = Explanation { engine: Engine::Callgrind, ..explanation() };
        let waiting = Outcome { explanation: Some(by_instructions), ..unexplained.clone() };
        check(&[&waiting], change("word"), &["word (src/lexer.rs:9), changed"]);
        let elsewhere = Outcome { why: None, ..slower("tests::d", 0.1, &[]) };
        check(&[&unexplained, &elsewhere], change("word"), &["not explained"]);
    }

    #[test]
    fn what_runs_tests_is_not_responsible_and_the_projects_changed_function_is() {
        let run = "perfunit_runtime::__private::run::<mycrate::tests::a::{closure#0}>";
        let bolero = "bolero_engine::panic::catch::<_, mycrate::tests::c::{closure#0}>";
        let call = "<proptest::test_runner::runner::Runner<mycrate::tests::d::{closure#0}>>::call_test";
        let shim = "<mycrate::tests::a::{closure#0} as core::ops::function::FnOnce<()>>::call_once";
        let tests = [
            slower("tests::a", 0.1, &["mycrate::parse::<u8>", run]),
            slower("tests::b", 0.2, &[run]),
            slower("tests::c", 0.3, &[bolero]),
            slower("tests::d", 0.4, &[call, "mycrate::parse::<u16>"]),
            slower("tests::e", 0.5, &[shim]),
            // A dependency's own function, and one of the project that a test hands a closure to.
            slower("tests::f", 0.6, &["codec::read::<mycrate::Input>"]),
            slower("tests::g", 0.7, &["mycrate::with::<mycrate::tests::g::{closure#0}>"]),
            // Helpers of tests are equal in both versions.
            slower("tests::h", 0.3, &["mycrate::tests::check", "mycrate::parse"]),
            slower("tests::i", 0.3, &["mycrate::tests::check"]),
        ];
        let expected = [
            "mycrate::parse (changed machine code): 3 tests slower, +10.0 % to +40.0 %",
            "codec::read (changed machine code): 1 test slower, +60.0 %",
            "mycrate::with (changed machine code): 1 test slower, +70.0 %",
            "not explained: 4 tests slower, +20.0 % to +50.0 %",
        ];
        check(&tests, &expected);
    }

    #[test]
    fn first_calls_that_changed_alone_are_counted_apart() {
        let first = |name: &str, change: f64| {
            let notes = vec![Note::FirstCallDecides { later_ns: Sides { base: 100.0, head: 101.0 } }];
            Outcome { notes, ..slower(name, change, &["f"]) }
        };
        let tests = [slower("a", 0.02, &["f"]), slower("b", 0.05, &["f"]), first("c", 2.5), first("d", 0.5)];
        let of_both = "2 tests slower, +2.0 % to +5.0 %; 2 in their first calls alone, +50.0 % to +250.0 %";
        check(&tests, &[&format!("f (changed machine code): {of_both}")]);
        check(&tests[2..3], &["f (changed machine code): 1 test slower in its first call alone, +250.0 %"]);
    }

    #[test]
    fn explanations_that_disagree_say_nothing_of_others() {
        let mut other = explained_outcome("b", 0.4, &["f"]);
        other.explanation.as_mut().unwrap().responsible[0].function = 0;
        let tests = [explained_outcome("a", 0.5, &["f"]), other, slower("c", 0.3, &["f"])];
        let tests: Vec<&Outcome> = tests.iter().collect();
        let run = run(tests.iter().map(|test| (*test).clone()).collect());
        let groups = groups(&tests, Verdict::Slower, &run);
        assert_eq!(groups.last().unwrap().cause, MainCause::Unknown);
    }
}
