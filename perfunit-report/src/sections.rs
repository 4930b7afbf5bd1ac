//! Sections of a report. Each kind of finding is assembled here once; each format renders the sections that it shows.

use super::by_cause::{self, Group};
use super::figures::{self, Words, sort_by_change};
use super::{acceptance, caveats, counts, generated_calls, growth, pooled_change, ratchet};
use perfunit_model::format::{Glyphs, count, first, one_line};
use perfunit_model::{
    Denied, Function, LeftOutBy, MainCause, Outcome, PooledChange, ProgramChange, Reason, Run, Selection, Side,
    Uncovered, UncoveredBecause, UndecidedFinding, UnmeasuredTarget, Verdict,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Packages named for tests of a kind that is measured on request only.
const PACKAGES: usize = 3;

/// The subject of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tests that pass on base and fail on head.
    Failing,
    /// Inconclusive tests that are probably slower.
    ProbablySlower,
    /// Tests with one verdict.
    Tests(Verdict),
    /// Tests with an accepted slowdown.
    Accepted,
    /// Tests that are unchanged within a bound.
    Within,
    /// Programs with their changes over all tests that start them.
    Programs,
    /// Changed functions whose tests changed in the mean.
    Functions,
    /// Changed functions that no test executes.
    Uncovered,
    /// Changed functions that are not part of the build.
    NotCompiled,
    /// Workloads with a parameter and time that grows with a larger power.
    Scaling,
    /// Functions with work that grows with a larger power.
    Growth,
    /// Functions and tests with unknown growth.
    GrowthUnknown,
    /// Limits of the figures.
    Caveats,
    /// The comparison with the ratchet's version.
    Ratchet,
    /// The comparison of generated calls.
    Generated,
    /// Denied facts that have no answer.
    Undecided,
}

/// A part of a report. It exists only if it has content.
#[derive(Debug)]
pub struct Section<'a> {
    pub kind: Kind,
    /// A line without a full stop.
    pub headline: String,
    /// True if the section fails a run when denied.
    pub is_bad: bool,
    pub items: Vec<Item<'a>>,
    /// The items by cause.
    pub causes: Vec<Group<'a>>,
    /// The items by reason for having no verdict.
    pub reasons: Vec<ReasonGroup<'a>>,
}

/// A test, a call, a function or a remark.
#[derive(Debug)]
pub struct Item<'a> {
    /// A line; empty if the text is sufficient.
    pub name: String,
    pub text: String,
    pub test: Option<&'a Outcome>,
    pub function: Option<&'a Function>,
    /// False if the item fails no run although its section does.
    pub is_bad: bool,
}

/// Tests without a verdict for the same reason.
#[derive(Debug)]
pub struct ReasonGroup<'a> {
    /// The full reason if it is the same for all tests, otherwise its summary.
    pub reason: String,
    /// True if the reason is the same for all tests, so that no test has details.
    pub is_shared: bool,
    /// The tests with the details of the reason as their texts.
    pub items: Vec<Item<'a>>,
}

/// Sections of a run, in the order of the terminal report.
#[derive(Debug)]
pub struct Sections<'a>(Vec<Section<'a>>);

impl<'a> Sections<'a> {
    /// Assembles the sections of a run.
    pub fn of(run: &'a Run, denied: Denied) -> Self {
        let verdicts = Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::NotMeasured);
        let sections = [failing(run), probably_slower(run)]
            .into_iter()
            .chain(verdicts.map(|verdict| tests(run, verdict)))
            .chain([accepted_section(run), within(run), programs(run), functions(run)])
            .chain(of_coverage(&run.selection))
            .chain([scaling(run), growth(run), growth_unknown(run), not_measured(run), caveats(run)])
            .chain([ratchet(run), generated_section(run), undecided_section(run, denied)]);
        Self(sections.flatten().collect())
    }

    /// Returns the section of a kind.
    pub fn get(&self, kind: Kind) -> Option<&Section<'a>> {
        self.0.iter().find(|section| section.kind == kind)
    }

    /// Returns the sections of these kinds, in this order.
    pub fn of_kinds(&self, kinds: &'static [Kind]) -> impl Iterator<Item = &Section<'a>> {
        kinds.iter().filter_map(|kind| self.get(*kind))
    }

    /// Returns the headline of a section.
    pub fn headline(&self, kind: Kind) -> Option<&str> {
        self.get(kind).map(|section| section.headline.as_str())
    }

    /// Returns the items of a section.
    pub fn items(&self, kind: Kind) -> &[Item<'a>] {
        self.get(kind).map_or(&[], |section| &section.items)
    }

    /// Returns the section if it fails the run.
    pub fn bad(&self, kind: Kind) -> Option<&Section<'a>> {
        self.get(kind).filter(|section| section.is_bad)
    }
}

