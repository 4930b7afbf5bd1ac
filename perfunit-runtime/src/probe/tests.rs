//! Trees of small programs, with a clock that the tests advance.

use super::ticks::set_by_test::{pass, start};
use super::{activation, home, probed, Guard, Site, Tree};
use crate::tree::{mode, Figures, Header, Node, NEVER};
use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::{pin, Pin};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{mpsc, Arc};
use std::task::{Context, Poll, Wake};

const ROWS: usize = 3;

fn leak<T>(values: impl IntoIterator<Item = T>) -> &'static [T] {
    values.into_iter().collect::<Vec<T>>().leak()
}

/// Returns a tree in which this thread has a root.
fn tree(capacity: usize) -> &'static Tree {
    let header = Box::leak(Box::<Header>::default());
    let nodes = leak((0..capacity).map(|_| Node::default()));
    let rows = leak((0..ROWS * capacity).map(|_| Figures::default()));
    let tree: &'static Tree = Box::leak(Box::new(Tree::of(header, &[], nodes, rows)));
    settle(tree);
    tree
}

/// Gives the thread of a test its root and its clock.
fn settle(tree: &'static Tree) {
    start();
    assert!(home::settle_in(tree));
}

fn timed_site(key: u64) -> &'static Site {
    Box::leak(Box::new(Site::with_mode(key, mode::TIMING)))
}

fn counted_site(key: u64) -> &'static Site {
    Box::leak(Box::new(Site::with_mode(key, mode::COUNTING)))
}

/// Calls a function that takes this many ticks before and after its callees.
fn run(site: &'static Site, before: u64, callees: impl FnOnce(), after: u64) {
    let _guard = site.enter();
    pass(before);
    callees();
    pass(after);
}

/// Records a closure as batch 0.
fn record(tree: &'static Tree, run: impl FnOnce()) {
    tree.begin_batch();
    run();
    tree.end_batch(0);
}

fn used_nodes(tree: &Tree) -> usize {
    tree.header.used.load(Relaxed) as usize
}

/// Formats the nodes as `keys from the root: calls, self ticks, total ticks`, sorted; a root is `-`.
fn lines(tree: &Tree) -> Vec<String> {
    let mut lines: Vec<String> = (1..used_nodes(tree)).map(|index| line(tree, index)).collect();
    lines.sort();
    lines
}

fn line(tree: &Tree, index: usize) -> String {
    let node = &tree.nodes[index];
    let mut keys = Vec::new();
    let mut at = node;
    while at.parent.load(Relaxed) != 0 {
        keys.insert(0, at.key.load(Relaxed).to_string());
        at = &tree.nodes[at.parent.load(Relaxed) as usize];
    }
    if keys.is_empty() {
        keys.push("-".to_owned());
    }
    let calls = node.calls.load(Relaxed) + node.repeats.load(Relaxed);
    let (own, total) = (&node.self_ticks, &node.total_ticks);
    format!("{}: {}, {}, {}", keys.join(" "), calls, own.load(Relaxed), total.load(Relaxed))
}

#[track_caller]
fn check(tree: &Tree, expected: &[&str]) {
    assert_eq!(lines(tree), expected);
}

#[test]
fn a_function_has_a_node_for_each_of_its_callers() {
    let tree = tree(20);
    let (a, b, c) = (timed_site(1), timed_site(2), timed_site(3));
    record(tree, || {
        pass(7);
        run(a, 10, || run(c, 5, || (), 0), 1);
        for ticks in [100, 200] {
            run(b, ticks, || run(c, 6, || (), 0), 0);
        }
    });
    check(tree, &["-: 0, 7, 0", "1 3: 1, 5, 5", "1: 1, 11, 16", "2 3: 2, 12, 12", "2: 2, 300, 312"]);
    let b = &tree.nodes[4];
    assert_eq!((b.key.load(Relaxed), b.root.load(Relaxed)), (2, 1));
    assert_eq!(b.shortest.load(Relaxed), 106);
    assert_eq!(b.squares.load(Relaxed), f64::to_bits(106.0 * 106.0 + 206.0 * 206.0));
}

#[test]
fn an_early_return_and_a_panic_leave_what_they_end() {
    fn early(site: &'static Site, odd: bool) -> u64 {
        let _guard = site.enter();
        pass(3);
        if odd {
            return 1;
        }
        pass(4);
        2
    }
    let tree = tree(20);
    let (a, b, c) = (timed_site(1), timed_site(2), timed_site(3));
    record(tree, || {
        assert_eq!(early(c, true) + early(c, false), 3);
        let panics = || run(a, 1, || run(b, 2, || resume_unwind(Box::new(())), 0), 0);
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        pass(5);
        run(b, 6, || (), 0);
    });
    check(tree, &["-: 0, 5, 0", "1 2: 1, 2, 2", "1: 1, 1, 3", "2: 1, 6, 6", "3: 2, 10, 10"]);
}

