//! The time from recorded trees to attribution.

use super::{Result, served};
use nix::unistd::dup;
use perfunit_explain::{Merged, attribute, differences};
use perfunit_measure::{CallTrees, ProbeRequest};
use perfunit_model::Side;
use perfunit_runtime::__private::{Site, serve_function};
use perfunit_runtime::tree::mode;
use std::hint::black_box;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Batches of a process, about as many as in a pair, and runs of the function in each.
const BATCHES: u32 = 50;
const RUNS: usize = 3;
/// Number of callees of each function, and number of levels: 5,460 different contexts.
const CALLEES: usize = 4;
const LEVELS: usize = 6;
/// Number of pairs, as in a first look.
const PAIRS: usize = 8;
/// Level of the intervals, which does not affect the time.
const ALPHA: f64 = 0.01;

/// Records pairs of trees and prints the time of each step.
pub fn show() -> Result<()> {
    let request = ProbeRequest { default_mode: mode::TIMING, listed_mode: mode::INACTIVE, keys: Vec::new() };
    let trees = CallTrees::new(request).map_err(|error| error.to_string())?;
    let mut merged = Merged::default();
    let (mut reading, mut merging) = (Duration::ZERO, Duration::ZERO);
    let mut calls = 0.0;
    for _ in 0..PAIRS {
        trees.reset().map_err(|error| error.to_string())?;
        for side in Side::BOTH {
            // The duplicate is inherited, unlike the original.
            served::run(BATCHES, dup(trees.file(side))?.as_fd())?;
        }
        let started = Instant::now();
        let runs = trees.read(1).ok_or("nothing was recorded")?.map(|run| run.tree);
        reading += started.elapsed();
        calls = runs.base.nodes.iter().chain(&runs.head.nodes).map(|node| node.calls).sum::<f64>() * f64::from(BATCHES);
        let started = Instant::now();
        merged.add(&runs);
        merging += started.elapsed();
    }
    let started = Instant::now();
    let found = differences(&merged, ALPHA).ok_or("too few pairs")?;
    let comparing = started.elapsed();
    let started = Instant::now();
    let attribution = attribute(&merged, ALPHA).ok_or("too few pairs")?;
    let attributing = started.elapsed();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{} nodes, {} functions, {:.2} million calls in both trees of a pair, {PAIRS} pairs\n",
        found.nodes.len(),
        attribution.parts.len(),
        calls / 1e6
    );
    println!("| step | ms |\n|-|-|");
    println!("| read the trees of a pair | {:.1} |", ms(reading) / PAIRS as f64);
    println!("| merge them | {:.1} |", ms(merging) / PAIRS as f64);
    println!("| differences of all nodes over {PAIRS} pairs | {:.1} |", ms(comparing));
    println!("| attribution over {PAIRS} pairs | {:.1} |", ms(attributing));
    println!("| all, of {PAIRS} pairs | {:.1} |", ms(reading + merging + comparing + attributing));
    Ok(())
}

/// Serves the function that makes the calls. Does not return.
pub fn serve() {
    serve_function("trees", false, served_function);
}

#[expect(clippy::unnecessary_wraps, reason = "the runner passes functions of this type")]
fn served_function() -> std::result::Result<(), String> {
    (0..RUNS).for_each(|_| call(0));
    Ok(())
}

/// Returns the functions; each level has others, so that none is active twice.
fn sites() -> &'static [[Site; CALLEES]; LEVELS] {
    static SITES: OnceLock<[[Site; CALLEES]; LEVELS]> = OnceLock::new();
    SITES.get_or_init(|| {
        std::array::from_fn(|level| std::array::from_fn(|callee| Site::new((2 + level * CALLEES + callee) as u64)))
    })
}

#[inline(never)]
fn call(level: usize) {
    let Some(callees) = sites().get(level) else { return };
    for site in callees {
        let _guard = site.enter();
        call(black_box(level + 1));
    }
}
