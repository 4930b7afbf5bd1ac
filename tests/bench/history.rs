//! Counts the tests that a real commit selects. Goes through the latest commits of a crate that change its sources, and
//! compares selection by machine code with the rule "all tests of the reached targets" and with a call graph by names.
//!
//! `cargo bench --bench history -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod commits;
mod copy;
mod figures;
mod invocation;
mod kept;
mod tool;

use clap::Parser;
use figures::{Figures, Row};
use invocation::Place;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Select tests over the history of a crate.
#[derive(Debug, Parser)]
#[command(name = "history", max_term_width = 100)]
struct Arguments {
    /// Clone to take the commits from; it is copied, never changed
    clone: PathBuf,
    /// Number of commits to compare with their first parents
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    commits: usize,
    /// Newest of these commits
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    from: String,
    /// Only commits that change a matching file (pathspec of git)
    #[arg(long, default_values_t = ["**/src/**/*.rs".to_owned()], value_name = "GLOB")]
    touching: Vec<String>,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("history -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tree = copy::of(&copy::typed(&arguments.clone), work.as_ref())?;
    let tool = arguments.place.tool(&[])?;
    let path = work.as_ref().join("history.jsonl");
    let known = kept::known(&path, |row: &Row| row.tool == tool.key)?;
    let mut figures = Figures::default();
    println!("{}", Figures::HEADING);
    for commit in commits::touching(&tree, &arguments.from, arguments.commits, &arguments.touching)? {
        let row = if let Some(row) = known.iter().find(|row| row.commit == commit.id) {
            row.clone()
        } else {
            // The tool reads the commit's manifest.
            copy::git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit.id])?;
            let row = Row::of(&commit, &tool, &tree, figures.known_tests());
            kept::keep(&path, &row)?;
            row
        };
        println!("{row}");
        figures.rows.push(row);
    }
    println!("{}", figures.summary());
    Ok(())
}
