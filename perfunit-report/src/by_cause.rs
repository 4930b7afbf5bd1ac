//! Tests grouped by cause.
//!
//! Only a few tests are explained. A test without an explanation joins an explained one if execution can begin to
//! differ at exactly the same functions. If execution can begin to differ at one function only (possibly in several
//! instances), that function is named, unless it belongs to the test itself. If the versions differ in one function only,
//! that function is the cause, also where it was inlined into the tests.

use super::causes;
use super::figures::{self, Words};
use perfunit_model::format::{self, Glyphs, count, one_line};
use perfunit_model::{CodeChange, Function, Metric, Outcome, Run, Verdict, Why};
use std::collections::{BTreeSet, HashSet};

/// The cause that made tests slower or faster.
#[derive(Debug, Clone, PartialEq)]
pub enum Responsible<'a> {
    /// A function that an explanation names.
    Function {
        function: &'a Function,
        is_changed: bool,
    },
    /// A cause outside the workspace's code, in the words of the explanation.
    Other(String),
    /// The only function in which the versions differ.
    Item(&'a CodeChange),
    /// The only changed machine code that the tests can reach, without its generic arguments.
    Code(String),
    Unknown,
}

impl<'a> Responsible<'a> {
    fn of(outcome: &'a Outcome) -> Option<Self> {
        let explanation = outcome.explanation.as_ref()?;
        if let Some(cause) = explanation.outer_cause() {
            return Some(Self::Other(causes::cause_name(cause, Glyphs::Unicode)));
        }
        let responsible = explanation.responsible.first()?;
        let function = &explanation.functions[responsible.function];
        Some(Self::Function { function, is_changed: responsible.changed.is_some() })
    }
}

/// Tests of one verdict with the same cause, the largest change first.
#[derive(Debug)]
pub struct Group<'a> {
    pub responsible: Responsible<'a>,
    pub tests: Vec<&'a Outcome>,
}

impl Group<'_> {
    /// Returns the cause in words, without the tests.
    pub fn name(&self) -> String {
        match &self.responsible {
            Responsible::Function { function, is_changed } => {
                let source = if *is_changed { "changed" } else { "source unchanged" };
                format!("{}, {source}", causes::place(function))
            }
            Responsible::Other(what) => what.clone(),
            Responsible::Item(CodeChange { change, item, path, line }) => format!("{item} ({path}:{line}), {change}"),
            Responsible::Code(name) => format!("{name} (changed machine code)"),
            Responsible::Unknown => "not explained".to_owned(),
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

/// Groups tests of a run by cause, the cause of most tests first and unexplained tests last.
pub fn groups<'a>(tests: &[&'a Outcome], run: &'a Run) -> Vec<Group<'a>> {
    let project = Project::of(run);
    let known: Vec<(&Why, Responsible<'_>)> =
        tests.iter().filter_map(|outcome| Some((outcome.why.as_ref()?, Responsible::of(outcome)?))).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for outcome in tests {
        let is_open = outcome.explanation.is_none() && outcome.why.is_some();
        let by_change = || run.selection.only_change.as_ref().filter(|_| is_open).map(|item| by_item(item, &known));
        let by_code = || by_code(outcome, &known, &project);
        let responsible = Responsible::of(outcome).or_else(by_change).unwrap_or_else(by_code);
        match groups.iter_mut().find(|group| group.responsible == responsible) {
            Some(group) => group.tests.push(outcome),
            None => groups.push(Group { responsible, tests: vec![outcome] }),
        }
    }
    groups.sort_by_key(|group| (group.responsible == Responsible::Unknown, std::cmp::Reverse(group.tests.len())));
    groups
}

/// Returns a changed function as the cause, as an explanation names it if one does.
fn by_item<'a>(item: &'a CodeChange, known: &[(&Why, Responsible<'a>)]) -> Responsible<'a> {
    let is_item = |responsible: &&Responsible<'_>| match responsible {
        Responsible::Function { function, .. } => function.file == item.path && function.is_named(&item.item),
        _ => false,
    };
    known.iter().map(|(_, responsible)| responsible).find(is_item).cloned().unwrap_or(Responsible::Item(item))
}

/// Returns the cause of a test without an explanation, based on the explanations of other tests.
fn by_code<'a>(outcome: &'a Outcome, known: &[(&Why, Responsible<'a>)], project: &Project<'_>) -> Responsible<'a> {
    let Some(why) = &outcome.why else { return Responsible::Unknown };
    let mut alike = known.iter().filter(|(known, _)| known.is_alike(why)).map(|(_, responsible)| responsible);
    if let Some(first) = alike.next() {
        return if alike.all(|other| other == first) { first.clone() } else { Responsible::Unknown };
    }
    let is_inlined = |name: &str| is_inlined_into(name, &outcome.test.name) || is_of_std(name);
    if why.changed.iter().any(|changed| is_inlined(&changed.name)) {
        return Responsible::Unknown;
    }
    let own = why.changed.iter().filter(|changed| !project.is_around_tests(&changed.name));
    let functions = own.map(|changed| without_generics(&one_line(&changed.name)));
    let mut names = functions.chain(why.others.iter().map(ToString::to_string));
    match names.next() {
        Some(first) if names.all(|other| other == first) => Responsible::Code(first),
        _ => Responsible::Unknown,
    }
}

/// Crates and tests that a run names.
struct Project<'a> {
    /// The crates of the packages and targets that have tests.
    crates: BTreeSet<String>,
    /// The paths of tests below their crates.
    tests: HashSet<&'a str>,
}

impl<'a> Project<'a> {
    fn of(run: &'a Run) -> Self {
        let targets = run.outcomes.iter().map(|outcome| &outcome.test.target);
        let names = targets.flat_map(|target| [&target.package, &target.name]);
        Self {
            crates: names.map(|name| name.replace('-', "_")).collect(),
            tests: run.outcomes.iter().map(|outcome| outcome.test.name.as_str()).collect(),
        }
    }

    /// Returns true for functions that run a test and change with it: our runtime, the test, its closures, and
    /// instances of test frameworks' functions for these closures.
    fn is_around_tests(&self, name: &str) -> bool {
        let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut paths = name.split(|c: char| !is_in_path(c)).filter(|path| path.contains("::"));
        let Some(own) = name.split(|c: char| !is_in_path(c)).find(|path| path.contains("::")) else { return false };
        let root = own.split("::").next().unwrap_or_default();
        if root.starts_with("perfunit_") {
            return true;
        }
        if self.crates.contains(root) { self.is_in_test(own) } else { paths.any(|path| self.is_in_test(path)) }
    }

    /// Returns true if a path that begins with its crate is a test or an item inside a test.
    fn is_in_test(&self, path: &str) -> bool {
        let Some((_, path)) = path.split_once("::") else { return false };
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| self.tests.contains(&path[..end]))
    }
}

/// Returns a symbol's path without its generic arguments: `<a::Parser<1024>>::next::<u8>` is `a::Parser::next`. The
/// type and trait of an implementation stay.
fn without_generics(symbol: &str) -> String {
    let mut short = String::new();
    let mut chars = symbol.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let begins_here = short.is_empty() || short.ends_with([' ', '<', '&', '(']);
        if char != '<' || begins_here {
            short.push(char);
            continue;
        }
        let length = bracketed_len(&symbol[at..]);
        while chars.next_if(|(next, _)| *next < at + length).is_some() {}
        short.truncate(short.trim_end_matches("::").len());
    }
    match short.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((inner, rest)) if !inner.contains(" as ") && !rest.contains('>') => format!("{inner}{rest}"),
        _ => short,
    }
}