#[test]
fn direct_recursion_stays_in_its_node() {
    fn recurse(site: &'static Site, helper: &'static Site, depth: u64) {
        let _guard = site.enter();
        pass(2);
        run(helper, 10, || (), 0);
        if depth > 1 {
            recurse(site, helper, depth - 1);
        }
        pass(3);
    }
    let tree = tree(20);
    let (site, helper) = (timed_site(1), timed_site(2));
    record(tree, || (0..2).for_each(|_| recurse(site, helper, 100)));
    check(tree, &["-: 0, 0, 0", "1 2: 200, 2000, 2000", "1: 200, 1000, 3000"]);
    let node = &tree.nodes[2];
    assert_eq!(node.shortest.load(Relaxed), 1500);
    // Two calls come from the root; all others are direct recursion.
    assert_eq!((node.calls.load(Relaxed), node.repeats.load(Relaxed)), (2, 198));
}

#[test]
fn a_function_that_calls_itself_reads_no_clock() {
    let tree = tree(20);
    for site in [timed_site(1), counted_site(2)] {
        let outer = site.enter();
        let inner = site.enter();
        assert_eq!(inner.node, 0);
        assert_ne!(outer.node, 0);
        // A panic in between, or guards dropped in another order, affect only the outer activation.
        drop(outer);
        pass(1);
        drop(inner);
    }
    tree.begin_batch();
    let outer = timed_site(3).enter();
    pass(5);
    tree.end_batch(0);
    // Nothing is counted between batches.
    drop(timed_site(3).enter());
    drop(outer);
    check(tree, &["-: 0, 0, 0", "1: 0, 0, 0", "2: 0, 0, 0", "3: 1, 5, 0"]);
    assert_eq!(tree.rows[4].repeats.load(Relaxed), 0);
}

#[test]
fn recursion_by_way_of_another_function_reads_the_clock_and_by_itself_does_not() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    record(tree, || {
        run(a, 1, || run(a, 2, || run(b, 10, || run(a, 3, || run(a, 4, || (), 0), 0), 20), 0), 0);
    });
    check(tree, &["-: 0, 0, 0", "1 2: 1, 30, 37", "1: 4, 10, 40"]);
    let row = &tree.rows[2];
    let figures = [&row.calls, &row.recursions, &row.repeats].map(|figure| figure.load(Relaxed));
    assert_eq!(figures, [2, 1, 2]);
}

