//! Generated workloads instead of tests, for functions that no test executes.

use super::Result;
use super::comparison::{self, Answer};
use super::draw::Pool;
use super::edits::Evidence;
use super::functions::Changes;
use super::injection::{self, Kind};
use super::subjects::Subject;
use super::tool::Tool;
use perfunit_report::json::Document;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const OPTIONS: [&str; 3] = ["--generated", "--filterset", "kind(generated)"];
/// Busy wait that marks all functions as changed, ns.
const SHORT: u64 = 1;

/// Compares generated workloads like a run of their own; without workloads, the result is that of a run without tests.
pub fn compare(tool: &Tool, tree: &Path, versions: &str, more: &[&str]) -> Result<Answer> {
    let more = [&OPTIONS[..], more].concat();
    let document = match comparison::compare::<Document>(tool, tree, versions, &more)? {
        Answer::Compared(document) => document,
        refused @ Answer::Refused(_) => return Ok(refused),
    };
    let Some(generated) = &document.generated else { return Err("the document has no generated workloads".into()) };
    if let Some(why) = &generated.not_compared {
        return Ok(Answer::Refused(why.text.clone()));
    }
    if generated.generation.calls.is_empty() && generated.generation.without.is_empty() {
        return Ok(Answer::Refused("tests execute it".to_owned()));
    }
    Ok(Answer::Compared(generated.comparison.clone().unwrap_or(document)))
}

/// Returns the functions, by file and line, that no test (or benchmark, if requested) executes, as reported by the tool
/// if all functions have changed.
pub fn uncovered(subject: &Subject<'_>) -> Result<BTreeSet<(String, usize)>> {
    let pool = Pool::new(&subject.sources, vec![SHORT], subject.experiment.ns_a_round);
    let mut random = fastrand::Rng::with_seed(subject.experiment.seed);
    let mut by_file: Vec<(String, Changes)> = Vec::new();
    for (path, changes) in pool.draw(Kind::Busy, usize::MAX, &mut random).into_iter().flat_map(|drawn| drawn.changes) {
        match by_file.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) => known.extend(changes),
            None => by_file.push((path, changes)),
        }
    }
    for (path, mut changes) in by_file {
        changes.sort_by_key(|(range, _)| range.start);
        let path = subject.tree.join(path);
        fs::write(&path, injection::apply(&fs::read_to_string(&path)?, &changes))?;
    }
    let listed = subject.experiment.tool.list(&subject.tree, "HEAD", &[]);
    subject.set_back()?;
    let uncovered = listed?.document.selection.uncovered.into_iter();
    Ok(uncovered.map(|uncovered| (uncovered.function.file, uncovered.function.line)).collect())
}

/// Returns whether an edit is in one of these functions.
pub fn is_of(path: &str, evidence: &Evidence, functions: &BTreeSet<(String, usize)>) -> bool {
    let Evidence::Lines(lines) = evidence else { return false };
    functions.iter().any(|(file, line)| file == path && lines.contains(line))
}
