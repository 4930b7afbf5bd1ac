//! Joins the tests of both sides: which to measure, in which order, and why not the others.

use super::comparer::Comparer;
use super::functions::changed_functions;
use super::names::Names;
use super::reach::{self, Files, NameIndex, TestSource};
use super::rules::TestRules;
use super::target_code::{ProgramCode, TargetCode};
use super::target_selection::TargetSelection;
use super::test_inputs::{self, Libraries};
use perfunit_build::{BuiltSides, CompiledFiles, ListedTest, SideBuild, TestExecutable, list_tests};
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{
    Capture, EnteredFunction, Harness, Ignored, Metrics, NoDoctest, NoTests, NotCaptured, Outcome, ReachedBy, Reason,
    SelectedBecause, Side, Sides, TargetId, TargetKind, TestCodeDifference, TestCodeItem, TestId, UnmeasuredTarget,
    Verdict, Warning, Why,
};
use perfunit_project::cargo::Context;
use perfunit_project::config::Terms;
use perfunit_project::git::Versions;
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A test that can be measured.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub test: TestId,
    pub because: SelectedBecause,
    /// Difference of its machine code, if that was compared.
    pub why: Option<Why>,
    /// The changed function of its executable that a traced run executed first.
    pub enters: Option<EnteredFunction>,
    /// Capture method.
    pub capture: Option<Capture>,
    pub ignored: bool,
    /// Number of tests of each version that run together under its name.
    pub of_name: Sides<usize>,
    /// Difference of its own code between the versions, if both are measured with the code of one.
    pub differs: Option<TestCodeDifference>,
    /// Settings for its measurement.
    pub terms: Terms,
}

/// The tests of the built targets.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Tests to measure, the most promising first.
    pub chosen: Vec<Candidate>,
    /// Tests not to measure, with the reason.
    pub excluded: Vec<Outcome>,
    /// Targets without tests that can be measured, with the reason.
    pub unmeasured_targets: Vec<UnmeasuredTarget>,
    /// Targets among them that need other features.
    pub not_built: BTreeSet<TargetId>,
    /// Result of comparing machine code, by target, where it was compared.
    pub code: BTreeMap<TargetId, TargetCode>,
    /// The same for targets with equal executables. Filled only if there is no test to measure.
    pub code_of_same: BTreeMap<TargetId, TargetCode>,
    /// Programs that differ, if the code of some target was compared.
    pub programs: Vec<ProgramCode>,
    /// Tests that lead by names to a changed item, measured or not.
    pub by_name: BTreeSet<TestId>,
    /// Compiled files of head, if known.
    pub compiled: CompiledFiles,
    /// Names of head, if head has base's test code.
    pub names_of_head: Option<NameIndex>,
    /// A changed file that the test may read at run time.
    data_files: BTreeMap<TestId, String>,
}

impl Candidates {
    /// Returns warnings about targets with machine code that could not be compared.
    pub fn warn_uncompared(&self) -> impl Iterator<Item = Warning> {
        let unknown = self.code.iter().filter_map(|(target, code)| Some((target, code.unknown.as_ref()?)));
        unknown.map(|(target, why)| Warning::NotCompared { target: target.clone(), why: why.clone() })
    }

    pub fn tests(&self) -> impl Iterator<Item = &TestId> {
        let chosen = self.chosen.iter().map(|candidate| &candidate.test);
        chosen.chain(self.excluded.iter().map(|outcome| &outcome.test))
    }

    /// Returns the names of all tests of a target.
    pub fn names_in(&self, target: &TargetId) -> BTreeSet<&str> {
        self.tests().filter(|test| test.target == *target).map(|test| test.name.as_str()).collect()
    }
}

