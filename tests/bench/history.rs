//! How many tests does a real commit select? Goes through the last commits of a crate that touch its sources and sets
//! selection by machine code beside the rule "all tests of the targets reached" and a call graph by names.
//!
//! `cargo bench --bench history -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod commits;
mod copy;
mod figures;
mod tool;

use clap::Parser;
use figures::{Figures, Row};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Selection over the history of a crate.
#[derive(Debug, Parser)]
#[command(name = "history", max_term_width = 100)]
struct Arguments {
    /// Clone to take the commits from; it is copied, never written.
    clone: PathBuf,
    /// Commits to compare with their first parents.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    commits: usize,
    /// The newest of them.
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    from: String,
    /// Only commits that touch one of these (pathspecs of git).
    #[arg(long, default_values_t = ["**/src/**/*.rs".to_owned()], value_name = "GLOB")]
    touching: Vec<String>,
    /// Folder for the copy and the rows [default: a new one in the temporary folder]. With the same folder a later run
    /// goes on where this one stopped.
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    /// Executable of the tool [default: the one built with this benchmark].
    #[arg(long, value_name = "PATH")]
    tool: Option<PathBuf>,
    /// Options of the tool: packages, targets, features.
    #[arg(last = true)]
    options: Vec<String>,
}

fn main() -> Result<()> {
    // Cargo tells benchmarks that they are some.
    let typed: Vec<_> = std::env::args_os().filter(|argument| argument != "--bench").collect();
    if typed.len() < 2 {
        println!("usage: cargo bench --bench history -- FOLDER [OPTIONS]; --help tells more");
        return Ok(());
    }
    run(&Arguments::parse_from(typed))
}

fn run(arguments: &Arguments) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let work = arguments.work.as_deref().map_or_else(|| temporary.path().to_owned(), copy::typed);
    let tree = copy::of(&copy::typed(&arguments.clone), &work)?;
    let tool = Tool::new(arguments.tool.as_deref().map(copy::typed), arguments.options.clone())?;
    let path = work.join("history.jsonl");
    let mut known: Vec<Row> = Vec::new();
    if let Ok(file) = File::open(&path) {
        for line in BufReader::new(file).lines() {
            let row: Row = serde_json::from_str(&line?)?;
            known.extend(Some(row).filter(|row| row.tool == tool.key));
        }
    }
    let mut file = File::options().create(true).append(true).open(&path)?;
    let mut figures = Figures::default();
    println!("{}", Figures::HEADING);
    for commit in commits::touching(&tree, &arguments.from, arguments.commits, &arguments.touching)? {
        let row = if let Some(row) = known.iter().find(|row| row.commit == commit.id) {
            row.clone()
        } else {
            // Its manifest tells the tool what there is to build.
            copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit.id])?;
            let row = Row::of(&commit, &tool, &tree, figures.known_tests());
            writeln!(file, "{}", serde_json::to_string(&row)?)?;
            row
        };
        println!("{row}");
        figures.rows.push(row);
    }
    println!("{}", figures.summary());
    Ok(())
}
