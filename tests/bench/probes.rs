//! Measures the cost of a probe: the time of calling an empty function without a probe and with one in each mode, of
//! calls that do not follow the caller's last path, and the time and memory of ten million recursive calls.
//!
//! `cargo bench --bench probes`

mod served;

use perfunit_runtime::__private::{Site, serve_function};
use perfunit_runtime::page::SERVE_VARIABLE;
use perfunit_runtime::tree::{self, Header, Layout, mode};
use std::cell::Cell;
use std::fs::File;
use std::hint::black_box;
use std::mem::offset_of;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Number of rounds, which are short enough for some to be undisturbed.
const ROUNDS: usize = 400;
/// Number of calls in a round.
const CALLS: usize = 3_000;
/// Depth of the recursion, and number of times that it is entered: ten million calls.
const DEEP: (usize, usize) = (1_000, 10_000);
/// Names of the modes.
const MODES: [(&str, u32); 3] = [("inactive", mode::INACTIVE), ("counting", mode::COUNTING), ("timing", mode::TIMING)];
/// Number of batches: [`times`], then [`recursion`].
const BATCHES: u32 = 2;
const LAYOUT: Layout = Layout { keys: 0, capacity: 1 << 16, rows: BATCHES };

fn main() -> Result<()> {
    if std::env::var_os(SERVE_VARIABLE).is_some() {
        serve_function("probes", false, served);
    }
    println!("ns a call more than without a probe: minimum and median of {ROUNDS} rounds of {CALLS} calls\n");
    for (name, mode) in MODES {
        println!("{name}");
        show(mode)?;
    }
    Ok(())
}

/// Makes another process of this executable serve two batches with all probes in a mode. The process prints its
/// measurements.
fn show(mode: u32) -> Result<()> {
    let tree = served::shared(LAYOUT.bytes())?;
    for (offset, value) in [
        (offset_of!(Header, default_mode), mode),
        (offset_of!(Header, capacity), LAYOUT.capacity),
        (offset_of!(Header, rows), LAYOUT.rows),
    ] {
        tree.write_all_at(&value.to_ne_bytes(), offset as u64)?;
    }
    tree.write_all_at(&tree::MAGIC.to_ne_bytes(), offset_of!(Header, magic) as u64)?;
    served::run(BATCHES, tree.as_fd())?;
    show_header(&tree, mode)
}

/// Prints the costs that the process measured itself, and its use of the tree.
fn show_header(tree: &File, mode: u32) -> Result<()> {
    let mut word = [0; 8];
    let mut number = |offset: usize| -> Result<u64> {
        tree.read_exact_at(&mut word, offset as u64)?;
        Ok(u64::from_ne_bytes(word))
    };
    let used = number(offset_of!(Header, used))? & u64::from(u32::MAX);
    let ticks_per_ns = f64::from_bits(number(offset_of!(Header, ticks_per_second))?) / 1e9;
    let mut ns = |offset| -> Result<f64> { Ok(f64::from_bits(number(offset)?) / ticks_per_ns) };
    let (inside, outside) = (ns(offset_of!(Header, inside))?, ns(offset_of!(Header, outside))?);
    let counting = ns(offset_of!(Header, counting))?;
    match mode {
        mode::TIMING => println!("  calibrated: {inside:.2} inside, {outside:.2} outside"),
        mode::COUNTING => println!("  calibrated: {counting:.2}"),
        _ => {}
    }
    println!("  {used} nodes, {} KiB of the tree in memory\n", tree.metadata()?.blocks() / 2);
    Ok(())
}

/// The served function: its first call warms up, the others are the batches.
#[expect(clippy::unnecessary_wraps, reason = "the runner passes functions of this type")]
fn served() -> std::result::Result<(), String> {
    thread_local! { static CALLS_BEFORE: Cell<u32> = const { Cell::new(0) }; }
    match CALLS_BEFORE.replace(CALLS_BEFORE.get() + 1) {
        // Costs are measured before the first batch only if a probe was executed.
        0 => probed(),
        1 => times(),
        _ => recursion(),
    }
    Ok(())
}

static EMPTY: Site = Site::new(1);
static ONE: Site = Site::new(2);
static TWO: Site = Site::new(3);
static DEEPER: Site = Site::new(4);
static HELPER: Site = Site::new(5);

#[inline(never)]
fn plain() {
    black_box(());
}

#[inline(never)]
fn probed() {
    let _guard = EMPTY.enter();
    black_box(());
}

/// Calls with a given site, or without one.
#[inline(never)]
fn call(site: Option<&'static Site>) {
    let _guard = site.map(Site::enter);
    black_box(());
}

fn times() {
    compare("empty function", &|| (0..CALLS).for_each(|_| plain()), &|| (0..CALLS).for_each(|_| probed()));
    for callees in [2, 10, 300_usize] {
        let sites: Vec<&'static Site> =
            (0..callees).map(|index| &*Box::leak(Box::new(Site::new(1000 * callees as u64 + index as u64)))).collect();
        let sites = black_box(sites);
        let turns = |none: bool| (0..CALLS).for_each(|index| call((!none).then(|| sites[index % callees])));
        compare(&format!("{callees} callees in turn"), &|| turns(black_box(true)), &|| turns(black_box(false)));
    }
    compare("two functions that call each other", &|| mutual(false, CALLS), &|| mutual(true, CALLS));
}

/// Each of two functions calls a third one and then the other.
#[inline(never)]
fn mutual(probes: bool, depth: usize) {
    let probes = black_box(probes);
    let _guard = probes.then(|| if depth.is_multiple_of(2) { ONE.enter() } else { TWO.enter() });
    if depth > 1 {
        mutual(probes, depth - 1);
    }
    black_box(());
}

/// Prints how much longer a call takes with a probe than without.
fn compare(name: &str, without: &dyn Fn(), with: &dyn Fn()) {
    let ns = |run: &dyn Fn()| {
        let started = Instant::now();
        run();
        started.elapsed().as_nanos() as f64 / CALLS as f64
    };
    // Alternating, so that disturbances affect both.
    let (mut plain, mut probed): (Vec<f64>, Vec<f64>) = (0..ROUNDS).map(|_| (ns(without), ns(with))).unzip();
    plain.sort_by(f64::total_cmp);
    probed.sort_by(f64::total_cmp);
    let [least, median] = [0, ROUNDS / 2].map(|at| probed[at] - plain[at]);
    println!("  {name}: {least:.2} {median:.2} (without a probe {:.2} {:.2})", plain[0], plain[ROUNDS / 2]);
}

#[inline(never)]
fn deep(depth: usize) {
    let _guard = DEEPER.enter();
    if depth.is_multiple_of(2) {
        let _guard = HELPER.enter();
        black_box(());
    }
    if depth > 1 {
        deep(depth - 1);
    }
    black_box(());
}

fn recursion() {
    // Every second call has a helper: two thirds of the depth make as many calls.
    let depth = DEEP.0 * 2 / 3;
    let calls = depth + depth / 2;
    let mut ns: Vec<f64> = (0..DEEP.1)
        .map(|_| {
            let started = Instant::now();
            deep(depth);
            started.elapsed().as_nanos() as f64 / calls as f64
        })
        .collect();
    ns.sort_by(f64::total_cmp);
    let millions = (calls * DEEP.1) as f64 / 1e6;
    println!("  {millions:.0} million recursive calls: {:.2} {:.2}, all there is to them", ns[0], ns[DEEP.1 / 2]);
}
