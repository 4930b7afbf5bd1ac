//! Counts the functions that generated workloads execute, and the reasons for the others.
//!
//! `cargo bench --bench generate -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]` generates workloads of all functions
//! of each clone, once, and determines the functions that no test executes.

mod copy;
#[expect(dead_code, reason = "ends of functions are not used")]
mod functions;
mod invocation;
#[expect(dead_code, reason = "no effect is measured")]
mod tool;

use clap::Parser;
use functions::{Found, Functions};
use invocation::Place;
use perfunit_model::{Function, NotGenerated};
use perfunit_report::generate::{Call, GenerateDocument};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Time of a call below which the overhead around it dominates, ns.
const MEASURABLE_NS: u64 = 20;
/// Factor of time from the smaller to the larger size above which a call grows.
const GROWN: f64 = 1.5;

/// Generate workloads for whole crates.
#[derive(Debug, Parser)]
#[command(name = "generate", max_term_width = 100)]
struct Arguments {
    /// Clones of repositories; they are copied, never changed
    #[arg(required = true, value_name = "FOLDER")]
    clones: Vec<PathBuf>,
    /// Print functions without a workload, with the reason
    #[arg(long)]
    failures: bool,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("generate -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tool = arguments.place.tool(&[])?;
    println!("{}", Counts::heading());
    let mut totals = [Counts::default(), Counts::default()];
    for clone in &arguments.clones {
        let clone = copy::typed(clone);
        let name = clone.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let tree = copy::of(&clone, &work.as_ref().join(&name))?.canonicalize()?;
        match examine(&tool, &tree, arguments) {
            Ok([all, untested]) => {
                println!("{}\n{}", all.row(&name), untested.row("  no test"));
                totals[0].add(&all);
                totals[1].add(&untested);
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
    println!("{}\n{}", totals[0].row("all"), totals[1].row("  no test"));
    Ok(())
}

/// Counts the functions of at least two statements, and those of them that no test executes.
fn examine(tool: &Tool, tree: &Path, arguments: &Arguments) -> Result<[Counts; 2]> {
    let functions = functions::of(tree)?;
    let untested = untested(tool, tree, &functions)?;
    let started = Instant::now();
    let output = tool.command(tree, "generate", "HEAD").arg("--all").output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).lines().rev().take(5).collect::<Vec<_>>().join(" ").into());
    }
    let document: GenerateDocument = serde_json::from_slice(&output.stdout)?;
    let seconds = started.elapsed().as_secs_f64();
    let of_crate = document.generation;
    let is_wanted = |function: &Function, those: &BTreeSet<(String, usize)>| {
        functions.contains_key(&place(function)) && those.contains(&place(function))
    };
    if arguments.failures {
        for without in of_crate.without.iter().filter(|without| functions.contains_key(&place(&without.function))) {
            println!(
                "  {}:{} {}: {}",
                without.function.file, without.function.line, without.function.name, without.text
            );
        }
    }
    let all: BTreeSet<_> = functions.keys().filter(|place| functions[*place].is_wanted()).cloned().collect();
    let untested: BTreeSet<_> = all.intersection(&untested).cloned().collect();
    let counted = |those: &BTreeSet<(String, usize)>| {
        let mut counts = Counts { seconds, ..Counts::default() };
        let mut by_function: BTreeMap<_, Vec<&Call>> = BTreeMap::new();
        for call in of_crate.calls.iter().filter(|call| is_wanted(&call.function, those)) {
            by_function.entry(place(&call.function)).or_default().push(call);
        }
        for calls in by_function.values() {
            counts.with(calls);
        }
        of_crate.without.iter().filter(|without| is_wanted(&without.function, those)).for_each(|without| {
            counts.without(&without.because);
        });
        counts
    };
    Ok([counted(&all), counted(&untested)])
}

fn place(function: &Function) -> (String, usize) {
    (function.file.clone(), function.line)
}

/// Returns the functions that no test executes, as reported by the tool if all functions have changed.
fn untested(tool: &Tool, tree: &Path, functions: &Functions) -> Result<BTreeSet<(String, usize)>> {
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for ((file, _), Found { start, is_const, .. }) in functions {
        if !is_const {
            by_file.entry(file).or_default().push(*start);
        }
    }
    for (file, mut starts) in by_file {
        let path = tree.join(file);
        let mut text = fs::read_to_string(&path)?;
        starts.sort_unstable();
        starts.iter().rev().for_each(|start| text.insert_str(*start, " ::core::hint::black_box(0_u8);"));
        fs::write(&path, text)?;
    }
    let listed = tool.list(tree, "HEAD", &[]);
    copy::git(tree, &["checkout", "--quiet", "--force", "HEAD"])?;
    let uncovered = listed?.document.selection.uncovered.into_iter();
    Ok(uncovered.map(|uncovered| (uncovered.function.file, uncovered.function.line)).collect())
}

/// Functions by the progress of their workloads.
#[derive(Debug, Default)]
struct Counts {
    unsafe_: usize,
    fragile: usize,
    /// Excluded by a condition, or in no library or binary.
    not_built: usize,
    no_value: usize,
    not_compiled: usize,
    fails: usize,
    not_executed: usize,
    not_repeatable: usize,
    good: usize,
    measurable: usize,
    /// Functions with calls of two sizes, and those of them that grow.
    sizes: usize,
    grows: usize,
    seconds: f64,
}

impl Counts {
    fn with(&mut self, calls: &[&Call]) {
        self.good += 1;
        self.measurable += usize::from(calls.iter().any(|call| call.about_ns >= MEASURABLE_NS));
        let growths: Vec<f64> = calls.iter().flat_map(|call| growths(call, calls)).collect();
        self.sizes += usize::from(!growths.is_empty());
        self.grows += usize::from(growths.iter().any(|growth| *growth >= GROWN));
    }