impl<'a> Section<'a> {
    fn new(kind: Kind, headline: String, items: Vec<Item<'a>>) -> Self {
        Self { kind, headline, is_bad: true, items, causes: Vec::new(), reasons: Vec::new() }
    }

    /// Returns the names of the items.
    pub fn names(&self) -> impl ExactSizeIterator<Item = String> {
        self.items.iter().map(|item| item.name.clone())
    }

    /// Returns the names of the items that fail a run.
    pub fn bad_names(&self) -> impl Iterator<Item = String> {
        self.items.iter().filter(|item| item.is_bad).map(|item| item.name.clone())
    }

    /// Returns the causes if one is known and they add information to an explanation of the only test.
    pub fn telling_causes(&self) -> &[Group<'a>] {
        let is_unknown = |group: &Group<'_>| group.cause == MainCause::Unknown;
        let is_explained = |item: &Item<'_>| item.test.is_none_or(|outcome| outcome.explanation.is_some());
        let is_told = match &self.items[..] {
            [only] => is_explained(only),
            items => items.is_empty(),
        };
        if is_told || self.causes.iter().all(is_unknown) { &[] } else { &self.causes }
    }
}

impl<'a> Item<'a> {
    fn of_test(outcome: &'a Outcome, text: String) -> Self {
        Self { name: one_line(&outcome.test.to_string()), text, test: Some(outcome), function: None, is_bad: true }
    }

    fn of_function(function: &'a Function, text: String) -> Self {
        Self { name: one_line(&function.name), text, test: None, function: Some(function), is_bad: true }
    }

    fn remark(name: impl Into<String>, text: String) -> Self {
        Self { name: name.into(), text, test: None, function: None, is_bad: true }
    }

    /// Returns the file and line of the item's function; empty without one.
    pub fn place(&self) -> String {
        self.function.map(place).unwrap_or_default()
    }
}

/// Returns the file and line of a function; its package if it is outside of the workspace.
pub fn place(function: &Function) -> String {
    one_line(&function.place().unwrap_or_else(|| function.package.clone()))
}

/// Returns true if a test passes on base and fails on head.
pub fn is_failing(outcome: &Outcome) -> bool {
    outcome.reason.as_ref().is_some_and(|reason| reason.failing_side() == Some(Side::Head))
}

/// Describes how a test failed in one line.
pub fn failure(outcome: &Outcome) -> String {
    outcome.reason.as_ref().map(|reason| one_line(&reason.failure())).unwrap_or_default()
}

fn failing(run: &Run) -> Option<Section<'_>> {
    let items: Vec<_> = run.failing(Side::Head).map(|test| Item::of_test(test, failure(test))).collect();
    let headline = match items.len() {
        0 => return None,
        1 => "1 test passes on base and fails on head".to_owned(),
        tests => format!("{} pass on base and fail on head", count(tests, "test")),
    };
    Some(Section::new(Kind::Failing, headline, items))
}

fn probably_slower(run: &Run) -> Option<Section<'_>> {
    let items: Vec<_> =
        run.probably_slower().map(|test| Item::of_test(test, figures::deciding_figures(test, run))).collect();
    let headline = format!("{} probably slower", count(items.len(), "test"));
    (!items.is_empty()).then(|| Section::new(Kind::ProbablySlower, headline, items))
}

fn tests(run: &Run, verdict: Verdict) -> Option<Section<'_>> {
    let mut tests = sort_by_change(&run.outcomes, verdict);
    if verdict == Verdict::Slower {
        tests.retain(|outcome| run.is_slower(outcome));
    }
    if verdict == Verdict::Inconclusive {
        tests.retain(|outcome| run.is_inconclusive(outcome));
        figures::sort_by_possible(&mut tests);
    }
    if tests.is_empty() {
        return None;
    }
    let headline = format!("{} {}", count(tests.len(), "test"), figures::word(verdict, Words::of(&run.all_gates())));
    let causes = if verdict.is_change() { by_cause::groups(&tests, verdict, run) } else { Vec::new() };
    let items = tests.into_iter().map(|test| Item::of_test(test, figures::deciding_figures(test, run))).collect();
    let is_bad = verdict == Verdict::Slower;
    Some(Section { is_bad, causes, ..Section::new(Kind::Tests(verdict), headline, items) })
}

