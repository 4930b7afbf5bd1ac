//! Explains tests by instructions: runs the measured executables in callgrind and attributes the counts by debug
//! information.

use super::assemble::{Known, told, unless_contrary};
use super::attribute::{attribute_estimated, differences};
use super::causes;
use super::causes::{Facts, add_causes, sources, text};
use super::instructions::{Code, Owners, parse, tree};
use super::merge::{Merged, renamed};
use super::question::{ALPHA, Answers, Explaining, Inquiry, Question};
use perfunit_build as build;
use perfunit_build::shadow::Injections;
use perfunit_build::{
    Attempt, BuildFailure, Builder, InPlace, Next, Place, Seeds, SideBuild, TestExecutable, Variant,
    relink_with_debug_information,
};
use perfunit_measure::{Bench, CALLS_PER_PROCESS, Config, Gauges, Subject, find_valgrind, profiles};
use perfunit_model::error::{Error, Result, Stop, Tried, apart};
use perfunit_model::{
    BuiltWith, Engine, Explain, Explanation, ExplanationNote, Function, Side, Sides, Strategy, TargetId, TestId,
    Unexplained,
};
use perfunit_project::git::FileSet;
use perfunit_select::Selected;
use perfunit_select::code::{self, Inlining, Operations, UnreadableExecutable};
use perfunit_select::source::{InputKind, extents};
use perfunit_system::progress::Progress;
use perfunit_system::{fs, interrupt};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest run of a process in callgrind.
const LONGEST: Duration = Duration::from_secs(20);

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
    LEAST * called_seconds(question) <= LONGEST.as_secs_f64() && left.is_none_or(|left| ends_within(question, left))
}

/// Returns whether the processes of a test mostly end in this time.
pub fn ends_within(question: &Question, left: Duration) -> bool {
    const MOSTLY: f64 = 50.0;
    MOSTLY * called_seconds(question) <= left.as_secs_f64()
}

/// Returns the time of the calls of both processes without callgrind, in s.
fn called_seconds(question: &Question) -> f64 {
    CALLS_PER_PROCESS as f64 * question.pair_seconds()
}

/// Data shared by the explanations of all tests.
struct Counting<'a> {
    inquiry: &'a Inquiry<'a>,
    bench: &'a Bench,
    lined: &'a Lined<'a>,
    facts: &'a Facts,
}

/// Explains tests by the instructions that their functions execute.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    let _span = tracing::debug_span!("callgrind").entered();
    let targets = questions.iter().map(|question| question.test.target.clone()).collect();
    let context = builder.context();
    let mut bench = Bench::open(&context.ours)?;
    let lined = match measured(builder, inquiry, &targets, &bench.lined())? {
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
    let counting = Counting { inquiry, bench: &bench, lined: &lined, facts: &facts };
    let progress = Progress::bar(context.terminal, "Explaining", questions.len());
    let mut answers = Answers::default();
    for question in questions {
        let test = &question.test;
        if interrupt::requested() {
            break;
        }
        let answer = if let Some(why) = inquiry.over() {
            Err(why)
        } else {
            progress.message(test.to_string());
            // Without a request for this engine, it gets no more time than one process may take.
            let end = inquiry.explaining.engine.is_none().then(|| Instant::now() + LONGEST);
            let deadline = inquiry.end().into_iter().chain(end).min();
            let config = Config { deadline, ..config.clone() };
            apart(one(&counting, &config, test))?.map(|found| unless_contrary(found, question.change))
        };
        answers.tests.insert(test.clone(), answer);
        progress.advance();
    }
    Ok(answers)
}