    fn without(&mut self, because: &NotGenerated) {
        let count = match because {
            NotGenerated::Unsafe => &mut self.unsafe_,
            NotGenerated::ReliesOnInvariants => &mut self.fragile,
            NotGenerated::NotInSource | NotGenerated::NoTarget | NotGenerated::NotOnBase => &mut self.not_built,
            NotGenerated::NoValue { .. } => &mut self.no_value,
            NotGenerated::DoesNotCompile { .. } | NotGenerated::OutOfBudget => &mut self.not_compiled,
            NotGenerated::Fails { .. } => &mut self.fails,
            NotGenerated::NotExecuted => &mut self.not_executed,
            NotGenerated::NotRepeatable => &mut self.not_repeatable,
        };
        *count += 1;
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.unsafe_, other.unsafe_),
            (&mut self.fragile, other.fragile),
            (&mut self.not_built, other.not_built),
            (&mut self.no_value, other.no_value),
            (&mut self.not_compiled, other.not_compiled),
            (&mut self.fails, other.fails),
            (&mut self.not_executed, other.not_executed),
            (&mut self.not_repeatable, other.not_repeatable),
            (&mut self.good, other.good),
            (&mut self.measurable, other.measurable),
            (&mut self.sizes, other.sizes),
            (&mut self.grows, other.grows),
        ];
        for (own, other) in pairs {
            *own += other;
        }
        self.seconds += other.seconds;
    }

    fn heading() -> String {
        format!(
            "{:<20} {:>6} {:>9} {:>8} {:>6} {:>8} {:>10} {:>5} {:>6} {:>7} {:>5}  left out",
            "crate", "safe", "candidate", "compiles", "passes", "executes", "repeatable", "%", ">20 ns", "grows", "s"
        )
    }

    fn row(&self, name: &str) -> String {
        let executed = self.good + self.not_repeatable;
        let passed = executed + self.not_executed;
        let compiled = passed + self.fails;
        let candidate = compiled + self.not_compiled;
        let safe = candidate + self.no_value;
        let share = 100.0 * self.good as f64 / safe.max(1) as f64;
        format!(
            "{name:<20} {safe:>6} {candidate:>9} {compiled:>8} {passed:>6} {executed:>8} {:>10} {share:>5.0} {:>6} {:>7} \
             {:>5.0}  {} unsafe, {} fragile, {} not built",
            self.good,
            self.measurable,
            format!("{}/{}", self.grows, self.sizes),
            self.seconds,
            self.unsafe_,
            self.fragile,
            self.not_built
        )
    }
}

/// Returns how many times longer a call takes than the same call with smaller arguments.
fn growths<'a>(call: &'a Call, others: &'a [&Call]) -> impl Iterator<Item = f64> {
    let is_smaller = |other: &&&Call| other.setup == call.setup && other.call == call.call && other.n < call.n;
    others.iter().filter(is_smaller).map(|other| call.about_ns as f64 / other.about_ns.max(1) as f64)
}
