//! Explains tests by instructions: runs the measured executables in callgrind and attributes the counts by debug
//! information.

use super::assemble::{Known, function_of, told_of, unless_contrary};
use super::attribute::{Attribution, Differences, Part, attribute_estimated, differences};
use super::causes;
use super::causes::{Facts, add_causes, sources, text};
use super::instructions::{Code, Event, Owners, Profile, Top, objects, parse, tree};
use super::merge::{Merged, match_renamed};
use super::question::{ALPHA, Answers, Explaining, Inquiry, Question};
use perfunit_build as build;
use perfunit_build::shadow::Injections;
use perfunit_build::{
    Attempt, BuildFailure, Builder, InPlace, Next, Place, Seeds, SideBuild, TestExecutable, Variant,
    relink_with_debug_information,
};
use perfunit_decide::{ExactRule, exact};
use perfunit_measure::{
    Bench, CallProfiles, Config, Gauge, Gauges, LONGEST_WITH_PROGRAMS, Recorded, Subject, calls_per_process,
    find_valgrind, profiles,
};
use perfunit_model::error::{Error, Result, Stop, Tried, apart};
use perfunit_model::{
    BuiltWith, Engine, Explain, Explanation, ExplanationNote, Function, MetricVerdict, Side, Sides, Strategy, TargetId,
    TargetKind, Unexplained,
};
use perfunit_project::git::FileSet;
use perfunit_select::TargetSelection;
use perfunit_select::code::{self, Inlining, Operations, UnreadableExecutable};
use perfunit_select::source::{InputKind, extents};
use perfunit_system::progress::Progress;
use perfunit_system::{fs, interrupt};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest run of a process in callgrind, unless it starts programs.
const LONGEST: Duration = Duration::from_secs(20);
/// Time in which valgrind starts a process on a quiet machine, s.
const VALGRIND_STARTS: f64 = 0.7;

/// Checks whether this engine can be used, before anything is built.
pub fn check(explaining: Explaining) -> Result<()> {
    let is_wanted = explaining.engine == Some(Engine::Callgrind) && explaining.explain != Explain::Never;
    if is_wanted && find_valgrind().is_none() {
        return Err(Error::setup("--engine callgrind needs valgrind, which is not in PATH")
            .hint("install valgrind, or leave the option out to explain by probes"));
    }
    Ok(())
}

/// Returns whether the processes of a test may end in time. callgrind makes them at least ten times as long, and mostly
/// fifty times, which counts for explanations without a request.
pub fn can_end(question: &Question, inquiry: &Inquiry<'_>) -> bool {
    const LEAST: f64 = 10.0;
    let left = inquiry.unasked_until.map(|end| end.saturating_duration_since(Instant::now()));
    let least = LEAST * called_seconds(question) + starting_seconds(question);
    least <= longest(question).as_secs_f64() && left.is_none_or(|left| usual_seconds(question) <= left.as_secs_f64())
}

/// Returns the longest run of a test's process in callgrind.
fn longest(question: &Question) -> Duration {
    if question.starts > 0.0 { LONGEST_WITH_PROGRAMS } else { LONGEST }
}

/// Returns the time that valgrind needs to start the programs of a process, s.
fn starting_seconds(question: &Question) -> f64 {
    calls_per_process(gauge(question)) as f64 * question.starts * VALGRIND_STARTS
}

/// Returns the time that the processes of a test mostly take, s.
pub fn usual_seconds(question: &Question) -> f64 {
    const MOSTLY: f64 = 50.0;
    MOSTLY * called_seconds(question) + starting_seconds(question)
}

/// Returns the time of the calls of both processes without callgrind, in s.
fn called_seconds(question: &Question) -> f64 {
    calls_per_process(gauge(question)) as f64 * question.pair_seconds()
}

/// Returns the gauge that counts for a question: programs that the test starts are followed.
fn gauge(question: &Question) -> Gauge {
    if question.starts > 0.0 { Gauge::ProgramGraphs } else { Gauge::CallGraph }
}

/// Data shared by the explanations of all tests.
struct Counting<'a> {
    inquiry: &'a Inquiry<'a>,
    bench: &'a Bench,
    lined: &'a Lined<'a>,
    facts: &'a Facts,
    /// The code of programs that tests start, by name.
    programs: RefCell<BTreeMap<String, Sides<Described>>>,
    /// Folder for programs that are linked again.
    folder: PathBuf,
}

