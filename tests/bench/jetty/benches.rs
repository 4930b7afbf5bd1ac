//! The same waits, measured by the crate's own benchmarks with their default settings.

use super::outputs::{self, Claim, Compared, Library};
use super::subjects::{Of, Subject};
use super::waits::Wait;
use super::{Result, copy, tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Name of criterion's baseline.
const BASELINE: &str = "perfunit-base";
const FILE: &str = "benches.jsonl";
/// Name of the tool in these rows.
const ASKED: &str = "cargo bench";

/// A measured version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// The version that all others are compared with.
    Base,
    /// Unchanged code, measured repeatedly; with the number of the repetition.
    Control(usize),
    /// A wait, by its key.
    Wait(String),
}

/// A run of all benchmarks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The measured version.
    pub version: Version,
    /// Reason why nothing was compared.
    pub refused: Option<String>,
    /// Comparisons with base; empty for base.
    pub compared: Vec<Compared>,
    /// Medians of divan's benchmarks, ns.
    pub medians: BTreeMap<String, f64>,
    /// Benchmarks that use another library.
    pub unread: Vec<String>,
    /// Wall times of the build and of the benchmarks, s.
    pub build: f64,
    pub seconds: f64,
}

/// A built benchmark target.
struct Built {
    name: String,
    library: Option<Library>,
    /// Folder of its package, where cargo starts it.
    folder: PathBuf,
    executable: PathBuf,
}

/// The copy in which benchmarks are built, separate from the tool's comparisons.
pub struct Place {
    /// Folder of the files.
    pub tree: PathBuf,
    work: PathBuf,
}

/// One benchmark of criterion.
#[derive(Debug, Clone, Copy)]
pub struct One<'a> {
    /// The bench target.
    pub target: &'a str,
    /// Name in the tool and in criterion.
    pub name: &'a str,
}

/// Creates a copy of the clone.
pub fn place(subject: &Subject<'_>, clone: &Path) -> Result<Place> {
    let work = subject.experiment.work.join(subject.name).join("benches");
    Ok(Place { tree: copy::of(clone, &work)?.canonicalize()?, work })
}

/// Measures base, unchanged code and the waits.
pub fn make(subject: &Subject<'_>, clone: &Path, waits: &[&Wait], controls: usize) -> Result<Vec<Of<Row>>> {
    let place = place(subject, clone)?;
    let row = |version: Version, wait: Option<&Wait>, base: Option<&Row>| {
        let is_it = |row: &Row| row.version == version;
        subject.row(FILE, ASKED, is_it, || {
            wait.map_or(Ok(()), |wait| wait.put(&place.tree))?;
            let row = place.row(version.clone(), base, None);
            copy::git(&place.tree, &["checkout", "--quiet", "--force", "--detach", &subject.commit])?;
            Ok(row)
        })
    };
    let mut rows = vec![row(Version::Base, None, None)?];
    let base = rows[0].row.clone();
    if base.refused.is_some() {
        return Ok(rows);
    }
    for control in 1..=controls {
        rows.push(row(Version::Control(control), None, Some(&base))?);
    }
    for wait in waits {
        rows.push(row(Version::Wait(wait.injection.key()), Some(wait), Some(&base))?);
    }
    Ok(rows)
}

impl Place {
    /// Builds and runs all benchmarks, or one, and compares them with base; without a base, measures base itself.
    pub fn row(&self, version: Version, base: Option<&Row>, one: Option<One<'_>>) -> Row {
        let mut row = Row {
            version,
            refused: None,
            compared: Vec::new(),
            medians: BTreeMap::new(),
            unread: Vec::new(),
            build: 0.0,
            seconds: 0.0,
        };
        row.refused = self.fill(&mut row, base, one).err().map(|why| why.to_string());
        row
    }