/// Builds an outcome without figures.
pub fn not_measured(
    test: TestId,
    reason: Reason,
    capture: Option<Capture>,
    selected_because: Option<SelectedBecause>,
) -> Outcome {
    Outcome {
        test,
        verdict: Verdict::NotMeasured,
        reason: Some(reason),
        measured: None,
        possible: None,
        metrics: Metrics::new(),
        cross_check: None,
        capture,
        selected_because,
        explanation: None,
        unexplained: None,
        why: None,
        gates: None,
        spent: None,
        notes: Vec::new(),
    }
}

type Tests = BTreeMap<String, ListedTest>;

/// Lists the tests of both sides and decides which to measure.
pub fn candidates(
    context: &Context,
    versions: &Versions,
    selected: &TargetSelection,
    names: &Names<'_>,
    built: &BuiltSides,
) -> Result<Candidates> {
    let _span = tracing::info_span!("code").entered();
    let all_tests = selected.all_tests;
    let compiled = CompiledFiles::load(&built.sides.head.folder)?;
    let mut candidates = Candidates { compiled, ..Candidates::default() };
    let mut comparer = Comparer::new(context, built, changed_functions(&selected.diff))?;
    let overlaid = names.of_pairing(versions, selected, &built.pairing);
    let paired = overlaid.as_ref().unwrap_or(names);
    let (mut same_programs, mut same_binaries) = (Vec::new(), None);
    for (target, reached_by) in selected.targets.iter().filter(|(target, _)| built.targets.contains(*target)) {
        let executables =
            built.sides.as_ref().map(|side| side.executables.iter().find(|executable| executable.target == *target));
        let listed = can_be_listed(built, target, executables).and_then(|()| tests_of(&context.ours, executables));
        let tests = match apart(listed)? {
            Ok(tests) => tests,
            Err(why) => {
                if matches!(why, NoTests::NotBuilt) {
                    candidates.not_built.insert(target.clone());
                }
                candidates.unmeasured_targets.push(UnmeasuredTarget::Target { target: target.clone(), why });
                continue;
            }
        };
        let same = !all_tests && same_program(executables, &built.sides, &mut same_binaries)?;
        if !all_tests && let (Some(base), Some(head)) = (executables.base, executables.head) {
            let common = tests.base.keys().filter(|name| tests.head.contains_key(*name)).cloned().collect();
            if same {
                same_programs.push((target, Sides { base, head }, common));
            } else {
                let code = comparer.target(target, Sides { base, head }, &common)?;
                candidates.code.insert(target.clone(), code);
            }
        }
        let data_files = test_inputs::read_by(selected.data_files.get(target), &built.sides, executables)?;
        candidates.note_data_files(target, &tests, &data_files, &selected.rules);
        candidates.add_target(target, reached_by, &tests, selected, &|candidates, test| {
            if same {
                return Some(candidates.reason_without_change(Reason::SameExecutable, test));
            }
            if candidates.code.get(target).is_some_and(|code| code.is_same(&test.name)) {
                return Some(candidates.reason_without_change(Reason::SameCode, test));
            }
            let item = paired.changed_code(test)?;
            Some(Reason::TestChanged { item: names.changed_code(test).unwrap_or(item) })
        });
    }
    if candidates.chosen.is_empty() && !changed_functions(&selected.diff).is_empty() {
        // No executable contains the changed functions, or their code is the same.
        for (target, executables, common) in same_programs {
            let code = comparer.target(target, executables, &common)?;
            candidates.code_of_same.insert(target.clone(), code);
        }
    }
    if candidates.code.values().any(|code| code.unknown.is_none()) {
        candidates.programs = comparer.changed_programs()?;
    }
    comparer.cache.save()?;
    candidates.rank(names, selected);
    candidates.note_differences(overlaid.is_some().then_some(names), built)?;
    let of_head = overlaid.filter(|_| built.pairing.overlaid() == Side::Head);
    candidates.names_of_head = of_head.map(|names| names.sides.head);
    Ok(candidates)
}