#[test]
fn mutual_recursion_folds_into_the_nodes_that_are_there() {
    fn one(sites: [&'static Site; 3], depth: u64) {
        run(
            sites[0],
            1,
            || {
                if depth > 0 {
                    two(sites, depth - 1);
                }
            },
            1,
        );
    }
    fn two(sites: [&'static Site; 3], depth: u64) {
        run(sites[1], 10, || three(sites, depth), 10);
    }
    fn three(sites: [&'static Site; 3], depth: u64) {
        run(sites[2], 100, || one(sites, depth), 0);
    }
    let tree = tree(20);
    let sites = [timed_site(1), timed_site(2), timed_site(3)];
    record(tree, || one(sites, 1000));
    // Self ticks add up to the whole, and totals contain their callees once.
    let whole = 2002 + 20_000 + 100_000;
    check(
        tree,
        &["-: 0, 0, 0", "1 2 3: 1000, 100000, 121980", "1 2: 1000, 20000, 122000", &format!("1: 1001, 2002, {whole}")],
    );
    // Only calls of the first function come from below; the other functions are always called by their callers.
    let recursions = |key: u64| {
        let node = tree.nodes.iter().find(|node| node.key.load(Relaxed) == key).unwrap();
        node.recursions.load(Relaxed)
    };
    assert_eq!([1, 2, 3].map(recursions), [1000, 0, 0]);
}

#[test]
fn any_recursion_keeps_the_sum_of_self_ticks_and_few_nodes() {
    /// Calls sites as chosen by a simple random number generator.
    fn wander(sites: &[&'static Site], state: &mut u64, depth: u64) {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let _guard = sites[(*state >> 33) as usize % sites.len()].enter();
        pass(1);
        for _ in 0..(*state >> 40) % 4 {
            if depth > 0 {
                wander(sites, state, depth - 1);
            }
        }
    }
    let tree = tree(1000);
    let sites: Vec<_> = (1..=4).map(timed_site).collect();
    let mut calls = 0;
    record(tree, || {
        for seed in 0..200 {
            let mut state = seed;
            wander(&sites, &mut state, 9);
        }
    });
    let mut own = 0;
    for node in &tree.nodes[..used_nodes(tree)] {
        calls += node.calls.load(Relaxed) + node.repeats.load(Relaxed);
        own += node.self_ticks.load(Relaxed);
        assert_eq!(node.started.load(Relaxed), 0);
    }
    assert!(calls > 10_000, "{calls} calls");
    assert_eq!(own, calls);
    // No site occurs twice on a path: at most 4 + 4 * 3 + 4 * 3 * 2 + 4 * 3 * 2 nodes, the root, and node 0.
    assert!(used_nodes(tree) <= 66, "{} nodes", used_nodes(tree));
    assert_eq!(tree.header.overflow.load(Relaxed), 0);
}

#[test]
fn hundreds_of_callees_have_a_node_each() {
    let tree = tree(400);
    let a = timed_site(1000);
    let callees: Vec<_> = (1..=300).map(timed_site).collect();
    record(tree, || {
        for step in [1, 7, 299] {
            run(a, 0, || (0..300).for_each(|index| run(callees[index * step % 300], 1, || (), 0)), 0);
        }
    });
    assert_eq!(used_nodes(tree), 303);
    assert!(tree.nodes[3..303].iter().all(|node| node.calls.load(Relaxed) == 3));
}

#[test]
fn guards_dropped_in_another_order_leave_a_sound_tree() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    record(tree, || {
        let (outer, inner) = (a.enter(), b.enter());
        pass(5);
        drop(outer);
        pass(1);
        drop(inner);
        pass(2);
        let forgetful = a.enter();
        std::mem::forget(b.enter());
        pass(10);
        drop(forgetful);
        pass(4);
        run(a, 100, || run(b, 1000, || (), 0), 0);
    });
    // Activations below a function end with it at the latest.
    check(tree, &["-: 0, 7, 0", "1 2: 3, 1015, 1015", "1: 3, 100, 1115"]);
}

#[test]
fn a_full_tree_leaves_time_with_the_caller_and_counts_the_calls_that_found_no_room() {
    // Node 0, the root and one more.
    let tree = tree(3);
    let (a, b, c) = (timed_site(1), timed_site(2), timed_site(3));
    record(tree, || {
        run(a, 1, || run(b, 2, || run(c, 4, || (), 0), 0), 0);
        run(b, 8, || run(a, 16, || (), 0), 0);
    });
    check(tree, &["-: 0, 8, 0", "1: 2, 23, 23"]);
    assert_eq!(tree.header.overflow.load(Relaxed), 3);
    assert_eq!(used_nodes(tree), 3);
    assert!(tree.root().is_none());
}

#[test]
fn only_what_happens_in_a_batch_counts_and_each_batch_has_its_row() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    let long = a.enter();
    pass(1000);
    run(b, 50, || (), 0);
    for (index, ticks) in [3, 5].into_iter().enumerate() {
        tree.begin_batch();
        pass(100);
        (0..=index).for_each(|_| run(b, ticks, || (), 0));
        tree.end_batch(index);
        pass(1000);
        run(b, 70, || (), 0);
    }
    // Ends between batches.
    drop(long);
    check(tree, &["-: 0, 0, 0", "1 2: 3, 13, 13", "1: 0, 200, 0"]);
    let row = |index: usize| {
        let row = &tree.rows[index * 20..];
        (row[2].self_ticks.load(Relaxed), row[3].calls.load(Relaxed), row[3].self_ticks.load(Relaxed))
    };
    assert_eq!([row(0), row(1), row(2)], [(100, 1, 3), (100, 2, 10), (0, 0, 0)]);
    assert_eq!(tree.header.batches.load(Relaxed), 2);
    assert_eq!(tree.nodes[2].shortest.load(Relaxed), NEVER);
    assert_eq!(tree.nodes[3].shortest.load(Relaxed), 3);
    // All rows are in use, so the figures are only in the sums.
    tree.begin_batch();
    run(b, 1, || (), 0);
    tree.end_batch(ROWS);
    assert_eq!(tree.nodes[4].calls.load(Relaxed), 1);
}

#[test]
fn threads_one_after_the_other_share_a_root() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    tree.begin_batch();
    for _ in 0..5 {
        let thread = move || {
            settle(tree);
            pass(1);
            run(a, 10, || (), 0);
            // As if the thread had been ended from outside.
            std::mem::forget(b.enter());
            pass(2);
        };
        std::thread::spawn(thread).join().unwrap();
    }
    tree.end_batch(0);
    check(tree, &["-: 0, 0, 0", "-: 0, 5, 0", "1: 5, 50, 50", "2: 5, 10, 10"]);
    assert_eq!(tree.nodes[3].root.load(Relaxed), 2);
}

#[test]
fn a_thread_that_still_runs_has_what_it_passed_on() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    let (to_main, from_thread) = mpsc::channel();
    let (to_thread, from_main) = mpsc::channel();
    tree.begin_batch();
    let thread = std::thread::spawn(move || {
        settle(tree);
        let _guard = a.enter();
        pass(5);
        run(b, 3, || (), 0);
        pass(9);
        to_main.send(()).unwrap();
        from_main.recv().unwrap();
    });
    from_thread.recv().unwrap();
    tree.end_batch(0);
    check(tree, &["-: 0, 0, 0", "-: 0, 0, 0", "1 2: 1, 3, 3", "1: 1, 5, 0"]);
    to_thread.send(()).unwrap();
    thread.join().unwrap();
    // The batch is over.
    check(tree, &["-: 0, 0, 0", "-: 0, 0, 0", "1 2: 1, 3, 3", "1: 1, 5, 0"]);
}

