//! callgrind's output with `--dump-instr=yes --collect-jumps=yes` and without compression.
//!
//! Addresses are those of the object's file, because callgrind subtracts the load address.

use perfunit_select::code::stable_name;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Counts of one part of callgrind's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// The functions. A function that callgrind splits by callers occurs several times.
    pub functions: Vec<Counted>,
}

/// Counts of a function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Path of the program or library.
    pub object: String,
    /// Symbol of the linker.
    pub symbol: String,
    /// That name with those of the last callers, without what differs between builds.
    pub context: String,
    /// How often each instruction was executed, by address.
    pub instructions: BTreeMap<u64, u64>,
    /// Costs, by address.
    pub costs: BTreeMap<u64, u64>,
    pub calls: Vec<Call>,
    /// Executed jumps inside of the function.
    pub jumps: Vec<Jump>,
}

/// Calls of one function from one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub at: u64,
    /// Index of the callee.
    pub callee: usize,
    pub count: u64,
    /// Instructions of the callee and everything that it called.
    pub executed: u64,
    /// Costs of the callee and everything that it called.
    pub inclusive: u64,
}

/// An executed jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    pub from: u64,
    pub to: u64,
    pub count: u64,
}

/// Meaning of the next line of costs.
enum Pending {
    Nothing,
    Call { callee: usize, count: u64 },
    Jump { to: u64, count: u64 },
}

/// A cost that callgrind counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Instructions,
    SystemCalls,
    /// Time in system calls, ns.
    SystemTime,
}

impl Event {
    /// Returns the position among the counts of a line, in the order of `--collect-systime`.
    fn column(self) -> usize {
        match self {
            Event::Instructions => 0,
            Event::SystemCalls => 1,
            Event::SystemTime => 2,
        }
    }
}