/// Checks whether the tests of a target can be listed.
fn can_be_listed(
    built: &BuiltSides,
    target: &TargetId,
    executables: Sides<Option<&TestExecutable>>,
) -> Tried<(), NoTests> {
    if let Some(why) = built.left_out.get(target) {
        return Err(Stop::Because(NoTests::LeftOut(why.clone())));
    }
    for side in Side::BOTH {
        let mut not_extracted = built.sides.get(side).not_extracted.iter();
        if let Some((_, why)) = not_extracted.find(|(known, _)| known == target) {
            return Err(Stop::Because(NoTests::NotExtracted { why: why.clone(), side }));
        }
    }
    executables.base.or(executables.head).map(drop).ok_or(Stop::Because(NoTests::NotBuilt))
}

/// Lists the tests of a target in both versions, or returns the reason why a custom harness does not list them.
fn tests_of(ours: &Path, executables: Sides<Option<&TestExecutable>>) -> Tried<Sides<Tests>, NoTests> {
    if let (Some(base), Some(head)) = (executables.base, executables.head)
        && (base.harness.repeats(), base.harness.starts()) != (head.harness.repeats(), head.harness.starts())
    {
        return Err(Stop::Because(NoTests::OneVersionOnly));
    }
    let mut tests = Sides::<Tests>::default();
    for side in [Side::Head, Side::Base] {
        let Some(executable) = *executables.get(side) else { continue };
        let found = list_tests(executable, ours).map_err(|stop| {
            stop.map(|why| match executable.harness {
                Harness::Bench => NoTests::NoBenchmarks { why, side },
                _ => NoTests::Unlisted { why, side },
            })
        })?;
        *tests.get_mut(side) = found.into_iter().map(|test| (test.name.clone(), test)).collect();
    }
    Ok(tests)
}

impl Candidates {
    fn note_data_files(&mut self, target: &TargetId, tests: &Sides<Tests>, files: &[String], rules: &TestRules) {
        for name in tests.base.keys().chain(tests.head.keys()) {
            let test = TestId { target: target.clone(), name: name.clone() };
            if let Some(path) = files.iter().find(|path| rules.may_read(&test, path)) {
                self.data_files.insert(test, path.clone());
            }
        }
    }

    fn add_target(
        &mut self,
        target: &TargetId,
        reached_by: &ReachedBy,
        tests: &Sides<Tests>,
        selected: &TargetSelection,
        unchanged_or_incomparable: &dyn Fn(&Self, &TestId) -> Option<Reason>,
    ) {
        let all: BTreeSet<&String> = tests.base.keys().chain(tests.head.keys()).collect();
        for name in all {
            let found = tests.as_ref().map(|tests| tests.get(name));
            let capture = found.head.or(found.base).and_then(|found| found.capture);
            let test = TestId { target: target.clone(), name: name.clone() };
            let because = SelectedBecause::Target(reached_by.clone());
            let excluded =
                exclusion_reason(&test, found, &selected.rules).or_else(|| unchanged_or_incomparable(self, &test));
            if let Some(reason) = excluded {
                self.excluded.push(not_measured(test, reason, capture, Some(because)));
            } else {
                let why = self.code.get(target).and_then(|code| code.why(name));
                let terms = selected.rules.terms(&test);
                let ignored = found.base.or(found.head).is_some_and(|found| found.ignored);
                let of_name = found.map(|found| found.map_or(1, |found| found.of_name));
                self.chosen.push(Candidate {
                    test,
                    because,
                    why,
                    enters: None,
                    capture,
                    ignored,
                    of_name,
                    differs: None,
                    terms,
                });
            }
        }
    }

    /// Records how the code of the tests differs. `names` covers both versions if test code differs.
    fn note_differences(&mut self, names: Option<&Names<'_>>, built: &BuiltSides) -> Result<()> {
        let mut doctests = BTreeMap::new();
        for Candidate { test, differs, .. } in &mut self.chosen {
            if test.target.kind != TargetKind::Doctest {
                *differs = names.and_then(|names| names.difference(test));
                continue;
            }
            let package = &test.target.package;
            if !doctests.contains_key(package) {
                doctests.insert(package.clone(), built.doctest_differences(package)?);
            }
            *differs = doctests[package].get(&test.name).cloned();
        }
        Ok(())
    }

