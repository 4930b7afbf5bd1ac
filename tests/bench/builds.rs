//! Compares the cost of our two builds with that of cargo's own. Builds the test executables of both versions of real
//! projects with cargo alone and with the tool: from nothing, with base built, and after a change of one line.
//!
//! `cargo bench --bench builds -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod copy;
mod invocation;
#[expect(dead_code, reason = "this program times the calls")]
mod tool;
mod usage;

use clap::Parser;
use invocation::Place;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool::{Tool, clean};
use usage::median;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Function appended to the root of the library.
const LINE: &str = "\n#[doc(hidden)] pub fn perfunit_of_the_bench_of_builds() -> usize { ";

/// Build two versions with cargo and with the tool.
#[derive(Debug, Parser)]
#[command(name = "builds", max_term_width = 100)]
struct Arguments {
    /// Clones to build; they are copied, never changed
    #[arg(required = true)]
    clones: Vec<PathBuf>,
    /// Root of the package's library, relative to the clone
    #[arg(long, default_value = "src/lib.rs", value_name = "PATH")]
    root: PathBuf,
    /// Number of repetitions
    #[arg(long, default_value_t = 1, value_name = "N")]
    turns: usize,
    #[command(flatten)]
    place: Place,
}

/// Wall time and processor time, s.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    wall: f64,
    cpu: f64,
}

/// Cases: what exists before, and what is built.
const CASES: [&str; 3] = ["clean", "head only", "one line"];

fn main() -> Result<()> {
    invocation::arguments("builds -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tool = arguments.place.tool(&["--all-tests".to_owned()])?;
    println!("| crate | case | cargo, s | CPU s | ours, s | CPU s | ratio | of CPU |\n|-|-|-|-|-|-|-|-|");
    let mut ratios = Vec::new();
    for clone in &arguments.clones {
        let name = clone.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for _ in 0..arguments.turns {
            let of_cargo = with_cargo(&copied(clone, &work.as_ref().join(format!("{name}-cargo")))?, arguments)?;
            let of_tool = with_tool(&copied(clone, &work.as_ref().join(format!("{name}-ours")))?, arguments, &tool)?;
            for ((case, cargo), ours) in CASES.iter().zip(of_cargo).zip(of_tool) {
                let (ratio, of_cpu) = (ours.wall / cargo.wall, ours.cpu / cargo.cpu);
                println!(
                    "| {name} | {case} | {:.1} | {:.1} | {:.1} | {:.1} | {ratio:.2} | {of_cpu:.2} |",
                    cargo.wall, cargo.cpu, ours.wall, ours.cpu
                );
                ratios.push((*case, ratio, of_cpu));
            }
        }
    }
    for case in CASES {
        let of = |figure: fn(&(&str, f64, f64)) -> f64| {
            median(&ratios.iter().filter(|(known, ..)| *known == case).map(figure).collect::<Vec<_>>())
        };
        println!(
            "median, {case}: {:.2} times cargo's wall time, {:.2} times its processor time",
            of(|row| row.1),
            of(|row| row.2)
        );
    }
    Ok(())
}

/// Creates a copy without builds.
fn copied(clone: &Path, folder: &Path) -> Result<PathBuf> {
    let tree = copy::of(&copy::typed(clone), folder)?;
    if tree.join("target").exists() {
        std::fs::remove_dir_all(tree.join("target"))?;
    }
    Ok(tree)
}

fn with_cargo(tree: &Path, arguments: &Arguments) -> Result<[Took; 3]> {
    let mut times = [Took::default(); 3];
    let mut build = |case: usize| -> Result<()> {
        let mut command = clean("cargo", tree);
        // The same targets and profile as ours.
        command.args(["test", "--no-run", "--tests", "--profile", "bench", "--quiet"]);
        times[case].add(took(&mut command)?.0);
        Ok(())
    };
    let head = copy::git(tree, &["rev-parse", "HEAD"])?;
    for (back, case) in [("~2", 0), ("~1", 0), ("", 1)] {
        copy::git(tree, &["checkout", "--quiet", "--force", "--detach", &format!("{head}{back}")])?;
        build(case)?;
    }
    change_a_line(tree, arguments)?;
    build(2)?;
    Ok(times)
}

fn with_tool(tree: &Path, arguments: &Arguments, tool: &Tool) -> Result<[Took; 3]> {
    let mut times = [Took::default(); 3];
    for (case, versions) in ["HEAD~2..HEAD~1", "HEAD~1..HEAD", "HEAD"].into_iter().enumerate() {
        if case == 2 {
            change_a_line(tree, arguments)?;
        }
        let (all, document) = took(&mut tool.command(tree, "list", versions))?;
        let document: Value = serde_json::from_slice(&document)?;
        let of = |stage: &str| document["seconds"][stage].as_f64().unwrap_or_default();
        // Selection is not part of the build; it starts few processes and uses one core.
        let besides = of("prepare") + of("select");
        times[case] = Took { wall: of("build"), cpu: all.cpu - besides.min(all.cpu) };
    }
    Ok(times)
}

fn change_a_line(tree: &Path, arguments: &Arguments) -> Result<()> {
    let root = tree.join(&arguments.root);
    let text = std::fs::read_to_string(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    Ok(std::fs::write(&root, format!("{text}{LINE}{} }}\n", text.len()))?)
}

/// Runs a command and returns its times and output.
fn took(command: &mut Command) -> Result<(Took, Vec<u8>)> {
    let ended = usage::run(command)?;
    if !ended.output.status.success() {
        let errors = String::from_utf8_lossy(&ended.output.stderr);
        let error = errors.lines().find(|line| line.starts_with("error")).unwrap_or_default();
        return Err(format!("{command:?}: {}: {error}", ended.output.status).into());
    }
    Ok((Took { wall: ended.wall, cpu: ended.cpu }, ended.output.stdout))
}

impl Took {
    fn add(&mut self, more: Self) {
        self.wall += more.wall;
        self.cpu += more.cpu;
    }
}