/// Explains tests by the instructions that their functions execute.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    let _span = tracing::debug_span!("callgrind").entered();
    let targets = questions.iter().map(|question| question.test.target.clone()).collect();
    let context = builder.context();
    let mut bench = Bench::open(&context.ours)?;
    let lined = match relink_measured(builder, inquiry, &targets, &bench.debug_info_folder())? {
        Some(lined) => lined,
        None => match apart(build(builder, inquiry, &targets))? {
            Ok(lined) => lined,
            Err(why) => return Ok(Answers::none(questions, why)),
        },
    };
    bench.seeds = Seeds::new(inquiry.built.seeds.clone());
    bench.gauges = Gauges::new(None, find_valgrind(), bench.callgrind());
    bench.made = Some(InPlace::put(&lined.sides, &context.ours)?);
    let config = inquiry.config(LONGEST, inquiry.end());
    let facts = causes::facts(inquiry);
    let (programs, folder) = (RefCell::default(), bench.debug_info_folder());
    let counting = Counting { inquiry, bench: &bench, lined: &lined, facts: &facts, programs, folder };
    let progress = Progress::bar(context.terminal, "Explaining", questions.len());
    let mut answers = Answers::default();
    for question in questions {
        let test = &question.test;
        if interrupt::is_requested() {
            break;
        }
        let answer = if let Some(why) = inquiry.over() {
            Err(why)
        } else {
            progress.message(test.to_string());
            // Without a request for this engine, it gets no more time than one process may take.
            let longest = longest(question);
            let end = inquiry.explaining.engine.is_none().then(|| Instant::now() + longest);
            let deadline = inquiry.end().into_iter().chain(end).min();
            let config = Config { deadline, per_test_budget: longest, ..config.clone() };
            let is_told = |found: Explanation| {
                if question.agrees(found.change.estimate) { found } else { unless_contrary(found, question.change) }
            };
            apart(one(&counting, &config, question))?.map(is_told)
        };
        answers.tests.insert(test.clone(), answer);
        progress.advance();
    }
    Ok(answers)
}

/// Explains one test. Fails with the reason if this is impossible.
fn one(counting: &Counting<'_>, config: &Config, question: &Question) -> Tried<Explanation, Unexplained> {
    let Counting { inquiry, bench, lined, facts, .. } = *counting;
    let (started, test) = (Instant::now(), &question.test);
    let (Some(run), Some(plain), Some(described)) = (
        executables(&lined.sides, &test.target),
        executables(&inquiry.built.sides, &test.target),
        lined.described.get(&test.target),
    ) else {
        return Err(Stop::Because(Unexplained::TargetNotBuilt { with: BuiltWith::DebugInformation }));
    };
    let described =
        described.as_ref().map_err(|why| Stop::Because(Unexplained::Unreadable { why: why.to_string() }))?;
    let subject = Subject::new(test.clone(), run);
    let sides = Sides::as_ref(&lined.sides);
    let follows = question.starts > 0.0;
    let counterparts = profiles(bench, config, &sides, &subject, gauge(question))
        .map_err(|stop| stop.map(Unexplained::NoLaterCalls))?;
    let mut codes = Sides { base: Side::Base, head: Side::Head }.try_map(|_, side| {
        let test = assign_code(lined, side, &run.get(side).path, described.get(side));
        Ok::<_, Error>(Codes { test, programs: programs(counting, side, &counterparts)? })
    })?;
    let events: &[Event] =
        if follows { &[Event::Instructions, Event::SystemCalls, Event::SystemTime] } else { &[Event::Instructions] };
    let counted: Vec<(Event, Merged, Option<Merged>)> = events
        .iter()
        .map(|event| {
            let mut calls = parse_counts(&counterparts, &codes, *event);
            let all = merge_calls(&calls, &mut codes, &lined.renamed);
            let steady = (follows && *event != Event::SystemTime).then(|| {
                retain_steady(&mut calls);
                merge_calls(&calls, &mut codes, &lined.renamed)
            });
            (*event, all, steady)
        })
        .collect();
    let mut functions = codes.map(Codes::functions);
    for (new, old) in &lined.renamed {
        functions.head.remove(new).into_iter().for_each(|function| drop(functions.head.insert(*old, function)));
    }
    let has_changed = |key: u64| inquiry.has_changed(&functions, key);
    let judged = counted.into_iter().map(|(event, all, steady)| Evidence::of(event, all, steady, has_changed));
    let judged = judged.collect::<Option<Vec<Evidence>>>().ok_or(Stop::Because(Unexplained::TooFewCalls))?;
    let told = telling(&judged, question, &has_changed);
    let known = Known {
        test,
        engine: told.engine(),
        strategy: Strategy::Complete,
        seconds: started.elapsed().as_secs_f64(),
        plain: None,
        probe_cost: Sides { base: 0.0, head: 0.0 },
        functions: &functions,
        without_probe: BTreeMap::new(),
        overflow: 0,
        changed: &|function| inquiry.source_change(function),
        names: &|function| inquiry.names(function),
        of_test: &|| inquiry.of_test(test, &facts.index),
    };
    let (named, parts_of) = told.responsible_parts(question, &has_changed);
    let mut explanation = told_of((&named, parts_of), &told.merged, &told.differences, &told.attribution, &known);
    add_causes(&mut explanation, &told.attribution, &known, facts);
    if follows && !explanation.responsible.iter().any(|named| named.changed.is_some()) {
        explanation.notes.extend(judged[0].note_executed(&functions, &has_changed));
    }
    explanation.instructions = Some(judged[0].change());
    if matches!(lined.sides, Cow::Owned(_)) {
        explanation.notes.extend(not_the_measured_code(plain, run)?);
    }
    Ok(explanation)
}