/// Explains one test. Fails with the reason if this is impossible.
fn one(counting: &Counting<'_>, config: &Config, test: &TestId) -> Tried<Explanation, Unexplained> {
    let Counting { inquiry, bench, lined, facts } = *counting;
    let started = Instant::now();
    let (Some(run), Some(plain), Some(described)) = (
        executables(&lined.sides, &test.target),
        executables(&inquiry.built.sides, &test.target),
        lined.described.get(&test.target),
    ) else {
        return Err(Stop::Because(Unexplained::TargetNotBuilt { with: BuiltWith::DebugInformation }));
    };
    let mut code = match described {
        Ok(described) => Sides {
            base: attributed(lined, Side::Base, run.base, &described.base),
            head: attributed(lined, Side::Head, run.head, &described.head),
        },
        Err(why) => return Err(Stop::Because(Unexplained::Unreadable { why: why.to_string() })),
    };
    let subject = Subject { test: test.clone(), executables: run, terms: None, ignored: false };
    let sides = Sides::as_ref(&lined.sides);
    let counterparts = profiles(bench, config, &sides, &subject).map_err(|stop| stop.map(Unexplained::NoLaterCalls))?;
    let mut merged = Merged::default();
    for Sides { base, head } in counterparts {
        let mut trees =
            Sides { base: tree(&parse(&base), &mut code.base, 1.0), head: tree(&parse(&head), &mut code.head, 1.0) };
        trees.head.rename(&lined.renamed);
        merged.add(&trees);
    }
    let mut functions = code.map(Code::functions);
    for (new, old) in &lined.renamed {
        functions.head.remove(new).into_iter().for_each(|function| drop(functions.head.insert(*old, function)));
    }
    let has_changed = |key: u64| inquiry.has_changed(&functions, key);
    let (Some(attribution), Some(differences)) =
        (attribute_estimated(&merged, ALPHA, has_changed), differences(&merged, ALPHA))
    else {
        return Err(Stop::Because(Unexplained::TooFewCalls));
    };
    let known = Known {
        test,
        engine: Engine::Callgrind,
        strategy: Strategy::Complete,
        seconds: started.elapsed().as_secs_f64(),
        plain_base_ns: None,
        probe_cost: Sides { base: 0.0, head: 0.0 },
        functions: &functions,
        without_probe: BTreeMap::new(),
        overflow: 0,
        changed: &|function| inquiry.changed(function),
        names: &|function| inquiry.names(function),
        of_test: &|| inquiry.of_test(test),
    };
    let mut explanation = told(&merged, &differences, &attribution, &known);
    add_causes(&mut explanation, &attribution, &known, facts);
    explanation.instructions = Some(attribution.whole.estimate / explanation.cost.base);
    if matches!(lined.sides, Cow::Owned(_)) {
        explanation.notes.extend(not_the_measured_code(plain, run)?);
    }
    Ok(explanation)
}

/// Assigns the code of an executable to its owners.
fn attributed(lined: &Lined<'_>, side: Side, executable: &TestExecutable, described: &Described) -> Code {
    let mut owners = Owners::below(lined.tree.clone());
    for written in lined.written.get(side) {
        match &written.function {
            Some(function) => owners.add(&written.file, written.lines.clone(), written.key, function.clone()),
            None => owners.add_test(&written.file, written.lines.clone()),
        }
    }
    lined.packages.iter().for_each(|package| owners.add_crate(package));
    let object = executable.path.to_string_lossy().into_owned();
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
#[derive(Debug, Clone)]
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
pub fn measured<'a>(
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
        let Some(found) = linked_again(executables, folder)? else { return Ok(None) };
        if !found.base.knows(&tree) || !found.head.knows(&tree) {
            return Ok(None);
        }
        described.insert(target.clone(), Ok(found));
    }
    Ok(Some(lined(inquiry, tree, Cow::Borrowed(&inquiry.built.sides), described)))
}

fn linked_again(executables: Sides<&TestExecutable>, folder: &Path) -> Result<Option<Sides<Described>>> {
    fs::remove_dir_all(folder)?;
    let output = |side: Side| folder.join(side.to_string());
    let start = |side: Side, executable: &TestExecutable| match &executable.link {
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
        let (linked, measured) = (fs::read(&output(side))?, fs::read(&executables.get(side).path)?);
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
    let sides = both.map_err(|stop| stop.map(not_built))?.sides;
    // Tests find the data files of their own version, as in the measurement.
    builder.checkout(Place::Measured, inquiry.built.pairing.data(), &inquiry.built.injections)?;
    let tree = builder.root(Place::Measured)?;
    let mut described = BTreeMap::new();
    for target in targets {
        let Some(executables) = executables(&sides, target) else { continue };
        let bytes = executables.try_map(|_, executable| fs::read(&executable.path))?;
        let found =
            Described::read(&bytes.base).and_then(|base| Ok(Sides { base, head: Described::read(&bytes.head)? }));
        described.insert(target.clone(), found);
    }
    Ok(lined(inquiry, tree, Cow::Owned(sides), described))
}

fn lined<'a>(
    inquiry: &Inquiry<'a>,
    tree: PathBuf,
    sides: Cow<'a, Sides<SideBuild>>,
    described: BTreeMap<TargetId, std::result::Result<Sides<Described>, UnreadableExecutable>>,
) -> Lined<'a> {
    let written = Sides { base: Side::Base, head: Side::Head }.map(|side| written(inquiry, &tree, side));
    let known = written.as_ref().map(|written| {
        let functions = written.iter().filter_map(|written| Some((written.key, written.function.clone()?)));
        functions.collect::<BTreeMap<_, _>>()
    });
    let (renamed, packages) = (renamed(&known), packages(inquiry.selected));
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
fn written(inquiry: &Inquiry<'_>, tree: &Path, side: Side) -> Vec<Written> {
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
fn packages(selected: &Selected) -> BTreeSet<String> {
    let own = selected.workspace.packages.iter().map(|package| package.name.clone());
    let changed = selected.diff.inputs.iter().filter_map(|input| match &input.kind {
        InputKind::LockFile { packages } => Some(packages.iter().cloned()),
        _ => None,
    });
    own.chain(changed.flatten()).collect()
}