/// Returns `2 tests slower, accepted`; nothing if no slowdown is accepted.
pub fn accepted_headline(run: &Run) -> Option<String> {
    let accepted = run.accepted_tests().count();
    let slower = figures::word(Verdict::Slower, Words::of(&run.all_gates()));
    (accepted > 0).then(|| format!("{} {slower}, accepted", count(accepted, "test")))
}

/// Returns the tests with accepted slowdowns, the largest first, each with what is accepted of it.
fn accepted_section(run: &Run) -> Option<Section<'_>> {
    let headline = accepted_headline(run)?;
    let mut tests: Vec<&Outcome> = run.accepted_tests().collect();
    figures::sort(&mut tests);
    let text = |test: &Outcome| {
        let accepted = acceptance::said(test, run).unwrap_or_default();
        format!("{}, {accepted}", figures::deciding_figures(test, run))
    };
    let items = tests.into_iter().map(|test| Item::of_test(test, text(test))).collect();
    Some(Section { is_bad: false, ..Section::new(Kind::Accepted, headline, items) })
}

/// Returns the section of tests that are unchanged within a bound, the largest bound first.
fn within(run: &Run) -> Option<Section<'_>> {
    let groups: Vec<_> = counts::within(run).collect();
    let number: usize = groups.iter().map(|(_, tests)| tests.len()).sum();
    let item = |test| Item::of_test(test, figures::deciding_figures(test, run));
    let items = groups.into_iter().rev().flat_map(|(_, mut tests)| {
        figures::sort_by_possible(&mut tests);
        tests.into_iter().map(item)
    });
    let items: Vec<_> = items.collect();
    let headline = format!("{} {}", count(number, "test"), counts::unchanged_within(run.bound, Glyphs::Unicode));
    (number > 0).then(|| Section { is_bad: false, ..Section::new(Kind::Within, headline, items) })
}

/// Returns the section of programs that many tests start.
fn programs(run: &Run) -> Option<Section<'_>> {
    let item = |program: &ProgramChange| {
        let accepted = acceptance::said_of_program(program, run).map(|said| format!(", {said}")).unwrap_or_default();
        let text = format!("{}{accepted}", pooled_change::describe_program(program));
        Item { is_bad: run.is_slower_program(program), ..Item::remark(one_line(&program.name), text) }
    };
    let items: Vec<_> = run.programs.iter().map(item).collect();
    let is_bad = items.iter().any(|item| item.is_bad);
    let headline = pooled_change::headline_of_programs(&run.programs);
    (!items.is_empty()).then(|| Section { is_bad, ..Section::new(Kind::Programs, headline, items) })
}

/// Returns the section of changed functions whose tests changed in the mean.
fn functions(run: &Run) -> Option<Section<'_>> {
    let changed = pooled_change::reported_changes(run);
    let headline = pooled_change::headline(&changed);
    let items: Vec<_> = changed.into_iter().map(|pooled| of_pooled(pooled, run)).collect();
    let is_bad = items.iter().any(|item| item.is_bad);
    (!items.is_empty()).then(|| Section { is_bad, ..Section::new(Kind::Functions, headline, items) })
}

fn of_pooled<'a>(pooled: &'a PooledChange, run: &Run) -> Item<'a> {
    let text = pooled_change::describe(pooled);
    let item = match &pooled.function {
        Some(function) => Item::of_function(function, text),
        None => Item::remark(one_line(&pooled.name), text),
    };
    Item { is_bad: run.is_slower_in_mean(pooled), ..item }
}

/// Returns the sections of changed functions that no test executes, and of changed functions that are not compiled.
pub fn of_coverage(selection: &Selection) -> [Option<Section<'_>>; 2] {
    [uncovered_section(selection), not_compiled(selection)]
}

/// Returns `1 changed function is` for the functions of a section, if there are any.
fn changed_functions(number: usize) -> Option<String> {
    let verb = if number == 1 { "is" } else { "are" };
    (number > 0).then(|| format!("{} {verb}", count(number, "changed function")))
}

