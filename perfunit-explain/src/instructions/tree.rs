//! Converts callgrind's call graph to a tree.
//!
//! A graph does not contain the path from the test on which a function was called. The instructions of a function and
//! everything below it are divided among its callers by the instructions of their calls, which callgrind records.
//! (gprof divides by the number of calls.) A function that is active already gets no new node, as in the trees of
//! probes.

use super::owners::{Code, Grouped, Owner, group};
use super::profile::{Call, Profile};
use perfunit_measure::{ROOT, Recorded, RecordedNode, THREADS};
use std::collections::HashMap;

/// Fraction of the whole below which calls are not examined and count for their callers.
const LEAST: f64 = 1e-6;
/// Crate that is in the stack of the thread that runs the test, and in no other.
const RUNTIME: &str = "perfunit_runtime";

/// The top of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// A test, which threads are told apart from.
    Test,
    /// A program, with the key of its `main` if that is known. All its threads and its start are below `main`.
    Program(Option<u64>),
}

/// Returns the tree of one run, from a profile of `runs` runs.
pub fn tree(profile: &Profile, code: &mut Code, top: Top, runs: f64) -> Recorded {
    let groups: Vec<Grouped> = profile.functions.iter().map(|function| group(function, code)).collect();
    let whole: u64 = profile.functions.iter().flat_map(|function| function.instructions.values()).sum();
    let component = components(&groups);
    let mut entered = vec![Entered::default(); groups.len()];
    for (caller, group) in groups.iter().enumerate() {
        for (_, call) in group.calls.iter().filter(|(_, call)| component[call.callee] != component[caller]) {
            entered[component[call.callee]].executed += call.executed;
            entered[component[call.callee]].costs += call.inclusive;
        }
    }
    let root = RecordedNode::root(ROOT);
    let mut growing = Growing {
        groups: &groups,
        component: &component,
        entered: &entered,
        least: LEAST * whole as f64,
        nodes: vec![root],
        places: HashMap::new(),
    };
    let mut seen = vec![false; groups.len()];
    for start in starts(&groups, &component) {
        if std::mem::replace(&mut seen[component[start]], true) {
            continue;
        }
        let node = match top {
            Top::Test if leads_to_runtime(profile, &groups, start) => 0,
            Top::Test => growing.child(0, THREADS),
            Top::Program(main) => main.map_or(0, |main| growing.child(0, main)),
        };
        growing.enter(start, node, Share { calls: 1.0, costs: 1.0 }, 0.0);
    }
    let mut nodes = growing.nodes;
    for node in &mut nodes {
        node.calls /= runs;
        node.self_cost /= runs;
    }
    Recorded { nodes }
}

/// Returns the functions without a caller outside of their component, at which threads begin.
fn starts(groups: &[Grouped], component: &[usize]) -> Vec<usize> {
    let mut called = vec![false; groups.len()];
    for (caller, group) in groups.iter().enumerate() {
        for (_, call) in group.calls.iter().filter(|(_, call)| component[call.callee] != component[caller]) {
            called[component[call.callee]] = true;
        }
    }
    (0..groups.len()).filter(|function| !called[component[*function]]).collect()
}

fn leads_to_runtime(profile: &Profile, groups: &[Grouped], start: usize) -> bool {
    let mut seen = vec![false; groups.len()];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if profile.functions[at].symbol.contains(RUNTIME) {
            return true;
        }
        open.extend(groups[at].calls.iter().map(|(_, call)| call.callee));
    }
    false
}

/// What calls from outside of a component executed and cost.
#[derive(Debug, Clone, Copy, Default)]
struct Entered {
    executed: u64,
    costs: u64,
}

/// The part of a function that is on one way from the test. Functions without costs have calls, too.
#[derive(Debug, Clone, Copy)]
struct Share {
    calls: f64,
    costs: f64,
}

struct Growing<'a> {
    groups: &'a [Grouped],
    /// Component of each function: the functions that call each other in a circle.
    component: &'a [usize],
    /// By component.
    entered: &'a [Entered],
    least: f64,
    nodes: Vec<RecordedNode>,
    places: HashMap<(usize, u64), usize>,
}