/// The code of the processes of a side.
struct Codes {
    test: Code,
    /// By path, with the key of `main` if that is known.
    programs: BTreeMap<String, (Code, Option<u64>)>,
}

impl Codes {
    fn functions(self) -> BTreeMap<u64, Function> {
        let mut functions = self.test.functions();
        self.programs.into_values().for_each(|(code, _)| functions.extend(code.functions()));
        functions
    }

    /// Returns the program that a process executed.
    fn program(&self, text: &str) -> Option<String> {
        let objects = objects(text);
        self.programs.keys().find(|path| objects.contains(path.as_str())).cloned()
    }

    /// Returns the tree of a call, with those of the programs that the test started.
    fn record(&mut self, call: &Counts) -> Recorded {
        let mut recorded = tree(&call.test, &mut self.test, Top::Test, 1.0);
        for (path, profile) in &call.started {
            if let Some((code, main)) = self.programs.get_mut(path) {
                recorded.add(tree(profile, code, Top::Program(*main), 1.0));
            }
        }
        recorded
    }
}

/// Counts of an event in one call.
struct Counts {
    test: Profile,
    /// Of processes that executed programs, by their paths.
    started: Vec<(String, Profile)>,
}

impl Counts {
    fn of(call: &CallProfiles, codes: &Codes, event: Event) -> Self {
        let started = call.started.iter().filter_map(|text| Some((codes.program(text)?, parse(text, event))));
        Self { test: parse(&call.test, event), started: started.collect() }
    }

    fn profiles(&mut self) -> impl Iterator<Item = &mut Profile> {
        self.started.iter_mut().map(|(_, profile)| profile).chain([&mut self.test])
    }
}

/// Parses the counts of an event in all calls.
fn parse_counts(counterparts: &[Sides<CallProfiles>], codes: &Sides<Codes>, event: Event) -> Vec<Sides<Counts>> {
    let of = |call: &Sides<CallProfiles>| Sides {
        base: Counts::of(&call.base, &codes.base, event),
        head: Counts::of(&call.head, &codes.head, event),
    };
    counterparts.iter().map(of).collect()
}

/// Any difference between counterparts.
const ANY: ExactRule = ExactRule { threshold: 0.0, least: 1.0, resolution: 0.0 };

/// Leaves out the costs of functions, told apart by their last callers, whose own costs do not differ in all calls alike.
///
/// Threads of a program wait for each other now and then. These waits vary from call to call and hide what differs in each.
fn retain_steady(calls: &mut [Sides<Counts>]) {
    let mut costs: BTreeMap<String, Sides<Vec<f64>>> = BTreeMap::new();
    let none = vec![0.0; calls.len()];
    for (index, call) in calls.iter_mut().enumerate() {
        for side in Side::BOTH {
            for (context, cost) in call.get_mut(side).profiles().flat_map(|profile| profile.by_context()) {
                if !costs.contains_key(context) {
                    costs.insert(context.to_owned(), Sides { base: none.clone(), head: none.clone() });
                }
                if let Some(known) = costs.get_mut(context) {
                    known.get_mut(side)[index] += cost as f64;
                }
            }
        }
    }
    let differs = |costs: &Sides<Vec<f64>>| {
        let verdict = exact(&ANY, &costs.base, &costs.head);
        verdict.is_some_and(MetricVerdict::is_change)
    };
    let steady: BTreeSet<String> =
        costs.into_iter().filter(|(_, costs)| differs(costs)).map(|(context, _)| context).collect();
    for call in calls {
        let profiles = call.base.profiles().chain(call.head.profiles());
        profiles.for_each(|profile| profile.retain(&steady));
    }
}

