//! Trials that decide which calls are workloads: those that compile with both versions, pass on both in the cage,
//! execute their function, and repeat themselves.

mod candidate;
mod compile;
mod counter;
mod ladder;
mod one;

pub use candidate::Trials;

use candidate::{Candidate, candidates};
use compile::Compiled;
use ladder::{Ladder, Rung};
use perfunit_build::Builder;
use perfunit_model::error::{Result, apart};
use perfunit_model::{Function, GeneratedCall, GeneratedWorkload, Generation, NotGenerated, WithoutWorkload};
use perfunit_system::progress::Progress;
use perfunit_system::temporary::TestFolder;
use std::collections::BTreeMap;
use std::time::Instant;

/// Number of workloads kept per function.
const MOST_WORKLOADS: usize = 3;
/// Time of a call below which the overhead around it dominates, ns.
const MEASURABLE_NS: u64 = 20;

/// Tries calls and keeps the best few of each function; `failures` are those known before.
pub fn try_calls(
    builder: &mut Builder<'_>,
    trials: &Trials<'_>,
    calls: Vec<GeneratedCall>,
    mut failures: Vec<(Function, NotGenerated)>,
) -> Result<Generation> {
    let candidates = candidates(trials.selected, calls, &mut failures);
    if candidates.is_empty() {
        return Ok(Generation { workloads: Vec::new(), without: without(failures) });
    }
    let Some(Compiled { sides, dropped, counted }) = compile::compile(builder, trials, &candidates)? else {
        let late = candidates.into_iter().map(|candidate| (candidate.call.function, NotGenerated::OutOfBudget));
        return Ok(Generation { workloads: Vec::new(), without: without(failures.into_iter().chain(late).collect()) });
    };
    let ladder = Ladder { sides: &sides, temporary: TestFolder::create("tried")? };
    let mut by_function: BTreeMap<Function, Vec<Candidate>> = BTreeMap::new();
    for (index, candidate) in candidates.into_iter().enumerate() {
        match dropped.get(&index) {
            Some(why) => failures.push((candidate.call.function, why.clone())),
            None => by_function.entry(candidate.call.function.clone()).or_default().push(candidate),
        }
    }
    let progress = Progress::bar(builder.context().terminal, "Trying", by_function.len());
    let mut workloads = Vec::new();
    for (function, candidates) in by_function {
        progress.message(function.name.clone());
        if trials.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            failures.push((function, NotGenerated::OutOfBudget));
            continue;
        }
        let mut climbed = Vec::new();
        for candidate in candidates {
            match apart(ladder.climb(&candidate, counted.contains(&candidate.number)))? {
                Ok(rungs) => climbed.push((candidate, rungs)),
                Err(why) => failures.push((function.clone(), why)),
            }
            if climbed.iter().filter(|(_, rungs)| is_measurable(rungs)).count() == MOST_WORKLOADS {
                break;
            }
        }
        workloads.extend(best(climbed));
        progress.advance();
    }
    failures.retain(|(function, _)| workloads.iter().all(|workload| workload.call.function != *function));
    Ok(Generation { workloads, without: without(failures) })
}

fn is_measurable(rungs: &[Rung]) -> bool {
    rungs.last().is_some_and(|rung| rung.ns >= MEASURABLE_NS)
}

/// Returns the largest size of each call, and of a single call also smaller sizes. Calls that are too short to measure
/// count only if there are no others.
fn best(climbed: Vec<(Candidate, Vec<Rung>)>) -> Vec<GeneratedWorkload> {
    let mut all: Vec<(usize, GeneratedWorkload)> = Vec::new();
    for (candidate, rungs) in climbed {
        let Candidate { call, target, name, test, .. } = candidate;
        for (below, Rung { n, ns, value, .. }) in rungs.into_iter().rev().enumerate() {
            let size = if call.is_sized { format!("_n{n}") } else { String::new() };
            let (name, test) = (format!("{name}{size}"), format!("{test}{size}"));
            all.push((
                below,
                GeneratedWorkload { call: call.clone(), target: target.clone(), name, test, n, ns, value },
            ));
        }
    }
    let measurable = |(_, workload): &(usize, GeneratedWorkload)| workload.ns >= MEASURABLE_NS;
    if all.iter().any(measurable) {
        all.retain(measurable);
    } else {
        all.sort_by_key(|(_, workload)| std::cmp::Reverse(workload.ns));
        all.truncate(1);
    }
    // Different arguments come first, then other sizes.
    all.sort_by_key(|(below, _)| *below);
    all.into_iter().map(|(_, workload)| workload).take(MOST_WORKLOADS).collect()
}

