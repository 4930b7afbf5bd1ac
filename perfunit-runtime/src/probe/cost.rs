//! Minimum cost of probes, measured with consecutive calls of an empty function.

use super::{place, ticks};
use crate::tree::{Node, NEVER};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

/// Number of rounds, of which the cheapest counts, because interrupts only make a round longer.
const ROUNDS: usize = 30;
/// Number of calls per round, which take about 15 us with a timing probe.
const CALLS: u64 = 500;

/// Costs in ticks per call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Cost of a timing probe in the self time of its own function.
    pub inside: f64,
    /// Cost of a timing probe in the self time of its caller.
    pub outside: f64,
    /// Cost of a counting probe.
    pub counting: f64,
    /// Cost of either probe where a function calls itself.
    pub again: f64,
}

/// Function that measures costs, set by the first executed probe. Nothing else names it, so that a program without
/// probes is linked without the code and thread-local memory of probes.
static MEASURE: OnceLock<fn() -> Costs> = OnceLock::new();

/// Sets the function that measures costs; only the first call has an effect.
pub fn set(measure: fn() -> Costs) {
    MEASURE.get_or_init(|| measure);
}

/// Measures the cost of probes, or returns `None` in a program that executed no probe.
pub fn measure_costs() -> Option<Costs> {
    MEASURE.get().map(|measure| measure())
}

#[inline(never)]
fn plain() {
    black_box(());
}

/// Calls itself until `depth` is 0.
#[inline(never)]
fn plain_recursion(depth: u64) {
    if black_box(depth) > 0 {
        plain_recursion(depth - 1);
    }
    black_box(());
}

/// Empty functions with a probe, which has key 1.
pub struct Probed {
    /// Function with a timing probe.
    pub timed: fn(),
    /// Function with a counting probe.
    pub counted: fn(),
    /// Function with a timing probe that calls itself until its argument is 0.
    pub recursion: fn(u64),
}

/// Measures all costs in this thread.
pub fn measure(probed: &Probed) -> Costs {
    let shortest = |measure: &dyn Fn() -> (u64, u64)| {
        (0..ROUNDS).map(|_| measure()).min_by_key(|(inside, outside)| inside + outside).unwrap_or_default()
    };
    let per_call = |ticks: u64, less: u64| ticks.saturating_sub(less) as f64 / CALLS as f64;
    let plain = shortest(&|| (0, ticks_of(plain)));
    let timed = shortest(&|| times_of(probed.timed));
    let counted = shortest(&|| (0, ticks_of(probed.counted)));
    let plain_recursion = shortest(&|| (0, ticks_of_recursion(plain_recursion)));
    let recursion = shortest(&|| (0, ticks_of_recursion(probed.recursion)));
    Costs {
        inside: per_call(timed.0, 0),
        outside: per_call(timed.1, plain.1),
        counting: per_call(counted.1, plain.1),
        // The outermost call reads the clock twice, as one of the consecutive calls does.
        again: per_call(recursion.1, plain_recursion.1 + (timed.0 + timed.1).saturating_sub(plain.1) / CALLS),
    }
}

/// Returns the ticks of a round, by the clock outside.
fn ticks_of(function: fn()) -> u64 {
    ticks_to(|| repeat(function))
}

/// Returns the ticks of nested calls; their returns are predicted as in a deep recursion.
fn ticks_of_recursion(function: fn(u64)) -> u64 {
    let function = black_box(function);
    ticks_to(|| function(CALLS))
}

fn ticks_to(run: impl FnOnce()) -> u64 {
    let mut took = 0;
    at_scratch_node(|| {
        let started = ticks::now();
        run();
        took = ticks::now() - started;
    });
    took
}

/// Returns the self ticks of the function and of its caller in one round.
fn times_of(function: fn()) -> (u64, u64) {
    let nodes = at_scratch_node(|| repeat(function));
    (nodes[1].self_ticks.load(Relaxed), nodes[0].self_ticks.load(Relaxed))
}

#[inline(never)]
fn repeat(function: fn()) {
    // Opaque, so that all rounds make the same calls.
    let function = black_box(function);
    for _ in 0..CALLS {
        function();
    }
}

/// Runs a closure as the only caller of a site with key 1, in a tree of these two nodes.
fn at_scratch_node(run: impl FnOnce()) -> &'static [Node] {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    static NODES: OnceLock<[Node; 2]> = OnceLock::new();
    let nodes: &'static [Node] = NODES.get_or_init(Default::default);
    for node in nodes {
        node.self_ticks.store(0, Relaxed);
        node.shortest.store(NEVER, Relaxed);
    }
    nodes[0].hot.store(1, Relaxed);
    nodes[1].key.store(1, Relaxed);
    place::elsewhere(nodes, &BEGUN, run);
    nodes
}
