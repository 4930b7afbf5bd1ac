//! Explains by instructions: both sides once more with debug information, run in callgrind.
//!
//! In the tree of the measured build and with its files: only what rustc is told to write beside the code is another.

use super::build::{BuiltSides, Job, TARGET_DIR, prepare};
use super::causes;
use super::explain::{ALPHA, Answers, Question, changed, config};
use super::not_interrupted;
use super::options::{Explain, Explaining, Options};
use super::probes::{sources, text};
use super::select::Selected;
use super::setup::Setup;
use crate::build::{self, Built, InPlace, SideBuild, TestExecutable, Variant};
use crate::error::{Error, Result};
use crate::explain::instructions::{Code, Owners, parse, tree};
use crate::explain::{Facts, Known, Merged, add_causes, charges, differences, told};
use crate::measure::{Bench, CALLS_PER_PROCESS, Config, Gauges, Seeds, Subject, find_valgrind, profiles};
use crate::model::{Engine, Explanation, Function, Side, Sides, Strategy, TargetId, TestId};
use crate::select::code::{self, Inlining, Operations};
use crate::select::source::{InputKind, Place, extents};
use crate::system::fs;
use crate::system::interrupt;
use crate::system::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest run of a process in callgrind.
const LONGEST: Duration = Duration::from_secs(20);

/// Both sides with debug information.
#[derive(Debug)]
struct Lined {
    sides: Sides<SideBuild>,
    /// The folder that they were built in.
    tree: PathBuf,
    plain: Sides<SideBuild>,
    /// Where functions are written, by file of the build.
    written: Sides<Vec<Written>>,
    /// Packages whose functions are told apart although nobody knows where they are written.
    packages: BTreeSet<String>,
}

/// A function of the source.
#[derive(Debug)]
struct Written {
    file: PathBuf,
    lines: std::ops::RangeInclusive<usize>,
    key: u64,
    /// `None` for a test.
    function: Option<Function>,
}

/// Whether this engine can be used here: nothing is built before that is clear.
pub fn check(explaining: Explaining) -> Result<()> {
    let is_wanted = explaining.engine == Some(Engine::Callgrind) && explaining.explain != Explain::Never;
    if is_wanted && find_valgrind().is_none() {
        return Err(Error::setup("--engine callgrind needs valgrind, which is not in PATH")
            .hint("install valgrind, or leave the option out to explain by probes"));
    }
    Ok(())
}

/// Builds the targets of both sides with debug information, or says in words why that cannot be done.
fn build(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    plain: &BuiltSides,
    targets: &BTreeSet<TargetId>,
) -> Result<std::result::Result<Lined, String>> {
    let variant = Variant { inlining: build::Inlining::Told, ..plain.variant };
    let toolchains = prepare(setup, variant)?;
    let injections: BTreeSet<String> =
        plain.injections.paths().map(|path| path.to_string_lossy().into_owned()).collect();
    let job =
        Job { options, selected, targets, toolchains: &toolchains, injections: &injections, target_dir: TARGET_DIR };
    let mut built: Sides<Option<SideBuild>> = Sides::default();
    for side in plain.pairing.order() {
        not_interrupted()?;
        match job.one_side(setup, side, plain.pairing.files.get(side))? {
            Built::Done(side_build) => *built.get_mut(side) = Some(side_build),
            Built::Failed(failure) => {
                let error = failure.output.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
                return Ok(Err(format!("it does not build with debug information: {error}")));
            }
        }
    }
    let (Some(base), Some(head)) = (built.base, built.head) else {
        return Err(Error::setup("a side was not built"));
    };
    // Tests find the data files of the version that they are from, as when they were measured.
    let data = plain.pairing.files.get(plain.pairing.tests_of);
    setup.tree.checkout(&setup.repository, data, &plain.injections)?;
    Ok(Ok(Lined {
        sides: Sides { base, head },
        tree: setup.tree.root(),
        plain: plain.sides.clone(),
        written: Sides { base: Side::Base, head: Side::Head }.map(|side| written(setup, selected, plain, side)),
        packages: packages(selected),
    }))
}

/// The functions of all files of the project.
fn written(setup: &Setup, selected: &Selected, plain: &BuiltSides, side: Side) -> Vec<Written> {
    let files = plain.pairing.files.get(side);
    let mut found = Vec::new();
    for (path, source) in sources(selected, side) {
        let Some(text) = text(setup, files, &path) else { continue };
        let place = Place { package: &source.package, path: &source.place };
        found.extend(extents(&text, &place).into_iter().map(|extent| Written {
            file: setup.tree.path(&path),
            lines: extent.first..=extent.last,
            key: extent.key,
            function: (!extent.is_test).then(|| source.function(&path, &extent.name, extent.line)),
        }));
    }
    found
}

/// Those of the repository, and of others those that changed.
fn packages(selected: &Selected) -> BTreeSet<String> {
    let own = selected.workspace.packages.iter().map(|package| package.name.clone());
    let changed = selected.diff.inputs.iter().filter_map(|input| match &input.kind {
        InputKind::LockFile { packages } => Some(packages.iter().cloned()),
        _ => None,
    });
    own.chain(changed.flatten()).collect()
}

/// Whether a process of a test may end in time: callgrind makes it longer by ten times at the very least.
pub fn can_end(question: &Question) -> bool {
    const LEAST: f64 = 10.0;
    let seconds = question.base_ns.max(question.base_ns * (1.0 + question.change)) / 1e9;
    LEAST * CALLS_PER_PROCESS as f64 * seconds <= LONGEST.as_secs_f64()
}

