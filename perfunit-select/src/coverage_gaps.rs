//! Finds the changed functions that no test executes.
//!
//! A function counts as executed if machine code or names lead from a test to it, unless runs of the test executed no
//! change. A function without code of its own may have been inlined into its callers; names then decide. Functions that
//! depend on conditions, constants, macros or generated code are left out: nothing is claimed that is not known.

use super::candidates::Candidates;
use super::code::FunctionCode;
use super::functions::{changed_functions, key};
use super::names::Names;
use super::reach::{Callers, Files, NameIndex, Named};
use super::source::{ChangedItem, Configuration, Item, ItemKind, strip_inactive_code};
use super::target_code::{TargetCode, TestCode};
use super::target_selection::TargetSelection;
use perfunit_model::guesses::CALLED_FROM_ELSEWHERE;
use perfunit_model::{
    ChangeKind, Function, LeftOutBy, Outcome, Reason, Selection, Sides, TargetId, TargetKind, TestId, Uncovered,
    UncoveredBecause,
};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Changed functions without information from tests.
#[derive(Debug, Default)]
pub struct CoverageGaps {
    /// Functions that no test executes.
    pub uncovered: Vec<Uncovered>,
    /// Functions that a condition excludes from the build, entirely or in their changed part.
    pub not_compiled: Vec<Function>,
    /// Facts that exclude them; empty if not known for each.
    pub left_out_by: BTreeSet<LeftOutBy>,
    /// Functions, also in base, that few tests lead to. If none of these can be measured, nothing is known about the
    /// function.
    pub led_to: LedTo,
    /// Tests that lead to functions only by head's test code, where both sides have base's.
    pub by_new_code: BTreeSet<TestId>,
}

/// Functions with all tests that lead to them.
pub type LedTo = Vec<(Function, BTreeSet<TestId>)>;

/// Returns the tests with outcomes that do not show which code they would execute.
pub fn tests_hiding_code<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> BTreeSet<&'a TestId> {
    let hides_code = |outcome: &&Outcome| outcome.reason.as_ref().is_some_and(Reason::hides_code);
    let (hidden, others): (Vec<_>, Vec<_>) = outcomes.partition(hides_code);
    let others: BTreeSet<&TestId> = others.iter().map(|outcome| &outcome.test).collect();
    hidden.iter().map(|outcome| &outcome.test).filter(|test| !others.contains(test)).collect()
}

/// Maximum number of tests to examine individually. Among more tests, some can be measured.
const FEW: usize = 50;

/// Tests that lead to a function.
enum Leads {
    /// Unknown or many tests, so it may be executed.
    Unknown,
    /// No test executes it.
    Nowhere(UncoveredBecause),
    /// Only these tests may execute it.
    Tests(BTreeSet<TestId>),
}

impl CoverageGaps {
    /// Adds the functions that are known without outcomes to the summary of the selection.
    pub fn describe(&self, selection: &mut Selection) {
        selection.uncovered.clone_from(&self.uncovered);
        selection.not_compiled.clone_from(&self.not_compiled);
        selection.left_out_by.clone_from(&self.left_out_by);
    }

    /// Returns the functions that no test executes, or no test that can be measured, according to the outcomes.
    pub fn uncovered_after<'a>(&self, outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<Uncovered> {
        let hidden = tests_hiding_code(outcomes);
        let is_hidden = |tests: &BTreeSet<TestId>| tests.iter().all(|test| hidden.contains(test));
        let not_measured = self.led_to.iter().filter(|(_, tests)| is_hidden(tests));
        let because = UncoveredBecause::NotMeasured;
        let not_measured = not_measured.map(|(function, _)| Uncovered { function: function.clone(), because });
        let all: BTreeSet<Uncovered> = self.uncovered.iter().cloned().chain(not_measured).collect();
        all.into_iter().collect()
    }
}