    fn fill(&self, row: &mut Row, base: Option<&Row>, one: Option<One<'_>>) -> Result<()> {
        let started = Instant::now();
        let mut built = self.built()?;
        if let Some(one) = one {
            built.retain(|benchmark| benchmark.name == one.target);
        }
        row.build = started.elapsed().as_secs_f64();
        let started = Instant::now();
        for benchmark in &built {
            match benchmark.library {
                None => row.unread.push(benchmark.name.clone()),
                Some(Library::Criterion) => {
                    let option = if base.is_some() { "--baseline" } else { "--save-baseline" };
                    // The filter is a regular expression; `.` replaces characters with a meaning.
                    let filter = one.map(|one| format!("^{}$", one.name.replace(|c: char| !c.is_alphanumeric(), ".")));
                    let arguments = [option, BASELINE].into_iter().chain(filter.as_deref());
                    row.compared.extend(outputs::criterion(&self.run(benchmark, &arguments.collect::<Vec<_>>())?));
                }
                Some(Library::Divan) => {
                    // Two targets may have benchmarks of the same name.
                    let named = |(name, median)| (format!("{} {name}", benchmark.name), median);
                    row.medians.extend(outputs::medians(&self.run(benchmark, &[])?).into_iter().map(named));
                }
            }
        }
        row.seconds = started.elapsed().as_secs_f64();
        row.compared.extend(base.map_or_else(Vec::new, |base| outputs::divan(&base.medians, &row.medians)));
        if row.unread.len() == built.len() {
            return Err("no benchmark of criterion or divan".into());
        }
        if base.is_some() && row.compared.is_empty() {
            return Err("the benchmarks printed nothing that can be compared".into());
        }
        Ok(())
    }

    /// Returns the benchmark targets that `cargo bench` builds by default.
    fn built(&self) -> Result<Vec<Built>> {
        let mut cargo = tool::clean("cargo", &self.tree);
        cargo.args(["bench", "--workspace", "--benches", "--no-run", "--quiet", "--message-format", "json"]);
        let printed = printed(cargo.arg("--target-dir").arg(self.work.join("target")))?;
        let mut built = Vec::new();
        for line in printed.lines() {
            let message: Value = serde_json::from_str(line)?;
            let target = &message["target"];
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let (Some(name), Some(executable)) = (text(&target["name"]), text(&message["executable"])) else {
                continue;
            };
            // Unit tests are built too, in case they contain benchmarks of libtest.
            if target["kind"][0] != "bench" {
                continue;
            }
            let source = std::fs::read_to_string(target["src_path"].as_str().unwrap_or_default())?;
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            built.push(Built {
                name,
                library: Library::of(&source),
                folder: manifest.parent().unwrap_or(&self.tree).to_owned(),
                executable: executable.into(),
            });
        }
        Ok(built)
    }

    /// Runs a benchmark as `cargo bench` does.
    fn run(&self, benchmark: &Built, arguments: &[&str]) -> Result<String> {
        let mut command = tool::clean(&benchmark.executable, &benchmark.folder);
        command.env("CARGO_MANIFEST_DIR", &benchmark.folder).env("NO_COLOR", "1");
        command.env("CRITERION_HOME", self.work.join("criterion").join(&benchmark.name));
        printed(command.arg("--bench").args(arguments))
    }
}

/// Returns the output of a command. Fails with its error in one line.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let line = error.lines().find(|line| line.starts_with("error")).or_else(|| error.lines().last());
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    Err(format!("{program}: {}: {}", output.status, line.unwrap_or_default()).into())
}

impl Row {
    /// Returns whether the version is unchanged code.
    pub fn is_control(&self) -> bool {
        matches!(self.version, Version::Control(_))
    }

    /// Returns the number of benchmarks with this claim.
    pub fn count(&self, claim: Claim) -> usize {
        self.compared.iter().filter(|compared| compared.claim == Some(claim)).count()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Version::Base => write!(f, "benchmarks, base: ")?,
            Version::Control(number) => write!(f, "benchmarks, unchanged code {number}: ")?,
            Version::Wait(key) => write!(f, "benchmarks, {key}: ")?,
        }
        if let Some(why) = &self.refused {
            return write!(f, "{why}");
        }
        let (slower, faster) = (self.count(Claim::Slower), self.count(Claim::Faster));
        write!(f, "{slower} slower and {faster} faster of {} compared", self.compared.len())?;
        write!(f, "; build {:.0} s, run {:.0} s", self.build, self.seconds)?;
        self.unread.iter().try_for_each(|name| write!(f, " (not read: {name})"))
    }
}
