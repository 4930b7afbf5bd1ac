//! Lines that each test executes without optimization. Every line that is only implied in optimized code is executed
//! then, so this is the more inclusive truth.

use super::callgrind::{Callgrind, Extent, Job};
use super::{Result, TestKey, generated, tool};
use cargo_metadata::{Message, MetadataCommand};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The same `cfg`s as the tool's build, but without optimization and with all lines.
const PROFILE: [(&str, &str); 6] = [
    ("CARGO_PROFILE_BENCH_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_BENCH_DEBUG", "2"),
    ("CARGO_PROFILE_BENCH_STRIP", "none"),
    ("CARGO_PROFILE_BENCH_LTO", "off"),
    ("CARGO_PROFILE_BENCH_INCREMENTAL", "false"),
    ("CARGO_PROFILE_BENCH_CODEGEN_UNITS", "16"),
];

/// The lines of one test, by file from the root of the clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    test: TestKey,
    /// `None` if it took too long in callgrind.
    lines: Option<BTreeMap<String, BTreeSet<usize>>>,
}

/// The lines of all tests.
#[derive(Debug, Default)]
pub struct Coverage {
    records: Vec<Record>,
    /// Names in files written by build scripts.
    pub generated: BTreeSet<String>,
}

impl Coverage {
    /// Measures every test once; results of an earlier run at this commit are reused.
    pub fn measure(tree: &Path, work: &Path, options: &[String], commit: &str, callgrind: &Callgrind) -> Result<Self> {
        let path = work.join(format!("coverage-{}.jsonl", commit.get(..12).unwrap_or(commit)));
        let mut coverage = Self::default();
        if let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).lines() {
                coverage.records.extend(serde_json::from_str::<Record>(&line?));
            }
        }
        let known: BTreeSet<TestKey> = coverage.records.iter().map(|record| record.test.clone()).collect();
        let mut file = File::options().create(true).append(true).open(&path)?;
        let root = format!("{}/", tree.canonicalize()?.display());
        for executable in build(tree, &work.join("coverage"), options)? {
            for name in tests(&executable)? {
                let test = TestKey { target: executable.target.clone(), name };
                if known.contains(&test) {
                    continue;
                }
                let folder = &executable.folder;
                let environment = &BTreeMap::from([("CARGO_MANIFEST_DIR".to_owned(), folder.display().to_string())]);
                let job = Job { executable: &executable.path, test: &test.name, folder, environment };
                let profile = callgrind.run(job, Extent::Process, &|file| file.starts_with(&root))?;
                let relative = |(file, lines): (String, _)| (file[root.len()..].to_owned(), lines);
                let lines = profile.map(|profile| profile.lines.into_iter().map(relative).collect());
                let record = Record { test, lines };
                writeln!(file, "{}", serde_json::to_string(&record)?)?;
                coverage.records.push(record);
            }
        }
        coverage.generated = generated::names(&work.join("coverage"))?;
        Ok(coverage)
    }

    /// Returns the number of tests with known lines.
    pub fn known(&self) -> usize {
        self.records.iter().filter(|record| record.lines.is_some()).count()
    }

    /// Returns the number of tests that took too long.
    pub fn too_long(&self) -> usize {
        self.records.len() - self.known()
    }

    /// Returns the tests that execute a line of a range.
    pub fn executing(&self, path: &str, lines: &Range<usize>) -> BTreeSet<TestKey> {
        self.tests(|file, executed| file == path && executed.range(lines.clone()).next().is_some())
    }

    /// Returns the tests that execute one of these lines.
    pub fn executing_any(&self, lines: &BTreeMap<String, BTreeSet<usize>>) -> BTreeSet<TestKey> {
        self.tests(|file, executed| lines.get(file).is_some_and(|lines| !lines.is_disjoint(executed)))
    }

    fn tests(&self, executes: impl Fn(&str, &BTreeSet<usize>) -> bool) -> BTreeSet<TestKey> {
        let hit = |record: &&Record| record.lines.iter().flatten().any(|(file, lines)| executes(file, lines));
        self.records.iter().filter(hit).map(|record| record.test.clone()).collect()
    }
}

struct Executable {
    target: String,
    path: PathBuf,
    folder: PathBuf,
}

fn build(tree: &Path, target_dir: &Path, options: &[String]) -> Result<Vec<Executable>> {
    let metadata = MetadataCommand::new().current_dir(tree).no_deps().exec()?;
    let packages: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.manifest_path, package.name.as_str())).collect();
    let mut command = tool::clean("cargo", tree);
    command.args(["test", "--no-run", "--profile", "bench", "--message-format", "json", "--target-dir"]);
    command.arg(target_dir).args(options).envs(PROFILE).stdout(Stdio::piped()).stderr(Stdio::null());
    if !has_target(options) {
        command.arg("--tests");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("cargo test --no-run: {}", output.status).into());
    }
    let mut executables = Vec::new();
    for message in Message::parse_stream(&output.stdout[..]) {
        let Message::CompilerArtifact(artifact) = message? else { continue };
        let (Some(path), true) = (&artifact.executable, artifact.profile.test) else { continue };
        let package = packages.get(&artifact.manifest_path).copied().unwrap_or_default();
        let id = perfunit_model::TargetId {
            package: package.to_owned(),
            kind: perfunit_project::cargo::target_kind(&artifact.target),
            name: artifact.target.name.clone(),
        };
        let folder = artifact.manifest_path.parent().map(Into::into).unwrap_or_default();
        executables.push(Executable { target: id.to_string(), path: path.into(), folder });
    }
    Ok(executables)
}

/// Returns whether the options choose targets.
pub fn has_target(options: &[String]) -> bool {
    options.iter().any(|option| ["--lib", "--bins", "--bin", "--test", "--tests"].contains(&option.as_str()))
}

/// Returns the names of tests that are not ignored; empty for a target with its own harness.
fn tests(executable: &Executable) -> Result<Vec<String>> {
    let list = |more: &[&str]| -> Result<BTreeSet<String>> {
        let mut command = tool::clean(&executable.path, &executable.folder);
        let output = command.args(["--list", "--format", "terse"]).args(more).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    Ok(list(&[])?.difference(&list(&["--ignored"])?).cloned().collect())
}