fn uncovered_section(selection: &Selection) -> Option<Section<'_>> {
    let functions = changed_functions(selection.uncovered.len())?;
    let is_reached = |uncovered: &Uncovered| {
        matches!(uncovered.because, UncoveredBecause::NotMeasured | UncoveredBecause::NewTestCode)
    };
    let test = if selection.uncovered.iter().any(is_reached) { "test that can be measured" } else { "test" };
    let item = |uncovered: &'_ Uncovered| because(uncovered.because).to_owned();
    let items = selection.uncovered.iter().map(|it| Item::of_function(&it.function, item(it))).collect();
    Some(Section::new(Kind::Uncovered, format!("{functions} executed by no {test}"), items))
}

/// Returns the evidence that no test executes a function.
fn because(because: UncoveredBecause) -> &'static str {
    match because {
        UncoveredBecause::Unreached => "no test can reach it",
        UncoveredBecause::NotExecuted => "tests can reach it but do not execute it",
        UncoveredBecause::NewTestCode => "only new test code calls it, but base's test code is measured",
        UncoveredBecause::NotMeasured => "the tests that may execute it cannot be measured",
    }
}

fn not_compiled(selection: &Selection) -> Option<Section<'_>> {
    let functions = changed_functions(selection.not_compiled.len())?;
    let items = selection.not_compiled.iter().map(|function| Item::of_function(function, String::new())).collect();
    let known: Vec<String> = selection.left_out_by.iter().map(ToString::to_string).collect();
    let by = if known.is_empty() { LeftOutBy::ALL.map(|by| by.to_string()).to_vec() } else { known };
    let by = match by.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => by.concat(),
    };
    let headline = format!("{functions} excluded from the build by {by}");
    Some(Section::new(Kind::NotCompiled, headline, items))
}

fn scaling(run: &Run) -> Option<Section<'_>> {
    let name = |scaling: &perfunit_model::Scaling| one_line(&format!("{} {}", scaling.target, scaling.name));
    let items: Vec<_> =
        run.scaling.iter().map(|scaling| Item::remark(name(scaling), growth::describe_scaling(scaling))).collect();
    (!items.is_empty()).then(|| Section::new(Kind::Scaling, "Growth".to_owned(), items))
}

fn growth(run: &Run) -> Option<Section<'_>> {
    let items: Vec<_> =
        run.growing().map(|finding| Item::of_function(&finding.function, growth::said(finding))).collect();
    let functions = count(items.len(), "function");
    let headline = format!("Work grows faster with the length of an input in {functions}");
    (!items.is_empty()).then(|| Section::new(Kind::Growth, headline, items))
}

fn growth_unknown(run: &Run) -> Option<Section<'_>> {
    let lines = run.growth.iter().flat_map(growth::unknown);
    let items: Vec<_> = lines.map(|line| Item::remark("", line)).collect();
    let section = || Section::new(Kind::GrowthUnknown, "Unknown growth".to_owned(), items);
    (!run.growth.iter().all(|growth| growth.unseen.is_empty() && growth.not_counted.is_empty())).then(section)
}

/// Returns the section of tests without figures by reason, including tests that cannot have changed.
fn not_measured(run: &Run) -> Option<Section<'_>> {
    let reasons: Vec<ReasonGroup<'_>> = by_reason(run).map(ReasonGroup::of).collect();
    let tests: usize = reasons.iter().map(|group| group.items.len()).sum();
    if tests == 0 && run.selection.unmeasured_targets.is_empty() {
        return None;
    }
    let kind = Kind::Tests(Verdict::NotMeasured);
    Some(Section { reasons, ..Section::new(kind, format!("{} not measured", count(tests, "test")), Vec::new()) })
}

/// Groups tests by reason: tests that fail on head only first, then on base only, then in the order of [`Reason`].
fn by_reason(run: &Run) -> impl Iterator<Item = Vec<&Outcome>> {
    let group = |reason: Option<&Reason>| {
        let failing = reason.and_then(Reason::failing_side);
        (reason.is_none(), Reverse(failing), reason.filter(|_| failing.is_none()).map(Reason::kind))
    };
    let mut groups: BTreeMap<_, Vec<&Outcome>> = BTreeMap::new();
    for outcome in run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured) {
        groups.entry(group(outcome.reason.as_ref())).or_default().push(outcome);
    }
    groups.into_values()
}