impl Growing<'_> {
    /// Adds a function that is called `calls` times from `node`, with a `share` of everything below it, and the
    /// functions that call each other with it in a circle.
    fn enter(&mut self, function: usize, node: usize, share: Share, calls: f64) {
        let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut open = vec![(function, node, calls)];
        let mut leaving: Vec<(Call, usize)> = Vec::new();
        while let Some((at, node, calls)) = open.pop() {
            let group = &self.groups[at];
            if places.contains_key(&at) {
                // Another turn around the circle: a call, but no new instructions.
                self.place(group.parts[0].owner, node, calls);
                continue;
            }
            let mut parts = Vec::with_capacity(group.parts.len());
            for (index, part) in group.parts.iter().enumerate() {
                let (caller, calls) =
                    if index == 0 { (node, calls) } else { (parts[part.caller], part.entries as f64 * share.calls) };
                let place = self.place(part.owner, caller, calls);
                self.nodes[place].self_cost += part.own as f64 * share.costs;
                self.nodes[place].is_inlined |= index > 0 && matches!(part.owner, Owner::Function(_));
                parts.push(place);
            }
            for (part, call) in &group.calls {
                if self.component[call.callee] == self.component[at] {
                    open.push((call.callee, parts[*part], call.count as f64 * share.calls));
                } else {
                    leaving.push((*call, parts[*part]));
                }
            }
            places.insert(at, parts);
        }
        for (call, node) in leaving {
            self.follow(call, node, share);
        }
    }

    fn follow(&mut self, call: Call, node: usize, share: Share) {
        let (executed, costs) = (call.executed as f64 * share.calls, call.inclusive as f64 * share.costs);
        let calls = call.count as f64 * share.calls;
        let entered = self.entered[self.component[call.callee]];
        if entered.executed == 0 {
            return;
        }
        if executed < self.least && costs <= executed {
            let place = self.place(self.groups[call.callee].parts[0].owner, node, calls);
            self.nodes[place].self_cost += costs;
            return;
        }
        let part = |own: f64, all: u64| if all == 0 { 0.0 } else { own / all as f64 };
        let share = Share { calls: part(executed, entered.executed), costs: part(costs, entered.costs) };
        self.enter(call.callee, node, share, calls);
    }

    /// Returns the node for an owner's code that is called from `node`. A closure of an active function is a part of
    /// that function and not called.
    fn place(&mut self, owner: Owner, node: usize, calls: f64) -> usize {
        let (key, is_closure) = match owner {
            Owner::Function(key) => (key, false),
            Owner::Closure(key) => (key, true),
            Owner::Test => return self.top(node),
            Owner::Caller => return node,
        };
        let active = self.active(node, key);
        let place = active.unwrap_or_else(|| self.child(node, key));
        if active.is_none() || !is_closure {
            self.nodes[place].calls += calls;
            self.nodes[place].recursions += if active.is_some() { calls } else { 0.0 };
        }
        place
    }

    /// Finds a function on the path to a node.
    fn active(&self, node: usize, key: u64) -> Option<usize> {
        let mut at = node;
        while at != 0 {
            if self.nodes[at].key == key {
                return Some(at);
            }
            at = self.nodes[at].parent;
        }
        None
    }

    /// Returns the node of the test or of its threads.
    fn top(&self, node: usize) -> usize {
        self.active(node, THREADS).unwrap_or(0)
    }

    fn child(&mut self, parent: usize, key: u64) -> usize {
        *self.places.entry((parent, key)).or_insert_with(|| {
            self.nodes.push(RecordedNode { parent, ..RecordedNode::root(key) });
            self.nodes.len() - 1
        })
    }
}

/// Returns the component of each function.
pub(super) fn components(groups: &[Grouped]) -> Vec<usize> {
    let count = groups.len();
    let mut search = Search {
        groups,
        order: vec![None; count],
        lowest: vec![0; count],
        waiting: Vec::new(),
        component: vec![None; count],
        next: 0,
    };
    (0..count).for_each(|function| search.from(function));
    search.component.into_iter().map(Option::unwrap_or_default).collect()
}

