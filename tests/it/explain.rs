//! `--explain` and `explain`: the responsible function.

use crate::support::{Project, Run};
use serde_json::Value;

/// Functions of several shapes that one test calls, each about a microsecond long.
pub const LIBRARY: &str = r"//! Sums.

use std::hint::black_box;

pub fn sum(numbers: &[u64]) -> u64 {
    step(numbers) + Totals.of(numbers) + fold(numbers, 0) + early(numbers).unwrap_or(0)
}

fn step(numbers: &[u64]) -> u64 {
    let rounds = black_box(1);
    (0..rounds).map(|_| spin(numbers)).sum()
}

pub fn spin(numbers: &[u64]) -> u64 {
    let mut state = 1;
    for number in black_box(numbers) {
        state = black_box(state ^ number);
    }
    state
}

struct Totals;

impl Totals {
    fn of(&self, numbers: &[u64]) -> u64 {
        numbers.iter().map(|number| black_box(*number)).sum()
    }
}

fn fold(numbers: &[u64], depth: u64) -> u64 {
    match numbers {
        [] => depth,
        [first, rest @ ..] if depth < 20 => black_box(*first) + fold(rest, depth + 1),
        _ => depth,
    }
}

fn early(numbers: &[u64]) -> Option<u64> {
    let first = numbers.first()?;
    for number in numbers {
        if black_box(number) > black_box(first) && *number == 400 {
            return Some(*number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums() {
        let numbers: Vec<u64> = (0..1000).collect();
        assert!(super::sum(&numbers) > 0);
    }
}
";

/// A replacement in the library.
type Edit = (&'static str, &'static str);

const LONGER: Edit = ("numbers.iter().map(|", "numbers.iter().chain(numbers).map(|");
const OFTENER: Edit = ("let rounds = black_box(1)", "let rounds = black_box(3)");
const DEEPER: Edit = ("depth < 20", "depth < 400");
const LATER: Edit = ("*number == 400", "*number == 4000");
/// The replacements.
pub const EDITS: [Edit; 4] = [LONGER, OFTENER, DEEPER, LATER];

/// Returns the explanation of the only test after a replacement in the library.
fn explanation(edit: (&str, &str)) -> (Project, Value) {
    explanation_of(LIBRARY, edit)
}

fn explanation_of(library: &str, (from, to): (&str, &str)) -> (Project, Value) {
    let project = Project::library(library, &library.replace(from, to)).with_natural_layout();
    let run = project.diff(&["--explain", "always", "--engine", "probes"]).expect(100);
    let test = run.json()["tests"][0].clone();
    assert_eq!(project.status(), [""; 0]);
    (project, test["explanation"].clone())
}

/// Checks name, kind and source of the first responsible function.
#[track_caller]
fn check(edit: (&str, &str), name: &str, kind: &str) {
    check_in(LIBRARY, edit, name, kind);
}

#[track_caller]
fn check_in(library: &str, (from, to): (&str, &str), name: &str, kind: &str) {
    let (_, found) = explanation_of(library, (from, to));
    let first = &found["responsible"][0];
    let function = &found["functions"][first["function"].as_u64().unwrap_or(u64::MAX) as usize];
    assert_eq!((function["name"].as_str(), first["kind"].as_str()), (Some(name), Some(kind)), "{found:#}");
    assert_eq!(function["file"], "src/lib.rs");
    let line = library
        .replace(from, to)
        .lines()
        .position(|line| line.contains(&format!("fn {}(", name.rsplit(':').next().unwrap())));
    assert_eq!(function["line"].as_u64(), line.map(|line| line as u64 + 1));
    assert_eq!(first["changed"], "changed");
    let share = first["share"].as_f64().unwrap();
    assert!((0.7..1.3).contains(&share), "{found:#}");
}

#[test]
fn a_function_that_takes_longer_is_responsible_and_its_callers_are_not() {
    check(LONGER, "Totals::of", "own");
}

#[test]
fn the_caller_that_calls_a_helper_more_often_is_responsible() {
    check(OFTENER, "step", "calls");
}

#[test]
fn a_function_that_recurses_deeper_is_responsible() {
    check(DEEPER, "fold", "calls");
}

#[test]
fn a_function_that_recurses_deeper_through_another_is_responsible() {
    // Each call reads the clock: the probes cost ten times as much as the calls.
    let library = LIBRARY.replace("fold(rest, depth + 1)", "further(rest, depth)").replace(
        "fn early(",
        "fn further(numbers: &[u64], depth: u64) -> u64 {\n    black_box(1) ^ fold(numbers, depth + 1)\n}\n\nfn early(",
    );
    check_in(&library, DEEPER, "fold", "calls");
}

#[test]
fn a_function_below_a_changed_header_is_the_same_function() {
    let body = "    fn of(&self, numbers: &[u64]) -> u64 {\n        numbers.iter()";
    check(
        (&format!("impl Totals {{\n{body}.map(|"), &format!("impl crate::Totals {{\n{body}.chain(numbers).map(|")),
        "Totals::of",
        "own",
    );
}

#[test]
fn a_removed_early_return_is_attributed_to_its_function() {
    check(LATER, "early", "own");
}

#[test]
fn calls_and_recursion_are_counted() {
    let (_, found) = explanation(OFTENER);
    let index = |name: &str| {
        let functions = found["functions"].as_array().unwrap();
        functions.iter().position(|function| function["name"] == name).map(|index| index as u64)
    };
    let calls = |name: &str| {
        let nodes = found["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["function"].as_u64() == index(name)).unwrap();
        ["base", "head"].map(|side| node["calls"][side].as_f64().unwrap().round() as u64)
    };
    assert_eq!(calls("spin"), [1, 3]);
    assert_eq!(calls("fold"), [21, 21]);
    assert_eq!(calls("sum"), [1, 1]);
    let each = &found["responsible"][0]["calls_each"];
    assert_eq!(["base", "head"].map(|side| each[side].as_f64().unwrap().round() as u64), [1, 3]);
}

/// Returns the name of each test's first responsible function.
fn culprits(document: &Value) -> Vec<String> {
    let first = |test: &Value| {
        let found = &test["explanation"];
        let index = found["responsible"][0]["function"].as_u64().map(|index| index as usize);
        index.and_then(|index| found["functions"][index]["name"].as_str()).unwrap_or("nobody").to_owned()
    };
    document["tests"].as_array().unwrap().iter().filter(|test| test["verdict"] == "slower").map(first).collect()
}

#[test]
fn explain_answers_for_the_last_run_and_all_strategies_agree() {
    let head = LIBRARY.replace(LONGER.0, LONGER.1);
    let project = Project::library(LIBRARY, &head).with_natural_layout();
    let none = project.perfunit(["explain"]).expect(2);
    assert!(none.stderr.contains("no saved runs") && none.stderr.contains("cargo perfunit diff"), "{}", none.stderr);
    let mut command = project.command("");
    command.args(["diff", "HEAD~1", "--explain", "always"]).env("GITHUB_ACTIONS", "true");
    let text = Run::of(command).expect(100);
    assert!(text.stdout.contains("responsible: Totals::of (src/lib.rs:25)"), "{}", text.stdout);
    let annotation = "::error file=src/lib.rs,line=25,title=Totals%3A%3Aof makes 1 test slower::sample tests::sums: +";
    assert!(text.stderr.contains(annotation), "{}", text.stderr);
    let run = project.perfunit(["report", "--format", "json"]).expect(0).json();
    assert_eq!(culprits(&run), ["Totals::of"]);
    assert!(run["summary"]["seconds"]["explain"].as_f64().unwrap() > 0.0);

    let explain = |arguments: &[&str]| project.perfunit(["explain"].iter().chain(arguments));
    let recorded = explain(&["--message-format", "json"]).expect(0).json();
    assert_eq!(recorded["tests"][0]["explanation"], run["tests"][0]["explanation"]);
    let text = explain(&["sums"]).expect(0).stdout;
    assert!(
        text.contains("responsible: Totals::of (src/lib.rs:25)") && text.contains("1 of 1 test explained"),
        "{text}"
    );
    for strategy in ["complete", "levelwise", "until-source-change"] {
        let found = explain(&["--strategy", strategy, "--message-format", "json"]).expect(0).json();
        assert_eq!(culprits(&found), ["Totals::of"], "{found:#}");
        assert_eq!(found["tests"][0]["explanation"]["strategy"], strategy);
    }

    let unknown = explain(&["tests::sumz"]).expect(2);
    assert!(unknown.stderr.contains("did you mean tests::sums?"), "{}", unknown.stderr);
    project.write("src/lib.rs", head.replace("depth + 1", "depth + 2"));
    // The recorded explanation stays valid, although it cannot be measured again.
    assert_eq!(culprits(&explain(&["--message-format", "json"]).expect(0).json()), ["Totals::of"]);
    assert_eq!(project.status(), ["src/lib.rs"]);
}

#[test]
fn a_typed_revision_may_have_moved_since_the_run() {
    let project = Project::library(LIBRARY, LIBRARY).with_natural_layout();
    project.write("src/lib.rs", LIBRARY.replace(LONGER.0, LONGER.1));
    project.perfunit(["diff", "HEAD", "--explain", "never"]).expect(100);
    project.commit("longer");
    let explained = project.perfunit(["explain", "--message-format", "json"]).expect(0).json();
    assert_eq!(explained["tests"][0]["verdict"], "slower", "{explained:#}");
    assert!(!explained["tests"][0]["explanation"].is_null(), "{explained:#}");
}

#[test]
fn a_version_that_no_longer_exists_cannot_be_explained() {
    let project = Project::library(LIBRARY, LIBRARY).with_natural_layout();
    project.write("src/lib.rs", LIBRARY.replace(LONGER.0, LONGER.1));
    project.perfunit(["diff", "HEAD", "--explain", "never"]).expect(100);
    project.write("src/lib.rs", LIBRARY);
    let gone = project.perfunit(["explain"]).expect(2);
    assert!(gone.stderr.contains("head has changed since the last run"), "{}", gone.stderr);
}