impl<'a> ReasonGroup<'a> {
    fn of(tests: Vec<&'a Outcome>) -> Self {
        let first = tests[0].reason.as_ref();
        let is_shared = first.is_some() && tests.iter().all(|test| test.reason.as_ref() == first);
        let reason = match first {
            None => "no reason was recorded; please report this".to_owned(),
            Some(reason) if is_shared => one_line(&reason.to_string()),
            Some(reason) => reason.summary().to_owned(),
        };
        let detail = |test: &Outcome| test.reason.as_ref().map(|reason| one_line(&reason.detail())).unwrap_or_default();
        Self { reason, is_shared, items: tests.into_iter().map(|test| Item::of_test(test, detail(test))).collect() }
    }

    /// Returns true if the details decide the reader's next step.
    pub fn is_worth_a_line(&self) -> bool {
        let reason = self.items.first().and_then(|item| item.test).and_then(|test| test.reason.as_ref());
        matches!(
            reason,
            Some(Reason::Fails { .. } | Reason::Crashes { .. } | Reason::NotCaptured { .. } | Reason::Skipped { .. })
        )
    }
}

/// Returns a line for each target without figures, and one line per kind of test that is measured on request only. The
/// line names all packages with such tests, or only the first ones.
pub fn unmeasured_targets(targets: &[UnmeasuredTarget], all_names: bool) -> Vec<String> {
    let (mut doctests, mut benches, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        match target {
            UnmeasuredTarget::Doctests { package } => doctests.push(package),
            UnmeasuredTarget::Benches { package } => benches.push(package),
            UnmeasuredTarget::Target { .. } => others.push(target),
        }
    }
    let packages = |names: &[&String]| {
        let shown = if all_names { names.len() } else { PACKAGES };
        first(names.iter().copied().cloned(), shown, |more| count(more, "more package"))
    };
    let on_request = [
        (!doctests.is_empty()).then(|| UnmeasuredTarget::Doctests { package: packages(&doctests) }),
        (!benches.is_empty()).then(|| UnmeasuredTarget::Benches { package: packages(&benches) }),
    ];
    on_request.iter().flatten().chain(others).map(|target| one_line(&target.to_string())).collect()
}

fn caveats(run: &Run) -> Option<Section<'_>> {
    let items: Vec<_> = caveats::all(run).into_iter().map(|(word, text)| Item::remark(word, text)).collect();
    (!items.is_empty()).then(|| Section::new(Kind::Caveats, "Caveats".to_owned(), items))
}

/// Returns the section of tests with losses against the ratchet's version, then accepted losses, then programs.
fn ratchet(run: &Run) -> Option<Section<'_>> {
    let headline = ratchet::headline(run)?;
    let of_tests = ratchet::items(run).into_iter().map(|(test, text)| Item::of_test(test, text));
    let programs = run.cumulative_losses_of_programs().into_iter();
    let of_programs =
        programs.map(|program| Item::remark(one_line(&program.name), pooled_change::describe_program(program)));
    let items = of_tests.chain(of_programs).collect();
    Some(Section { is_bad: ratchet::is_bad(run), ..Section::new(Kind::Ratchet, headline, items) })
}

/// Returns the section of generated calls that got slower or faster.
fn generated_section(run: &Run) -> Option<Section<'_>> {
    let headline = generated_calls::headline(run)?;
    let items = generated_calls::items(run).into_iter().map(|(call, text)| Item::remark(call, text)).collect();
    Some(Section { is_bad: generated_calls::is_bad(run), ..Section::new(Kind::Generated, headline, items) })
}

/// Returns the section of denied facts without an answer. Tests with the same reason share a line.
fn undecided_section(run: &Run, denied: Denied) -> Option<Section<'_>> {
    let (mut lines, mut tests): (Vec<String>, BTreeMap<String, usize>) = Default::default();
    for undecided in denied.undecided_findings(run) {
        match undecided {
            UndecidedFinding::Test { .. } | UndecidedFinding::Growth { .. } => {
                *tests.entry(undecided.to_string()).or_default() += 1;
            }
            _ => lines.push(one_line(&undecided.to_string())),
        }
    }
    lines.extend(tests.into_iter().map(|(why, tests)| format!("{} ({})", one_line(&why), count(tests, "test"))));
    let items: Vec<_> = lines.into_iter().map(|line| Item::remark("", line)).collect();
    (!items.is_empty()).then(|| Section::new(Kind::Undecided, "Undecided".to_owned(), items))
}

#[cfg(test)]
mod tests;
