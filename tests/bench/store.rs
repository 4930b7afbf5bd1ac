//! How large is a store of many commits and tests, and how long do its page and queries take?
//!
//! `cargo bench --bench store -- --commits 1000 --tests 1000 --work W` creates a store in which each commit can have
//! changed each test (or a share of them, by `--share`), reads it as `log --stored` does, and writes the page to
//! `W/log.html`.

mod histories;
mod typed;

use cargo_perfunit::history::{Key, Store, courses};
use clap::Parser;
use histories::{MACHINE, Shape};
use perfunit_model::{Commit, Entry, History, HistorySource, StepOutcome};
use perfunit_report::TextOptions;
use perfunit_report::history::{HistoryFormat, render};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Key of the options of all steps.
const TERMS: &str = "3f2a91c08d01e7b4";

/// Generate a store.
#[derive(Debug, Parser)]
#[command(name = "store", max_term_width = 100)]
struct Arguments {
    #[arg(long, default_value_t = 1000, value_name = "N")]
    commits: usize,
    #[arg(long, default_value_t = 1000, value_name = "N")]
    tests: usize,
    /// Share of tests that a commit can have changed
    #[arg(long, default_value_t = 1.0, value_name = "PART")]
    share: f64,
    /// Share of these that it made slower or faster
    #[arg(long, default_value_t = 0.01, value_name = "PART")]
    moved: f64,
    /// Folder of the store and the page
    #[arg(long, value_name = "FOLDER")]
    work: PathBuf,
}

fn main() -> Result<()> {
    let Some(arguments) = typed::arguments::<Arguments>("store -- --work FOLDER [OPTIONS]") else { return Ok(()) };
    fs::create_dir_all(&arguments.work)?;
    let path = arguments.work.join("history.sqlite");
    for file in ["history.sqlite", "history.sqlite-wal", "history.sqlite-shm"] {
        drop(fs::remove_file(arguments.work.join(file)));
    }
    let Arguments { commits, tests, share, moved, .. } = arguments;
    let generated = histories::history(Shape { commits, tests, share, moved, broken: 0.0 });
    let commits: Vec<Commit> =
        std::iter::once(&generated.base).chain(generated.entries.iter().map(|entry| &entry.commit)).cloned().collect();
    timed("written", || fill(&path, &generated, &commits))?;
    drop(generated);
    println!("{:>10.1} MB in the file", fs::metadata(&path)?.len() as f64 / 1e6);
    let store = Store::open(&path, "generated")?;
    let middle = commits.len() / 2;
    timed("one commit's verdicts", || Ok(store.step(key(&commits, middle))?.map_or(0, |step| step.tests.len())))?;
    timed("one test's course, by SQL", || course(&path))?;
    let history = timed("all steps read", || read(&store, &commits))?;
    let courses = timed("courses made", || Ok(courses(&history)))?;
    for (format, name) in [(HistoryFormat::Html, "log.html"), (HistoryFormat::Markdown, "log.md")] {
        let page = timed(name, || Ok(render(&history, &courses, format, &TextOptions::default())))?;
        println!("{:>10.1} MB in {name}", page.len() as f64 / 1e6);
        fs::write(arguments.work.join(name), page)?;
    }
    Ok(())
}

fn timed<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let result = run()?;
    println!("{:>10.3} s  {what}", start.elapsed().as_secs_f64());
    Ok(result)
}

fn key(commits: &[Commit], index: usize) -> Key<'_> {
    Key { base: &commits[index - 1].id, head: &commits[index].id, terms: TERMS, machine: MACHINE }
}

fn fill(path: &Path, history: &History, commits: &[Commit]) -> Result<()> {
    let store = Store::open(path, "generated")?;
    for (index, entry) in history.entries.iter().enumerate() {
        let StepOutcome::Compared(step) = &entry.outcome else { continue };
        store.keep(key(commits, index + 1), step)?;
    }
    Ok(())
}

/// Runs the query in the documentation.
fn course(path: &Path) -> Result<usize> {
    let connection = Connection::open(path)?;
    let mut statement = connection.prepare(
        "SELECT step.head, test.verdict, test.estimate FROM step JOIN test ON test.step = step.id WHERE test.name = ?1",
    )?;
    let rows = statement.query_map(["module_25::tests::does_something_specific_0500"], |row| row.get::<_, f64>(2))?;
    Ok(rows.collect::<rusqlite::Result<Vec<f64>>>()?.len())
}

fn read(store: &Store, commits: &[Commit]) -> Result<History> {
    let mut entries = Vec::new();
    for index in 1..commits.len() {
        let outcome = store.step(key(commits, index))?.map_or(StepOutcome::Open, StepOutcome::Compared);
        entries.push(Entry { commit: commits[index].clone(), outcome });
    }
    Ok(History {
        base: commits[0].clone(),
        entries,
        spans: Vec::new(),
        left_out: 0,
        note: None,
        source: HistorySource::Comparisons,
        interrupted: false,
    })
}
