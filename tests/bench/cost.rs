//! Measures the cost of selection. Compares the machine code of two kept sides, traces tests, and links with and without our
//! linker role.
//!
//! `cargo bench --bench cost -- BASE_SIDE HEAD_SIDE [OPTIONS]`; `cargo perfunit list --message-format json` names the
//! sides' folders (`kept`).

mod typed;
#[expect(dead_code, reason = "the output of links is not used")]
mod usage;

use clap::Parser;
use object::{Object, ObjectSymbol, SymbolKind};
use perfunit_build::{CompiledFiles, LinkRecord, SideBuild, TestExecutable, list_tests};
use perfunit_measure::{Bench, Config, Measuring, Recorder, Subject};
use perfunit_model::error::apart;
use perfunit_model::{Placement, Side, Sides, TestId};
use perfunit_select::Units;
use perfunit_select::code;
use perfunit_select::trace::{self, Execution, Functions, Places, Program};
use perfunit_system::cache;
use perfunit_system::idle;
use perfunit_system::process;
use perfunit_system::temporary::TestFolder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use usage::{cpu_of_children, median};

/// Pairs of each test.
const PAIRS: usize = 20;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measure the cost of selection on two kept sides.
#[derive(Debug, Parser)]
#[command(name = "cost", max_term_width = 100)]
struct Arguments {
    /// Folder of the kept base
    base: PathBuf,
    /// Folder of the kept head
    head: PathBuf,
    /// Compare at least this many tests, reading the same executables again as often as needed
    #[arg(long, default_value_t = 5000, value_name = "N")]
    tests: usize,
    /// Number of tests to trace
    #[arg(long, default_value_t = 40, value_name = "N")]
    traced: usize,
    /// Number of functions with breakpoints
    #[arg(long, default_value_t = 30, value_name = "N")]
    symbols: usize,
    /// Number of tests to measure
    #[arg(long, default_value_t = 20, value_name = "N")]
    measured: usize,
    /// Number of links of each kind
    #[arg(long, default_value_t = 41, value_name = "N")]
    links: usize,
}

fn main() -> Result<()> {
    idle::idle_if_asked();
    process::keep_if_asked();
    let Some(arguments) = typed::arguments::<Arguments>("cost -- BASE_SIDE HEAD_SIDE [OPTIONS]") else { return Ok(()) };
    let sides = Sides { base: load(&arguments.base)?, head: load(&arguments.head)? };
    let scratch = tempfile::tempdir()?;
    let largest = compare(&sides, arguments.tests, scratch.path())?;
    pairs(&sides, &largest, &arguments, scratch.path())?;
    trace(&largest, &arguments)?;
    link(&largest.executable, arguments.links, scratch.path())
}

fn load(folder: &Path) -> Result<SideBuild> {
    Ok(serde_json::from_slice(&std::fs::read(folder.join("build.json"))?)?)
}

/// The executable with the most tests.
struct Largest {
    executable: TestExecutable,
    tests: BTreeSet<String>,
}

fn compare(sides: &Sides<SideBuild>, least: usize, scratch: &Path) -> Result<Largest> {
    let mut targets = Vec::new();
    for head in &sides.head.executables {
        let base = sides.base.executables.iter().find(|base| base.target == head.target);
        let Some(base) = base.filter(|base| base.link.is_some() && head.link.is_some()) else { continue };
        let tests: BTreeSet<String> =
            apart(list_tests(head, scratch))?.unwrap_or_default().into_iter().map(|found| found.name).collect();
        targets.push((Sides { base, head }, tests));
    }
    let total: usize = targets.iter().map(|(_, tests)| tests.len()).sum();
    let largest = targets.iter().max_by_key(|(_, tests)| tests.len()).ok_or("no executable is on both sides")?;
    let largest = Largest { executable: largest.0.head.clone(), tests: largest.1.clone() };
    if total == 0 {
        return Err("the executables hold no tests".into());
    }
    let files = sides.as_ref().try_map(|_, side| CompiledFiles::load(&side.folder))?;
    let rounds = least.div_ceil(total);
    let (mut changed, mut bytes) = (0, 0);
    let started = Instant::now();
    for _ in 0..rounds {
        let mut units = Units::default();
        for (executables, tests) in &targets {
            let records = executables
                .try_map(|_, executable| LinkRecord::load(executable.link.as_deref().unwrap_or(Path::new(""))))?;
            let mut program = |side: Side| apart(units.program(std::iter::once(records.get(side)), files.get(side)));
            let programs = Sides { base: program(Side::Base)??, head: program(Side::Head)?? };
            let answers = code::compare(&programs, tests).tests;
            changed += answers.values().filter(|code| **code != code::Code::Same).count();
            bytes += records
                .head
                .inputs()
                .iter()
                .filter_map(|path| path.metadata().ok())
                .map(|data| data.len())
                .sum::<u64>();
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "comparison: {} tests in {} executables ({} MB of inputs a side), {changed} changed: {seconds:.2} s, peak memory {} MB",
        total * rounds,
        targets.len() * rounds,
        bytes / 1_000_000,
        peak_megabytes()?
    );
    Ok(largest)
}

fn peak_megabytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? / 1000)
}

