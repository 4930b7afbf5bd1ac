//! Candidates: calls that may become workloads, and the context of their trials.

use crate::place::test_name;
use crate::sources::holder;
use perfunit_build as build;
use perfunit_model::{Function, GeneratedCall, NotGenerated, TargetId};
use perfunit_project::git::Versions;
use perfunit_select::TargetSelection;
use std::collections::BTreeMap;
use std::time::Instant;

/// Context of the trials.
pub struct Trials<'a> {
    pub versions: &'a Versions,
    pub selected: &'a TargetSelection,
    pub options: &'a build::Options,
    /// Time after which no further function is begun.
    pub deadline: Option<Instant>,
}

/// A call that may become a workload.
pub struct Candidate {
    pub call: GeneratedCall,
    /// Number of its function.
    pub number: u64,
    pub target: TargetId,
    /// Name of its test function.
    pub name: String,
    /// Name of the test as libtest prints it.
    pub test: String,
}

/// Assigns calls to the targets whose unit tests can contain them.
pub fn candidates(
    selected: &TargetSelection,
    calls: Vec<GeneratedCall>,
    failures: &mut Vec<(Function, NotGenerated)>,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    // Number of each function, and its calls so far.
    let mut numbers: BTreeMap<Function, (u64, usize)> = BTreeMap::new();
    for call in calls {
        let Some((target, module)) = holder(selected, &call.function.package, &call.module.file) else {
            failures.push((call.function, NotGenerated::NoTarget));
            continue;
        };
        let next = numbers.len() as u64;
        let (number, calls) = numbers.entry(call.function.clone()).or_insert((next, 0));
        let (number, name) = (*number, format!("{}_{}_{calls}", identifier(&call.function.name), call.function.line));
        *calls += 1;
        let test = test_name(module, &call.module, &name);
        found.push(Candidate { target: target.clone(), number, name, test, call });
    }
    found
}

/// Returns the function's name with the enclosing type as one identifier.
fn identifier(name: &str) -> String {
    let mut segments: Vec<&str> = name.rsplit("::").take(2).collect();
    segments.reverse();
    let words = segments.join("_").to_lowercase();
    let words: String = words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    words.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers() {
        assert_eq!(identifier("a::Parser<'_>::next_line"), "parser_____next_line");
        assert_eq!(identifier("plain"), "plain");
    }
}