/// Merges the trees of all calls.
fn merge_calls(calls: &[Sides<Counts>], codes: &mut Sides<Codes>, renamed: &BTreeMap<u64, u64>) -> Merged {
    let mut merged = Merged::default();
    for Sides { base, head } in calls {
        let mut trees = Sides { base: codes.base.record(base), head: codes.head.record(head) };
        trees.head.rename(renamed);
        merged.add(&trees);
    }
    merged
}

/// What an event says about a test.
struct Evidence {
    event: Event,
    merged: Merged,
    attribution: Attribution,
    /// The same of costs that differ in all calls alike; of all costs where these were not told apart.
    steady: Attribution,
    differences: Differences,
}

impl Evidence {
    /// Attributes the difference; `None` for fewer calls than an interval needs.
    fn of(event: Event, merged: Merged, steady: Option<Merged>, has_changed: impl Fn(u64) -> bool) -> Option<Self> {
        let merged = merged.with_equal_calls_of_inlined(&has_changed);
        let attribution = attribute_estimated(&merged, ALPHA, &has_changed)?;
        let steady = steady.map(|steady| steady.with_equal_calls_of_inlined(&has_changed));
        let steady = attribute_estimated(steady.as_ref().unwrap_or(&merged), ALPHA, &has_changed)?;
        let differences = differences(&merged, ALPHA)?;
        Some(Self { event, merged, attribution, steady, differences })
    }

    fn engine(&self) -> Engine {
        match self.event {
            Event::Instructions => Engine::Callgrind,
            Event::SystemCalls => Engine::SystemCalls,
            Event::SystemTime => Engine::SystemTime,
        }
    }

    /// Returns head's change as a fraction of base.
    fn change(&self) -> f64 {
        self.attribution.whole.estimate / self.differences.nodes[0].total_cost.base
    }

    /// Returns the changed functions with a part of the difference, if that is certain; not against a certain change of time.
    /// The whole need not be certain.
    fn changed_parts<'a>(
        &'a self,
        question: &'a Question,
        has_changed: &'a dyn Fn(u64) -> bool,
    ) -> impl Iterator<Item = &'a Part> {
        self.steady.parts.iter().filter(move |part| {
            let change = part.change;
            change.is_certain() && has_changed(part.key) && question.agrees(change.estimate)
        })
    }

    /// Returns how much of base's costs changed functions account for.
    fn accounted_share(&self, question: &Question, has_changed: &dyn Fn(u64) -> bool) -> f64 {
        let parts = self.changed_parts(question, has_changed).map(|part| part.change.estimate.abs());
        parts.fold(0.0, f64::max) / self.differences.nodes[0].total_cost.base.max(1.0)
    }

    /// Returns the responsible functions and the attribution that they are parts of. In a test that starts programs, changed
    /// ones alone if there are some.
    fn responsible_parts<'a>(
        &'a self,
        question: &'a Question,
        has_changed: &'a dyn Fn(u64) -> bool,
    ) -> (Vec<&'a Part>, &'a Attribution) {
        let mut named: Vec<&Part> = Vec::new();
        if question.starts > 0.0 {
            named.extend(self.changed_parts(question, has_changed));
            named.sort_by(|a, b| b.change.estimate.abs().total_cmp(&a.change.estimate.abs()));
        }
        if named.is_empty() {
            return (self.attribution.responsible().collect(), &self.attribution);
        }
        (named, &self.steady)
    }

    /// Returns the note that names the changed functions that are executed, if there are some.
    fn note_executed(
        &self,
        functions: &Sides<BTreeMap<u64, Function>>,
        has_changed: &dyn Fn(u64) -> bool,
    ) -> Option<ExplanationNote> {
        let keys: BTreeSet<u64> =
            self.merged.nodes.iter().map(|node| node.key).filter(|key| has_changed(*key)).collect();
        let name = |function: &Function| format!("{} ({}:{})", function.name, function.file, function.line);
        let functions: Vec<String> = keys.into_iter().filter_map(|key| function_of(functions, key).map(name)).collect();
        (!functions.is_empty()).then_some(ExplanationNote::Executes { functions })
    }
}