/// Finds the changed functions that no test executes. `found` are the traced tests of all pairings.
pub fn find_coverage_gaps(selected: &TargetSelection, names: &Names<'_>, found: &[&Candidates]) -> CoverageGaps {
    let changed = changed_functions(&selected.diff);
    if changed.is_empty() {
        return CoverageGaps::default();
    }
    let excluded = found.iter().flat_map(|candidates| &candidates.excluded);
    let idle = excluded.filter(|outcome| matches!(outcome.reason, Some(Reason::NotExecuted { .. })));
    // Callers by head's own names, indexed on first use.
    let own_callers = LazyCell::new(|| Rc::new(Callers::new(&names.sides.head)));
    let pairings = found.iter().map(|candidates| {
        let overlaid = candidates.names_of_head.as_ref().map(|index| Rc::new(Callers::new(index)));
        Paired { callers: overlaid.unwrap_or_else(|| Rc::clone(&own_callers)), candidates: Some(*candidates) }
    });
    let mut pairings: Vec<Paired<'_>> = pairings.collect();
    if pairings.is_empty() {
        pairings.push(Paired { callers: Rc::clone(&own_callers), candidates: None });
    }
    let coverage = Coverage {
        selected,
        found,
        pairings,
        idle: idle.map(|outcome| &outcome.test).collect(),
        starts_binaries: codes(found).any(|(_, code)| code.may_start_binaries()),
    };
    let used_by_build_scripts = selected.graph.used_by_build_scripts();
    let is_overlaid = found.iter().any(|candidates| candidates.names_of_head.is_some());
    let mut by_new_code = BTreeSet::new();
    let (mut uncovered, mut not_compiled, mut led_to) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for item in changed {
        let Some(in_head) = names.sides.head.at(&item.path, item.line, item.kind) else { continue };
        let Some(package) = coverage.package(item) else { continue };
        let Named { path, item: Item { line, name, .. }, .. } = in_head;
        let function = Function { package, file: path.clone(), line: *line, name: name.clone() };
        let is_left_out =
            |open: Option<LeftOutBy>| coverage.is_left_out_of_build(item, in_head, &names.sides.base, open);
        if is_left_out(None) {
            let by = LeftOutBy::ALL.into_iter().filter(|fact| !is_left_out(Some(*fact)));
            not_compiled.insert(function, by.collect::<BTreeSet<_>>());
        } else if !coverage.may_be_in_doc_test(&function.package)
            && !used_by_build_scripts.contains(function.package.as_str())
        {
            match coverage.leads(item, in_head) {
                Leads::Nowhere(because) => {
                    let may_be_new = is_overlaid && item.change == ChangeKind::Changed;
                    let tests = if may_be_new { coverage.by_new_code(in_head, &own_callers) } else { BTreeSet::new() };
                    let because = if tests.is_empty() { because } else { UncoveredBecause::NewTestCode };
                    by_new_code.extend(tests);
                    uncovered.insert(Uncovered { function, because });
                }
                Leads::Tests(tests) if item.change == ChangeKind::Changed => led_to.push((function, tests)),
                Leads::Tests(_) | Leads::Unknown => {}
            }
        }
    }
    let is_known = not_compiled.values().all(|by| !by.is_empty());
    CoverageGaps {
        uncovered: uncovered.into_iter().collect(),
        left_out_by: not_compiled.values().filter(|_| is_known).flatten().copied().collect(),
        not_compiled: not_compiled.into_keys().collect(),
        led_to,
        by_new_code,
    }
}

fn codes<'a>(found: &'a [&Candidates]) -> impl Iterator<Item = (&'a TargetId, &'a TargetCode)> {
    found.iter().flat_map(|candidates| &candidates.code)
}

struct Coverage<'a> {
    selected: &'a TargetSelection,
    found: &'a [&'a Candidates],
    pairings: Vec<Paired<'a>>,
    /// Tests with runs that executed no change.
    idle: BTreeSet<&'a TestId>,
    starts_binaries: bool,
}

/// A pairing, and callers by the names of its head, which may have base's test code.
struct Paired<'a> {
    callers: Rc<Callers<'a>>,
    /// Its tests, if there was anything to build.
    candidates: Option<&'a Candidates>,
}

