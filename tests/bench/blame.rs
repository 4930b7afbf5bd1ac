//! Is the right function blamed? Puts a busy loop at the start of a function, asks the tool which tests got slower and
//! why, and looks where that function is in the answer.
//!
//! `cargo bench --bench blame -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod bound;
mod comparison;
mod copy;
#[expect(dead_code, reason = "only the starts of functions are used here")]
mod edits;
mod harmless;
mod invocation;
mod kept;
mod literals;
mod sites;
#[expect(dead_code, reason = "nobody asks here who names what")]
mod sources;
mod subject;
#[expect(dead_code, reason = "`diff` is called here, and not `list`")]
mod tool;

use cargo_perfunit::report::json::{Document, TestResult};
use cargo_perfunit::source;
use clap::Parser;
use comparison::Answer;
use edits::{Edit, Kind, Place};
use serde::{Deserialize, Serialize};
use sources::{Scope, Sources};
use std::fmt;
use std::path::Path;
use std::time::Instant;
use subject::{Copy, Subject};
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Busy loops at the starts of functions.
#[derive(Debug, Parser)]
#[command(name = "blame", max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Injections that count: some test is flagged.
    #[arg(long, default_value_t = 20, value_name = "N")]
    edits: usize,
    /// Places to try for that.
    #[arg(long, default_value_t = 60, value_name = "N")]
    tries: usize,
    /// Rounds of the loop, about a nanosecond each; drawn among these.
    #[arg(long, value_delimiter = ',', default_value = "5,50,500,5000", value_name = "ROUNDS")]
    rounds: Vec<u64>,
}

/// What became of one injection.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    key: String,
    seed: u64,
    tool: String,
    place: String,
    rounds: u64,
    /// Why nothing was compared, if so.
    refused: Option<String>,
    seconds: f64,
    /// The tests that are slower.
    tests: Vec<Blame>,
}

/// What the tool says of one slower test.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Blame {
    test: String,
    /// From 1; `None` if it is not named.
    rank: Option<usize>,
    /// How many are named.
    named: usize,
    /// Of the right one.
    share: Option<f64>,
    /// Of base with probes.
    distortion: Option<f64>,
    /// Whether there is an explanation.
    explained: bool,
    notes: Vec<String>,
}

fn main() -> Result<()> {
    invocation::arguments("blame -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let subject = &arguments.subject;
    let work = subject.place.work()?;
    let Copy { tree, commit } = subject.copy(work.as_ref(), |_| Err("there is no sample: give a clone".into()))?;
    let tool = subject.place.tool(&["--explain".to_owned(), "always".to_owned()])?;
    let sources = Sources::read(&tree, Scope { below: subject.below.clone(), dependencies: Vec::new() })?;
    let path = work.as_ref().join("blame.jsonl");
    let known = kept::known(&path, |row: &Row| row.seed == subject.seed && row.tool == tool.key)?;
    let mut random = fastrand::Rng::with_seed(subject.seed);
    let mut rows: Vec<Row> = Vec::new();
    println!("{HEADING}");
    for edit in draw(&sources, arguments.tries, &mut random) {
        if rows.iter().filter(|row| !row.tests.is_empty()).count() >= arguments.edits {
            break;
        }
        let rounds = arguments.rounds[random.usize(..arguments.rounds.len())];
        let key = format!("{}, {rounds} rounds", edit.key());
        let row = if let Some(row) = known.iter().find(|row| row.key == key) {
            row.clone()
        } else {
            let row = compared(&tree, &tool, sources.text(&edit.path), &edit, rounds, key, subject.seed)?;
            copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit])?;
            kept::keep(&path, &row)?;
            row
        };
        println!("{row}");
        rows.push(row);
    }
    println!("{}", totals(&rows));
    println!("rows: {}", path.display());
    Ok(())
}

/// Functions in a random order, as far as they are no tests' own.
fn draw(sources: &Sources, tries: usize, random: &mut fastrand::Rng) -> Vec<Edit> {
    let is_start = |edit: &Edit| {
        matches!(edit.kind, Kind::Function | Kind::Generic | Kind::TraitMethod | Kind::Drop | Kind::DynMethod)
            && edit.place == Place::Source
    };
    let mut found: Vec<Edit> = sources.edits().into_iter().filter(is_start).collect();
    random.shuffle(&mut found);
    found.truncate(tries);
    found
}

