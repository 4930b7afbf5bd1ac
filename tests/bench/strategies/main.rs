//! Measures the cost of the explanation strategies, and how often they are right. Uses call trees of several depths, in
//! which one random function does a little more work in head.
//!
//! `cargo bench --bench strategies -- [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../comparison.rs"]
mod comparison;
#[expect(dead_code, reason = "the crate is generated and not cloned")]
#[path = "../copy.rs"]
mod copy;
#[expect(dead_code, reason = "causes other than functions are not used")]
#[path = "../explained.rs"]
mod explained;
#[path = "../invocation.rs"]
mod invocation;
#[path = "../kept.rs"]
mod kept;
#[path = "../repository.rs"]
mod repository;
mod rows;
mod stories;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
#[path = "../tool.rs"]
mod tool;
mod trees;

use clap::Parser;
use comparison::Answer;
use explained::{Document, Test};
use invocation::Place;
use rows::Row;
use std::path::Path;
use tool::Tool;
use trees::Tree;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Run strategies on generated call trees.
#[derive(Debug, Parser)]
#[command(name = "strategies", max_term_width = 100)]
struct Arguments {
    /// Number of draws of responsible functions, one for every depth and effect in each
    #[arg(long, default_value_t = 1, value_name = "N")]
    tries: usize,
    /// Strategies of the tool; `default` for the tool's own choice
    #[arg(long, value_delimiter = ',', default_value = "complete,levelwise,until-source-change", value_name = "NAME")]
    strategy: Vec<String>,
    /// Levels of functions below the test
    #[arg(long, value_delimiter = ',', default_value = "2,4,6,8", value_name = "N")]
    depths: Vec<usize>,
    /// Additional work of head in percent
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,5", value_name = "PER CENT")]
    effects: Vec<f64>,
    /// Rounds of a loop in one run of each test, shared by its functions; about 1.5 ns each. With fewer rounds, probes
    /// are a larger part of the time
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    rounds: usize,
    /// Seed of the draw. With the same seed, a later run continues an earlier one
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Instead: find the responsible function in the example projects by each strategy
    #[arg(long)]
    examples: bool,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("strategies -- --tries N [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    // Half of the smallest effect is found and flagged.
    let least = arguments.effects.iter().copied().fold(f64::INFINITY, f64::min);
    let threshold = if arguments.examples { Vec::new() } else { vec![format!("--threshold={}%", least / 2.0)] };
    let options = [vec!["--explain".to_owned(), "always".to_owned()], threshold].concat();
    let tool = arguments.place.tool(&options)?;
    if arguments.examples {
        return stories::show(work.as_ref(), &tool, &arguments.strategy);
    }
    let path = work.as_ref().join("strategies.jsonl");
    let mut rows = kept::known(&path, |row: &Row| {
        row.seed == arguments.seed && row.tool == tool.key && row.rounds == arguments.rounds
    })?;
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    for attempt in 0..arguments.tries {
        let mut trees = Vec::new();
        for depth in &arguments.depths {
            let draw = |percent: &f64| Tree::draw(*depth, *percent, arguments.rounds, &mut random);
            trees.extend(arguments.effects.iter().map(draw));
        }
        for strategy in &arguments.strategy {
            if rows.iter().any(|row| row.attempt == attempt && row.strategy == *strategy) {
                continue;
            }
            let tree = trees::write(work.as_ref(), &trees)?;
            let tests = asked(&tool, &tree, "HEAD", strategy, &[])?;
            for tree in &trees {
                let test = tests.iter().find(|test| test.name == tree.test()).ok_or("a test is missing")?;
                let told = Row { seed: arguments.seed, tool: tool.key.clone(), attempt, ..row(strategy, tree, test)? };
                println!("{told}");
                kept::keep(&path, &told)?;
                rows.push(told);
            }
        }
    }
    println!("\n{}", rows::table(&rows));
    println!("rows: {}", path.display());
    Ok(())
}

/// Returns the tool's results for all tests with a strategy.
fn asked(tool: &Tool, tree: &Path, versions: &str, strategy: &str, more: &[&str]) -> Result<Vec<Test>> {
    let strategy = if strategy == "default" { Vec::new() } else { vec!["--strategy", strategy] };
    match comparison::compare::<Document>(tool, tree, versions, &[&strategy, more].concat())? {
        Answer::Compared(document) => Ok(document.tests),
        Answer::Refused(why) => Err(why.into()),
    }
}

/// Finds the responsible function in the result for a tree's test.
fn row(strategy: &str, tree: &Tree, test: &Test) -> Result<Row> {
    let line = tree.guilty_line()?;
    let found = test.explanation.as_ref();
    let is_guilty = |function: &explained::Function| function.file == tree.path() && function.line == line;
    let rank = found.and_then(|found| {
        found
            .responsible
            .iter()
            .position(|responsible| responsible.kind == "own" && is_guilty(&found.functions[responsible.function]))
    });
    Ok(Row {
        seed: 0,
        tool: String::new(),
        attempt: 0,
        strategy: strategy.to_owned(),
        depth: tree.depth,
        percent: tree.percent,
        functions: tree.functions(),
        rounds: tree.rounds,
        change: test.change.as_ref().and_then(|change| change.estimate),
        flagged: test.verdict == "slower",
        explained: found.is_some(),
        rank: rank.map(|rank| rank + 1),
        named: found.map_or(0, |found| found.responsible.len()),
        first: found.and_then(explained::first),
        pairs: found.map_or(0, |found| found.pairs),
        seconds: found.and_then(|found| found.seconds),
        distortion: found.and_then(|found| found.distortion),
        notes: found.map_or(&test.notes, |found| &found.notes).clone(),
    })
}