struct Search<'a> {
    groups: &'a [Grouped],
    /// Order in which functions were found.
    order: Vec<Option<usize>>,
    /// The earliest function that can be reached.
    lowest: Vec<usize>,
    /// Functions that were found but have no component yet.
    waiting: Vec<usize>,
    component: Vec<Option<usize>>,
    next: usize,
}

impl Search<'_> {
    /// Visits everything below a function, without recursion because chains of calls can be long.
    fn from(&mut self, start: usize) {
        if self.order[start].is_some() {
            return;
        }
        self.find(start);
        let mut way = vec![(start, 0)];
        while let Some((at, done)) = way.last_mut() {
            let at = *at;
            if let Some((_, call)) = self.groups[at].calls.get(*done) {
                *done += 1;
                match self.order[call.callee] {
                    None => {
                        self.find(call.callee);
                        way.push((call.callee, 0));
                    }
                    Some(order) if self.component[call.callee].is_none() => {
                        self.lowest[at] = self.lowest[at].min(order);
                    }
                    Some(_) => {}
                }
                continue;
            }
            way.pop();
            if let Some((caller, _)) = way.last() {
                self.lowest[*caller] = self.lowest[*caller].min(self.lowest[at]);
            }
            if self.order[at] == Some(self.lowest[at]) {
                self.close(at);
            }
        }
    }

    fn find(&mut self, function: usize) {
        self.order[function] = Some(self.next);
        self.lowest[function] = self.next;
        self.next += 1;
        self.waiting.push(function);
    }

    fn close(&mut self, first: usize) {
        while let Some(member) = self.waiting.pop() {
            self.component[member] = Some(first);
            if member == first {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::owners::Owners;
    use super::super::profile::Call;
    use super::super::profile::{Event, parse};
    use super::*;
    use perfunit_select::code::{Inlining, Operations};
    use std::fmt::Write;
    use std::rc::Rc;

    const MAIN: u64 = 77;

    /// Builds a profile of functions given as `caller own, callee calls inclusive, ...`; names of one letter belong to
    /// the crate.
    fn profile(functions: &[&str]) -> Profile {
        let name = |name: &str| if name.len() == 1 { format!("_RNvCs1_1p1{name}") } else { name.to_owned() };
        let mut text = String::from("ob=/test\n");
        for (number, function) in functions.iter().enumerate() {
            let mut parts = function.split(", ").map(|part| part.split(' ').collect::<Vec<_>>());
            let first = parts.next().unwrap();
            let at = 0x1000 * (number + 1);
            let _ = writeln!(text, "fn={}\n{at:#x} {}", name(first[0]), first[1]);
            for call in parts {
                let _ = writeln!(text, "cfn={}\ncalls={} 0x0\n{at:#x} {}", name(call[0]), call[1], call[2]);
            }
        }
        parse(&text, Event::Instructions)
    }

    /// Returns the nodes in a similar format: the path from the test, calls, instructions.
    fn ways(functions: &[&str]) -> Vec<String> {
        ways_from(Top::Test, functions)
    }

    fn ways_from(top: Top, functions: &[&str]) -> Vec<String> {
        let mut owners = Owners::default();
        owners.add_crate("p");
        let mut code = Code::new("/test".to_owned(), Rc::<Inlining>::default(), Rc::<Operations>::default(), owners);
        let Recorded { nodes } = tree(&profile(functions), &mut code, top, 1.0);
        let names = code.functions();
        let mut ways: Vec<String> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let name = match node.key {
                ROOT => String::new(),
                THREADS => "threads".to_owned(),
                MAIN => "main".to_owned(),
                key => names[&key].name.clone(),
            };
            ways.push(if index == 0 { name } else { format!("{}>{name}", ways[node.parent]) });
        }
        let figures = ways.iter().zip(&nodes).map(|(way, node)| format!("{way} {} {}", node.calls, node.self_cost));
        let mut found: Vec<String> = figures.collect();
        found.sort();
        found
    }

    #[test]
    fn what_others_execute_is_their_callers() {
        let found = ways(&["perfunit_runtime 1, a 1 110", "a 50, malloc 2 60", "malloc 20, brk 1 40", "brk 40"]);
        assert_eq!(found, [" 0 1", ">a 1 110"]);
    }

    #[test]
    fn a_function_with_two_callers_is_divided_by_what_their_calls_execute() {
        let found =
            ways(&["perfunit_runtime 0, a 1 40, b 1 80", "a 10, c 1 30", "b 10, c 1 70", "c 60, d 10 40", "d 40"]);
        assert_eq!(
            found,
            [" 0 0", ">a 1 10", ">a>c 1 18", ">a>c>d 3 12", ">b 1 10", ">b>c 1 42", ">b>c>d 7 28"],
            "c is 3/10 a's"
        );
    }

    #[test]
    fn recursion_is_one_node_and_its_calls_are_counted() {
        let found = ways(&["perfunit_runtime 0, a 1 100", "a 60, b 5 100", "b 40, a 4 80"]);
        assert_eq!(found, [" 0 0", ">a 5 60", ">a>b 5 40"]);
    }

    #[test]
    fn other_threads_stand_apart() {
        let found =
            ways(&["clone 1, perfunit_runtime 1 9", "perfunit_runtime 4, a 1 5", "a 5", "start 2, b 1 7", "b 7"]);
        assert_eq!(found, [" 0 5", ">a 1 5", ">threads 0 2", ">threads>b 1 7"]);
    }

    #[test]
    fn all_threads_of_a_program_are_below_main() {
        let found = ways_from(Top::Program(Some(MAIN)), &["start 1, a 1 5", "a 5", "clone 2, b 1 7", "b 7"]);
        assert_eq!(found, [" 0 0", ">main 0 3", ">main>a 1 5", ">main>b 1 7"]);
    }

    #[test]
    fn functions_without_costs_are_called() {
        let text = "ob=/test\nfn=perfunit_runtime\n0x1 1\ncfn=_RNvCs1_1p1a\ncalls=3 0\n0x2 60\ncfn=_RNvCs1_1p1b\ncalls=1 0\n\
                    0x3 20 2\n\nfn=_RNvCs1_1p1a\n0x10 60\n\nfn=_RNvCs1_1p1b\n0x20 20\n0x24 0 2\n";
        let mut owners = Owners::default();
        owners.add_crate("p");
        let mut code = Code::new("/test".to_owned(), Rc::<Inlining>::default(), Rc::<Operations>::default(), owners);
        let Recorded { nodes } = tree(&parse(text, Event::SystemCalls), &mut code, Top::Test, 1.0);
        let figures: Vec<(f64, f64)> = nodes[1..].iter().map(|node| (node.calls, node.self_cost)).collect();
        assert_eq!(figures, [(3.0, 0.0), (1.0, 2.0)]);
    }

    #[test]
    fn nothing_is_lost() {
        // Far too few instructions to be examined.
        let found = ways(&["perfunit_runtime 10000000, a 1 3", "a 1, b 1 2", "b 2"]);
        assert_eq!(found, [" 0 10000000", ">a 1 3"]);
    }

    #[test]
    fn circles_are_found() {
        let calls = |callees: &[usize]| Grouped {
            parts: Vec::new(),
            calls: callees
                .iter()
                .map(|callee| (0, Call { at: 0, callee: *callee, count: 1, executed: 1, inclusive: 1 }))
                .collect(),
        };
        // 0 calls 1; 1 and 2 call each other; 2 calls 3, which calls itself.
        let groups = [calls(&[1]), calls(&[2]), calls(&[1, 3]), calls(&[3])];
        let found = components(&groups);
        assert!(found[1] == found[2] && found[0] != found[1] && found[3] != found[1], "{found:?}");
    }
}