fn compared(tree: &Path, tool: &Tool, text: &str, edit: &Edit, rounds: u64, key: String, seed: u64) -> Result<Row> {
    let mut edit = edit.clone();
    let work =
        format!(" {{ let mut round = 0u64; while round < {rounds} {{ round = core::hint::black_box(round) + 1; }} }}");
    edit.changes.iter_mut().for_each(|(_, new)| new.clone_from(&work));
    let path = tree.join(&edit.path);
    std::fs::write(&path, edit.apply(text))?;
    let started = Instant::now();
    let answer = comparison::compare(tool, tree, "HEAD", &[]);
    let (tests, refused) = match answer? {
        Answer::Compared(document) => (blames(&document, &edit, text), None),
        Answer::Refused(why) => (Vec::new(), Some(why)),
    };
    let place = format!("{}:{}", edit.path, edit.line);
    let seconds = started.elapsed().as_secs_f64();
    Ok(Row { key, seed, tool: tool.key.clone(), place, rounds, refused, seconds, tests })
}

fn blames(document: &Document, edit: &Edit, text: &str) -> Vec<Blame> {
    // The function whose name stands last before its body.
    let items = source::items(text.as_bytes()).unwrap_or_default();
    let line = items.iter().map(|item| item.line).filter(|line| *line <= edit.line).max();
    let slower = document.tests.iter().filter(|test| test.verdict == "slower");
    slower.map(|test| blame(test, &edit.path, line.unwrap_or(edit.line))).collect()
}

fn blame(test: &TestResult, path: &str, line: usize) -> Blame {
    let name = test.test.name.clone();
    let Some(found) = &test.explanation else {
        let notes = test.notes.clone();
        return Blame { test: name, rank: None, named: 0, share: None, distortion: None, explained: false, notes };
    };
    let is_right = |index: usize| found.functions[index].file == path && found.functions[index].line == line;
    let rank = found.blamed.iter().position(|blamed| is_right(blamed.function));
    Blame {
        test: name,
        rank: rank.map(|rank| rank + 1),
        named: found.blamed.len(),
        share: rank.and_then(|rank| found.blamed[rank].share),
        distortion: found.distortion,
        explained: true,
        notes: found.notes.clone(),
    }
}

const HEADING: &str = "rounds  slower  first  in three  seconds  place";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_most = |rank: usize| self.tests.iter().filter(|test| test.rank.is_some_and(|is| is <= rank)).count();
        let Self { rounds, seconds, place, .. } = self;
        write!(f, "{rounds:>6} {:>7} {:>6} {:>9} {seconds:>8.0}  {place}", self.tests.len(), at_most(1), at_most(3))?;
        self.refused.iter().try_for_each(|why| write!(f, " ({why})"))
    }
}

fn totals(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    let mut all_rounds: Vec<u64> = rows.iter().map(|row| row.rounds).collect();
    all_rounds.sort_unstable();
    all_rounds.dedup();
    let of = |rounds: Option<u64>| {
        rows.iter().filter(|row| rounds.is_none_or(|rounds| row.rounds == rounds)).collect::<Vec<&Row>>()
    };
    for rounds in all_rounds.into_iter().map(Some).chain([None]) {
        let rows = of(rounds);
        let tests: Vec<&Blame> = rows.iter().flat_map(|row| &row.tests).collect();
        let at_most = |rank: usize| tests.iter().filter(|test| test.rank.is_some_and(|is| is <= rank)).count();
        let name = rounds.map_or("all".to_owned(), |rounds| format!("{rounds} rounds"));
        let found = rows.iter().filter(|row| !row.tests.is_empty()).count();
        lines.push(format!(
            "{name}: {found} of {} injections make tests slower; of {} tests {} are explained, the right function is first in {}, among three in {}; wrong first: {}",
            rows.len(),
            tests.len(),
            tests.iter().filter(|test| test.explained).count(),
            at_most(1),
            at_most(3),
            bound::share(tests.len() - at_most(1), tests.len()),
        ));
    }
    lines.join("\n")
}
