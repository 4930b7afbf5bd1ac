//! Does the tool name the responsible function? Makes one function slower at a time, in one of several ways, compares,
//! and looks for the responsible function in the explanations of slower tests.
//!
//! `cargo bench --bench blame -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../bound.rs"]
mod bound;
#[path = "../comparison.rs"]
mod comparison;
#[path = "../copy.rs"]
mod copy;
mod draw;
#[expect(dead_code, reason = "injections are not edits of selection")]
#[path = "../edits.rs"]
mod edits;
#[path = "../explained.rs"]
mod explained;
mod functions;
#[path = "../harmless.rs"]
mod harmless;
mod injection;
#[path = "../invocation.rs"]
mod invocation;
#[path = "../kept.rs"]
mod kept;
#[path = "../literals.rs"]
mod literals;
#[path = "../repository.rs"]
mod repository;
#[path = "../sample.rs"]
mod sample;
#[path = "../sites.rs"]
mod sites;
#[expect(dead_code, reason = "names of items are not used")]
#[path = "../sources.rs"]
mod sources;
mod spin;
#[path = "../subject.rs"]
mod subject;
mod tally;
mod told;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
#[path = "../tool.rs"]
mod tool;
mod vendored;

use clap::Parser;
use comparison::Answer;
use draw::Pool;
use explained::Document;
use injection::{Guilty, Injection, Kind};
use sources::{Scope, Sources};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;
use subject::{Copy, Subject};
use told::Row;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Make functions slower, one at a time.
#[derive(Debug, Parser)]
#[command(name = "blame", max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Kinds of injections [default: all].
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    kind: Vec<Kind>,
    /// Number of injections of each kind that make a test slower.
    #[arg(long, default_value_t = 20, value_name = "N")]
    edits: usize,
    /// Number of places to try.
    #[arg(long, default_value_t = 60, value_name = "N")]
    tries: usize,
    /// Times of a busy loop, from which one is drawn.
    #[arg(long, value_delimiter = ',', default_value = "5,50,500,5000", value_name = "NS")]
    times: Vec<u64>,
}

fn main() -> Result<()> {
    invocation::arguments("blame -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let subject = &arguments.subject;
    let work = subject.place.work()?;
    let Copy { tree, commit } = subject.copy(work.as_ref(), sample::write)?;
    let tool = subject.place.tool(&["--explain".to_owned(), "always".to_owned()])?;
    let dependencies = if subject.sample { vec![sample::DEPENDENCY.to_owned()] } else { Vec::new() };
    let sources = Sources::read(&tree, Scope { below: subject.below.clone(), dependencies })?;
    let ns_a_round = spin::ns_a_round();
    println!("a round of a busy loop takes {ns_a_round:.2} ns\n");
    let mut pool = Pool::new(&sources, arguments.times.clone(), ns_a_round);
    let path = work.as_ref().join("blame.jsonl");
    let known = kept::known(&path, |row: &Row| row.seed == subject.seed && row.tool == tool.key)?;
    let mut rows: Vec<Row> = Vec::new();
    println!("{}", told::HEADING);
    let kinds = if arguments.kind.is_empty() { Kind::ALL.to_vec() } else { arguments.kind.clone() };
    for kind in kinds {
        let mut base = commit.clone();
        if kind == Kind::Dependency {
            (base, pool.vendored) = vendored::vendor(&tree)?;
        }
        let trial = Trial { tree: &tree, base: &base, tool: &tool, pool: &pool, seed: subject.seed };
        // Each kind has its own seed, so that the draw does not depend on the other kinds.
        let mut random = fastrand::Rng::with_seed(subject.seed ^ (kind as u64) << 32);
        let mut flagging = 0;
        for injection in pool.draw(kind, arguments.tries, &mut random) {
            if flagging >= arguments.edits {
                break;
            }
            let key = injection.key();
            let row = if let Some(row) = known.iter().find(|row| row.key == key) {
                row.clone()
            } else {
                let row = trial.row(&injection)?;
                kept::keep(&path, &row)?;
                row
            };
            println!("{row}");
            flagging += usize::from(!row.tests.is_empty());
            rows.push(row);
        }
        copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit])?;
    }
    println!("\n{}\n\n{}\n\n{}", tally::table(&rows), tally::bounds(&rows), tally::misses(&rows));
    println!("rows: {}", path.display());
    Ok(())
}

/// Data shared by all injections of a kind.
struct Trial<'a> {
    tree: &'a Path,
    /// Commit to compare with.
    base: &'a str,
    tool: &'a Tool,
    pool: &'a Pool,
    seed: u64,
}

impl Trial<'_> {
    /// Makes the injection, runs the tool, and reverts the injection.
    fn row(&self, injection: &Injection) -> Result<Row> {
        for (path, changes) in &injection.changes {
            let path = self.tree.join(path);
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(&path, injection::apply(&text, changes))?;
        }
        let started = Instant::now();
        let answer = comparison::compare::<Document>(self.tool, self.tree, "HEAD", &[]);
        copy::git(self.tree, &["checkout", "--quiet", "--force", "--detach", self.base])?;
        let mut row = Row {
            key: injection.key(),
            seed: self.seed,
            tool: self.tool.key.clone(),
            kind: injection.kind,
            effect: injection.effect.clone(),
            place: injection.place.clone(),
            refused: None,
            seconds: started.elapsed().as_secs_f64(),
            tests: Vec::new(),
        };
        match answer? {
            Answer::Refused(why) => row.refused = Some(why),
            Answer::Compared(document) => {
                row.refused = told::broken(&document.tests);
                if row.refused.is_none() {
                    let calls = |path: &str, line: usize| self.pool.calls_dependency(&injection.guilty, path, line);
                    row.tests = told::told(&document.tests, injection, &calls);
                }
            }
        }
        Ok(row)
    }
}

impl Pool {
    /// Returns whether the function named in this line calls the dependency, as far as names tell.
    fn calls_dependency(&self, guilty: &Guilty, path: &str, line: usize) -> bool {
        let Guilty::Dependency { name } = guilty else { return false };
        let dependency = self.vendored.iter().filter(|vendored| vendored.name == *name);
        let mut names: BTreeSet<&str> =
            dependency.flat_map(|vendored| &vendored.functions).map(|function| function.name.as_str()).collect();
        // `use lines::from_byte_idx as byte_to_line_idx`
        for text in self.texts.values() {
            let words: Vec<&str> = draw::words(text).collect();
            let renamed = words.windows(3).filter(|words| words[1] == "as" && names.contains(words[0]));
            let others: Vec<&str> = renamed.map(|words| words[2]).collect();
            names.extend(others);
        }
        let mut here = self.functions.iter().filter(|function| function.path == path && function.line == line);
        here.any(|function| function.calls.iter().any(|call| names.contains(call.callee.as_str())))
    }
}
