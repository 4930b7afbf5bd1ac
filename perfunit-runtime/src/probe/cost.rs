//! What probes cost where they cost least: a function that does nothing, called in a row.

use super::{place, ticks};
use crate::tree::{Node, NEVER};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

/// Rounds, of which the cheapest counts: interrupts only make a round longer.
const ROUNDS: usize = 30;
/// Calls in a round: about 15 us with a timing probe.
const CALLS: u64 = 500;

/// Ticks a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Of a timing probe, in the self time of its own function.
    pub inside: f64,
    /// Of a timing probe, in the self time of its caller.
    pub outside: f64,
    /// Of a counting probe.
    pub counting: f64,
    /// Of a probe of either kind where a function calls itself.
    pub again: f64,
}

/// How to measure, from the first probe that is met. Named nowhere else: a program without probes is linked without what they
/// need, in particular the memory of each of its threads.
static MEASURE: OnceLock<fn() -> Costs> = OnceLock::new();

/// Says how to measure; the first call counts.
pub fn set(measure: fn() -> Costs) {
    MEASURE.get_or_init(|| measure);
}

/// Measures what probes cost here; `None` in a program that met none.
pub fn measured() -> Option<Costs> {
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

/// Functions that do nothing and have a probe whose key is 1.
pub struct Probed {
    /// The probe takes times.
    pub timed: fn(),
    /// The probe only counts.
    pub counted: fn(),
    /// The probe takes times; the function calls itself until its argument is 0.
    pub recursion: fn(u64),
}

/// Measures all costs, in this thread.
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
        // The outermost call reads the clock twice, as one call in a row does.
        again: per_call(recursion.1, plain_recursion.1 + (timed.0 + timed.1).saturating_sub(plain.1) / CALLS),
    }
}

/// Ticks of a round by the clock outside.
fn ticks_of(function: fn()) -> u64 {
    ticks_to(|| repeat(function))
}

/// Ticks of one call that makes the others, one in the other: returns are predicted as in a deep recursion.
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

/// Self ticks of a round: of the function and of its caller.
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

/// Runs something as the only caller of a site with key 1, in a tree of these two nodes.
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
