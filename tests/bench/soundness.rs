//! Does the tool ever drop a test that executes changed machine code? Makes random edits of a crate, lists the
//! selected tests after each, and checks the dropped ones by other means: the lines that they execute without
//! optimization, and callgrind on the executables of both versions.
//!
//! `cargo bench --bench soundness -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod callgrind;
mod copy;
mod coverage;
mod disassembly;
mod edits;
mod examine;
mod generated;
mod harmless;
mod invocation;
mod literals;
mod repository;
mod sample;
mod settle;
mod sides;
mod sites;
mod sources;
mod subject;
mod tally;
mod tool;

use callgrind::Callgrind;
use clap::Parser;
use coverage::Coverage;
use edits::{Edit, Kind, Place};
use examine::Examiner;
use serde::{Deserialize, Serialize};
use sources::{Scope, Sources};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use subject::{Copy, Subject};
use tally::{Record, Tally};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Name of a test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct TestKey {
    /// ID of the target: `package`, `package::test`.
    target: String,
    /// Path inside of the crate.
    name: String,
}

/// Make random edits of a crate and check that no test with changed machine code is dropped.
#[derive(Debug, Parser)]
#[command(name = "soundness", max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Number of edits that change code
    #[arg(long, default_value_t = 60, value_name = "N")]
    edits: usize,
    /// Number of edits that do not change code
    #[arg(long, default_value_t = 15, value_name = "N")]
    harmless: usize,
    /// Longest time of a test in callgrind, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    limit: u64,
    /// Number of dropped tests to check after each edit, in addition to suspects
    #[arg(long, default_value_t = 5, value_name = "N")]
    draw: usize,
    /// Treat selected tests with this text in their name as dropped, to test the check
    #[arg(long, value_name = "NAME")]
    assume_dropped: Vec<String>,
}

fn main() -> Result<()> {
    invocation::arguments("soundness -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    Callgrind::probe()?;
    let subject = &arguments.subject;
    let place = subject.place.work()?;
    let work = place.as_ref();
    let Copy { tree, commit } = subject.copy(work, sample::write)?;
    let tool = subject.place.tool(&[])?;
    let cargo_options = cargo_options(&subject.place.options);
    let limit = Duration::from_secs(arguments.limit);
    let callgrind = |name: &str| Callgrind::new(work.join(name), limit);

    let started = Instant::now();
    let coverage = Coverage::measure(&tree, work, &cargo_options, &commit, &callgrind("lines"))?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{} tests, lines known after {seconds:.0} s, {} take too long", coverage.known(), coverage.too_long());
    let dependencies = if subject.sample { vec![sample::DEPENDENCY.to_owned()] } else { Vec::new() };
    let sources = Sources::read(&tree, Scope { below: subject.below.clone(), dependencies })?;
    let mut examiner = Examiner::new(&tree, &tool, &coverage, &sources, callgrind("judge"), cargo_options)?;
    examiner.draw = arguments.draw;
    examiner.assume_dropped.clone_from(&arguments.assume_dropped);

    let file = if arguments.assume_dropped.is_empty() { "soundness.jsonl" } else { "soundness-assumed.jsonl" };
    let mut tally = Tally::open(work.join(file), subject.seed, &tool.key)?;
    for edit in schedule(sources.edits(), subject.seed) {
        let wanted = if edit.kind.is_harmless() { arguments.harmless } else { arguments.edits };
        let key = edit.key();
        if tally.count(edit.kind.is_harmless()) >= wanted || tally.records.iter().any(|record| record.key == key) {
            continue;
        }
        let record = examiner.examine(&edit, subject.seed)?;
        print(tally.records.len() + 1, &edit, &record);
        tally.add(record)?;
    }
    println!("{}", tally.summary());
    println!("records: {}", tally.path().display());
    Ok(())
}

/// Returns the edits in a random order with all kinds equally frequent, as long as there are any.
fn schedule(edits: Vec<Edit>, seed: u64) -> Vec<Edit> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut kinds: BTreeMap<(bool, Place, Kind), Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        kinds.entry((edit.kind.is_harmless(), edit.place, edit.kind)).or_default().push(edit);
    }
    let mut rounds = Vec::new();
    for edits in kinds.values_mut() {
        random.shuffle(edits);
        rounds.extend(edits.drain(..).enumerate());
    }
    // The sort is stable: within a round the kinds keep their order.
    rounds.sort_by_key(|(round, _)| *round);
    rounds.into_iter().map(|(_, edit)| edit).collect()
}

/// Returns the options of the tool that cargo has too.
fn cargo_options(options: &[String]) -> Vec<String> {
    let flags = ["--lib", "--bins", "--workspace", "--all-features", "--no-default-features", "--offline", "--locked"];
    let valued = ["--bin", "--test", "-p", "--package", "--exclude", "-F", "--features"];
    let mut taken = Vec::new();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let name = option.split('=').next().unwrap_or(option);
        if flags.contains(&name) || (valued.contains(&name) && option.contains('=')) {
            taken.push(option.clone());
        } else if valued.contains(&name) {
            taken.push(option.clone());
            taken.extend(options.next().cloned());
        }
    }
    taken
}

fn print(number: usize, edit: &Edit, record: &Record) {
    if !record.compiles {
        println!("{number:>4}  {edit}: does not compile");
        return;
    }
    let suspects = record.examined.iter().filter(|examined| examined.is_suspect).count();
    println!(
        "{number:>4}  {edit}: {} of {} selected; {suspects} suspects, {} drawn; {:.1} s, {:.1} s of them in the tool",
        record.selected,
        record.tests,
        record.examined.len() - suspects,
        record.seconds,
        record.tool_seconds,
    );
    for (examined, how) in record.misses() {
        println!("      MISS {} {} ({}): {how}", examined.test.target, examined.test.name, examined.dropped_as);
    }
    for examined in record.open() {
        println!("      open {} {} ({})", examined.test.target, examined.test.name, examined.dropped_as);
    }
    if record.is_violation() {
        println!("      VIOLATION: this edit changes no code");
    }
    if record.misses().next().is_some() || record.is_violation() {
        println!("{}", record.diff);
    }
}