    /// Returns the reason for a test with the same machine code. Its data may still differ.
    pub fn reason_without_change(&self, reason: Reason, test: &TestId) -> Reason {
        self.data_files.get(test).map_or(reason, |path| Reason::DataChanged { path: path.clone() })
    }

    /// Puts direct tests first, each with its own reason if names lead to the change. For excluded tests, records only
    /// whether names lead there.
    fn rank(&mut self, names: &Names<'_>, selected: &TargetSelection) {
        let none = Files::new();
        let files = |test: &TestId| selected.target_files.get(&test.target).map_or(&none, |sides| &sides.head);
        let tests = self.chosen.iter().map(|candidate| &candidate.test);
        let tests: Vec<&TestId> = tests.chain(self.excluded.iter().map(|outcome| &outcome.test)).collect();
        let sources: Vec<_> = tests
            .iter()
            .map(|test| TestSource { name: &test.name, kind: test.target.kind, files: files(test) })
            .collect();
        let ranked = reach::order(&sources, &names.sides.head, &selected.diff);
        let by_name = ranked.iter().filter(|ranked| ranked.nearest.is_some());
        self.by_name = by_name.map(|ranked| tests[ranked.test].clone()).collect();
        let reached = reach::reach(&selected.graph, &selected.diff).targets;
        let mut chosen = Vec::with_capacity(self.chosen.len());
        for rank in ranked {
            let Some(mut candidate) = self.chosen.get(rank.test).cloned() else { continue };
            if !selected.all_tests {
                let target = &candidate.test.target;
                let reached = reached.get(target).map_or(&[][..], Vec::as_slice);
                let by_code = || nearest_in_code(candidate.why.as_ref()?, reached, selected.targets.get(target)?);
                let (test, why) = (&candidate.test, candidate.why.as_ref());
                let by_name = rank.nearest.filter(|names| is_borne_out(names, reached, test, why));
                if let Some(because) = by_name.or_else(by_code) {
                    candidate.because = because;
                }
            }
            chosen.push(candidate);
        }
        self.chosen = chosen;
    }
}

/// Checks whether the path by names can be the one that the test takes, because other items may have the same names.
/// Its item must be one that the target depends on. If machine code was compared, a function of the path must be on the
/// way to the change there; a function that is inlined into the test has left no name.
fn is_borne_out(names: &SelectedBecause, reached: &[ReachedBy], test: &TestId, why: Option<&Why>) -> bool {
    let (item, last, between) = match names {
        SelectedBecause::Names { item, .. } => (item, &item.item, &[][..]),
        SelectedBecause::UsesType { method, item, .. } => (item, method, &[][..]),
        SelectedBecause::Through { item, between, .. } => (item, &item.item, between.as_slice()),
        SelectedBecause::Target(_)
        | SelectedBecause::Code { .. }
        | SelectedBecause::Other { .. }
        | SelectedBecause::InProgram { .. }
        | SelectedBecause::Unwatched { .. } => return true,
    };
    if !reached.contains(&ReachedBy::Item(item.clone())) {
        return false;
    }
    let Some(why) = why.filter(|why| !why.changed.is_empty() && why.path.len() > 1) else { return true };
    if symbols(why).all(|symbol| *symbol == test.name || test.holds(symbol)) {
        return true;
    }
    let met: BTreeSet<&str> = symbols(why).flat_map(|name| words(name)).collect();
    between.iter().chain([last]).filter_map(|name| words(name).last()).any(|name| met.contains(name))
}