/// Measures which part of a pair is measuring, starting, handing over and ending.
fn pairs(sides: &Sides<SideBuild>, largest: &Largest, arguments: &Arguments, scratch: &Path) -> Result<()> {
    let target = &largest.executable.target;
    let executable = |side: &'_ SideBuild| side.executables.iter().position(|found| found.target == *target);
    let (Some(base), Some(head)) = (executable(&sides.base), executable(&sides.head)) else { return Ok(()) };
    let executables = Sides { base: &sides.base.executables[base], head: &sides.head.executables[head] };
    let bench = Bench::open(scratch)?;
    let config = Config::of(&Measuring { placement: Placement::Natural, ..Measuring::default() });
    let (mut whole, mut share) = (Vec::new(), Vec::new());
    let step = (largest.tests.len() / arguments.measured.max(1)).max(1);
    for name in largest.tests.iter().step_by(step) {
        let test = TestId { target: target.clone(), name: name.clone() };
        // A test that cannot be repeated has no batches.
        let opened = Recorder::open(&bench, &config, sides.as_ref(), Subject::new(test, executables), 1);
        let Ok(Some(mut recorder)) = opened else { continue };
        for _ in 0..PAIRS {
            let Some(pair) = recorder.pair()? else { return Ok(()) };
            whole.push(1000.0 * pair.seconds);
            share.push(100.0 * (1.0 - pair.seconds_in_turns / pair.seconds));
        }
    }
    println!(
        "pairs: {} of {} tests, median {:.1} ms; outside of the turns, median {:.0} %",
        whole.len(),
        whole.len() / PAIRS,
        median(&whole),
        median(&share)
    );
    Ok(())
}

fn trace(largest: &Largest, arguments: &Arguments) -> Result<()> {
    if let Err(why) = trace::available() {
        println!("tracing: {why}");
        return Ok(());
    }
    let names = functions(&largest.executable.path)?;
    if names.is_empty() {
        println!("tracing: the executable has no symbol table");
        return Ok(());
    }
    let places = Places::read(&largest.executable.path)?;
    let temporary = TestFolder::create("traced")?;
    let programs = Arc::default();
    let program = Program {
        executable: &largest.executable,
        places: &places,
        programs: &programs,
        temporary: &temporary,
        variables: &[],
        calls: 3,
    };
    let (mut hit, mut idle) = (Vec::new(), Vec::new());
    for (index, test) in largest.tests.iter().take(arguments.traced).enumerate() {
        // Each test gets another window of functions.
        let start = index * arguments.symbols % names.len();
        let symbols: BTreeSet<String> = names.iter().cycle().skip(start).take(arguments.symbols).cloned().collect();
        let started = Instant::now();
        let executed = trace::executes(
            &program,
            test,
            Functions { of_test: &symbols, of_all_tests: Some(&symbols) },
            Duration::from_mins(1),
        )?;
        let took = started.elapsed().as_secs_f64() * 1000.0;
        match executed {
            Execution::Yes(_) => hit.push(took),
            Execution::No => idle.push(took),
            Execution::Unknown(why) => println!("tracing: {test}: {why}"),
        }
    }
    println!(
        "tracing, {} functions: {} runs to a hit, median {:.1} ms; {} whole runs, median {:.1} ms",
        arguments.symbols,
        hit.len(),
        median(&hit),
        idle.len(),
        median(&idle)
    );
    Ok(())
}

/// Returns functions of the executable itself that a link can name.
fn functions(path: &Path) -> Result<Vec<String>> {
    let bytes = std::fs::read(path)?;
    let file = object::File::parse(&*bytes)?;
    let of_rust = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let names: BTreeSet<String> = of_rust.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    Ok(names.into_iter().filter(|name| name.starts_with("_R") && !name.contains("perfunit")).collect())
}

fn link(executable: &TestExecutable, links: usize, scratch: &Path) -> Result<()> {
    let record = LinkRecord::load(executable.link.as_deref().ok_or("no link record")?)?;
    let Some(ours) = our_linker(scratch)? else {
        println!("linking: our linker role is not in the cache; run the tool first");
        return Ok(());
    };
    let output = scratch.join("linked");
    let (mut plain, mut with) = (Times::default(), Times::default());
    for _ in 0..links {
        let original = record.command(&output);
        let mut wrapped = Command::new(&ours);
        wrapped.args(original.get_args()).current_dir(original.get_current_dir().unwrap_or(Path::new("/")));
        wrapped.envs(original.get_envs().filter_map(|(name, value)| Some((name, value?))));
        plain.add(original)?;
        with.add(wrapped)?;
    }
    let [cpu, with_cpu] = [&plain.cpu, &with.cpu].map(|times| median(times));
    let [wall, with_wall] = [&plain.wall, &with.wall].map(|times| median(times));
    println!(
        "linking {}: CPU {cpu:.1} ms, with us {with_cpu:.1} ms ({:+.1} %); wall {wall:.1} ms, with us {with_wall:.1} ms ({:+.1} %)",
        executable.target,
        (with_cpu / cpu - 1.0) * 100.0,
        (with_wall / wall - 1.0) * 100.0
    );
    Ok(())
}

/// Returns the newest linker role that the tool has set up.
fn our_linker(scratch: &Path) -> Result<Option<PathBuf>> {
    let wrappers = cache::folder(scratch)?.join("wrappers");
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let found = list(&wrappers).into_iter().map(|wrapper| wrapper.join("perfunit-linker"));
    let found = found.flat_map(|folder| list(&folder)).map(|folder| folder.join("cc")).filter(|link| link.exists());
    Ok(found.max_by_key(|link| link.symlink_metadata().and_then(|data| data.modified()).ok()))
}

/// Times of each run, ms.
#[derive(Default)]
struct Times {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

impl Times {
    fn add(&mut self, mut command: Command) -> Result<()> {
        let (cpu, wall) = (cpu_of_children()?, Instant::now());
        let status = command.stdin(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("the link failed: {status}").into());
        }
        self.wall.push(wall.elapsed().as_secs_f64() * 1000.0);
        self.cpu.push(cpu_of_children()? - cpu);
        Ok(())
    }
}