/// Returns the length of the angle brackets at the start of a text, including both brackets. The arrow of a function
/// type is not a bracket.
fn bracketed_len(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match char {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
        before = char;
    }
    text.len()
}

/// Returns true for code of the test itself: both versions run the same test, so its changes were inlined.
fn is_inlined_into(name: &str, test: &str) -> bool {
    let within = name.split_once("::").and_then(|(_, path)| path.strip_prefix(test));
    within.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Returns true for code of the standard library, which is equal in both versions: its changes were inlined.
fn is_of_std(name: &str) -> bool {
    let path = name.trim_start_matches(['<', '&', '(']);
    ["std::", "core::", "alloc::", "test::"].iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{explanation, measured, outcome, run};
    use perfunit_model::{
        ChangeKind, ChangedFunction, Difference, Explanation, Note, Responsibility, ResponsibleFunction, Sides, Verdict,
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
        let said = groups(&tests, &run)
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
            assert_eq!(groups(tests, &run).iter().map(Group::name).collect::<Vec<_>>(), expected);
        };
        let named = "lexer::word (src/lexer.rs:12), changed";
        check(&[&inlined, &explained], change("word"), &[named]);
        check(&[&inlined], change("word"), &["word (src/lexer.rs:9), changed"]);
        check(&[&inlined, &explained], None, &[named, "not explained"]);
        // An explanation that finds nothing is not overruled, and a test that cannot reach the change has another cause.
        let unexplained =
            Outcome { explanation: Some(explanation()), ..slower("tests::c", 0.1, &["krate::tests::c::c"]) };
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
        ];
        let expected = [
            "mycrate::parse (changed machine code): 2 tests slower, +10.0 % to +40.0 %",
            "codec::read (changed machine code): 1 test slower, +60.0 %",
            "mycrate::with (changed machine code): 1 test slower, +70.0 %",
            "not explained: 3 tests slower, +20.0 % to +50.0 %",
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
    fn generics_are_left_out_of_symbols() {
        let check = |symbol: &str, expected: &str| assert_eq!(without_generics(symbol), expected);
        check("mycrate::parse", "mycrate::parse");
        check("mycrate::parse::<u8, Vec<u8>>", "mycrate::parse");
        check("<a::Parser<1024>>::act::<a::Performer<a::Mock, a::Sync>>", "a::Parser::act");
        check("<a::Parser<T> as core::iter::Iterator>::next", "<a::Parser as core::iter::Iterator>::next");
        check("a::call::<fn(u8) -> Vec<u8>>::{closure#0}", "a::call::{closure#0}");
        check("<[u8] as a::Sum<u8>>::sum", "<[u8] as a::Sum>::sum");
        check("a::broken<", "a::broken");
    }

    #[test]
    fn explanations_that_disagree_say_nothing_of_others() {
        let mut other = explained_outcome("b", 0.4, &["f"]);
        other.explanation.as_mut().unwrap().responsible[0].function = 0;
        let tests = [explained_outcome("a", 0.5, &["f"]), other, slower("c", 0.3, &["f"])];
        let tests: Vec<&Outcome> = tests.iter().collect();
        let run = run(tests.iter().map(|test| (*test).clone()).collect());
        let groups = groups(&tests, &run);
        assert_eq!(groups.last().unwrap().responsible, Responsible::Unknown);
    }
}