/// Splits a name into identifiers.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the functions and data between a test and its changed code.
fn symbols(why: &Why) -> impl Iterator<Item = &String> {
    let changed = why.changed.iter().flat_map(|changed| [Some(&changed.name), changed.data.as_ref()]).flatten();
    why.path.iter().chain(changed)
}

/// Returns the most direct reason in the test's machine code, or in everything that the test can reach. `reached` are the
/// changes that reach its target, the first of which is `target`.
fn nearest_in_code(why: &Why, reached: &[ReachedBy], target: &ReachedBy) -> Option<SelectedBecause> {
    let is_met = |reached: &&ReachedBy| match reached {
        ReachedBy::Item(item) => {
            let ident = words(&item.item).last();
            symbols(why).flat_map(|name| words(name)).any(|word| Some(word) == ident)
        }
        _ => false,
    };
    let met = reached.iter().find(is_met);
    let more = if met.is_some() { 0 } else { reached.len().saturating_sub(1) };
    let target = met.unwrap_or(target).clone();
    match (why.changed.first(), why.others.first()) {
        (Some(changed), _) => Some(SelectedBecause::Code { function: changed.name.clone(), target, more }),
        (None, Some(input)) => Some(SelectedBecause::Other { input: input.clone(), target }),
        (None, None) => None,
    }
}

/// Checks whether both versions have the same executable, and everything that it starts, loads and reads is the same.
/// The metadata of both is equal, so a change that compiles to nothing leaves no trace.
fn same_program(
    executables: Sides<Option<&TestExecutable>>,
    sides: &Sides<SideBuild>,
    same_binaries: &mut Option<bool>,
) -> Result<bool> {
    let (Some(base), Some(head)) = (executables.base, executables.head) else { return Ok(false) };
    let paths = Sides { base: base.path.as_path(), head: head.path.as_path() };
    Ok(fs::same_content(paths.base, paths.head)?
        && match same_binaries {
            Some(known) => *known,
            unknown => *unknown.insert(are_binaries_same(sides)?),
        }
        && Libraries::of(sides, paths)?.is_empty()
        && test_inputs::variables(sides, Sides { base, head })?.is_empty()
        && test_inputs::build_script_files(sides, Sides { base, head })?.is_empty())
}

