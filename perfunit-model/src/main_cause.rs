//! The main cause of a test's change.
//!
//! Only a few tests are explained. A test without an explanation has the cause of an explained one if execution can begin
//! to differ at exactly the same functions. If execution can begin to differ at one function only (possibly in several
//! instances), that function is the cause, unless it belongs to the tests themselves. If the versions differ in one item
//! only, that item is the cause, also where it was inlined into the tests, and where the explanation names an unchanged
//! function.

use super::explanation::MOST;
use super::explanation::is_end_of_path;
use super::format::one_line;
use super::{Cause, Changed, CodeChange, Engine, Explanation, Function, Outcome, Run, TargetKind, Verdict, Why};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};

/// The cause that made a test slower or faster.
#[derive(Debug, Clone, PartialEq)]
pub enum MainCause<'a> {
    /// A function that an explanation names.
    Function {
        function: &'a Function,
        is_changed: bool,
    },
    /// A cause outside the workspace's code, which an explanation names.
    Outer(&'a Changed),
    /// The only item in which the versions differ, or the only one that can give an unchanged function more work.
    Item(&'a CodeChange),
    /// The only changed machine code that the test can reach, without its generic arguments.
    Code(String),
    Unknown,
}

impl MainCause<'_> {
    /// Returns whether the cause is the function with this name, which may be the end of its path.
    pub fn is_named(&self, name: &str) -> bool {
        match self {
            Self::Function { function, .. } => function.is_named(name),
            Self::Item(change) => is_end_of_path(name, &change.item),
            Self::Code(code) => is_end_of_path(name, code),
            Self::Outer(_) | Self::Unknown => false,
        }
    }
}

impl Explanation {
    /// Returns the main cause, or `None` if nothing is named.
    pub fn main_cause(&self) -> Option<MainCause<'_>> {
        if let Some(cause) = self.outer_cause() {
            return Some(MainCause::Outer(&cause.changed));
        }
        let responsible = self.responsible.first()?;
        let function = &self.functions[responsible.function];
        // A function without a place is outside of the workspace, where only packages are known to have changed.
        let is_outer = |cause: &&Cause| cause.share >= MOST && !matches!(cause.changed, Changed::Code(_));
        match (self.causes.iter().find(is_outer), &self.causes[..]) {
            (Some(cause), _) if function.place().is_none() => Some(MainCause::Outer(&cause.changed)),
            // The only change that can give unchanged functions more work, the first one included.
            (_, [Cause { changed: Changed::Code(change), share }])
                if self.is_all_unchanged() && *share >= responsible.share =>
            {
                Some(MainCause::Item(change))
            }
            _ => Some(MainCause::Function { function, is_changed: responsible.changed.is_some() }),
        }
    }

    /// Returns whether no responsible function has changed source.
    fn is_all_unchanged(&self) -> bool {
        self.responsible.iter().all(|responsible| responsible.changed.is_none())
    }
}

impl Outcome {
    /// Returns the main cause that the test's own explanation names.
    pub fn explained_cause(&self) -> Option<MainCause<'_>> {
        self.explanation.as_ref().and_then(Explanation::main_cause)
    }
}

impl Run {
    /// Returns what explanations say of the tests with this verdict, to find the causes of all of them.
    pub fn main_causes(&self, verdict: Verdict) -> MainCauses<'_> {
        let known = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.verdict == verdict)
            .filter_map(|outcome| Some((outcome.why.as_ref()?, outcome.explained_cause()?)));
        MainCauses { run: self, known: known.collect(), project: OnceCell::new() }
    }
}

/// The main causes of the tests of one verdict.
#[derive(Debug)]
pub struct MainCauses<'a> {
    run: &'a Run,
    /// The causes that explanations name.
    known: Vec<(&'a Why, MainCause<'a>)>,
    project: OnceCell<Project<'a>>,
}