impl Coverage<'_> {
    /// Checks whether a doc test of the package can have changed. Doc test texts are not searched for names.
    fn may_be_in_doc_test(&self, package: &str) -> bool {
        let mut chosen = self.found.iter().flat_map(|candidates| &candidates.chosen);
        chosen.any(|candidate| {
            candidate.test.target.kind == TargetKind::Doctest && candidate.test.target.package == package
        })
    }

    /// Returns the package with the library or binary that contains the function, unless it is test code.
    fn package(&self, item: &ChangedItem) -> Option<String> {
        let is_code = |kind| matches!(kind, TargetKind::Lib | TargetKind::Bin);
        let is_held = |sides: &Sides<Files>| sides.head.get(&item.path).is_some_and(|file| !file.test_only);
        let mut targets = self.selected.target_files.iter();
        let (target, _) = targets.find(|(target, sides)| is_code(target.kind) && is_held(sides))?;
        Some(target.package.clone())
    }

    fn leads(&self, item: &ChangedItem, named: &Named) -> Leads {
        let text = &named.item.code.text;
        let is_declared_only = !text.trim_end().ends_with('}');
        if is_declared_only || self.is_called_from_elsewhere(named) {
            return Leads::Unknown;
        }
        if self.is_aside(item) {
            return Leads::Nowhere(UncoveredBecause::Unreached);
        }
        let code: Vec<(&TargetId, &TargetCode, &FunctionCode)> = codes(self.found)
            .filter_map(|(target, code)| Some((target, code, code.functions.get(&key(item))?)))
            .filter(|(_, _, function)| function.is_reached)
            .collect();
        if code.iter().any(|(_, _, function)| function.differs_in_closures) {
            return Leads::Unknown;
        }
        let may_be_without_code = is_const(text) || self.is_compiled(named, self.found, None).is_none();
        let is_in_string = || self.pairings.iter().any(|paired| paired.callers.is_in_string(&item.ident));
        if code.is_empty() && may_be_without_code || is_in_string() {
            return Leads::Unknown;
        }
        let mut tests = BTreeSet::new();
        for (target, code, function) in &code {
            let Some(coming) = self.coming(target, code, function) else { return Leads::Unknown };
            tests.extend(coming);
            if tests.len() > FEW {
                return Leads::Unknown;
            }
        }
        let mut is_reached = !code.is_empty();
        for paired in &self.pairings {
            let leading = paired.callers.of(named).into_iter();
            for entry in leading.filter(|entry| self.begins(entry) && !self.is_left_out(entry, paired)) {
                is_reached = true;
                let Some(named) = self.tests_of(entry, paired) else { return Leads::Unknown };
                tests.extend(named);
                // A widely used function has many entries, and each is looked up among all tests.
                if tests.len() > FEW {
                    return Leads::Unknown;
                }
            }
        }
        match (tests.is_empty(), is_reached) {
            (true, true) => Leads::Nowhere(UncoveredBecause::NotExecuted),
            (true, false) => Leads::Nowhere(UncoveredBecause::Unreached),
            (false, _) => Leads::Tests(tests),
        }
    }

    /// Checks whether no test can have changed although code of the function has, so that no test contains it.
    fn is_aside(&self, item: &ChangedItem) -> bool {
        let codes = || self.found.iter().flat_map(|found| found.code.values().chain(found.code_of_same.values()));
        let functions = || codes().filter_map(|code| code.functions.get(&key(item)));
        self.found.iter().all(|found| found.chosen.is_empty())
            && codes().all(|code| code.tests.keys().all(|test| code.is_same(test)))
            && functions().all(|function| !function.is_reached)
            && functions().any(|function| function.is_aside)
    }

    /// Returns the tests of a target that can reach the function there, except those whose runs executed no change.
    /// Returns `None` if no test can reach it.
    ///
    /// Code that is not behind a changed place is the same in both versions, or belongs to tests that are not compared.
    fn coming(&self, target: &TargetId, code: &TargetCode, function: &FunctionCode) -> Option<BTreeSet<TestId>> {
        let comes_by = |test: &TestCode| match test {
            TestCode::Changed { places, .. } => places.iter().any(|place| function.behind.contains(place)),
            // Such a test runs other tests in its program as well.
            TestCode::Unknown | TestCode::StartsItself { .. } => true,
            TestCode::Same | TestCode::Starts { .. } => false,
        };
        let coming = code.tests.iter().filter(|(_, test)| comes_by(test));
        let mut coming = coming.map(|(name, _)| TestId { target: target.clone(), name: name.clone() }).peekable();
        coming.peek()?;
        Some(coming.filter(|test| !self.idle.contains(test)).take(FEW + 1).collect())
    }

    /// Checks whether an execution can start at an entry: a test, a program, code generated by a macro or build script.
    fn begins(&self, entry: &Named) -> bool {
        entry.item.is_test
            || entry.item.kind == ItemKind::MacroCall
            || self.is_called_from_elsewhere(entry)
            || self.is_generated_code_naming(entry)
    }

    /// Checks whether generated code names an item. Tests in generated code have no names that lead anywhere.
    fn is_generated_code_naming(&self, entry: &Named) -> bool {
        self.found.iter().any(|found| found.compiled.is_named_by_generated_code(&entry.item.ident))
    }

    fn is_called_from_elsewhere(&self, entry: &Named) -> bool {
        CALLED_FROM_ELSEWHERE.iter().any(|attribute| entry.item.code.mentions(attribute)) || self.is_main(entry)
    }

    /// Checks for a `main` that tests may start: of a harness or a binary.
    fn is_main(&self, entry: &Named) -> bool {
        let is_started = |kind| match kind {
            TargetKind::Lib | TargetKind::LibBench | TargetKind::Doctest => false,
            TargetKind::Bin | TargetKind::BinBench => self.starts_binaries,
            TargetKind::Test | TargetKind::Example | TargetKind::Bench => true,
        };
        entry.item.ident == "main"
            && entry.item.kind == ItemKind::Function
            && self.holding(&entry.path).any(|target| is_started(target.kind))
    }

    /// Returns the tests of a pairing that start at an entry, in all targets that contain it, except those whose runs
    /// executed no change. Returns `None` if the entry is not a test, or if no pairing knows its tests.
    fn tests_of(&self, entry: &Named, paired: &Paired<'_>) -> Option<BTreeSet<TestId>> {
        if !entry.item.is_test {
            return None;
        }
        let cases = format!("{}::", entry.full_name);
        let is_it = |test: &TestId| test.name == entry.full_name || test.name.starts_with(&cases);
        let mut all = BTreeSet::new();
        for target in self.holding(&entry.path) {
            let mut tests = self.found.iter().flat_map(|found| found.tests());
            tests.find(|test| test.target == *target && is_it(test))?;
            // In another pairing the test has other code.
            let own = paired.candidates.iter().flat_map(|candidates| candidates.tests());
            let own = own.filter(|test| test.target == *target && is_it(test) && !self.idle.contains(*test));
            all.extend(own.take(FEW + 1).cloned());
        }
        Some(all)
    }

    /// Returns the tests that lead to a function by head's own names, but not by those of a pairing with base's test
    /// code.
    fn by_new_code(&self, named: &Named, own_callers: &Callers<'_>) -> BTreeSet<TestId> {
        let has_base_tests = |paired: &&Paired<'_>| paired.candidates.is_some_and(|it| it.names_of_head.is_some());
        let others = self.pairings.iter().filter(has_base_tests);
        let old: BTreeSet<TestId> = others.flat_map(|paired| self.named_tests(named, &paired.callers)).collect();
        self.named_tests(named, own_callers).filter(|test| !old.contains(test)).collect()
    }

    /// Returns the tests that lead to a function by these names. Cases are represented by the function that generates
    /// them.
    fn named_tests(&self, named: &Named, callers: &Callers<'_>) -> impl Iterator<Item = TestId> {
        let entries = callers.of(named).into_iter().filter(|entry| entry.item.is_test);
        let tests = entries.flat_map(|entry| {
            let name = move |target: &TargetId| TestId { target: target.clone(), name: entry.full_name.clone() };
            self.holding(&entry.path).map(name)
        });
        tests.collect::<Vec<_>>().into_iter()
    }

    /// Checks whether all builds exclude a function or its changed part. `open` is a fact to treat as unknown.
    fn is_left_out_of_build(
        &self,
        item: &ChangedItem,
        in_head: &Named,
        base: &NameIndex,
        open: Option<LeftOutBy>,
    ) -> bool {
        self.is_compiled(in_head, self.found, open) == Some(false) && !self.has_code(item)
            || self.is_difference_left_out(item, in_head, base, open)
    }

    fn has_code(&self, item: &ChangedItem) -> bool {
        codes(self.found).any(|(_, code)| code.functions.get(&key(item)).is_some_and(|function| function.is_reached))
    }

    /// Checks whether no build contains an entry: because of its condition, or because its targets need other features.
    fn is_left_out(&self, entry: &Named, paired: &Paired<'_>) -> bool {
        let mut holding = self.holding(&entry.path).peekable();
        let is_not_built = |target| self.found.iter().any(|found| found.not_built.contains(target));
        self.is_compiled(entry, paired.candidates.as_slice(), None) == Some(false)
            || holding.peek().is_some() && holding.all(is_not_built)
    }

    /// Returns the targets that contain a file: head's, or those of base's tests.
    fn holding(&self, path: &str) -> impl Iterator<Item = &TargetId> {
        let has = move |sides: &Sides<Files>| sides.head.contains_key(path) || sides.base.contains_key(path);
        self.selected.target_files.iter().filter(move |(_, sides)| has(sides)).map(|(target, _)| target)
    }

    fn is_behind_link(&self, path: &str) -> bool {
        let mut sides = self.selected.target_files.values();
        sides.any(|sides| sides.head.get(path).is_some_and(|file| file.is_behind_link))
    }

    /// Checks whether an item is compiled in some of these builds. A condition or a file that is not compiled excludes
    /// it. `open` is a fact to treat as unknown.
    fn is_compiled(&self, named: &Named, found: &[&Candidates], open: Option<LeftOutBy>) -> Option<bool> {
        let is_compiled = |path: &str| found.iter().any(|found| found.compiled.holds(&self.in_workspace(path), 1, 1));
        let is_alone = !is_compiled(&named.path) && !self.is_behind_link(&named.path);
        if is_alone && self.roots(&named.path).any(is_compiled) {
            return Some(false);
        }
        let condition = &named.item.condition;
        let mut holds = self.builds(&named.path, open).map(|build| condition.holds(&build));
        let first = holds.next().unwrap_or_else(|| condition.holds(&without(Configuration::of_any_build(), open)));
        // Targets can have different features.
        if holds.all(|other| other == first) { first } else { None }
    }

    /// Checks whether no build contains the difference in a function, because conditions inside of it exclude it.
    fn is_difference_left_out(
        &self,
        item: &ChangedItem,
        in_head: &Named,
        base: &NameIndex,
        open: Option<LeftOutBy>,
    ) -> bool {
        let head = &in_head.item;
        let is_it = |entry: &&Named| {
            let Item { kind, name, header, condition, decided_by, .. } = &entry.item;
            entry.path == item.path
                && (kind, name, header) == (&head.kind, &head.name, &head.header)
                && (condition, decided_by) == (&head.condition, &head.decided_by)
        };
        let mut in_base = base.by_ident(&item.ident).filter(is_it);
        let (Some(in_base), None) = (in_base.next(), in_base.next()) else { return false };
        let (base, head) = (&in_base.item.code, &head.code);
        if base.text == head.text || !(base.mentions("cfg") || head.mentions("cfg")) {
            return false;
        }
        let is_same = |build| {
            strip_inactive_code(&base.text, &build)
                .is_some_and(|base| Some(base) == strip_inactive_code(&head.text, &build))
        };
        let mut builds = self.builds(&in_head.path, open).peekable();
        builds.peek().is_some() && builds.all(is_same)
    }

    /// Returns the root files of the targets that contain head's file.
    fn roots(&self, path: &str) -> impl Iterator<Item = &str> {
        self.holding(path).filter_map(|target| self.selected.root(target))
    }

    /// Returns the builds of the targets that contain head's file, without the open fact.
    fn builds(&self, path: &str, open: Option<LeftOutBy>) -> impl Iterator<Item = Configuration<'_>> {
        let compilations = move |root: &str| {
            let root = self.in_workspace(root);
            self.found.iter().filter_map(move |found| found.compiled.compilations(&root)).flatten()
        };
        let builds = self.roots(path).flat_map(compilations).map(Configuration::of_build);
        builds.map(move |build| without(build, open))
    }

    fn in_workspace(&self, path: &str) -> String {
        let root = &self.selected.graph.root;
        match path.strip_prefix(root.as_str()) {
            Some(rest) if !root.is_empty() => rest.trim_start_matches('/').to_owned(),
            _ => path.to_owned(),
        }
    }
}

fn without(build: Configuration<'_>, open: Option<LeftOutBy>) -> Configuration<'_> {
    open.map_or(build, |fact| build.without(fact))
}

/// Checks whether the function may be evaluated at compile time.
fn is_const(text: &str) -> bool {
    text.split(' ').take_while(|word| *word != "fn").any(|word| word == "const")
}