/// Returns each function once, with the reason that came closest to a workload.
fn without(failures: Vec<(Function, NotGenerated)>) -> Vec<WithoutWorkload> {
    let mut by_function: BTreeMap<Function, NotGenerated> = BTreeMap::new();
    for (function, why) in failures {
        match by_function.get(&function) {
            Some(known) if closeness(known) >= closeness(&why) => {}
            _ => drop(by_function.insert(function, why)),
        }
    }
    by_function.into_iter().map(|(function, because)| WithoutWorkload { function, because }).collect()
}

fn closeness(why: &NotGenerated) -> u8 {
    match why {
        NotGenerated::NotInSource
        | NotGenerated::Unsafe
        | NotGenerated::ReliesOnInvariants
        | NotGenerated::NoValue { .. }
        | NotGenerated::NoTarget => 0,
        NotGenerated::DoesNotCompile { .. } => 1,
        // The call compiles with head.
        NotGenerated::NotOnBase => 2,
        NotGenerated::NotExecuted => 3,
        NotGenerated::Fails { .. } => 4,
        NotGenerated::NotRepeatable => 5,
        NotGenerated::OutOfBudget => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{CallFailure, ModulePlace, TargetId, TargetKind};

    fn function(name: &str) -> Function {
        Function { package: "demo".to_owned(), file: "src/lib.rs".to_owned(), line: 7, name: name.to_owned() }
    }

    fn climb(name: &str, rungs: &[(usize, u64)]) -> (Candidate, Vec<Rung>) {
        let module = ModulePlace { file: "src/lib.rs".to_owned(), inline: Vec::new() };
        let (setup, call) = ("{ (n,) }".to_owned(), "f(input.0)".to_owned());
        let call =
            GeneratedCall { function: function("f"), module, setup, call, is_sized: rungs.len() > 1, by_caller: false };
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let rungs = rungs.iter().map(|(n, ns)| Rung::new(*n, *ns)).collect();
        (Candidate { call, number: 0, target, name: name.to_owned(), test: format!("m::{name}") }, rungs)
    }

    #[track_caller]
    fn check(climbed: Vec<(Candidate, Vec<Rung>)>, expected: &[&str]) {
        let names: Vec<String> = best(climbed).into_iter().map(|workload| workload.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn the_largest_sizes_of_different_calls_come_first() {
        let sized = |name| climb(name, &[(16, 30), (256, 300), (4096, 3000)]);
        check(vec![sized("a"), sized("b")], &["a_n4096", "b_n4096", "a_n256"]);
        check(vec![sized("a"), climb("b", &[(16, 50)])], &["a_n4096", "b", "a_n256"]);
    }

    #[test]
    fn what_is_too_short_is_kept_only_if_there_is_nothing_else() {
        check(vec![climb("a", &[(16, 3), (256, 5)]), climb("b", &[(16, 25)])], &["b"]);
        check(vec![climb("a", &[(16, 3), (256, 5)]), climb("b", &[(16, 4)])], &["a_n256"]);
    }

    #[test]
    fn a_function_has_the_reason_that_came_closest() {
        let panics = NotGenerated::Fails { how: CallFailure::Panics { message: "no".to_owned() } };
        let failures = vec![
            (function("f"), NotGenerated::DoesNotCompile { error: "E0308".to_owned() }),
            (function("f"), panics.clone()),
            (function("f"), NotGenerated::NotExecuted),
        ];
        assert_eq!(without(failures), [WithoutWorkload { function: function("f"), because: panics }]);
    }
}