impl<'a> MainCauses<'a> {
    /// Returns the cause of a test of this verdict.
    pub fn of<'b>(&self, outcome: &'b Outcome) -> MainCause<'b>
    where
        'a: 'b,
    {
        // Instructions say nothing about a program that waits.
        let is_silent = |explanation: &Explanation| explanation.engine == Engine::Callgrind;
        let is_open = outcome.why.is_some() && outcome.explanation.as_ref().is_none_or(is_silent);
        let only_change = self.run.selection.only_change.as_ref();
        match (outcome.explained_cause(), only_change) {
            // Nothing else can have given an unchanged function more work.
            (Some(MainCause::Function { is_changed: false, .. }), Some(item)) => by_item(item, &self.known),
            (Some(explained), _) => explained,
            (None, Some(item)) if is_open => by_item(item, &self.known),
            (None, _) => self.by_code(outcome),
        }
    }

    /// Returns the cause of a test without an explanation, based on the explanations of other tests.
    fn by_code<'b>(&self, outcome: &'b Outcome) -> MainCause<'b>
    where
        'a: 'b,
    {
        let Some(why) = &outcome.why else { return MainCause::Unknown };
        let mut alike = self.known.iter().filter(|(known, _)| known.is_alike(why)).map(|(_, cause)| cause);
        if let Some(first) = alike.next() {
            return if alike.all(|other| other == first) { first.clone() } else { MainCause::Unknown };
        }
        let is_inlined = |name: &str| outcome.test.holds(name) || is_of_std(name);
        if why.changed.iter().any(|changed| is_inlined(&changed.name)) {
            return MainCause::Unknown;
        }
        let project = self.project.get_or_init(|| Project::of(self.run));
        let own = why.changed.iter().filter(|changed| !project.is_around_tests(&changed.name));
        let functions = own.map(|changed| without_generics(&one_line(&changed.name)));
        let mut names = functions.chain(why.others.iter().map(ToString::to_string));
        match names.next() {
            Some(first) if names.all(|other| other == first) => MainCause::Code(first),
            _ => MainCause::Unknown,
        }
    }
}

/// Returns a changed function as the cause, as an explanation names it if one does.
fn by_item<'a>(item: &'a CodeChange, known: &[(&Why, MainCause<'a>)]) -> MainCause<'a> {
    let is_item = |cause: &&MainCause<'_>| match cause {
        MainCause::Function { function, .. } => function.file == item.path && function.is_named(&item.item),
        MainCause::Outer(Changed::LocalDependency { changes, .. }) => changes.contains(item),
        _ => false,
    };
    known.iter().map(|(_, cause)| cause).find(is_item).cloned().unwrap_or(MainCause::Item(item))
}

/// Crates and tests that a run names.
#[derive(Debug)]
struct Project<'a> {
    /// The crates of the packages and targets that have tests.
    crates: BTreeSet<String>,
    /// The crates of integration tests.
    of_tests: BTreeSet<String>,
    /// The paths of tests, and of the modules made for them, below their crates.
    tests: HashSet<&'a str>,
}

impl<'a> Project<'a> {
    fn of(run: &'a Run) -> Self {
        let targets = || run.outcomes.iter().map(|outcome| &outcome.test.target);
        let crates_of = |is_of_tests: bool| -> BTreeSet<String> {
            let wanted = targets().filter(|target| (target.kind == TargetKind::Test) == is_of_tests);
            wanted.map(|target| target.name.replace('-', "_")).collect()
        };
        let packages = targets().map(|target| target.package.replace('-', "_"));
        let tested: BTreeSet<String> = crates_of(false).into_iter().chain(packages).collect();
        let of_tests: BTreeSet<String> = crates_of(true).into_iter().filter(|name| !tested.contains(name)).collect();
        let tests = || run.outcomes.iter().map(|outcome| outcome.test.name.as_str());
        let modules = tests().filter_map(|test| Some(test.rsplit_once("::")?.0)).filter(|module| is_for_tests(module));
        Self { crates: tested.union(&of_tests).cloned().collect(), of_tests, tests: tests().chain(modules).collect() }
    }

    /// Returns true for functions that run a test or are part of it, and change with the code that is inlined into them: our
    /// runtime, the test, its closures and helpers, and instances of test frameworks' functions for these closures.
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

    /// Returns true if a path that begins with its crate is a test, or an item inside a test or a module for tests.
    fn is_in_test(&self, path: &str) -> bool {
        let Some((root, path)) = path.split_once("::") else { return false };
        if self.of_tests.contains(root) {
            return true;
        }
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| self.tests.contains(&path[..end]))
    }
}

/// Returns whether a module is made for tests by its name: `parser::tests`.
fn is_for_tests(module: &str) -> bool {
    module.rsplit("::").next().is_some_and(|name| name.split('_').any(|word| matches!(word, "test" | "tests")))
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

/// Returns true for code of the standard library, which is equal in both versions: its changes were inlined.
fn is_of_std(name: &str) -> bool {
    let path = name.trim_start_matches(['<', '&', '(']);
    ["std::", "core::", "alloc::", "test::"].iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_by_the_end_of_its_path() {
        let function = Function {
            package: "my-crate".to_owned(),
            file: String::new(),
            line: 1,
            name: "a::Parser::next".to_owned(),
        };
        for name in ["next", "Parser::next", "a::Parser::next", "my_crate::a::Parser::next"] {
            assert!(function.is_named(name), "{name}");
        }
        for name in ["ext", "arser::next", "Parser", ""] {
            assert!(!function.is_named(name), "{name}");
        }
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
}