/// A future that is ready when polled for the third time.
struct Third(u32);

impl Future for Third {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        pass(4);
        self.0 += 1;
        if self.0 == 3 {
            Poll::Ready(7)
        } else {
            Poll::Pending
        }
    }
}

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_future_is_one_call_and_counts_while_it_is_polled() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    let waker = Arc::new(Nobody).into();
    let mut context = Context::from_waker(&waker);
    record(tree, || {
        let mut future = pin!(probed(a, async { probed(b, Third(0)).await + 1 }));
        for _ in 0..2 {
            assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
            pass(1000);
        }
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(8));
    });
    check(tree, &["-: 0, 2000, 0", "1 2: 1, 12, 12", "1: 1, 0, 12"]);
    assert_eq!(tree.nodes[3].shortest.load(Relaxed), 4);
}

#[test]
fn a_probed_future_is_as_large_as_a_future_a_site_and_a_mark() {
    let future = async {
        let bytes = [0_u8; 1000];
        Third(0).await;
        std::hint::black_box(&bytes);
    };
    let alone = std::mem::size_of_val(&future);
    assert!(std::mem::size_of_val(&probed(timed_site(1), future)) <= alone + 16);
}

#[test]
fn counting_probes_count_and_read_no_clock() {
    let tree = tree(20);
    let (a, b) = (counted_site(1), counted_site(2));
    run(a, 1, || (), 0);
    record(tree, || (0..3).for_each(|_| run(a, 1, || run(b, 2, || run(a, 0, || (), 0), 0), 0)));
    // All ticks between the batch's beginning and end belong to the root.
    check(tree, &["-: 0, 9, 0", "1 2: 3, 0, 0", "1: 6, 0, 0"]);
}

#[test]
fn counting_and_timing_probes_may_meet() {
    let tree = tree(20);
    let (a, b, c) = (timed_site(1), counted_site(2), timed_site(3));
    record(tree, || (0..2).for_each(|_| run(a, 1, || run(b, 10, || run(c, 100, || (), 0), 0), 1000)));
    // Time that the counting probe does not read goes to the next timing probe; calls and the sum are correct.
    check(tree, &["-: 0, 0, 0", "1 2 3: 2, 200, 200", "1 2: 2, 22, 0", "1: 2, 2000, 2222"]);
}

#[test]
fn listed_sites_have_the_listed_mode() {
    #[track_caller]
    fn check(modes: [u32; 2], key: u64, expected: u32) {
        let header = Box::leak(Box::<Header>::default());
        header.default_mode.store(modes[0], Relaxed);
        header.listed_mode.store(modes[1], Relaxed);
        let keys = leak([3, 5, 1 << 63].map(AtomicU64::new));
        assert_eq!(Tree::of(header, keys, &[], &[]).mode_of(key), expected);
    }
    for listed in [3, 5, 1 << 63] {
        check([mode::INACTIVE, mode::TIMING], listed, mode::TIMING);
        check([mode::COUNTING, mode::INACTIVE], listed, mode::INACTIVE);
    }
    for other in [1, 4, u64::MAX] {
        check([mode::INACTIVE, mode::TIMING], other, mode::INACTIVE);
        check([mode::COUNTING, mode::INACTIVE], other, mode::COUNTING);
        check([mode::UNRESOLVED, 9], other, mode::INACTIVE);
    }
}

#[test]
fn without_a_tree_sites_become_inactive() {
    static SITE: Site = Site::new(5);
    let Guard { node, .. } = &SITE.enter();
    assert_eq!(*node, 0);
    assert_eq!(SITE.mode(), mode::INACTIVE);
}

#[test]
fn measuring_costs_leaves_a_thread_where_it_was() {
    let tree = tree(20);
    let (a, b) = (timed_site(1), timed_site(2));
    record(tree, || {
        run(
            a,
            1,
            || {
                let costs = activation::measure();
                // The clock did not advance.
                assert_eq!((costs.inside, costs.outside, costs.counting, costs.again), (0.0, 0.0, 0.0, 0.0));
                run(b, 2, || (), 0);
            },
            0,
        );
    });
    check(tree, &["-: 0, 0, 0", "1 2: 1, 2, 2", "1: 1, 1, 3"]);
}