/// Returns the evidence that names a function. Of instructions and system calls, that of which the changed functions account
/// for a larger part; the time in system calls, which varies, only where neither names one.
fn telling<'a>(judged: &'a [Evidence], question: &Question, has_changed: &dyn Fn(u64) -> bool) -> &'a Evidence {
    let counts = judged.iter().filter(|evidence| evidence.event != Event::SystemTime);
    let accounted = |evidence: &&Evidence| evidence.accounted_share(question, has_changed);
    let most = counts.max_by(|a, b| accounted(a).total_cmp(&accounted(b))).filter(|most| accounted(most) > 0.0);
    let timed = || judged.iter().find(|evidence| accounted(evidence) > 0.0);
    most.or_else(timed).unwrap_or(&judged[0])
}

/// Returns the code of the programs of a side that processes executed.
fn programs(
    counting: &Counting<'_>,
    side: Side,
    counterparts: &[Sides<CallProfiles>],
) -> Result<BTreeMap<String, (Code, Option<u64>)>> {
    let texts = counterparts.iter().flat_map(|call| &call.get(side).started);
    let executed: BTreeSet<&str> = texts.flat_map(|text| objects(text)).collect();
    let mut found = BTreeMap::new();
    if executed.is_empty() {
        return Ok(found);
    }
    for path in counting.lined.sides.get(side).binaries()? {
        // As the kernel names it.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let Some(object) = real.to_str().filter(|object| executed.contains(object)) else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let described = counting.describe(&name)?;
        let code = assign_code(counting.lined, side, &real, described.get(side));
        found.insert(object.to_owned(), (code, counting.main(side, &name)));
    }
    Ok(found)
}

impl Counting<'_> {
    /// Returns the code of a program: nothing of it where the linker makes other code.
    fn describe(&self, name: &str) -> Result<Sides<Described>> {
        if let Some(known) = self.programs.borrow().get(name) {
            return Ok(known.clone());
        }
        let sides = &self.lined.sides;
        let paths = Sides::as_ref(sides).map(|side| side.folder.join(name));
        let described = if let Cow::Borrowed(sides) = sides {
            let links = Sides { base: sides.base.binary_link(&paths.base), head: sides.head.binary_link(&paths.head) };
            let of = |side: Side| (links.get(side).as_deref(), paths.get(side).as_path());
            linked_again(Sides { base: of(Side::Base), head: of(Side::Head) }, &self.folder)?
        } else {
            let read = |path: &PathBuf| Described::read(&fs::read(path).ok()?).ok();
            read(&paths.base).zip(read(&paths.head)).map(|(base, head)| Sides { base, head })
        };
        let described = described.unwrap_or_default();
        self.programs.borrow_mut().insert(name.to_owned(), described.clone());
        Ok(described)
    }

    /// Returns the key of a program's `main`.
    fn main(&self, side: Side, name: &str) -> Option<u64> {
        let selected = self.inquiry.selected;
        let is_program = |target: &&TargetId| target.kind == TargetKind::Bin && target.name == name;
        let root = selected.root(selected.target_files.keys().find(is_program)?)?;
        let is_main = |written: &&Written| {
            written.function.as_ref().is_some_and(|function| function.file == root && function.name == "main")
        };
        self.lined.written.get(side).iter().find(is_main).map(|written| written.key)
    }
}

/// Assigns the code of an executable to its owners.
fn assign_code(lined: &Lined<'_>, side: Side, executable: &Path, described: &Described) -> Code {
    let mut owners = Owners::below(lined.tree.clone());
    for written in lined.written.get(side) {
        match &written.function {
            Some(function) => owners.add(&written.file, written.lines.clone(), written.key, function.clone()),
            None => owners.add_test(&written.file, written.lines.clone()),
        }
    }
    lined.packages.iter().for_each(|package| owners.add_crate(package));
    let object = executable.to_string_lossy().into_owned();
    Code::new(object, Rc::clone(&described.inlining), Rc::clone(&described.operations), owners)
}

