//! How large is the HTML report, and how long does it take to write? The pages are opened by `tests/browser/run`.
//!
//! `cargo bench --bench html -- FOLDER` writes `few.html` (one test of every kind), `many.html` (5,000 tests, 60 of
//! them measured), `measured.html` (5,000 measured tests, more than fit), `nothing.html` and `log.html` (a history).
//! `--run FILE` writes the page of a run saved by the tool.

mod explained;
#[path = "../histories.rs"]
mod histories;
mod runs;
#[path = "../typed.rs"]
mod typed;

use cargo_perfunit::history::courses;
use clap::Parser;
use histories::Shape;
use perfunit_model::Run;
use perfunit_report::html::{HtmlOptions, history as history_page, render};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Write pages.
#[derive(Debug, Parser)]
#[command(name = "html", max_term_width = 100)]
struct Arguments {
    /// Folder of the pages
    folder: PathBuf,
    /// Write the page of this run instead
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Some(arguments) = typed::arguments::<Arguments>("html -- FOLDER [--run FILE]") else { return Ok(()) };
    fs::create_dir_all(&arguments.folder)?;
    if let Some(file) = &arguments.run {
        return page("run", &serde_json::from_str(&fs::read_to_string(file)?)?, &arguments.folder);
    }
    page("few", &runs::few(), &arguments.folder)?;
    page("many", &runs::many(60), &arguments.folder)?;
    page("measured", &runs::many(5_000), &arguments.folder)?;
    page("nothing", &runs::nothing(), &arguments.folder)?;
    let history = histories::history(Shape { commits: 60, tests: 40, share: 0.1, moved: 0.1, broken: 0.1 });
    let page = history_page(&history, &courses(&history), &HtmlOptions::default());
    println!("log.html: {} commits, {} bytes", history.entries.len(), page.len());
    Ok(fs::write(arguments.folder.join("log.html"), page)?)
}

fn page(name: &str, run: &Run, folder: &Path) -> Result<()> {
    let start = Instant::now();
    let page = render(run, &HtmlOptions::default());
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    println!("{name}.html: {} tests, {} bytes, rendered in {milliseconds:.0} ms", run.outcomes.len(), page.len());
    Ok(fs::write(folder.join(format!("{name}.html")), page)?)
}