/// Parses the counts of an event in a part. Unknown lines are skipped, because they are not counts.
pub fn parse(text: &str, event: Event) -> Profile {
    let mut reading = Reading::default();
    let (mut object, mut callee_object) = ("", None);
    let (mut current, mut callee): (Option<usize>, Option<usize>) = (None, None);
    let mut pending = Pending::Nothing;
    for line in text.lines() {
        if line.starts_with("0x") {
            let Some(current) = current else { continue };
            let function = &mut reading.profile.functions[current];
            let mut words = line.split_ascii_whitespace();
            let Some(at) = words.next().and_then(address) else { continue };
            // callgrind leaves zeros at the end of a line out.
            let counts: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let count = |column: usize| counts.get(column).copied().unwrap_or(0);
            let cost = count(event.column());
            match std::mem::replace(&mut pending, Pending::Nothing) {
                Pending::Nothing => {
                    *function.instructions.entry(at).or_default() += count(Event::Instructions.column());
                    *function.costs.entry(at).or_default() += cost;
                }
                Pending::Call { callee, count: calls } => {
                    let executed = count(Event::Instructions.column());
                    function.calls.push(Call { at, callee, count: calls, executed, inclusive: cost });
                }
                Pending::Jump { to, count } => function.jumps.push(Jump { from: at, to, count }),
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "ob" => object = value,
            "cob" => callee_object = Some(value),
            "fn" => current = Some(reading.function(object, value)),
            // The caller's object, unless the call names another one.
            "cfn" => callee = Some(reading.function(callee_object.take().unwrap_or(object), value)),
            "calls" => {
                let count = value.split(' ').next().and_then(|count| count.parse().ok());
                if let (Some(callee), Some(count)) = (callee.take(), count) {
                    pending = Pending::Call { callee, count };
                }
            }
            "jump" | "jcnd" => {
                if let Some((count, to)) = jump(value) {
                    pending = Pending::Jump { to, count };
                }
            }
            _ => {}
        }
    }
    reading.profile
}

/// Parses count and target of a jump: `7 0x14020`, or `7/1000 0x14020` for a conditional jump.
fn jump(value: &str) -> Option<(u64, u64)> {
    let (counts, to) = value.trim_end().split_once(' ')?;
    Some((counts.split('/').next()?.parse().ok()?, address(to)?))
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[derive(Default)]
struct Reading<'a> {
    profile: Profile,
    places: HashMap<(&'a str, &'a str), usize>,
}

impl<'a> Reading<'a> {
    fn function(&mut self, object: &'a str, name: &'a str) -> usize {
        *self.places.entry((object, name)).or_insert_with(|| {
            // callgrind appends callers and levels of recursion after a quote.
            let symbol = name.split('\'').next().unwrap_or(name).to_owned();
            let context = name.split('\'').map(stable_name).collect::<Vec<_>>().join("'");
            self.profile.functions.push(Counted { object: object.to_owned(), symbol, context, ..Counted::default() });
            self.profile.functions.len() - 1
        })
    }
}

impl Profile {
    /// Returns the costs by context.
    pub fn by_context(&self) -> impl Iterator<Item = (&str, u64)> {
        self.functions.iter().map(|function| (function.context.as_str(), function.costs.values().sum()))
    }

    /// Leaves out the costs of other contexts than these.
    pub fn retain(&mut self, contexts: &BTreeSet<String>) {
        let others = self.functions.iter_mut().filter(|function| !contexts.contains(&function.context));
        others.for_each(|function| function.costs.clear());
    }
}

/// Returns the files of programs and libraries whose code was executed.
pub fn objects(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("ob=")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_own_costs() {
        let text = "events: Ir sysCount sysTime sysCpuTime\nob=/a\nfn=f\n0x10 3\n0x14 0 2 900 800\n0x14 2\n\
                    cfn=g\ncalls=4 0x20\n0x18 30 1 70 60\n\nfn=g\n0x20 30\n0x24 0 1 70 60\n";
        let of = |event: Event| {
            let f = &parse(text, event).functions[0];
            (f.instructions.values().sum::<u64>(), f.costs.values().sum::<u64>(), f.calls[0].inclusive)
        };
        assert_eq!(of(Event::Instructions), (5, 5, 30));
        assert_eq!(of(Event::SystemCalls), (5, 2, 1));
        assert_eq!(of(Event::SystemTime), (5, 900, 70));
        assert_eq!(objects(text), BTreeSet::from(["/a"]));
    }

    const PART: &str = "positions: instr\nevents: Ir\n\n\
        ob=/a/test\nfl=/s/lib.rs\nfn=outer'main\n0x1000 1\nfi=/s/other.rs\n0x1004 10\n\
        jcnd=9/10 0x1004 \n0x1008 \n0x1008 10\n\
        cfi=/s/more.rs\ncfn=inner'outer\ncalls=2 0x2000 \n0x100c 40\n0x100c 2\n\
        cob=/lib/libc.so\ncfi=???\ncfn=malloc'outer\ncalls=1 0x500 \n0x1010 7\n0x1010 1\n\
        jump=3 0x1000 \n0x1014 \n0x1014 3\n\n\
        fl=/s/lib.rs\nfn=inner'outer\n0x2000 40\n\n\
        ob=/lib/libc.so\nfl=???\nfn=malloc'outer\n0x500 7\n\ntotals: 74\n";

    #[test]
    fn instructions_calls_and_jumps_are_told_apart() {
        let Profile { functions } = parse(PART, Event::Instructions);
        let names: Vec<_> = functions.iter().map(|it| (it.object.as_str(), it.symbol.as_str())).collect();
        assert_eq!(names, [("/a/test", "outer"), ("/a/test", "inner"), ("/lib/libc.so", "malloc")]);
        let outer = &functions[0];
        assert_eq!(
            outer.instructions,
            BTreeMap::from([(0x1000, 1), (0x1004, 10), (0x1008, 10), (0x100c, 2), (0x1010, 1), (0x1014, 3)])
        );
        assert_eq!(
            outer.calls,
            [
                Call { at: 0x100c, callee: 1, count: 2, executed: 40, inclusive: 40 },
                Call { at: 0x1010, callee: 2, count: 1, executed: 7, inclusive: 7 }
            ]
        );
        assert_eq!(
            outer.jumps,
            [Jump { from: 0x1008, to: 0x1004, count: 9 }, Jump { from: 0x1014, to: 0x1000, count: 3 }]
        );
        assert_eq!((functions[1].instructions[&0x2000], functions[2].instructions[&0x500]), (40, 7));
    }

    #[test]
    fn one_function_with_two_callers_stands_there_twice() {
        let text = "ob=/a\nfn=f'g\n0x10 1\n\nfn=f'h\n0x10 2\n\nfn=f'g\n0x14 3\n";
        let Profile { functions } = parse(text, Event::Instructions);
        let found: Vec<_> = functions.iter().map(|it| (it.symbol.as_str(), it.instructions.len())).collect();
        assert_eq!(found, [("f", 2), ("f", 1)]);
    }
}