/// Returns a note if debug information changed the code.
fn not_the_measured_code(
    plain: Sides<&TestExecutable>,
    lined: Sides<&TestExecutable>,
) -> Result<Option<ExplanationNote>> {
    for side in Side::BOTH {
        let bytes = |sides: Sides<&TestExecutable>| fs::read(&sides.get(side).path);
        match code::unlike(&bytes(plain)?, &bytes(lined)?) {
            Ok(unlike) if unlike.is_empty() => {}
            Ok(unlike) => {
                return Ok(Some(ExplanationNote::OtherInstructions { side, functions: unlike.len() }));
            }
            Err(why) => return Ok(Some(ExplanationNote::UnknownInstructions { side, why: why.to_string() })),
        }
    }
    Ok(None)
}

/// Builds of both sides with descriptions of their code.
#[derive(Debug)]
pub struct Lined<'a> {
    /// Executables to run: borrowed if they are the measured ones.
    pub sides: Cow<'a, Sides<SideBuild>>,
    pub described: BTreeMap<TargetId, std::result::Result<Sides<Described>, UnreadableExecutable>>,
    /// Folder of the build.
    pub tree: PathBuf,
    /// Places of functions in the sources, by file of the build.
    pub written: Sides<Vec<Written>>,
    /// Head's keys of functions with another key in base, with base's keys.
    pub renamed: BTreeMap<u64, u64>,
    /// Packages with functions that are distinguished although their places in the sources are unknown.
    pub packages: BTreeSet<String>,
}

/// Code of an executable by function.
#[derive(Debug, Clone, Default)]
pub struct Described {
    pub inlining: Rc<Inlining>,
    pub operations: Rc<Operations>,
}

/// A function in the sources.
#[derive(Debug)]
pub struct Written {
    pub file: PathBuf,
    pub lines: std::ops::RangeInclusive<usize>,
    pub key: u64,
    /// `None` for a test.
    pub function: Option<Function>,
}

impl Described {
    fn read(executable: &[u8]) -> std::result::Result<Self, UnreadableExecutable> {
        let inlining = Inlining::read(executable)?;
        Ok(Self { inlining: Rc::new(inlining), operations: Rc::new(Operations::read(executable)) })
    }

    /// Returns whether the debug information describes functions of the project.
    fn knows(&self, tree: &Path) -> bool {
        self.inlining.origins.iter().any(|origin| origin.file.starts_with(tree))
    }
}

/// Returns the executables of a target on both sides.
pub fn executables<'b>(sides: &'b Sides<SideBuild>, target: &TargetId) -> Option<Sides<&'b TestExecutable>> {
    let find = |side: Side| sides.get(side).executables.iter().find(|executable| executable.target == *target);
    Some(Sides { base: find(Side::Base)?, head: find(Side::Head)? })
}

/// Links the measured executables again in a folder, with their debug information. Returns `None` if the objects have
/// none, or if the linker produces other code.
pub fn relink_measured<'a>(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'a>,
    targets: &BTreeSet<TargetId>,
    folder: &Path,
) -> Result<Option<Lined<'a>>> {
    let _span = tracing::debug_span!("lines").entered();
    let tree = builder.root(Place::Measured)?;
    let mut described = BTreeMap::new();
    for target in targets {
        let Some(executables) = executables(&inquiry.built.sides, target) else { continue };
        let linked = executables.map(|executable| (executable.link.as_deref(), executable.path.as_path()));
        let Some(found) = linked_again(linked, folder)? else { return Ok(None) };
        if !found.base.knows(&tree) || !found.head.knows(&tree) {
            return Ok(None);
        }
        described.insert(target.clone(), Ok(found));
    }
    Ok(Some(index_functions(inquiry, tree, Cow::Borrowed(&inquiry.built.sides), described)))
}

/// Links an executable of each side again, by the folder of its link record, and returns its code; `None` unless that is the
/// measured code.
fn linked_again(executables: Sides<(Option<&Path>, &Path)>, folder: &Path) -> Result<Option<Sides<Described>>> {
    fs::remove_dir_all(folder)?;
    let output = |side: Side| folder.join(side.to_string());
    let start = |side: Side, (link, _): (Option<&Path>, &Path)| match link {
        Some(link) => Ok(apart(relink_with_debug_information(link, &output(side)))?.ok()),
        None => Ok(None),
    };
    let links = executables.try_map(start)?;
    let mut described = Vec::new();
    for (side, link) in [(Side::Base, links.base), (Side::Head, links.head)] {
        let Some(link) = link else { continue };
        if apart(link.finish())?.is_err() {
            continue;
        }
        let (linked, measured) = (fs::read(&output(side))?, fs::read(executables.get(side).1)?);
        if code::is_same_code(&measured, &linked).unwrap_or(false) {
            described.extend(Described::read(&linked).ok());
        }
    }
    fs::remove_dir_all(folder)?;
    Ok(<[Described; 2]>::try_from(described).ok().map(|[base, head]| Sides { base, head }))
}

