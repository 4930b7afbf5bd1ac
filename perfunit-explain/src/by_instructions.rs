//! Explains by instructions: what was measured, run in callgrind, attributed by its debug information.

use super::assemble::{Known, told, unless_contrary};
use super::attribute::attribute_estimated;
use super::causes::{Facts, add_causes};
use super::differences::differences;
use super::instructions::{Code, Owners, parse, tree};
use super::merge::Merged;
use super::options::Explaining;
use super::question::{ALPHA, Answers, Inquiry, Question};
use super::suspects;
use super::with_lines::{self, Described, Lined, executables};
use perfunit_build::{Builder, InPlace, Seeds, TestExecutable};
use perfunit_measure::{Bench, CALLS_PER_PROCESS, Config, Gauges, Subject, find_valgrind, profiles};
use perfunit_model::error::{Error, Result, Stop, Tried, apart};
use perfunit_model::{
    BuiltWith, Engine, Explain, Explanation, ExplanationNote, Side, Sides, Strategy, TestId, Unexplained,
};
use perfunit_select::code;
use perfunit_system::fs;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest run of a process in callgrind.
const LONGEST: Duration = Duration::from_secs(20);

/// Whether this engine can be used here: nothing is built before that is clear.
pub fn check(explaining: Explaining) -> Result<()> {
    let is_wanted = explaining.engine == Some(Engine::Callgrind) && explaining.explain != Explain::Never;
    if is_wanted && find_valgrind().is_none() {
        return Err(Error::setup("--engine callgrind needs valgrind, which is not in PATH")
            .hint("install valgrind, or leave the option out to explain by probes"));
    }
    Ok(())
}

/// Whether the processes of a test may end in time: callgrind makes each longer by ten times at the very least; by fifty
/// mostly, which counts where nobody asked for it.
pub fn can_end(question: &Question, inquiry: &Inquiry<'_>) -> bool {
    const LEAST: f64 = 10.0;
    let left = inquiry.unasked_until.map(|end| end.saturating_duration_since(Instant::now()));
    LEAST * called_seconds(question) <= LONGEST.as_secs_f64() && left.is_none_or(|left| ends_within(question, left))
}

/// Whether the processes of a test mostly end in this time.
pub fn ends_within(question: &Question, left: Duration) -> bool {
    const MOSTLY: f64 = 50.0;
    MOSTLY * called_seconds(question) <= left.as_secs_f64()
}

/// What the calls of both processes take without callgrind, s.
fn called_seconds(question: &Question) -> f64 {
    CALLS_PER_PROCESS as f64 * question.pair_seconds()
}

/// What the explanation of each test needs.
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
    let lined = match with_lines::measured(builder, inquiry, &targets, &bench.lined())? {
        Some(lined) => lined,
        None => match apart(with_lines::build(builder, inquiry, &targets))? {
            Ok(lined) => lined,
            Err(why) => return Ok(Answers::none(questions, why)),
        },
    };
    bench.seeds = Seeds::new(inquiry.built.seeds.clone());
    bench.gauges = Gauges::new(None, find_valgrind(), bench.callgrind());
    bench.made = Some(InPlace::put(&lined.sides, &context.ours)?);
    let config = inquiry.config(LONGEST, inquiry.end());
    let facts = suspects::facts(inquiry);
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
            // Nobody asked for it: it is given no more time than one process would have.
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

/// Explains one test, or says why that cannot be done.
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

/// An executable's code, with whose it is.
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

/// Whether debug information changed the code after all.
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