/// Checks the binaries of all targets.
fn are_binaries_same(sides: &Sides<SideBuild>) -> Result<bool> {
    let binaries = sides.as_ref().try_map(|_, side| side.binaries())?;
    let names = |paths: &[PathBuf]| {
        paths.iter().filter_map(|path| path.file_name().map(std::ffi::OsStr::to_owned)).collect::<Vec<_>>()
    };
    if names(&binaries.base) != names(&binaries.head) {
        return Ok(false);
    }
    for (base, head) in binaries.base.iter().zip(&binaries.head) {
        if !fs::same_content(base, head)? || !Libraries::of(sides, Sides { base, head })?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns reasons that follow from the lists and the user's request.
fn exclusion_reason(test: &TestId, found: Sides<Option<&ListedTest>>, rules: &TestRules) -> Option<Reason> {
    let filter = &rules.filter;
    if !filter.takes(&test.name) {
        return Some(Reason::Filtered);
    }
    if let Some(reason) = rules.exclusion_reason(test) {
        return Some(reason);
    }
    let (base, head) = match (found.base, found.head) {
        (Some(base), Some(head)) => (base, head),
        (None, Some(_)) => return Some(Reason::New),
        (_, None) => return Some(Reason::Removed),
    };
    let ignored = base.ignored || head.ignored;
    match filter.ignored {
        Ignored::Default if ignored => return Some(Reason::Ignored),
        Ignored::Only if !ignored => return Some(Reason::Filtered),
        _ => {}
    }
    match (base.capture, head.capture) {
        (None, _) | (_, None) => {
            let why = base.obstacle.as_ref().or(head.obstacle.as_ref()).unwrap_or(&NotCaptured::OtherMacro).clone();
            Some(match why {
                NotCaptured::Doctest(NoDoctest::TextChanged { .. }) => {
                    Reason::TestChanged { item: TestCodeItem::Doctest(test.name.clone()) }
                }
                why => Reason::NotCaptured { why },
            })
        }
        (Some(base), Some(head)) if base != head => Some(Reason::NotCaptured { why: NotCaptured::AttributeDiffers }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{ChangeKind, ChangedFunction, CodeChange, samples};

    fn item(name: &str, path: &str) -> CodeChange {
        CodeChange { change: ChangeKind::Changed, item: name.to_owned(), path: path.to_owned(), line: 1 }
    }

    #[test]
    fn names_count_where_the_target_depends_on_the_item_and_its_code_comes_by() {
        let (ours, others) = (item("Parser::line", "core/src/lib.rs"), item("Man::render", "man/src/lib.rs"));
        let reached = [ReachedBy::Item(ours.clone())];
        let why = |path: &[&str]| {
            let changed = vec![ChangedFunction { name: "<core::Parser>::line".to_owned(), data: None }];
            Why { path: path.iter().map(|name| (*name).to_owned()).collect(), changed, others: Vec::new() }
        };
        let direct = |item: &CodeChange| SelectedBecause::Names { item: item.clone(), more: 0 };
        let through = |item: &CodeChange, between: &str| SelectedBecause::Through {
            item: item.clone(),
            between: vec![between.to_owned()],
            is_call: true,
        };
        let test = samples::test("tests::reads");
        let is_borne_out = |names: &SelectedBecause, reached: &[ReachedBy], why: Option<&Why>| {
            super::is_borne_out(names, reached, &test, why)
        };
        let path = why(&["core::tests::reads", "core::read", "<core::Parser>::line"]);
        assert!(is_borne_out(&direct(&ours), &reached, Some(&path)));
        assert!(!is_borne_out(&direct(&others), &reached, Some(&path)));
        assert!(!is_borne_out(&through(&others, "read"), &reached, None));
        let other_way = [ReachedBy::Item(item("reset", "core/src/lib.rs"))];
        assert!(!is_borne_out(&direct(&item("reset", "core/src/lib.rs")), &other_way, Some(&path)));
        // Code inlined into a function on the way is behind that function; code inlined into the test is behind none.
        let copied = item("peek", "core/src/lib.rs");
        let of_copied = [ReachedBy::Item(copied.clone())];
        assert!(is_borne_out(&through(&copied, "read"), &of_copied, Some(&path)));
        assert!(!is_borne_out(&through(&copied, "write"), &of_copied, Some(&path)));
        assert!(is_borne_out(&direct(&copied), &of_copied, Some(&why(&["core::tests::reads"]))));
        assert!(is_borne_out(&direct(&copied), &of_copied, None));
        let own = "core::tests::reads::reads";
        let inlined = Why {
            path: vec!["tests::reads".to_owned(), own.to_owned()],
            changed: vec![ChangedFunction { name: own.to_owned(), data: None }],
            others: Vec::new(),
        };
        assert!(is_borne_out(&through(&copied, "read"), &of_copied, Some(&inlined)));
    }

    #[test]
    fn the_change_that_the_code_comes_by_is_named() {
        let items = [item("PAD", "src/lib.rs"), item("Parser::line", "src/lib.rs")].map(ReachedBy::Item);
        let named = |function: &str| {
            let changed = vec![ChangedFunction { name: function.to_owned(), data: None }];
            let why = Why { path: vec!["tests::reads".to_owned()], changed, others: Vec::new() };
            nearest_in_code(&why, &items, &items[0]).unwrap().to_string()
        };
        let expected = "can reach changed machine code, <core::Parser>::line (changed Parser::line (src/lib.rs:1))";
        assert_eq!(named("<core::Parser>::line"), expected);
        let expected = "can reach changed machine code, core::recs (changed PAD (src/lib.rs:1) and 1 more)";
        assert_eq!(named("core::recs"), expected);
    }
}