/// Builds the targets of both sides with debug information. Fails with the reason if this is impossible.
pub fn build<'a>(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'a>,
    targets: &BTreeSet<TargetId>,
) -> Tried<Lined<'a>, Unexplained> {
    let both = builder.both_sides(&inquiry.job(targets), &mut WithLines(inquiry));
    let not_built = |failure| inquiry.not_built(BuiltWith::DebugInformation, &failure);
    let mut sides = both.map_err(|stop| stop.map(not_built))?.sides;
    inquiry.built.export_to(&mut sides);
    // Tests find the data files of their own version, as in the measurement.
    builder.checkout(Place::Measured, &*inquiry.built.pairing.data()?, &inquiry.built.injections)?;
    let tree = builder.root(Place::Measured)?;
    let mut described = BTreeMap::new();
    for target in targets {
        let Some(executables) = executables(&sides, target) else { continue };
        let bytes = executables.try_map(|_, executable| fs::read(&executable.path))?;
        let found =
            Described::read(&bytes.base).and_then(|base| Ok(Sides { base, head: Described::read(&bytes.head)? }));
        described.insert(target.clone(), found);
    }
    Ok(index_functions(inquiry, tree, Cow::Owned(sides), described))
}

fn index_functions<'a>(
    inquiry: &Inquiry<'a>,
    tree: PathBuf,
    sides: Cow<'a, Sides<SideBuild>>,
    described: BTreeMap<TargetId, std::result::Result<Sides<Described>, UnreadableExecutable>>,
) -> Lined<'a> {
    let written = Sides { base: Side::Base, head: Side::Head }.map(|side| find_functions(inquiry, &tree, side));
    let known = written.as_ref().map(|written| {
        let functions = written.iter().filter_map(|written| Some((written.key, written.function.clone()?)));
        functions.collect::<BTreeMap<_, _>>()
    });
    let (renamed, packages) = (match_renamed(&known), packages(inquiry.selected));
    Lined { sides, described, tree, written, renamed, packages }
}

/// A build of the measured files that records inlining.
struct WithLines<'a>(&'a Inquiry<'a>);

impl Attempt for WithLines<'_> {
    fn place(&self) -> Place {
        Place::Measured
    }

    fn variant(&self) -> Variant {
        Variant { inlining: build::Inlining::Told, ..self.0.built.variant }
    }

    fn order(&self) -> [Side; 2] {
        self.0.built.pairing.order()
    }

    fn files(&self, side: Side) -> &FileSet {
        self.0.built.pairing.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.0.built.injections
    }

    fn is_left_out(&self, target: &TargetId) -> bool {
        self.0.built.left_out.contains_key(target)
    }

    fn after(&mut self, _: Side, _: &BuildFailure, _: &Path) -> Result<Next> {
        Ok(Next::Stop)
    }
}

/// Returns the functions in all files of the project.
fn find_functions(inquiry: &Inquiry<'_>, tree: &Path, side: Side) -> Vec<Written> {
    let files = inquiry.built.pairing.files.get(side);
    let mut found = Vec::new();
    for (path, source) in sources(inquiry.selected, side) {
        let Some(text) = text(inquiry.versions, files, &path) else { continue };
        found.extend(extents(&text, &source.place()).into_iter().map(|extent| Written {
            file: tree.join(files.place(&path)),
            lines: extent.first..=extent.last,
            key: extent.key,
            function: (!extent.is_test).then(|| source.function(&path, &extent.name, extent.line)),
        }));
    }
    found
}

/// Returns the packages of the repository, and changed external packages.
fn packages(selected: &TargetSelection) -> BTreeSet<String> {
    let own = selected.workspace.packages.iter().map(|package| package.name.clone());
    let changed = selected.diff.inputs.iter().filter_map(|input| match &input.kind {
        InputKind::LockFile { packages } => Some(packages.iter().cloned()),
        _ => None,
    });
    own.chain(changed.flatten()).collect()
}