/// Answers questions about tests of this pairing.
pub fn explain(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    questions: &[Question],
    deadline: Option<Instant>,
) -> Result<Answers> {
    let targets = questions.iter().map(|question| question.test.target.clone()).collect();
    let lined = match build(setup, options, selected, built, &targets)? {
        Ok(lined) => lined,
        Err(why) => {
            return Ok(Answers { warnings: vec![format!("nothing is explained: {why}")], ..Answers::default() });
        }
    };
    let mut bench = Bench::open(&setup.ours)?;
    bench.seeds = Seeds::new(built.seeds.clone());
    bench.gauges = Gauges::new(None, find_valgrind(), bench.callgrind());
    bench.made = Some(InPlace::put(&lined.sides, &setup.ours)?);
    let config = config(options, LONGEST, deadline);
    let facts = causes::facts(setup, selected, &options.build.profile);
    let changed = |function: &Function| changed(function, &selected.diff.items);
    let progress = Progress::bar(setup.terminal, "Explaining", questions.len());
    let mut answers = Answers::default();
    for Question { test, .. } in questions {
        if interrupt::requested() {
            break;
        }
        let answer = if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Err("the budget was used up".to_owned())
        } else {
            progress.message(test.to_string());
            // Nobody asked for it: it is given no more time than one process would have.
            let end = options.explaining.engine.is_none().then(|| Instant::now() + LONGEST);
            let deadline = deadline.into_iter().chain(end).min();
            let config = Config { deadline, ..config.clone() };
            one(&bench, &config, &lined, test, &changed, &facts)?
        };
        answers.tests.insert(test.clone(), answer);
        progress.advance();
    }
    Ok(answers)
}

/// Explains one test, or says in words why that cannot be done.
fn one(
    bench: &Bench,
    config: &Config,
    lined: &Lined,
    test: &TestId,
    changed: &dyn Fn(&Function) -> Option<String>,
    facts: &Facts,
) -> Result<std::result::Result<Explanation, String>> {
    let started = Instant::now();
    let executable = |sides: &Sides<SideBuild>, side: Side| -> Option<TestExecutable> {
        sides.get(side).executables.iter().find(|executable| executable.target == test.target).cloned()
    };
    let both = |sides| Some(Sides { base: executable(sides, Side::Base)?, head: executable(sides, Side::Head)? });
    let (Some(executables), Some(plain)) = (both(&lined.sides), both(&lined.plain)) else {
        return Ok(Err("its target was not built with debug information".to_owned()));
    };
    let mut code = match executables.as_ref().try_map(|side, executable| read(lined, side, executable))? {
        Sides { base: Ok(base), head: Ok(head) } => Sides { base, head },
        Sides { base: Err(why), .. } | Sides { head: Err(why), .. } => return Ok(Err(why)),
    };
    let subject = Subject { test: test.clone(), executables: executables.as_ref(), terms: None, ignored: false };
    let counterparts = match profiles(bench, config, &lined.sides.as_ref(), &subject)? {
        Ok(counterparts) => counterparts,
        Err(why) => return Ok(Err(why)),
    };
    let mut merged = Merged::default();
    for Sides { base, head } in counterparts {
        merged.add(&Sides {
            base: tree(&parse(&base), &mut code.base, 1.0),
            head: tree(&parse(&head), &mut code.head, 1.0),
        });
    }
    let (Some(paid), Some(differences)) = (charges(&merged, ALPHA), differences(&merged, ALPHA)) else {
        return Ok(Err("too few calls of it were counted".to_owned()));
    };
    let functions = code.map(Code::functions);
    let known = Known {
        test,
        engine: Engine::Callgrind,
        strategy: Strategy::Complete,
        seconds: started.elapsed().as_secs_f64(),
        plain_base_ns: f64::NAN,
        probe_cost_ns: Sides { base: 0.0, head: 0.0 },
        functions: &functions,
        without_probe: BTreeMap::new(),
        overflow: 0,
        changed,
    };
    let mut explanation = told(&merged, &differences, &paid, &known);
    add_causes(&mut explanation, &paid, &known, facts);
    explanation.notes.extend(not_the_measured_code(&plain, &executables)?);
    Ok(Ok(explanation))
}

/// What is known of an executable.
fn read(lined: &Lined, side: Side, executable: &TestExecutable) -> Result<std::result::Result<Code, String>> {
    let bytes = fs::read(&executable.path)?;
    let inlining = match Inlining::read(&bytes) {
        Ok(inlining) => inlining,
        Err(why) => return Ok(Err(why)),
    };
    let mut owners = Owners::below(lined.tree.clone());
    for written in lined.written.get(side) {
        match &written.function {
            Some(function) => owners.add(&written.file, written.lines.clone(), written.key, function.clone()),
            None => owners.add_test(&written.file, written.lines.clone()),
        }
    }
    lined.packages.iter().for_each(|package| owners.add_crate(package));
    let object = executable.path.to_string_lossy().into_owned();
    Ok(Ok(Code::new(object, inlining, Operations::read(&bytes), owners)))
}

/// What to say if debug information changed the code after all.
fn not_the_measured_code(plain: &Sides<TestExecutable>, lined: &Sides<TestExecutable>) -> Result<Option<String>> {
    for side in Side::BOTH {
        let bytes = |sides: &Sides<TestExecutable>| fs::read(&sides.get(side).path);
        match code::unlike(&bytes(plain)?, &bytes(lined)?) {
            Ok(unlike) if unlike.is_empty() => {}
            Ok(unlike) => {
                let count = unlike.len();
                return Ok(Some(format!("with debug information {count} functions of {side} have other instructions")));
            }
            Err(why) => {
                return Ok(Some(format!("it is not known whether {side} has the measured instructions: {why}")));
            }
        }
    }
    Ok(None)
}
