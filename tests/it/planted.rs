//! Planted changes of time are changes of work, which takes time on every processor: at least a fifth more or fewer
//! instructions. Counted with valgrind over all cases and projects with such a change.

use crate::attributes;
use crate::causes;
use crate::explain;
use crate::filters;
use crate::instructions;
use crate::instructions::has_valgrind;
use crate::shards;
use crate::source;
use crate::support::{Case, Project};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Least ratio of instructions between the sides.
const LEAST: f64 = 1.2;
/// Arguments that make the tool count instructions, with a time limit that suffices on any machine.
const COUNTING: [&str; 10] = [
    "--message-format",
    "json",
    "--explain",
    "never",
    "--instructions",
    "callgrind",
    "--metric",
    "instructions",
    "--per-test-budget",
    "2m",
];

/// The first test starts a program, which callgrind does not count, and the second waits.
const UNCOUNTED: [(&str, &str); 2] =
    [("equal-seeds", "tests::others_do_not_see_the_seed"), ("waits-beside-worker", "tests::both_compute")];

/// A test with its instructions on base and head.
struct Row {
    project: String,
    test: String,
    counts: Option<[f64; 2]>,
}

#[test]
#[ignore = "builds and counts everything in valgrind, which takes a quarter of an hour"]
fn planted_changes_are_a_fifth_of_the_work_or_more() {
    if !has_valgrind() {
        return;
    }
    println!("| project | test | base | head | head / base |\n|-|-|-|-|-|");
    let mut wrong = Vec::new();
    let cases = Case::all().into_iter().map(|(name, case)| count_case(&name, &case));
    let projects = projects().map(|(name, project)| count_project(&name, &project));
    for row in cases.chain(projects).chain(std::iter::once_with(count_demonstration)).flatten() {
        let Row { project, test, counts } = row;
        let is_uncounted = UNCOUNTED.contains(&(project.as_str(), test.as_str()));
        let Some([base, head]) = counts else {
            if !is_uncounted {
                wrong.push(format!("{project} {test}: not counted"));
            }
            continue;
        };
        println!("| {project} | {test} | {base:.0} | {head:.0} | {:.2} |", head / base);
        if base.max(head) < LEAST * base.min(head) && !is_uncounted {
            wrong.push(format!("{project} {test}: {base} and {head} instructions"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the projects of black-box tests in which one test becomes slower or faster, with their source.
fn projects() -> impl Iterator<Item = (String, Project)> {
    let mut made = vec![
        ("source, 500 to 1500".to_owned(), Project::library(&source(500), &source(1500))),
        ("source, 500 to 100".to_owned(), Project::library(&source(500), &source(100))),
        ("attributes".to_owned(), attributes::project("perfunit")),
        ("causes".to_owned(), causes::project_with_package()),
        ("filters".to_owned(), filters::project()),
        ("shards".to_owned(), shards::project()),
    ];
    let edited = |(library, name): (&str, &str), (from, to): (&str, &str)| {
        (format!("{name}, `{}`", to.replace('|', "\\|")), Project::library(library, &library.replacen(from, to, 1)))
    };
    made.extend(explain::EDITS.map(|edit| edited((explain::LIBRARY, "explain"), edit)));
    made.extend(instructions::EDITS.map(|edit| edited((instructions::LIBRARY, "instructions"), edit)));
    made.into_iter()
}

fn count_project(name: &str, project: &Project) -> Vec<Row> {
    let run = project.perfunit(["diff", "HEAD~1", "--workspace"].iter().chain(&COUNTING));
    let is_measured = |test: &Value| test["verdict"] != "not-measured";
    rows(name, &run.json(), project.path(), is_measured)
}

fn count_demonstration() -> Vec<Row> {
    let (project, folder) = (Project::empty(), "demonstration");
    project.perfunit(["demo", folder]).expect(0);
    let run = project.perfunit_in(folder, ["diff", "HEAD~1"].iter().chain(&COUNTING));
    let is_changed = |test: &Value| test["name"] == "tests::counts_every_word";
    rows("demo", &run.json(), &project.path().join(folder), is_changed)
}

/// Counts the tests of a case that must be slower or faster.
fn count_case(name: &str, case: &Case) -> Vec<Row> {
    if !case.plants_a_change() {
        return Vec::new();
    }
    let project = case.project();
    let run = case.run(&project, &COUNTING);
    rows(name, &run.json(), &project.path().join(case.folder()), |test| case.must_change(test))
}

fn rows(project: &str, document: &Value, folder: &Path, is_wanted: impl Fn(&Value) -> bool) -> Vec<Row> {
    let tests = document["tests"].as_array().unwrap().iter();
    tests.filter(|test| is_wanted(test)).map(|test| row(project, test, folder)).collect()
}

fn row(project: &str, test: &Value, folder: &Path) -> Row {
    let metric = &test["metrics"]["instructions"];
    let value = |side: &str| metric[side]["value"].as_f64();
    let name = test["name"].as_str().unwrap();
    let counts = match (value("base"), value("head")) {
        // Instructions of the package's binary are not in the test's process.
        (Some(base), Some(head)) if !has_binaries(folder) => Some([base, head]),
        _ => whole_processes(folder, name),
    };
    Row { project: project.to_owned(), test: name.to_owned(), counts }
}

/// Returns the folders of the kept sides; base comes first, because it is built first.
fn sides(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("target/perfunit/sides")) else { return Vec::new() };
    let mut sides: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|side| (side.join("build.json").metadata().unwrap().modified().unwrap(), side))
        .collect();
    sides.sort();
    sides.into_iter().map(|(_, side)| side).collect()
}

/// Returns the package's binaries of a side.
fn binaries(side: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(side).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file() && !path.ends_with("build.json")).collect()
}

fn has_binaries(folder: &Path) -> bool {
    sides(folder).iter().any(|side| !binaries(side).is_empty())
}

/// Returns the instructions of the process on both sides: of the package's binary, or of a harness that runs one test.
fn whole_processes(folder: &Path, test: &str) -> Option<[f64; 2]> {
    let counts = sides(folder).into_iter().map(|side| {
        if let [binary] = &binaries(&side)[..] {
            return process(Command::new("valgrind"), binary, &[]);
        }
        let note: Value = serde_json::from_slice(&fs::read(side.join("build.json")).unwrap()).unwrap();
        let executables = note["executables"].as_array().unwrap();
        let own = executables.iter().find(|executable| executable["harness"] == "own")?;
        let environment: BTreeMap<String, String> = serde_json::from_value(own["env"].clone()).unwrap();
        let mut valgrind = Command::new("valgrind");
        valgrind.envs(environment);
        process(valgrind, Path::new(own["path"].as_str()?), &[test, "--exact", "--include-ignored", "--nocapture"])
    });
    <[f64; 2]>::try_from(counts.collect::<Option<Vec<_>>>()?).ok()
}

/// Runs a program in callgrind and returns its instructions.
fn process(mut valgrind: Command, program: &Path, arguments: &[&str]) -> Option<f64> {
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let output = valgrind.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}
